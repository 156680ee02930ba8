// The client's cache of a remote file, so that not every call waits for a round trip: write-behind (writes return before they are
// executed) and read-ahead. It is active buffering (Ma et al. 2003) without a second copy of the data on the server. The file
// decides, by MPI's rules of consistency, when either is allowed.
#pragma once

#include <deque>

#include "base/thread_annotations.h"
#include "remote/session.h"

namespace mercutio::remote {

// Writes in flight, at most `limit_bytes` of them, each with a copy of its data. An access that overlaps one of them waits for all
// of them.
class WriteBehind {
 public:
  explicit WriteBehind(i64 limit_bytes) : limit_bytes_(limit_bytes) {}

  bool takes(i64 bytes) const { return bytes <= limit_bytes_; }
  bool has_room(i64 bytes);                                              // whether add() would not wait
  void add(Session& session, const std::shared_ptr<TransferJob>& job);   // waits for room
  void wait_for_overlaps(i64 first, i64 last);
  Status finish();           // waits for all; returns the error of a failed one, once
  void finish_quietly();

 private:
  void drain() MERCUTIO_REQUIRES(mutex_);
  void reap() MERCUTIO_REQUIRES(mutex_);
  void wait_for_oldest() MERCUTIO_REQUIRES(mutex_);
  Buffer memory_for(i64 bytes) MERCUTIO_REQUIRES(mutex_);

  const i64 limit_bytes_;
  std::mutex mutex_;
  std::deque<std::shared_ptr<TransferJob>> jobs_ MERCUTIO_GUARDED_BY(mutex_);
  i64 bytes_ MERCUTIO_GUARDED_BY(mutex_) = 0, spare_bytes_ MERCUTIO_GUARDED_BY(mutex_) = 0;
  // Completed transfers. Their memory is reused, because new pages cost as much as a copy.
  std::deque<std::shared_ptr<TransferJob>> spare_ MERCUTIO_GUARDED_BY(mutex_);
  std::optional<Error> error_ MERCUTIO_GUARDED_BY(mutex_);
};

// A cache for small reads that are close together, in any order. The second read in a page fetches the page, which serves later
// ones. Writes of this process update it.
class Pages {
 public:
  bool read(std::span<const IoPiece> pieces);   // false: some of it is not cached
  // The range to fetch, if these pieces and the previous read lie in it; empty: none.
  struct Range {
    i64 begin = 0, end = 0;
    i64 changes = 0;   // the number of changes of the file by this process when the range was requested
  };
  Range wanted(std::span<const IoPiece> pieces);
  void keep(const Range& range, Buffer bytes);   // up to the end of the file; does nothing if the file has changed since the request
  void wrote(std::span<const IoPiece> pieces);
  void forget();

 private:
  struct Page {
    i64 begin = 0;
    Buffer bytes;
    i64 end() const { return begin + static_cast<i64>(bytes.size()); }
  };
  void patch(const IoPiece& piece) MERCUTIO_REQUIRES(mutex_);

  std::mutex mutex_;
  std::deque<Page> pages_ MERCUTIO_GUARDED_BY(mutex_);     // in the order they were fetched
  i64 changes_ MERCUTIO_GUARDED_BY(mutex_) = 0;
  std::deque<i64> touched_ MERCUTIO_GUARDED_BY(mutex_);    // begin offsets of the pages read last without being fetched
};

// Requests data in advance of sequential reads, up to `limit_bytes`.
class ReadAhead {
 public:
  explicit ReadAhead(i64 limit_bytes) : limit_bytes_(limit_bytes) {}

  // The bytes read. Nothing: the caller must read them itself.
  std::optional<i64> read(Session& session, u64 handle, std::span<const IoPiece> pieces);
  void forget();
  void forget(i64 first, i64 last);
  bool serves(std::span<const IoPiece> pieces);   // whether they continue the last read and data was requested in advance

 private:
  static constexpr i64 kFirstStreak = 1;           // number of sequential reads after which data is requested in advance
  struct Chunk {
    i64 begin, end;
    std::shared_ptr<TransferJob> job;
  };
  bool goes_on(std::span<const IoPiece> pieces) MERCUTIO_REQUIRES(mutex_);
  void drop() MERCUTIO_REQUIRES(mutex_);
  bool ask(Session& session, u64 handle, i64 from, i64 to) MERCUTIO_REQUIRES(mutex_);
  bool copy(const IoPiece& piece) MERCUTIO_REQUIRES(mutex_);

  const i64 limit_bytes_;
  std::mutex mutex_;
  std::deque<Chunk> chunks_ MERCUTIO_GUARDED_BY(mutex_);   // ascending, without gaps
  i64 next_ MERCUTIO_GUARDED_BY(mutex_) = -1;              // offset at which the next sequential read begins
  i64 streak_ MERCUTIO_GUARDED_BY(mutex_) = 0, ahead_bytes_ MERCUTIO_GUARDED_BY(mutex_) = 0;
  // Larger after data that was read in advance was not used.
  i64 wanted_streak_ MERCUTIO_GUARDED_BY(mutex_) = kFirstStreak;
};

}  // namespace mercutio::remote
