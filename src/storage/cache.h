// The cache of one open file in one process: write-behind and read-ahead over any Storage (active buffering, Ma et al. 2003; the local
// stage of two-stage write-behind, Liao et al. 2007).
//
// All calls of this object see the kept data. Others see it after flush(), sync() or close(). Whether MPI's rules of consistency
// (MPI 14.6.1) permit that is decided by who makes the cache. The Error of a kept write is returned by a later call, at the latest by
// flush(), sync() or close().
//
// A trace has one storage event for each request that joins several accesses, and the number of accesses that the cache served.
//
// Cost: one copy of the kept data. CacheBuffer: the bytes of the policy for each direction, as much again for reuse, and 64 pages.
#pragma once

#include <memory>

#include "storage/storage.h"

namespace mercutio {

struct CachePolicy {
  i64 write_bytes = 0;        // maximum bytes of kept writes; 0: no write-behind
  i64 read_bytes = 0;         // maximum bytes read in advance; 0: no read-ahead
  i64 join_bytes = 0;         // small sequential writes are joined to requests of this size; 0: each write is a request and begins at once
  bool pages = false;         // small reads near each other, in any order, fetch pages (storage/pages.h)
  i64 streak = 8;             // a sequential access is served after so many others
  bool keeps_failed = true;   // data that could not be written is kept, and written by a later call; else its Error is reported once
  bool pipelined = false;     // reads in advance are under way, several and far ahead; else one at a time, little compared to what was read
};

// Where an access only costs a system call, only small sequential accesses are worth a copy. Where it costs a round trip to another
// cluster, every access is, and requests are kept under way.
CachePolicy cache_policy(const Traits& traits, i64 write_bytes, i64 read_bytes);

std::unique_ptr<Storage> make_cached(std::unique_ptr<Storage> inner, const CachePolicy& policy);

}  // namespace mercutio
