// What the two halves of a cache share: requests that own their data, and the file they go to.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/cache.h"

namespace mercutio {

inline constexpr std::string_view kKeptUntilNow = " (data of earlier writes, kept in memory until now: mercutio_write_behind)";

// A run of accesses that follow each other.
struct SequentialRun {
  i64 next = -1;    // where the following one begins
  i64 length = 0;
  i64 bytes = 0;

  // Whether the pieces go on where the last ones ended, each behind the one before.
  bool continued_by(std::span<const IoPiece> pieces) {
    i64 at = pieces.empty() ? -1 : pieces.front().offset;
    const bool continues = at == next && at >= 0;
    bool in_order = true;
    for (const IoPiece& piece : pieces) {
      in_order = in_order && piece.offset == at;
      at = piece.offset + piece.bytes;
    }
    const i64 here = in_order && !pieces.empty() ? at - pieces.front().offset : 0;
    length = in_order ? (continues ? length + 1 : 1) : 0;
    bytes = continues ? bytes + here : here;
    next = in_order ? at : -1;
    return in_order && continues;
  }
};

// Counts one for as long as it lives.
class Counted {
 public:
  explicit Counted(std::atomic<i64>& count) : count_(&count) { ++count; }
  Counted(Counted&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  ~Counted() {
    if (count_) --*count_;
  }

 private:
  std::atomic<i64>* count_;
};

// A lock that is counted until it has been given back.
class CountedLock final : public HeldLock {
 public:
  CountedLock(Counted counted, std::unique_ptr<HeldLock> held) : counted_(std::move(counted)), held_(std::move(held)) {}
  Status release() override { return held_->release(); }

  // What take() returns.
  template <class Take>
  static Result<std::unique_ptr<HeldLock>> of(Counted counted, Take take) {
    Result<std::unique_ptr<HeldLock>> held = take();
    if (!held || !*held) return held;
    return std::unique_ptr<HeldLock>(std::make_unique<CountedLock>(std::move(counted), std::move(*held)));
  }

 private:
  const Counted counted_;
  const std::unique_ptr<HeldLock> held_;
};

struct CacheBuffer {
  std::unique_ptr<std::byte[]> data;
  i64 capacity = 0;
};

// The file range of all pieces.
struct CacheRange {
  i64 first = INT64_MAX, last = 0;

  void add(const IoPiece& piece) {
    first = std::min(first, piece.offset);
    last = std::max(last, piece.offset + piece.bytes);
  }
  bool overlaps(const CacheRange& other) const { return first < other.last && other.first < last; }
};

inline CacheRange range_of(std::span<const IoPiece> pieces) {
  CacheRange range;
  for (const IoPiece& piece : pieces) range.add(piece);
  return range;
}

struct CacheRequest {
  CacheBuffer memory;                         // must outlive the transfer: it is declared first
  i64 bytes = 0;                         // in the memory
  CacheRange range;
  std::vector<IoPiece> pieces;
  std::unique_ptr<Transfer> transfer;    // null: has not begun, failed, or is a read that is done
  i64 start_ns = 0;
  i64 used = 0;                          // bytes of a read that reached a caller
};

// Reads in advance that were dropped while they were under way: until they end, their memory is in use.
class DroppedReads {
 public:
  // Takes those of `reads` that are under way. Waits for the oldest ones if all of them together have more than `most` bytes.
  void take(std::deque<CacheRequest>& reads, i64 most);
  void discard() { reads_.clear(); }

 private:
  std::deque<CacheRequest> reads_;
};

// Used by one thread at a time.
struct CachedFile {
  Storage& storage;
  const CachePolicy policy;
  CacheStats stats = {};
  TraceSink* sink = nullptr;

  void count(i64& calls) {
    ++calls;
    stats.calls.fetch_add(1, std::memory_order_relaxed);
  }
  std::unique_ptr<Transfer> begin(Direction direction, CacheRequest& request, bool asynchronous);
  void record(TraceKind kind, const CacheRequest& request, i64 moved);
  void record_calls(TraceKind kind, i64& calls, i64 unused_bytes = 0);
};

}  // namespace mercutio
