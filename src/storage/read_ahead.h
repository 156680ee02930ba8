// Data that a cache reads in advance of sequential reads, in chunks.
#pragma once

#include <deque>
#include <optional>

#include "storage/write_behind.h"

namespace mercutio {

// For one thread at a time.
class ReadAhead {
 public:
  ReadAhead(CachedFile& file, WriteBehind& writes) : file_(file), policy_(file.policy), writes_(writes), wanted_streak_(policy_.streak) {}

  std::optional<i64> read(std::span<const IoPiece> pieces, i64 bytes);   // nothing: the caller must read them itself
  bool passes(std::span<const IoPiece> pieces);   // a read that is not to be served; returns whether it continues the last one
  // Whether they continue the last read and data was requested in advance.
  bool serves(std::span<const IoPiece> pieces) const { return !chunks_.empty() && !pieces.empty() && pieces.front().offset == sequential_.next; }
  void forget();
  void forget(const CacheRange& range);   // if data of it was requested
  void discard() { chunks_.clear(), unwanted_.clear(); }

 private:
  void update_ahead(i64 bytes);
  bool ask(i64 begin, i64 end);
  bool copy(const IoPiece& piece);
  void finish(CacheRequest& read);
  void retire();
  void drop();

  CachedFile& file_;
  const CachePolicy& policy_;
  WriteBehind& writes_;
  std::deque<CacheRequest> chunks_;     // ascending, without gaps
  std::deque<CacheRequest> unwanted_;   // chunks that were dropped while they were under way: their memory is in use
  SequentialRun sequential_;
  i64 wanted_streak_;              // longer after data that was read in advance was not used
  i64 ahead_bytes_ = 0;
  i64 calls_ = 0;                  // not yet recorded
  i64 served_to_ = 0, unused_bytes_ = 0;   // where the last read ended; bytes read in advance that were dropped
};

}  // namespace mercutio
