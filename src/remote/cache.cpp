#include "remote/cache.h"

#include <algorithm>

namespace mercutio::remote {
namespace {

constexpr size_t kMostJobs = 1024;
constexpr i64 kLongestStreak = 64;
constexpr i64 kPageBytes = 16 * KiB;
constexpr i64 kMostSmall = 2 * KiB;              // maximum size of a read that a page may serve
constexpr size_t kMostPages = 64, kMostTouched = 16;
constexpr i64 kLeastAhead = 1 * MiB;
constexpr i64 kSmallestChunk = 128 * KiB, kLargestChunk = 1 * MiB;

}  // namespace

void WriteBehind::add(Session& session, const std::shared_ptr<TransferJob>& job) {
  std::lock_guard guard(mutex_);
  reap();
  while (!jobs_.empty() && (jobs_.size() >= kMostJobs || bytes_ + job->bytes() > limit_bytes_)) wait_for_oldest();
  job->own_data(memory_for(job->bytes()));
  jobs_.push_back(job);
  bytes_ += job->bytes();
  session.submit(job);
}

bool WriteBehind::has_room(i64 bytes) {
  std::lock_guard guard(mutex_);
  reap();
  return jobs_.size() < kMostJobs && bytes_ + bytes <= limit_bytes_;
}

void WriteBehind::reap() {
  while (!jobs_.empty() && jobs_.front()->done()) wait_for_oldest();
}

// The session releases a job some time after it is done.
Buffer WriteBehind::memory_for(i64 bytes) {
  const auto fitting = std::find_if(spare_.begin(), spare_.end(), [&](const auto& job) {
    return job.use_count() == 1 && job->data().capacity() >= static_cast<size_t>(bytes);
  });
  if (fitting == spare_.end()) return {};
  Buffer memory = (*fitting)->release_data();
  spare_bytes_ -= (*fitting)->bytes();
  spare_.erase(fitting);
  return memory;
}

void WriteBehind::wait_for_overlaps(i64 first, i64 last) {
  std::lock_guard guard(mutex_);
  if (std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& job) { return job->overlaps(first, last); })) drain();
}

Status WriteBehind::finish() {
  std::lock_guard guard(mutex_);
  drain();
  if (!error_) return ok_status();
  return *std::exchange(error_, std::nullopt);
}

void WriteBehind::finish_quietly() {
  std::lock_guard guard(mutex_);
  drain();
}

void WriteBehind::drain() {
  while (!jobs_.empty()) wait_for_oldest();
}

void WriteBehind::wait_for_oldest() {
  std::shared_ptr<TransferJob> job = std::move(jobs_.front());
  jobs_.pop_front();
  const Result<i64> moved = job->wait();
  if (!moved && !error_) error_ = moved.error();
  bytes_ -= job->bytes();
  spare_bytes_ += job->bytes();
  spare_.push_back(std::move(job));
  for (; spare_bytes_ > limit_bytes_; spare_.pop_front()) spare_bytes_ -= spare_.front()->bytes();
}

namespace {

i64 page_of(i64 offset) {
  return offset / kPageBytes * kPageBytes;
}

// The page that contains all pieces; -1: there is none, or the pieces are too large.
i64 common_page(std::span<const IoPiece> pieces) {
  if (pieces.empty() || pieces.front().offset < 0) return -1;
  const i64 page = page_of(pieces.front().offset);
  i64 bytes = 0;
  for (const IoPiece& piece : pieces) {
    bytes += piece.bytes;
    if (piece.bytes < 0 || piece.offset < page || piece.offset + piece.bytes > page + kPageBytes) return -1;
  }
  return bytes > 0 && bytes <= kMostSmall ? page : -1;
}

}  // namespace

bool Pages::read(std::span<const IoPiece> pieces) {
  std::lock_guard guard(mutex_);
  const i64 begin = pages_.empty() ? -1 : common_page(pieces);
  const auto page = begin < 0 ? pages_.end() : std::find_if(pages_.begin(), pages_.end(), [&](const Page& known) { return known.begin == begin; });
  if (page == pages_.end()) return false;
  if (std::any_of(pieces.begin(), pieces.end(), [&](const IoPiece& piece) { return piece.offset + piece.bytes > page->end(); })) return false;
  for (const IoPiece& piece : pieces) std::memcpy(piece.data, page->bytes.data() + (piece.offset - begin), static_cast<size_t>(piece.bytes));
  return true;
}

Pages::Range Pages::wanted(std::span<const IoPiece> pieces) {
  std::lock_guard guard(mutex_);
  const i64 begin = common_page(pieces);
  if (begin < 0) return {};
  std::erase_if(pages_, [&](const Page& page) { return page.begin == begin; });   // the cached page ends before the requested bytes
  const auto known = std::find(touched_.begin(), touched_.end(), begin);
  if (known != touched_.end()) {
    touched_.erase(known);
    return {begin, begin + kPageBytes, changes_};
  }
  touched_.push_back(begin);
  if (touched_.size() > kMostTouched) touched_.pop_front();
  return {};
}

void Pages::keep(const Range& range, Buffer bytes) {
  std::lock_guard guard(mutex_);
  if (range.changes != changes_) return;
  if (pages_.size() >= kMostPages) pages_.pop_front();
  pages_.push_back({range.begin, std::move(bytes)});
}

void Pages::wrote(std::span<const IoPiece> pieces) {
  std::lock_guard guard(mutex_);
  ++changes_;
  for (const IoPiece& piece : pieces) patch(piece);
}

// Updates cached pages with written data. A page that the data extends is extended; a page in which it would leave a gap is
// removed.
void Pages::patch(const IoPiece& piece) {
  const i64 end = piece.offset + piece.bytes;
  std::erase_if(pages_, [&](Page& page) {
    const i64 from = std::max(piece.offset, page.begin), to = std::min(end, page.begin + kPageBytes);
    if (from >= to) return false;
    if (from > page.end()) return true;
    if (to > page.end()) page.bytes.resize(static_cast<size_t>(to - page.begin));
    std::memcpy(page.bytes.data() + (from - page.begin), piece.data + (from - piece.offset), static_cast<size_t>(to - from));
    return false;
  });
}

void Pages::forget() {
  std::lock_guard guard(mutex_);
  ++changes_;
  pages_.clear();
  touched_.clear();
}

// Whether the pieces continue the last read, in ascending order without gaps.
bool ReadAhead::goes_on(std::span<const IoPiece> pieces) {
  const i64 begin = pieces.empty() ? -1 : pieces.front().offset;
  i64 at = begin;
  bool in_order = true;
  for (const IoPiece& piece : pieces) {
    in_order = in_order && piece.offset == at && piece.bytes > 0;
    at = piece.offset + piece.bytes;
  }
  const bool follows = in_order && begin == next_ && begin >= 0;
  next_ = in_order ? at : -1;
  streak_ = follows ? streak_ + 1 : 0;
  if (follows) return streak_ >= wanted_streak_;
  drop();
  return false;
}

void ReadAhead::drop() {
  if (!chunks_.empty()) wanted_streak_ = std::min(kLongestStreak, 2 * wanted_streak_);
  chunks_.clear();
  ahead_bytes_ = streak_ = 0;
}

bool ReadAhead::serves(std::span<const IoPiece> pieces) {
  std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard) return false;
  MERCUTIO_HELD(mutex_);
  return !chunks_.empty() && !pieces.empty() && pieces.front().offset == next_;
}

bool ReadAhead::ask(Session& session, u64 handle, i64 from, i64 to) {
  const i64 chunk = std::clamp(ahead_bytes_ / 8, kSmallestChunk, kLargestChunk);
  for (i64 at = from; at < to; at += chunk) {
    Result<Shape> shape = Shape::of({IoPiece{at, nullptr, chunk}});
    if (!shape) return at > from;
    auto job = std::make_shared<TransferJob>(Direction::kRead, handle, std::move(*shape));
    job->own_data({});
    session.submit(job);
    chunks_.push_back({at, at + chunk, std::move(job)});
  }
  return true;
}

bool ReadAhead::copy(const IoPiece& piece) {
  for (i64 done = 0; done < piece.bytes;) {
    const i64 at = piece.offset + done;
    while (!chunks_.empty() && chunks_.front().end <= at) {
      chunks_.pop_front();
      wanted_streak_ = kFirstStreak;   // the data read in advance was used
    }
    if (chunks_.empty() || chunks_.front().begin > at) return false;
    const Chunk& chunk = chunks_.front();
    const Result<i64> got = chunk.job->wait();
    if (!got || *got < chunk.end - chunk.begin) return false;   // possibly the end of the file: read again
    const i64 bytes = std::min(piece.bytes - done, chunk.end - at);
    std::memcpy(piece.data + done, chunk.job->data().data() + (at - chunk.begin), static_cast<size_t>(bytes));
    done += bytes;
  }
  return true;
}

std::optional<i64> ReadAhead::read(Session& session, u64 handle, std::span<const IoPiece> pieces) {
  std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard) return std::nullopt;
  MERCUTIO_HELD(mutex_);
  if (!goes_on(pieces)) return std::nullopt;
  const i64 begin = pieces.front().offset, end = next_;
  if (end - begin > limit_bytes_) return std::nullopt;
  ahead_bytes_ = std::min(limit_bytes_, std::max({4 * ahead_bytes_, 4 * (end - begin), kLeastAhead}));
  if (!chunks_.empty() && (chunks_.front().begin > begin || chunks_.back().end < begin)) chunks_.clear();
  const i64 asked = chunks_.empty() ? begin : chunks_.back().end;
  // Half of the limit is requested at a time, so that small reads do not request a chunk each.
  const bool low = asked < std::max(end, begin + ahead_bytes_ / 2);
  const bool served = (!low || ask(session, handle, asked, end + ahead_bytes_)) &&
                      std::all_of(pieces.begin(), pieces.end(), [this](const IoPiece& piece) {
                        MERCUTIO_HELD(mutex_);
                        return copy(piece);
                      });
  if (served) return end - begin;
  chunks_.clear();
  ahead_bytes_ = 0;
  streak_ = 0;
  return std::nullopt;
}

void ReadAhead::forget() {
  std::lock_guard guard(mutex_);
  drop();
}

void ReadAhead::forget(i64 first, i64 last) {
  std::lock_guard guard(mutex_);
  if (!chunks_.empty() && chunks_.front().begin < last && first < chunks_.back().end) drop();
}

}  // namespace mercutio::remote
