// Write-behind and read-ahead: small sequential accesses of one process go to a buffer and reach the file as one request
// (the local stage of two-stage write-behind, Liao et al. 2007; active buffering, Ma et al. 2003).
//
// All calls of this object see the buffered data. Others see it after flush(), sync() or close(). Whether MPI's rules of consistency
// (MPI 14.6.1) permit that is decided by src/file. If buffered data can't be written, the call that has to write it out returns the
// Error, at the latest sync() or close(). The data stays in the buffer until it is written.
//
// A trace has one storage event for each request that reaches the file, and the number of accesses that the buffer served.
//
// Cost: one copy of the buffered data. Memory: one buffer per direction, allocated at the first buffered access.
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
