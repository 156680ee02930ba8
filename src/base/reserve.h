// Reserve: memory held back for allocations that must not fail, because other ranks wait for this one.
//
// A rank that runs out of memory in the middle of a collective call cannot leave it: the others wait for its messages. So a
// rank takes part only if its process holds the whole reserve; otherwise it joins with an Error. If an allocation fails later,
// one block of the reserve is returned to the system and the allocation is tried again. Code that needs buffers larger than
// the largest block can do without them.
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
  UsesReserve() : mine_(uses()) { ++mine_; }
  ~UsesReserve() { --mine_; }
  UsesReserve(const UsesReserve&) = delete;
  UsesReserve& operator=(const UsesReserve&) = delete;
  static bool here() { return uses() > 0; }

 private:
  friend class SparesReserve;
  static int& uses();   // of this thread: looked up once, which takes nanoseconds in a library that is loaded late
  int& mine_;
};

// The opposite: for allocations whose failure the caller can handle.
class SparesReserve {
 public:
  SparesReserve() : uses_(std::exchange(UsesReserve::uses(), 0)) {}
  ~SparesReserve() { UsesReserve::uses() = uses_; }
  SparesReserve(const SparesReserve&) = delete;
  SparesReserve& operator=(const SparesReserve&) = delete;

 private:
  const int uses_;
};

}  // namespace mercutio
