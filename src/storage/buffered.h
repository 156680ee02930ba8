// Write-behind and read-ahead: small accesses of one process that follow each other in the file are absorbed in a buffer and
// move as one request (the local stage of two-stage write-behind, Liao et al. 2007; active buffering, Ma et al. 2003).
//
// What is kept is seen by everything that goes through this object, and by others after flush(), sync() or close(): where
// that is enough, by MPI's rules of consistency (MPI 14.6.1), is for the file to know. An error of what was kept belongs to
// the call that has to write it out, at the latest sync() or close(); the data stays until it is written.
//
// A trace has what reaches the file as requests of the storage, and the number of accesses that didn't, told when they have ended.
//
// Cost: one copy of what is absorbed; memory: one buffer a direction, allocated when the first access is absorbed.
#pragma once

#include <memory>

#include "storage/storage.h"

namespace mercutio {

struct Buffering {
  bool write_behind = false, read_ahead = false;
  i64 buffer_bytes = 1 * MiB;
};

std::unique_ptr<Storage> make_buffered(std::unique_ptr<Storage> inner, const Buffering& buffering);

}  // namespace mercutio
