// The storage of a file whose writes others see after Storage::publish only (Coherence::kAfterPublish), as one rank uses it. It adds what
// MPI demands of every storage and such a one can't know by itself.
//
// Own writes. A rank reads what it has written, also without a sync. In a collective write other ranks move its bytes, so that a
// copy of them is kept here until they are published: most_own_bytes, counting the records. Beyond that a read of what may be among them
// is an error.
//
// Other opens. What a process has written through one open it reads through the others of the same file, and the last of its writes to one
// place counts (PublishedFiles). The driver sees to the bytes that it has, and this to those of `own writes`. A file of several ranks is
// published after what the process has written through opens of its own, so that it never gets older bytes back.
//
// Atomic mode. An access reads and publishes by itself, through an open that this rank has alone (`alone`), and under a lock that one
// rank holds at a time. Cost: an atomic access makes the file anew.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/thread_annotations.h"
#include "storage/turned.h"

namespace mercutio {

class Published : public Turned {
 public:
  explicit Published(std::unique_ptr<Storage> inner) : Turned(std::move(inner)) {}

  // What is written to this storage is only noted as this rank's own. It refers to the file.
  virtual std::unique_ptr<Storage> own_writes() = 0;
  // The end of an own write that can't be noted.
  virtual void note_end(i64 end) = 0;
  // Own writes in this range could not be noted. Until the next refresh a read there is an Error.
  virtual void lose_own(i64 begin, i64 end) = 0;

  // Whether this process has written the file through opens of its own, and they haven't published that. sync() makes them.
  virtual bool written_alone() = 0;

  // `alone` is null where the file is open on one rank only. Accesses of other threads may be under way.
  virtual void begin_atomic(std::unique_ptr<Storage> alone, TakeTurn take_turn) = 0;
  virtual Status end_atomic() = 0;
};

class PublishedFile;

// The open files of a process.
class PublishedFiles {
 public:
  void add(PublishedFile& file);
  void remove(PublishedFile& file);
  // Those of the same file. Calls of `visit` keep them from being closed.
  template <class Visit>
  void others(const PublishedFile& file, Visit visit);

 private:
  std::mutex mutex_;
  std::vector<PublishedFile*> files_ MERCUTIO_GUARDED_BY(mutex_);
};

struct PublishedOptions {
  i64 most_own_bytes = 64 * MiB;
  bool one_rank = false;             // the file is open on one rank, so that it publishes by itself
  PublishedFiles* files = nullptr;   // null: the other opens of the process don't matter
};

std::unique_ptr<Published> make_published(std::unique_ptr<Storage> inner, const PublishedOptions& options = {});

}  // namespace mercutio
