// Reads of what is published. The object is the one that was there when the file was opened or refreshed: if somebody replaces it, a read
// fails and never mixes two of them. Small reads take blocks, which are kept, and several at once where they follow each other;
// long ones are divided into requests that run side by side. What is there is asked with the bytes of an object that was short the last time.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "store.h"

namespace mercutio_s3 {

class Reader {
 public:
  static constexpr i64 kBlock = 1 * MiB, kMostBlocks = 16, kAhead = 4, kRequest = 8 * MiB, kLong = 512 * 1024, kShort = 128 * 1024;
  static constexpr int kMostRequests = 4;

  Reader(const Store& store, std::string key) : store_(store), key_(std::move(key)) {}

  const Store& store() const { return store_; }
  const std::string& key() const { return key_; }

  // What is there; asked once, until forget().
  Object object();
  void know(const Object& object);
  void know(const Object& object, std::vector<char> content);
  void forget();

  // All of `into`, which lies in the object.
  void read(i64 offset, std::span<char> into);
  // All of `into`, of that object.
  void read_of(const Object& object, i64 offset, std::span<char> into);

 private:
  struct Block {
    i64 number = 0;
    std::vector<char> data;
  };
  using BlockRef = std::shared_ptr<const Block>;
  Object look();
  void keep_all(std::vector<char> content);
  bool copy_kept(const Object& object, i64 offset, std::span<char> into);   // where the object is one block, and that is here
  void read_long(const Object& object, i64 offset, std::span<char> into);
  bool is_known(const Object& object) const { return known_ && object_.etag == object.etag && object_.bytes == object.bytes; }   // the blocks are of that one
  BlockRef block(const Object& object, i64 number);

  const Store& store_;
  const std::string key_;
  std::mutex mutex_;   // guards what follows
  bool known_ = false;
  Object object_;
  std::list<BlockRef> blocks_;   // of the object; the last used one first
};

}  // namespace mercutio_s3
