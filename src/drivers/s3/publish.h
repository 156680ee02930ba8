// What rank 0 does to make the object anew of what all ranks have sent: parts that one rank has filled are taken as they are, what
// nobody has written is copied from the present object inside the store, and other parts are put together here and sent. An object of
// one part is put at once. Readers see the old object or the new one.
//
// Cost: a request for each part that nobody filled alone, four at a time, and memory for four parts.
#pragma once

#include "reader.h"
#include "staged.h"

namespace mercutio_s3 {

struct Resize {
  i64 cut = INT64_MAX;   // of the present object, so many bytes count
  i64 least = 0;         // the size that was asked for
  bool asked = false;
};

class Publisher {
 public:
  Publisher(const Store& store, std::string key, Session& session, const Grid& grid, const Staged& staged)
      : store_(store), key_(std::move(key)), session_(session), grid_(grid), staged_(staged) {}

  // `made`: the object may be new; `exclusive`: it must be.
  void publish(const Resize& resize, bool made, bool exclusive);

 private:
  // Where painted bytes are: in a piece object, in this rank's memory, or in a part of the upload.
  enum class Kind { kPieces, kMemory, kPart };
  struct Paint {
    Kind kind = Kind::kMemory;
    size_t source = 0;   // of keys_; or the part's number
    i64 at = 0, tag = 0;
    bool operator==(const Paint&) const = default;
    Paint moved(i64 by) const { return {kind, source, kind == Kind::kPieces ? at + by : 0, tag}; }
  };
  struct Ranked {
    Entry entry;
    i64 rank = 0;
    Paint paint;
  };
  struct Part {
    i64 number = 0, begin = 0, end = 0;
  };

  void gather();
  void take_piece_object(const std::string& key, std::vector<Ranked>& all);
  void find_sent_parts();
  void make(const Object& base, i64 base_bytes, i64 bytes);
  std::vector<UploadedPart> make_parts(const Object& base, i64 base_bytes, i64 bytes);
  void fill(const Object& base, i64 base_bytes, const Part& part, std::span<char> into) const;
  void fill_from_pieces(const Part& part, std::span<char> into) const;
  bool is_painted(const Part& part) const;
  void paint_late();

  const Store& store_;
  const std::string key_;
  Session& session_;
  const Grid& grid_;
  const Staged& staged_;
  std::vector<std::string> keys_;   // of piece objects
  Ranges<Paint> painted_;
  std::map<i64, UploadedPart> sent_;   // by number, from 0
  Ranges<Paint> late_;   // painted over a part that was sent before
};

}  // namespace mercutio_s3
