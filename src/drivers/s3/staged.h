// What this rank has written and nobody has published. Bytes are gathered by the parts of the upload. A part of which all bytes are there is
// sent as such, ahead of time where memory gets short, and stays in memory as long as there is room: if it is written again, it is
// sent again. Where room is short and no part is whole, the pieces are stored as an object of the session (a piece object), from
// which rank 0 completes the parts.
//
// A piece object: `count` records of an Entry, then the bytes, at most kMostStored. It is called r<rank>-<number>-<count>.
//
// Memory: MERCUTIO_S3_MEMORY, or two parts if that is more.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "base/ranges.h"
#include "grid.h"
#include "jobs.h"
#include "session.h"

namespace mercutio_s3 {

using mercutio::Ranges;

struct Turn {
  i64 turn = 0;
  bool operator==(const Turn&) const = default;
  Turn moved(i64) const { return *this; }
};

// Bytes that a rank has sent. Of entries that overlap those of the higher turn count, in one turn and rank those sent later.
struct Entry {
  i64 offset = 0, bytes = 0, turn = 0;
  i64 sent = 0;   // the rank's how-manieth sending it was
  i64 at = 0;     // where its bytes are in the piece object, or kInPart, kGivenUp
  i64 tag = 0;    // of that part, from its ETag
};
inline constexpr i64 kInPart = -1;    // of the upload
inline constexpr i64 kGivenUp = -2;   // written later through another open: the object has them, or will have
i64 tag_of(const std::string& etag);

class Staged {
 public:
  Staged(const Store& store, std::string key, Session& session, const Grid& grid) : store_(store), key_(std::move(key)), session_(session), grid_(grid) {}

  void write(i64 offset, std::span<const char> data, i64 turn);
  // Puts what is staged of [offset, ...) into `into`. False: some of it is in a part that was sent, and can't be read before it is published.
  bool overlay(i64 offset, std::span<char> into);
  bool in_memory(i64 offset, i64 bytes) const;
  bool all_in_memory() const { return sent_.empty() && stored_.empty(); }
  bool has_stored() const { return stored_numbers_ > 0; }
  i64 end() const;
  bool empty() const { return parts_.empty() && all_in_memory(); }
  void cut(i64 bytes);   // forgets what is beyond; only where all is in memory
  // Written later through another open. `in_other_ranks`: this open may have bytes of it that are not in this memory, and were written before `turn`.
  void give_up(i64 begin, i64 end, bool in_other_ranks, i64 turn);
  void clear();

  static constexpr i64 kMostStored = 64 * MiB;   // a store takes 5 GiB at once, and what it is sent is in memory a second time
  void send_whole_parts();   // and waits
  void store_pieces();       // with the records of the parts that were sent
  // Rank 0: entries of the parts that were sent and of what was given up, and of what is in memory, `at` being 0 there.
  std::vector<Entry> sent_entries() const;
  std::vector<Entry> memory_entries() const;
  void copy_memory(i64 offset, std::span<char> into) const;

 private:
  struct Part {
    i64 begin = 0, end = 0;
    std::unique_ptr<char[]> data;
    Ranges<Turn> known;
    i64 used = 0;
    i64 sent = 0;          // see Entry
    std::string etag;      // once it is sent
    bool whole() const { return known.bytes() == end - begin; }
  };
  using PartRef = std::shared_ptr<Part>;
  struct Stored {   // in a piece object
    std::string key;
    i64 at = 0;
    bool operator==(const Stored&) const = default;
    Stored moved(i64 by) const { return {key, at + by}; }
  };
  struct SentPart {
    std::string etag;
    Ranges<Turn> known;
    i64 sent = 0;
  };

  void forget(i64 begin, i64 end);   // of what is in memory
  Part& part_for_writing(i64 number);
  void make_room(i64 part_bytes);
  bool send_one(bool any);
  void forget_sent();
  void take_back();
  i64 kept_bytes() const;
  std::vector<Entry> entries_of(const std::map<i64, PartRef>& parts) const;
  void store_object(std::vector<Entry> entries);

  const Store& store_;
  const std::string key_;
  Session& session_;
  const Grid& grid_;
  std::map<i64, PartRef> parts_;     // being filled
  std::map<i64, PartRef> sending_;   // being sent, or sent and still in memory
  std::map<i64, SentPart> sent_;     // no longer in memory
  Ranges<Stored> stored_;
  Ranges<Turn> given_up_;
  i64 bytes_ = 0;            // known in parts_
  i64 uses_ = 0, sendings_ = 0, stored_numbers_ = 0;
  Jobs jobs_{4};
};

}  // namespace mercutio_s3
