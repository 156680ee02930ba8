// Comm: what the engine needs of a message-passing library: ranks, nonblocking point-to-point messages, where ranks sit,
// and a shared counter. Collectives are built on top (engine/agreement/collectives.h), so that any number of operations can be in
// flight on one Comm: each has its own tag.
//
// Contract: messages between two ranks with the same tag arrive in the order sent. A receive names the exact length.
// Buffers live until test() returned true. An Error from test() ends the request. Calls come from one thread at a time
// per operation; several operations may run in several threads only if concurrent() is true.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "model/topology.h"

namespace mercutio {

class Message {
 public:
  virtual ~Message() = default;        // an unfinished message is cancelled or leaked, never waited for
  virtual Result<bool> test() = 0;     // true: complete
};

// A 64-bit counter all ranks share, such as the shared file pointer. Operations are atomic and need no help of other ranks.
class SharedCounter {
 public:
  virtual ~SharedCounter() = default;
  virtual Result<i64> fetch_add(i64 delta) = 0;
  virtual Result<i64> load() = 0;
  virtual Status store(i64 value) = 0;
  virtual bool sends() const { return false; }   // by calls of the message-passing library
  // A second counter of the same ranks, with whatever value it had last. Not collective. Null: there is none.
  virtual std::unique_ptr<SharedCounter> second() { return nullptr; }
};

// Memory that the ranks of a Comm share that sit on one node. Zero at first. It outlives the Comm and may serve another one
// over the same ranks later; `attached` is what its user on this rank keeps with it meanwhile.
class Segment {
 public:
  virtual ~Segment() = default;
  virtual std::byte* data() = 0;
  // Ends the backoff() of the node's i-th rank (ascending) after something it may wait for was written here.
  virtual void wake(i64 i) = 0;
  // The calling thread waits for a wake() of its rank and nothing else: its next backoff() may sleep long.
  virtual void expect_wake() {}
  // Whether each rank of the node has a core of its own. Then what it waits for comes sooner than it could be woken.
  virtual bool core_each() const { return false; }
  std::shared_ptr<void> attached;
};

// Address space a rank brings into a Segment; memory is spent where it is touched.
inline constexpr i64 kSegmentBytesPerRank = 20 * MiB;

// The pauses of threads that wait for a started access. They may be used when the Comm is gone.
class Pauses {
 public:
  struct Wait {
    i64 spins = 0;             // pauses without progress before this one
    bool may_call = false;     // this thread may call the message-passing library
    bool alone = true;         // nothing but this access has been driven since the last pause. Otherwise no wake-up is expected.
    i64 longest_ns = INT64_MAX;
  };
  virtual ~Pauses() = default;
  virtual void pause(const Wait& wait) = 0;
  virtual void poll_mpi() = 0;   // Comm::poll_mpi()
};

class Comm {
 public:
  virtual ~Comm() = default;
  virtual i64 rank() const = 0;
  virtual i64 size() const = 0;
  virtual Result<std::unique_ptr<Message>> send(i64 to, i64 tag, ConstBytes data) = 0;
  virtual Result<std::unique_ptr<Message>> receive(i64 from, i64 tag, Bytes data) = 0;
  // Tags 0..tags()-1 are this Comm's own (an open file's share of the underlying communicator).
  virtual i64 tags() const = 0;
  virtual const Topology& topology() const = 0;
  virtual std::string host() const = 0;
  virtual bool concurrent() const = 0;
  virtual std::string memory_kinds() const { return ""; }   // that messages may lie in (model/memory_kinds.h), if anybody says so
  // Collective. `folder`: of a file that all ranks have open, on rank 0; where a counter may lie that can't be in memory.
  virtual Result<std::unique_ptr<SharedCounter>> make_shared_counter(const std::string& folder) = 0;
  virtual Segment* segment() = 0;     // this node's; null, on all ranks: some node has none, or nodes have a rank each
  virtual void backoff(i64 spins) = 0;   // called when nothing moved for the `spins`-th time in a row: yields, then sleeps
  // Whether a rank is known to have died: collective operations that are under way can't end. Looks for dead ranks now and then, if
  // concurrent() or where this thread `may_call` the message-passing library.
  virtual bool failed(bool /*may_call*/) { return false; }
  // Lets the message-passing library get on, by a thread that waits for something else: another rank may need it.
  virtual void poll_mpi() {}
  // How threads pause that wait for a started access. Null: nothing better than to yield and sleep.
  virtual std::shared_ptr<Pauses> pauses() { return nullptr; }
};

// The Error of every collective operation of a Comm that has failed().
inline Error rank_died() {
  return Error{ErrorClass::kProcFailed, "a rank of the communicator has died; close the file and open it on a communicator without that rank"};
}

}  // namespace mercutio
