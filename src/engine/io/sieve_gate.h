// SieveGate: writes without range locks, as long as no rank of the open sieves. Inside engine/ and file/ only.
//
// A rank that sieves reads, merges and writes back bytes that other ranks may be writing. It holds an exclusive range lock for that, and others
// take a shared one for each write, which is two system calls more than the write. With a gate they lock only while some rank sieves:
//
//   a rank that writes      writing[me] += 1;  if sieving is 0, writes without a lock;  writing[me] -= 1
//                           otherwise:  writing[me] -= 1;  locks the range, writes, unlocks it
//   a rank that sieves      sieving += 1;  waits until it has seen each writing[i] at 0;  sieves under range locks;  sieving -= 1
//
// No write is lost. The increments, and the loads that follow them, are sequentially consistent. Either the rank that writes sees `sieving` and locks,
// or its increment precedes that of `sieving`. Then the rank that sieves sees it, and reads nothing before this write has ended. A rank that
// writes after the sieving has seen the decrement of `sieving`, which follows the last write-back. Range locks order all other cases.
//
// A gate is of one open, but opens on one communicator, or on congruent ones, share its counters: that costs them locks, and no bytes. Ranks of
// other opens don't see it, and need not: a rank sieves only while no other open has the file open for writing (Storage::exclude_other_writers),
// and an open for writing waits until such sieving is over.
//
// No rank waits without end. A rank that sieves gives up if another one writes for too long, or has died, and its pieces are then written as they
// are. A rank that has died while it sieved leaves the gate closed, and all others lock. Only short writes go through the gate: the lock of a long one
// costs little, and a rank that sieves would wait for it.
//
// The counters are in the memory of the node if one node holds all ranks. Where ranks share no memory there is no gate, and all writes lock. All ranks
// of a file have a gate, or none has. Cost: one atomic addition before and one after a write, on a cache line of the rank, and a load of a line
// that changes only when a rank sieves.
#pragma once

#include <memory>

#include "engine/agreement/node_arena.h"
#include "storage/blocking_detector.h"
#include "storage/storage.h"

namespace mercutio {

class SieveGate {
 public:
  // Null: this rank has the file alone, and only its threads are kept apart.
  explicit SieveGate(std::shared_ptr<NodeArena> arena) : arena_(std::move(arena)) {}

  // The right to write without a lock, as long as it lives.
  class Pass final : public HeldLock {
   public:
    // For a write of `bytes` of the file. `blocking`: of its storage; null: not known.
    Pass(SieveGate& gate, i64 bytes, const BlockingDetector* blocking);
    ~Pass() override;
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    bool given() const { return gate_ != nullptr; }   // false: some rank sieves, or the write may take long, so the range must be locked

   private:
    SieveGate* gate_;
  };

  // Closes the gate while the result lives, which keeps `kept` as well. Null: a write of another rank goes on for too long. Call it without a Pass.
  // `patiently`: a write under way may end.
  std::unique_ptr<HeldLock> close(std::unique_ptr<HeldLock> kept, bool patiently = true);

 private:
  class Closed;
  struct Own {   // in different cache lines, wherever it lies
    i64 writing = 0, apart[7] = {}, sieving = 0;
  };
  i64 ranks() const { return arena_ ? std::ssize(arena_->members()) : 1; }
  i64& writing(i64 member) { return arena_ ? arena_->writing(member) : own_.writing; }
  i64& my_writing() { return arena_ ? arena_->writing(arena_->my_index()) : own_.writing; }
  i64& sieving() { return arena_ ? arena_->sieving() : own_.sieving; }
  bool quiet(bool patiently);

  const std::shared_ptr<NodeArena> arena_;
  Own own_;
};

}  // namespace mercutio
