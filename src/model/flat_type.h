// FlatType: a datatype lowered to bytes, still a tree. The engine moves data along it.
//
// "Flat" as in flattening on the fly (listless I/O, Worringen, Traeff, Ritzdorf, SC'03): nothing is expanded to lists;
// a cursor walks the tree. A vector of 10^7 blocks is one node. Seeking costs O(depth * log(entries of an indexed node)).
//
// Two coordinates: the *stream* position counts data bytes in typemap order; the *offset* is the location of a byte relative to
// the type's origin (a file displacement or a buffer address). Copies of the type tile at multiples of `extent`.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "model/type_spec.h"

namespace mercutio {

enum class Sizes { kNative, kExternal32 };   // which sizes of BasicType are used

struct FlatNode;   // model/flat_node.h

// `count` pieces of `bytes` each, the first at `offset`, at distance `stride`. The elements of a cursor's sequence; count >= 1.
struct StridedRun {
  i64 offset = 0;
  i64 bytes = 0;
  i64 stride = 0;
  i64 count = 1;
  BasicType basic;   // meaningful only if the type was lowered with keep_kinds
  bool operator==(const StridedRun&) const = default;
};

class FlatType {
 public:
  // keep_kinds: adjacent runs of different basic types stay separate and carry their type (for conversion). Otherwise adjacent
  // bytes coalesce, and `basic` has no meaning.
  static Result<std::shared_ptr<const FlatType>> lower(const TypeSpec& spec, Sizes sizes = Sizes::kNative, bool keep_kinds = false);
  // The same with native sizes, computed once for each spec.
  static Result<std::shared_ptr<const FlatType>> of(const TypeSpec& spec);

  i64 size() const { return size_; }         // data bytes of one copy
  i64 lb() const { return lb_; }
  i64 extent() const { return extent_; }     // ub - lb
  i64 true_lb() const { return true_lb_; }
  i64 true_extent() const { return true_ub_ - true_lb_; }
  // monotone() && !overlapping(): the stream is sorted by offset, so that bytes_below() is the inverse of offset_of().
  bool monotone() const { return monotone_; }     // run starts never decrease, within a copy and between tiled copies
  bool overlapping() const { return overlapping_; }   // a byte occurs twice, within one copy or between tiled copies
  // The same within one copy, as the standard requires of a filetype. A legal filetype whose extent is smaller than its span is
  // monotone_once() but not monotone().
  bool monotone_once() const;
  bool overlapping_once() const;
  bool keeps_kinds() const { return keep_kinds_; }
  bool negative() const { return true_lb_ < 0 || lb_ < 0; }
  bool contiguous() const { return contiguous_; }  // size == extent, one run at offset 0: tiles without gaps
  std::uint64_t hash() const { return hash_; }     // of the structure; equal trees hash equal
  i64 memory_bytes() const { return memory_bytes_; }   // of this object
  i64 pieces() const;                              // of one copy; saturated
  // The limit of stream positions: so many tiled copies that offsets and positions stay below 2^62, at least one copy.
  i64 stream_bytes() const;
  // The largest power of two that divides the begin and the end of every piece of every copy.
  i64 alignment() const;

  // Offset of stream byte `position` (0 <= position < stream_bytes()), tiling copies. O(depth log n).
  i64 offset_of(i64 position) const;
  // Number of stream bytes (tiled copies, from copy 0 on) whose offset is < `offset`. O(depth log n) for sorted streams (see
  // monotone()), O(interleaved pieces) for others.
  i64 bytes_below(i64 offset) const;

  const FlatNode& root() const { return *root_; }

  // To send the type to other ranks: a compact byte string (irregular maps in delta/varint coding), and back. Returns false if it
  // would need more than `most` bytes; the contents of `out` are then unspecified.
  bool serialize(std::vector<std::byte>& out, i64 most = INT64_MAX) const;
  static Result<std::shared_ptr<const FlatType>> deserialize(ConstBytes bytes);

 private:
  friend class FlatBuilder;
  friend class Cursor;
  friend struct CursorImpl;
  std::shared_ptr<const FlatNode> root_;
  std::shared_ptr<const FlatNode> tiled_;   // copies of root_, extent_ apart; null: no data
  i64 first_ = 0;                           // offset of the first data byte in typemap order
  bool keep_kinds_ = false;
  i64 size_ = 0, lb_ = 0, extent_ = 0, true_lb_ = 0, true_ub_ = 0, memory_bytes_ = 0;
  bool monotone_ = true, overlapping_ = false, contiguous_ = true;
  std::uint64_t hash_ = 0;
};
using FlatTypeRef = std::shared_ptr<const FlatType>;

FlatTypeRef contiguous_bytes();   // one byte; the default etype and filetype

// Iterates over the stream range [begin, end) of tiled copies of a type, as runs in typemap order. Adjacent pieces coalesce (also
// across copies) unless kinds are kept. Cheap to copy; uses bounded memory for any type. `end` <= type->stream_bytes().
class Cursor {
 public:
  Cursor(FlatTypeRef type, i64 origin, i64 begin, i64 end);   // offsets yielded are origin + offset in type

  bool done() const { return position_ >= end_; }
  i64 position() const { return position_; }
  i64 remaining() const { return end_ - position_; }

  // The next run: at most `max_bytes` of data in at most `max_count` pieces. A piece is cut only by max_bytes or by the end of the
  // range; a cut piece is a run of count 1. Precondition: !done(), max_bytes > 0.
  StridedRun next(i64 max_bytes = INT64_MAX, i64 max_count = INT64_MAX);
  void seek(i64 position);   // anywhere in [begin, end]

 private:
  friend struct CursorImpl;
  struct Level {
    const FlatNode* node;
    i64 index;       // which repetition or entry
    i64 sub_index;   // repetition inside an entry; in a leaf: bytes of the piece that were already returned
    i64 limit;       // number of repetitions or entries; in kBlocks: of repetitions in this entry
    i64 origin;      // of the node's first byte
  };
  // Those of most types are kept inside, as an allocation takes longer than an access of a few bytes.
  class Levels {
   public:
    void reset(std::size_t most) {   // removes all; there will be at most so many
      size_ = 0;
      beyond_.resize(most > kInside ? most : 0);
    }
    void clear() { size_ = 0; }
    std::size_t size() const { return size_; }
    Level& operator[](std::size_t i) { return beyond_.empty() ? inside_[i] : beyond_[i]; }
    Level& back() { return (*this)[size_ - 1]; }
    const Level& back() const { return const_cast<Levels&>(*this).back(); }
    Level& push_back(const Level& level) { return (*this)[size_++] = level; }
    void pop_back() { --size_; }

   private:
    static constexpr std::size_t kInside = 4;
    std::size_t size_ = 0;
    std::array<Level, kInside> inside_{};
    std::vector<Level> beyond_;   // all of them, if there may be more
  };
  FlatTypeRef type_;
  i64 origin_, end_, position_;
  Levels stack_;   // the top is a leaf with bytes left, unless done()
};

// Copy between a buffer with the layout `memory` (typemap order, the cursor's stream range) and packed bytes. Both advance the
// cursor by packed.size() bytes.
void pack(Cursor& memory, Bytes packed);               // memory -> packed; the cursor's origin is the buffer's address
void unpack(Cursor& memory, ConstBytes packed);        // packed -> memory
// Sets the valid flag of each unit of 2^shift bytes that the rest of the layout covers; valid[0] belongs to the unit at `base`.
// Every piece must begin and end at a boundary of units.
void set_valid(Cursor layout, i64 base, std::byte* valid, int shift);
// Copies `bytes` from one layout to another without an intermediate buffer; both origins are addresses.
void copy(Cursor& from, Cursor& to, i64 bytes);

}  // namespace mercutio
