#include "reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "jobs.h"

namespace mercutio_s3 {

Object Reader::object() {
  std::lock_guard lock(mutex_);   // threads that want to know wait for the one that asks
  if (!known_) {
    object_ = look();
    known_ = true;
  }
  return object_;
}

Object Reader::look() {
  if (!object_.exists || object_.bytes == 0 || object_.bytes > kShort) return store_.query(key_);
  std::vector<char> content(kShort);
  Object now = store_.query_and_get(key_, content);
  if (now.bytes <= kShort) {
    content.resize(static_cast<size_t>(now.bytes));
    keep_all(std::move(content));
  }
  return now;
}

// Of an object that is known now.
void Reader::keep_all(std::vector<char> content) {
  blocks_.clear();
  if (!content.empty() && static_cast<i64>(content.size()) <= kBlock) blocks_.push_front(std::make_shared<const Block>(Block{0, std::move(content)}));
}

void Reader::know(const Object& object) {
  std::lock_guard lock(mutex_);
  if (!is_known(object)) blocks_.clear();
  known_ = true;
  object_ = object;
}

void Reader::know(const Object& object, std::vector<char> content) {
  know(object);
  std::lock_guard lock(mutex_);
  if (is_known(object)) keep_all(std::move(content));
}

void Reader::forget() {
  std::lock_guard lock(mutex_);
  known_ = false;
  blocks_.clear();
}

void Reader::read_long(const Object& object, i64 offset, std::span<char> into) {
  Jobs jobs(kMostRequests);
  for (size_t at = 0; at < into.size();) {
    const size_t bytes = std::min<size_t>(kRequest, into.size() - at);
    const auto part = into.subspan(at, bytes);
    const i64 begin = offset + static_cast<i64>(at);
    at += bytes;
    if (bytes == into.size()) return store_.get(key_, begin, part, object.etag);   // one request
    jobs.start([this, &object, begin, part] { store_.get(key_, begin, part, object.etag); });
  }
  jobs.wait();
}

Reader::BlockRef Reader::block(const Object& object, i64 number) {
  bool follows = false;
  {
    std::lock_guard lock(mutex_);
    for (auto at = blocks_.begin(); is_known(object) && at != blocks_.end(); ++at) {
      follows |= (*at)->number == number - 1;
      if ((*at)->number != number) continue;
      blocks_.splice(blocks_.begin(), blocks_, at);
      return blocks_.front();
    }
  }
  const i64 begin = number * kBlock, end = std::min(object.bytes, begin + (follows ? kAhead : 1) * kBlock);
  std::vector<char> data(static_cast<size_t>(end - begin));
  store_.get(key_, begin, data, object.etag);
  std::vector<BlockRef> made;
  for (i64 at = begin; at < end; at += kBlock) {
    const auto first = data.begin() + (at - begin), last = data.begin() + (std::min(end, at + kBlock) - begin);
    made.push_back(std::make_shared<const Block>(Block{at / kBlock, {first, last}}));
  }
  std::lock_guard lock(mutex_);
  if (is_known(object)) {
    for (auto at = made.rbegin(); at != made.rend(); ++at) blocks_.push_front(*at);
    while (static_cast<i64>(blocks_.size()) > kMostBlocks) blocks_.pop_back();
  }
  return made.front();
}

void Reader::read_of(const Object& object, i64 offset, std::span<char> into) {
  if (!copy_kept(object, offset, into)) store_.get(key_, offset, into, object.etag);
}

bool Reader::copy_kept(const Object& object, i64 offset, std::span<char> into) {
  std::lock_guard lock(mutex_);
  const bool kept = is_known(object) && object.bytes <= kBlock && !blocks_.empty();
  if (kept) std::memcpy(into.data(), blocks_.front()->data.data() + offset, into.size());
  return kept;
}

void Reader::read(i64 offset, std::span<char> into) {
  const Object there = object();
  // The caller may have asked for its size before another thread looked anew.
  if (!there.exists) throw Failure(ESTALE, "s3: the object has been deleted");
  if (offset > there.bytes - static_cast<i64>(into.size())) throw Failure(ESTALE, "s3: the object has become shorter");
  if (copy_kept(there, offset, into)) return;
  if (static_cast<i64>(into.size()) >= kLong) return read_long(there, offset, into);
  for (size_t at = 0; at < into.size();) {
    const i64 from = offset + static_cast<i64>(at), inside = from % kBlock;
    const BlockRef found = block(there, from / kBlock);
    const size_t bytes = std::min(into.size() - at, found->data.size() - static_cast<size_t>(inside));
    std::memcpy(into.data() + at, found->data.data() + inside, bytes);
    at += bytes;
  }
}

}  // namespace mercutio_s3
