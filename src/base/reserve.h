// Reserve: memory kept back for the time when ranks wait for each other.
//
// In the middle of a collective call a rank can't leave because memory can't be had: the others wait for its messages.
// So a rank takes part only if the process holds the whole reserve; a rank that doesn't joins with an Error. From then
// on an allocation that fails is tried again after a block of the reserve has been given back to the system. Buffers
// larger than its largest block have ways of their own to do without.
//
// Costs address space, no memory: the blocks are never written. Nothing on the way of an allocation that succeeds.
#pragma once

#include <utility>

#include "base/result.h"

namespace mercutio {

// Takes what is missing of the process's reserve; an Error of class kNoMem: it can't be had now.
Status hold_reserve();

// While a thread has one of these, its allocations may use the reserve.
class UsesReserve {
 public:
  UsesReserve() { ++uses_; }
  ~UsesReserve() { --uses_; }
  UsesReserve(const UsesReserve&) = delete;
  UsesReserve& operator=(const UsesReserve&) = delete;
  static bool here() { return uses_ > 0; }

 private:
  friend class SparesReserve;
  static inline thread_local int uses_ = 0;
};

// The opposite, for memory that the caller can do without.
class SparesReserve {
 public:
  SparesReserve() : uses_(std::exchange(UsesReserve::uses_, 0)) {}
  ~SparesReserve() { UsesReserve::uses_ = uses_; }
  SparesReserve(const SparesReserve&) = delete;
  SparesReserve& operator=(const SparesReserve&) = delete;

 private:
  const int uses_;
};

}  // namespace mercutio
