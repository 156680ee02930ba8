#include "storage/read_ahead.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace mercutio {
namespace {

constexpr i64 kSmallReadPart = 8;   // without pipelining, at most this part of what may be read in advance is small
constexpr i64 kAheadPart = 16;      // without pipelining, at most this part of what was read in a row is read in advance
constexpr i64 kLongestStreak = 64;
constexpr i64 kLeastAhead = 1 * MiB, kSmallestChunk = 128 * KiB, kLargestChunk = 1 * MiB;   // with pipelining
constexpr i64 kLeastStep = 32 * KiB;   // smaller reads are served from pages
constexpr i64 kPassedPart = 2;         // at most this part of what may be read in advance was passed over and may still be read

// The kernel may leave out the pages at the ends that it has.
bool are_similar(i64 one, i64 other) {
  return std::max(one, other) - std::min(one, other) <= std::max(one, other) / 8;
}

}  // namespace

bool ReadAhead::observe(std::span<const IoPiece> pieces) {
  const i64 bytes = sequential_.bytes;
  if (sequential_.continued_by(pieces)) return true;
  const i64 at = pieces.size() == 1 ? pieces.front().offset : -1;
  const i64 step = last_run_ < 0 || at < 0 ? 0 : at - last_run_;
  steps_ = step != 0 && step == step_ && are_similar(bytes, run_bytes_before_) ? steps_ + 1 : 0;
  longer_run_ = std::max(bytes, run_bytes_before_);
  run_bytes_before_ = bytes;
  step_ = step;
  last_run_ = at;
  return false;
}

void ReadAhead::passes(std::span<const IoPiece> pieces) {
  if (!observe(pieces) && !policy_.pipelined) drop();
}

size_t ReadAhead::chunk_with(i64 offset) const {
  const auto holds = [&](const CacheRequest& chunk) { return chunk.range.first <= offset && offset < chunk.range.last; };
  return static_cast<size_t>(std::find_if(chunks_.begin(), chunks_.end(), holds) - chunks_.begin());
}

CacheRange ReadAhead::requested() const {
  if (chunks_.empty()) return {};
  CacheRange range = chunks_.front().range;
  for (const CacheRequest& chunk : chunks_) range = {std::min(range.first, chunk.range.first), std::max(range.last, chunk.range.last)};
  return range;
}

bool ReadAhead::serves(std::span<const IoPiece> pieces) const {
  if (chunks_.empty()) return false;
  i64 requested = last_end_;
  return std::all_of(pieces.begin(), pieces.end(), [&](const IoPiece& piece) {
    i64 at = piece.offset;
    while (at < piece.offset + piece.bytes) {
      if (run_step_ == 0 && at == requested) {
        requested = piece.offset + piece.bytes;
        return true;
      }
      const size_t chunk = chunk_with(at);
      if (chunk == chunks_.size()) return false;
      at = chunks_[chunk].range.last;
    }
    return true;
  });
}

bool ReadAhead::begins_steps(std::span<const IoPiece> pieces, i64 bytes) const {
  const bool fits = longer_run_ >= kLeastStep && 2 * longer_run_ <= policy_.read_bytes && bytes <= longer_run_;
  return policy_.pipelined && pieces.size() == 1 && fits && steps_ >= wanted_steps_;
}

std::optional<i64> ReadAhead::read(std::span<const IoPiece> pieces, i64 bytes) {
  const bool served = serves(pieces), continued = observe(pieces);
  if (!continued && !policy_.pipelined) drop();
  const bool small = bytes <= policy_.read_bytes / (policy_.pipelined ? 1 : kSmallReadPart);
  if (!served || (!continued && !policy_.pipelined)) {
    ++unserved_;
    const i64 streak = policy_.pipelined && !chunks_.empty() ? std::min(unserved_, sequential_.length) : sequential_.length;
    const bool sequential = continued && small && streak > wanted_streak_;
    if (!sequential && (continued || !begins_steps(pieces, bytes))) return std::nullopt;
    policy_.pipelined ? drop() : retire();
    run_step_ = sequential ? 0 : step_;
    run_bytes_ = longer_run_;
  }
  unserved_ = 0;
  if (!small || !ask(range_of(pieces).first, range_of(pieces).last)) return std::nullopt;
  if (!copy(pieces)) {
    retire();   // the end of the file, or an Error: the caller will see it
    sequential_.length = steps_ = ahead_bytes_ = 0;
    return std::nullopt;
  }
  file_.count(calls_);
  return bytes;
}

// How much is asked for in advance of a read of so many bytes.
void ReadAhead::update_ahead(i64 bytes) {
  ahead_bytes_ = policy_.pipelined ? std::max({4 * ahead_bytes_, 4 * bytes, kLeastAhead}) : sequential_.bytes / kAheadPart;
  ahead_bytes_ = std::min(ahead_bytes_, policy_.read_bytes);
}

bool ReadAhead::ask(i64 begin, i64 end) {
  update_ahead(end - begin);
  if (end > std::numeric_limits<i64>::max() - 2 * std::max(policy_.read_bytes, kLargestChunk)) return false;   // no file is so long
  return run_step_ == 0 ? ask_sequential(begin, end) : ask_steps(begin);
}

// Asks for what is missing of [begin, end), and for more. With pipelining half of what is wanted is asked for at a time, so that small
// reads do not ask for a chunk each. False: it is not worth it, or could not be asked.
bool ReadAhead::ask_sequential(i64 begin, i64 end) {
  const i64 asked = chunks_.empty() ? begin : last_end_;
  if (asked >= std::max(end, policy_.pipelined ? begin + ahead_bytes_ / 2 : 0)) return true;
  if (!policy_.pipelined && asked == begin && ahead_bytes_ < 2 * (end - begin)) return false;
  if (!writes_.drain()) return false;   // writes may lie in what is read now
  const i64 to = policy_.pipelined ? end + ahead_bytes_ : std::max(end, asked + ahead_bytes_);
  const i64 chunk = policy_.pipelined ? std::clamp(ahead_bytes_ / 8, kSmallestChunk, kLargestChunk) : to - asked;
  for (i64 at = asked; at < to; at += chunk) request(at, chunk);
  return true;
}

// False: it could not ask.
bool ReadAhead::ask_steps(i64 begin) {
  const i64 wanted = ahead_bytes_ / run_bytes_;
  if ((chunks_.empty() || static_cast<i64>(chunks_.size() - passed_) < wanted) && !writes_.drain()) return false;
  if (chunks_.empty()) request(begin, run_bytes_);
  i64 at = last_begin_;
  while (static_cast<i64>(chunks_.size() - passed_) < wanted) {
    if (__builtin_add_overflow(at, run_step_, &at) || at < 0 || at > std::numeric_limits<i64>::max() - run_bytes_) break;
    request(at, run_bytes_);
  }
  return true;
}

void ReadAhead::request(i64 begin, i64 bytes) {
  CacheRequest read;
  read.memory.data = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
  read.bytes = bytes;
  read.pieces = {{begin, read.memory.data.get(), bytes}};
  read.range = range_of(read.pieces);
  read.transfer = file_.begin(Direction::kRead, read, policy_.pipelined);
  chunks_.push_back(std::move(read));
  last_begin_ = begin;
  last_end_ = begin + bytes;
}

void ReadAhead::finish(CacheRequest& read) {
  if (!read.transfer) return;
  const Result<i64> got = read.transfer->wait();
  read.transfer.reset();
  read.bytes = got ? *got : 0;
  file_.record(TraceKind::kStorageRead, read, read.bytes);
}

bool ReadAhead::copy(std::span<const IoPiece> pieces) {
  const bool copied = std::all_of(pieces.begin(), pieces.end(), [&](const IoPiece& piece) { return copy(piece); });
  drop_passed();
  return copied;
}

bool ReadAhead::copy(const IoPiece& piece) {
  for (i64 done = 0; done < piece.bytes;) {
    const i64 at = piece.offset + done;
    const size_t which = chunk_with(at);
    if (which == chunks_.size()) return false;
    CacheRequest& chunk = chunks_[which];
    finish(chunk);
    const i64 bytes = std::min(piece.bytes - done, chunk.range.first + chunk.bytes - at);
    if (bytes <= 0) return false;
    std::memcpy(piece.data + done, chunk.memory.data.get() + (at - chunk.range.first), static_cast<size_t>(bytes));
    done += bytes;
    chunk.used += bytes;
    passed_ = std::max(passed_, which);
    if (2 * chunk.used >= chunk.bytes) {   // it was of use
      wanted_streak_ = policy_.streak;
      wanted_steps_ = kFewSteps;
    }
    if (chunk.used < chunk.bytes) continue;
    chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(which));
    passed_ -= which < passed_ ? 1 : 0;
  }
  return true;
}

// The oldest ones of those that were passed over, if they take too much memory.
void ReadAhead::drop_passed() {
  if (passed_ == 0) return;
  i64 bytes = 0;
  for (size_t i = 0; i < passed_; ++i) bytes += chunks_[i].range.last - chunks_[i].range.first;
  std::deque<CacheRequest> old;
  for (; bytes > policy_.read_bytes / kPassedPart; --passed_) {
    bytes -= chunks_.front().range.last - chunks_.front().range.first;
    old.push_back(std::move(chunks_.front()));
    chunks_.pop_front();
  }
  if (!old.empty()) dropped_.take(old, policy_.read_bytes);
}

void ReadAhead::retire() {
  for (const CacheRequest& chunk : chunks_) unused_bytes_ += chunk.transfer ? 0 : std::max<i64>(0, chunk.bytes - chunk.used);
  dropped_.take(chunks_, policy_.read_bytes);
  passed_ = 0;
}

// They were asked for in vain, if there are any.
void ReadAhead::drop() {
  if (!chunks_.empty()) {
    i64& wanted = run_step_ == 0 ? wanted_streak_ : wanted_steps_;
    wanted = std::min(kLongestStreak, 2 * wanted);
  }
  retire();
  ahead_bytes_ = 0;
}

void ReadAhead::forget(const CacheRange& range) {
  if (std::any_of(chunks_.begin(), chunks_.end(), [&](const CacheRequest& chunk) { return chunk.range.overlaps(range); })) forget();
}

void ReadAhead::forget() {
  if (!chunks_.empty()) sequential_.length = 0;
  drop();
  file_.record_calls(TraceKind::kAbsorbedRead, calls_, std::exchange(unused_bytes_, 0));
}

}  // namespace mercutio
