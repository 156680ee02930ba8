// The kept writes of a cache. A request is filling (only the last one, and only where writes are joined), under way, done, or failed. A
// failed one waits to begin again (CachePolicy::keeps_failed), or is dropped. No two requests overlap, except parts of one write.
// Calls that return a Status return the Error of a request that failed and is kept.
#pragma once

#include <atomic>
#include <deque>
#include <optional>

#include "storage/cached_file.h"

namespace mercutio {

// For one thread at a time, except empty().
class WriteBehind {
 public:
  explicit WriteBehind(CachedFile& file) : file_(file), policy_(file.policy) {}

  bool joins() const { return policy_.join_bytes > 0; }
  bool takes(std::span<const IoPiece> pieces, i64 bytes);   // whether to keep it; call it once for each write
  bool has_room(i64 bytes) const {
    const bool fits = bytes_ + std::max(bytes, policy_.join_bytes) <= policy_.write_bytes;
    return writes_.empty() || (fits && writes_.size() < kMostRequests);
  }
  Result<i64> keep(std::span<const IoPiece> pieces, i64 bytes);   // waits for room
  Status begin();                                                 // nothing is filling afterwards
  Status finish_done();
  Status wait_for_overlaps(std::span<const IoPiece> pieces);
  Status drain();
  Status finish_all();                                            // also returns the Error of a dropped write, once
  void discard() { writes_.clear(); }
  bool empty() const { return empty_; }

 private:
  static constexpr size_t kMostRequests = 1024;
  bool fills() const { return joins() && !writes_.empty() && !writes_.back().transfer; }
  bool overlaps_requests() const { return policy_.write_bytes > policy_.join_bytes; }   // there is memory for several
  Status make_room(std::span<const IoPiece> pieces, i64 bytes);
  Status finish_oldest();
  CacheBuffer memory_for(i64 bytes);

  CachedFile& file_;
  const CachePolicy& policy_;
  std::atomic<bool> empty_{true};
  std::deque<CacheRequest> writes_;
  std::deque<CacheBuffer> spare_;   // is used again, because new pages cost as much as a copy
  SequentialRun sequential_;
  i64 bytes_ = 0, spare_bytes_ = 0;
  i64 oldest_ns_ = 0;          // of what is filling
  i64 calls_ = 0;              // not yet recorded
  std::optional<Error> error_;   // the first one of writes that were dropped
};

}  // namespace mercutio
