#include "storage/read_ahead.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace mercutio {
namespace {

constexpr i64 kSmallReadPart = 8;   // without pipelining, at most this part of what may be read in advance is small
constexpr i64 kAheadPart = 16;      // without pipelining, at most this part of what was read in a row is read in advance
constexpr i64 kLongestStreak = 64;
constexpr i64 kLeastAhead = 1 * MiB, kSmallestChunk = 128 * KiB, kLargestChunk = 1 * MiB;   // with pipelining

}  // namespace

bool ReadAhead::passes(std::span<const IoPiece> pieces) {
  const bool continued = sequential_.continued_by(pieces);
  if (!continued) drop();
  return continued;
}

std::optional<i64> ReadAhead::read(std::span<const IoPiece> pieces, i64 bytes) {
  if (!passes(pieces)) return std::nullopt;
  const bool small = bytes <= policy_.read_bytes / (policy_.pipelined ? 1 : kSmallReadPart);
  if (!small || sequential_.length <= wanted_streak_ || !ask(pieces.front().offset, sequential_.next)) return std::nullopt;
  for (const IoPiece& piece : pieces) {
    if (copy(piece)) continue;
    retire();   // the end of the file, or an Error: the caller will see it
    sequential_.length = ahead_bytes_ = 0;
    return std::nullopt;
  }
  served_to_ = sequential_.next;
  file_.count(calls_);
  return bytes;
}

// How much is asked for in advance of a read of so many bytes.
void ReadAhead::update_ahead(i64 bytes) {
  ahead_bytes_ = policy_.pipelined ? std::max({4 * ahead_bytes_, 4 * bytes, kLeastAhead}) : sequential_.bytes / kAheadPart;
  ahead_bytes_ = std::min(ahead_bytes_, policy_.read_bytes);
}

// Asks for what is missing of [begin, end), and for more. With pipelining half of what is wanted is asked for at a time, so that small
// reads do not ask for a chunk each. False: it is not worth it, or could not be asked.
bool ReadAhead::ask(i64 begin, i64 end) {
  update_ahead(end - begin);
  if (!chunks_.empty() && (chunks_.front().range.first > begin || chunks_.back().range.last < begin)) retire();
  const i64 asked = chunks_.empty() ? begin : chunks_.back().range.last;
  if (asked >= std::max(end, policy_.pipelined ? begin + ahead_bytes_ / 2 : 0)) return true;
  if (!policy_.pipelined && asked == begin && ahead_bytes_ < 2 * (end - begin)) return false;
  if (!writes_.drain()) return false;   // writes may lie in what is read now
  const i64 to = policy_.pipelined ? end + ahead_bytes_ : std::max(end, asked + ahead_bytes_);
  const i64 chunk = policy_.pipelined ? std::clamp(ahead_bytes_ / 8, kSmallestChunk, kLargestChunk) : to - asked;
  for (i64 at = asked; at < to; at += chunk) {
    CacheRequest read;
    read.memory.data = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(chunk));
    read.bytes = chunk;
    read.pieces = {{at, read.memory.data.get(), chunk}};
    read.range = range_of(read.pieces);
    read.transfer = file_.begin(Direction::kRead, read, policy_.pipelined);
    chunks_.push_back(std::move(read));
  }
  return true;
}

void ReadAhead::finish(CacheRequest& read) {
  if (!read.transfer) return;
  const Result<i64> got = read.transfer->wait();
  read.transfer.reset();
  read.bytes = got ? *got : 0;
  file_.record(TraceKind::kStorageRead, read, read.bytes);
}

bool ReadAhead::copy(const IoPiece& piece) {
  for (i64 done = 0; done < piece.bytes;) {
    const i64 at = piece.offset + done;
    for (; !chunks_.empty() && chunks_.front().range.last <= at; chunks_.pop_front()) wanted_streak_ = policy_.streak;   // it was of use
    if (chunks_.empty() || chunks_.front().range.first > at) return false;
    CacheRequest& chunk = chunks_.front();
    finish(chunk);
    const i64 bytes = std::min(piece.bytes - done, chunk.range.first + chunk.bytes - at);
    if (bytes <= 0) return false;
    std::memcpy(piece.data + done, chunk.memory.data.get() + (at - chunk.range.first), static_cast<size_t>(bytes));
    done += bytes;
  }
  return true;
}

// Their memory is in use as long as they are under way. At most as much as is read in advance stays so.
void ReadAhead::retire() {
  i64 bytes = 0;
  for (CacheRequest& chunk : chunks_) {
    unused_bytes_ += chunk.transfer ? 0 : std::max<i64>(0, chunk.range.first + chunk.bytes - std::max(served_to_, chunk.range.first));
    if (chunk.transfer) unwanted_.push_back(std::move(chunk));
  }
  chunks_.clear();
  std::erase_if(unwanted_, [](const CacheRequest& read) { return read.transfer->done(); });
  for (const CacheRequest& read : unwanted_) bytes += read.bytes;
  for (; bytes > policy_.read_bytes; unwanted_.pop_front()) bytes -= unwanted_.front().bytes;
}

// They were asked for in vain, if there are any.
void ReadAhead::drop() {
  if (!chunks_.empty()) wanted_streak_ = std::min(kLongestStreak, 2 * wanted_streak_);
  retire();
  ahead_bytes_ = 0;
}

void ReadAhead::forget(const CacheRange& range) {
  if (!chunks_.empty() && CacheRange{chunks_.front().range.first, chunks_.back().range.last}.overlaps(range)) forget();
}

void ReadAhead::forget() {
  if (!chunks_.empty()) sequential_.length = 0;
  drop();
  file_.record_calls(TraceKind::kAbsorbedRead, calls_, std::exchange(unused_bytes_, 0));
}

}  // namespace mercutio
