// What rank 0 does to make the object anew of what all ranks have sent: parts that one rank has filled are taken as they are, what
// nobody has written is copied from the present object inside the store, and other parts are put together here and sent. An object of
// one part is put at once. Readers see the old object or the new one.
//
// Cost: a request for each part that nobody filled alone, four at a time. A part of up to kMostTogether bytes is put together in memory. A
// longer one is made in the store, as an object of its own, of blocks: those of the present object or of one piece object are copied there.
// So are holes, of zeros that are sent once.
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
  Publisher(Reader& reader, Session& session, const Grid& grid, const Staged& staged)
      : reader_(reader), store_(reader.store()), key_(reader.key()), session_(session), grid_(grid), staged_(staged) {}

  // `before`: the bytes of the object as this open knows it. Afterwards the reader knows the present one, and its bytes are returned. None:
  // there was nothing to do, and nobody has looked.
  std::optional<i64> publish(const Resize& resize, i64 before);

 private:
  // Where painted bytes are: in a piece object, in this rank's memory, in a part of the upload, in the present object, or kept of that one.
  enum class Kind { kPieces, kMemory, kPart, kPresent, kKept };
  struct Paint {
    Kind kind = Kind::kMemory;
    size_t source = 0;   // of objects_; or the part's number
    i64 at = 0, tag = 0;
    bool operator==(const Paint&) const = default;
    Paint moved(i64 by) const { return {kind, source, kind == Kind::kPieces || kind == Kind::kKept ? at + by : 0, tag}; }
  };
  struct Ranked {
    Entry entry;
    i64 rank = 0;
    Paint paint;
  };
  struct PieceObject {
    std::string key, content;   // of a short one
  };
  struct Part {
    i64 number = 0, begin = 0, end = 0;
  };
  // The present object, of which so many bytes count.
  struct Base {
    Object object;
    i64 bytes = 0;
  };
  // Of a long part. The source has no key where the block is put together here.
  struct Block {
    i64 begin = 0, end = 0;
    CopySource source;
  };

  static Kind kind_of(const Entry& entry);
  void gather();
  void take_piece_object(const Listed& object, std::vector<Ranked>& all);
  void find_sent_parts();
  void uncover_present();
  void keep_present(const Base& base);
  void make(const Base& base, i64 bytes);
  std::vector<UploadedPart> make_parts(const Base& base, i64 bytes);
  std::string make_part(const Base& base, const std::string& upload, const Part& part) const;
  std::string compose(const Base& base, const std::string& upload, const Part& part) const;
  std::vector<Block> blocks_of(const Base& base, const Part& part) const;
  CopySource source_of(const Base& base, i64 begin, i64 end) const;
  void fill(const Base& base, const Part& part, std::span<char> into) const;
  void fill_from_pieces(const Part& part, std::span<char> into) const;
  bool is_painted(const Part& part) const;
  void make_zeros(const Base& base, i64 bytes);
  void paint_late();

  Reader& reader_;
  const Store& store_;
  const std::string& key_;
  Session& session_;
  const Grid& grid_;
  const Staged& staged_;
  std::vector<PieceObject> objects_;
  std::string zeros_;               // the key of an object of kBlock zeros; "" where there is none
  Ranges<Paint> painted_;
  std::map<i64, UploadedPart> sent_;   // by number, from 0
  Ranges<Paint> late_;   // painted over a part that was sent before
  std::vector<char> kept_;   // of the object before that part comes into it
};

}  // namespace mercutio_s3
