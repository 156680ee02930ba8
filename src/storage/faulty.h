// A storage that injects failures, for the tests of everything above it.
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

// Several storages may share one plan and then count together. All fields except `seen` are set before the first use.
struct FaultPlan {
  std::atomic<i64> seen{0};    // operations of the chosen kinds so far; a started transfer counts when it starts
  i64 fail_at = -1;            // the operation that fails, from 0; -1: none
  bool from_then_on = false;   // all following ones fail, too
  unsigned kinds = kFaultAll;  // the kinds that are counted and may fail
  Error error{ErrorClass::kIo, "failed on purpose", 5};
  i64 short_read_bytes = -1;    // >= 0: instead of failing, a read returns this many bytes, as at end of file
  i64 partial_write_bytes = 0;  // a write moves this many bytes before it fails
};

std::unique_ptr<Storage> make_faulty(std::unique_ptr<Storage> inner, std::shared_ptr<FaultPlan> plan);

}  // namespace mercutio
