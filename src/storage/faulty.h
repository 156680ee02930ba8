// A storage that fails when told to: for the tests of everything above.
#pragma once

#include <atomic>
#include <memory>

#include "storage/storage.h"

namespace mercutio {

enum FaultKind : unsigned {
  kFaultRead = 1,
  kFaultWrite = 2,
  kFaultSize = 4,
  kFaultSetSize = 8,
  kFaultPreallocate = 16,
  kFaultSync = 32,
  kFaultClose = 64,
  kFaultLock = 128,
  kFaultUnlock = 256,   // those whose outcome is asked for
  kFaultAll = 511,
};

// One plan may be shared by several storages, which then count together. Fields but `seen` are set before the first
// use.
struct FaultPlan {
  std::atomic<i64> seen{0};    // operations of the chosen kinds so far; a started transfer counts when it starts
  i64 fail_at = -1;            // the operation that fails, from 0; -1: none
  bool from_then_on = false;   // and all that follow it
  unsigned kinds = kFaultAll;  // those that count and may fail
  Error error{ErrorClass::kIo, "failed on purpose", 5};
  i64 short_read_bytes = -1;    // >= 0: a read moves this much, as if the file ended, instead of failing
  i64 partial_write_bytes = 0;  // a write moves this much before it fails
};

std::unique_ptr<Storage> make_faulty(std::unique_ptr<Storage> inner, std::shared_ptr<FaultPlan> plan);

}  // namespace mercutio
