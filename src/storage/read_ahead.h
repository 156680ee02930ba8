// Data that a cache reads in advance of sequential reads, in chunks. With pipelining (CachePolicy::pipelined) also of runs of about one
// length at equal distances, backwards, as dask reads the chunks of an array, or with gaps. A run is a large read, or several that follow
// each other, as a kernel divides it. Then several threads may take turns in any order, and other reads may come between: what was
// requested stays until it is used, or others need its place.
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
  void passes(std::span<const IoPiece> pieces);         // a read that is not to be served
  bool serves(std::span<const IoPiece> pieces) const;   // whether all of them were requested, or follow the last request of a sequential run
  CacheRange requested() const;   // from the first to the last byte of what was requested and not used
  void forget();
  void forget(const CacheRange& range);   // if data of it was requested
  void discard() { chunks_.clear(), dropped_.discard(), passed_ = 0; }

 private:
  static constexpr i64 kFewSteps = 1;   // number of times that a distance must repeat before runs are read in advance
  bool observe(std::span<const IoPiece> pieces);   // whether they continue the last read
  bool begins_steps(std::span<const IoPiece> pieces, i64 bytes) const;
  void update_ahead(i64 bytes);
  bool ask(i64 begin, i64 end);
  bool ask_sequential(i64 begin, i64 end);
  bool ask_steps(i64 begin);
  void request(i64 begin, i64 bytes);
  bool copy(std::span<const IoPiece> pieces);
  bool copy(const IoPiece& piece);
  size_t chunk_with(i64 offset) const;
  void finish(CacheRequest& read);
  void drop_passed();
  void retire();
  void drop();

  CachedFile& file_;
  const CachePolicy& policy_;
  WriteBehind& writes_;
  std::deque<CacheRequest> chunks_;   // in the order in which they were requested
  size_t passed_ = 0;                 // chunks_[0, passed_) were requested before the latest one that was used
  i64 last_begin_ = 0, last_end_ = 0;   // of the last request
  DroppedReads dropped_;
  SequentialRun sequential_;
  i64 last_run_ = -1, step_ = 0, steps_ = 0;      // where the last run begins, its distance from the one before, how often that was so
  i64 run_bytes_before_ = 0, longer_run_ = 0;     // the length of the run before, and of the longer one of the two before
  i64 run_step_ = 0, run_bytes_ = 0;              // distance and length of the runs that chunks were requested for; 0: they follow each other
  i64 unserved_ = 0;               // reads in a row
  i64 wanted_streak_, wanted_steps_ = kFewSteps;   // more after data that was read in advance was not used
  i64 ahead_bytes_ = 0;
  i64 calls_ = 0;                  // not yet recorded
  i64 unused_bytes_ = 0;           // read in advance and dropped
};

}  // namespace mercutio
