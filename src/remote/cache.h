// The client's cache of a remote file, so that a program does not wait for a round trip in each call: writes that return before
// they are carried out, and reads that are carried out before they are requested (active buffering, Ma et al. 2003, without a
// second copy of the data on the server). The file decides by MPI's rules of consistency when either is allowed.
#pragma once

#include <deque>

#include "base/thread_annotations.h"
#include "remote/session.h"

namespace mercutio::remote {

// Writes under way, at most `limit_bytes` of them, each with a copy of its data. What overlaps one of them waits for all.
class WriteBehind {
 public:
  explicit WriteBehind(i64 limit_bytes) : limit_bytes_(limit_bytes) {}

  bool takes(i64 bytes) const { return bytes <= limit_bytes_; }
  bool has_room(i64 bytes);                                              // add() would not wait
  void add(Session& session, const std::shared_ptr<TransferJob>& job);   // waits for room
  void wait_for_overlaps(i64 first, i64 last);
  Status finish();           // waits for all; an error of one of them is told once
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
  // Done: their memory is used again, as fresh memory costs as much as a copy.
  std::deque<std::shared_ptr<TransferJob>> spare_ MERCUTIO_GUARDED_BY(mutex_);
  std::optional<Error> error_ MERCUTIO_GUARDED_BY(mutex_);
};

// Small reads near each other, in any order: the second one in a page brings the page, which serves those that follow. What this
// process writes there is written there, too.
class Pages {
 public:
  bool read(std::span<const IoPiece> pieces);   // false: not all of it is here
  // The range to ask for, as it holds these pieces and the one before lay there, too; empty: none.
  struct Range {
    i64 begin = 0, end = 0;
    i64 changes = 0;   // of the file by this process, when it was asked for
  };
  Range wanted(std::span<const IoPiece> pieces);
  void keep(const Range& range, Buffer bytes);   // as far as the file goes; not, if the file has changed meanwhile
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
  std::deque<Page> pages_ MERCUTIO_GUARDED_BY(mutex_);     // the one that was brought last stands last
  i64 changes_ MERCUTIO_GUARDED_BY(mutex_) = 0;
  std::deque<i64> touched_ MERCUTIO_GUARDED_BY(mutex_);    // where the latest pages begin that were read, not brought
};

// Reads that follow each other are asked for in advance, farther and farther up to `limit_bytes`.
class ReadAhead {
 public:
  explicit ReadAhead(i64 limit_bytes) : limit_bytes_(limit_bytes) {}

  // The bytes read; or nothing: it has to be read in the ordinary way.
  std::optional<i64> read(Session& session, u64 handle, std::span<const IoPiece> pieces);
  void forget();
  void forget(i64 first, i64 last);
  bool serves(std::span<const IoPiece> pieces);   // they follow the last ones, and something was asked for in advance

 private:
  static constexpr i64 kFirstStreak = 1;           // reads that followed another one, before the next are asked for
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
  i64 next_ MERCUTIO_GUARDED_BY(mutex_) = -1;              // where the following read begins
  i64 streak_ MERCUTIO_GUARDED_BY(mutex_) = 0, ahead_bytes_ MERCUTIO_GUARDED_BY(mutex_) = 0;
  // Longer where what was read in advance was of no use.
  i64 wanted_streak_ MERCUTIO_GUARDED_BY(mutex_) = kFirstStreak;
};

}  // namespace mercutio::remote
