// Reserve: memory held back for allocations that must not fail, because other ranks wait for this one.
//
// A rank that runs out of memory in the middle of a collective call cannot leave it: the others wait for its messages. So a
// rank takes part only if its process holds the whole reserve; otherwise it joins with an Error. If an allocation fails later,
// one block of the reserve is returned to the system and the allocation is tried again. After the last block it is still tried some
// more times, as other threads and processes give memory back, too. Code that needs buffers larger than the largest block can do
// without them.
//
// The reserve costs address space but no memory, as its blocks are never written. Successful allocations cost nothing extra.
#pragma once

#include <utility>

#include "base/result.h"

namespace mercutio {

// Completes the reserve of the process. An Error of class kNoMem if that is not possible now.
Status hold_reserve();

// During its lifetime, allocations of this thread may use the reserve.
class UsesReserve {
 public:
  UsesReserve() : mine_(of_this_thread()) {
    ++mine_.depth;
    mine_.tries = kTries;
  }
  ~UsesReserve() { --mine_.depth; }
  UsesReserve(const UsesReserve&) = delete;
  UsesReserve& operator=(const UsesReserve&) = delete;
  static bool here() { return of_this_thread().depth > 0; }
  // Whether an allocation is to be tried once more without a block. Each of these objects permits it kTries times from its begin on.
  static bool tries_again() { return of_this_thread().tries-- > 0; }
  static constexpr int kTries = 1000;

 private:
  friend class SparesReserve;
  struct Uses {
    int depth = 0, tries = 0;
  };
  static Uses& of_this_thread();   // looked up once, which takes nanoseconds in a library that is loaded late
  Uses& mine_;
};

// The opposite: for allocations whose failure the caller can handle.
class SparesReserve {
 public:
  SparesReserve() : depth_(std::exchange(UsesReserve::of_this_thread().depth, 0)) {}
  ~SparesReserve() { UsesReserve::of_this_thread().depth = depth_; }
  SparesReserve(const SparesReserve&) = delete;
  SparesReserve& operator=(const SparesReserve&) = delete;

 private:
  const int depth_;
};

}  // namespace mercutio
