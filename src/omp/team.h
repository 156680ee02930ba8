// The team of threads that makes a collective call, as the OpenMP runtime knows it. Tests use teams of std::thread.
//
// Only the meeting at the beginning of a call uses the runtime, because before a file is known only the runtime knows which threads
// belong together. Later waits use the file's own Barrier. The runtime would spin according to the program's OMP_WAIT_POLICY, which
// suits computing, not waiting for storage.
#pragma once

#include <functional>

#include "base/types.h"

namespace mercutio::omp {

// Equal ids: one team may continue with files that the other opened. Size, nesting depth, and position of the team.
struct TeamId {
  i64 size = 1;
  i64 level = 0;
  i64 place = 0;  // from the thread numbers of the enclosing teams

  bool operator==(const TeamId&) const = default;
};

class Team {
 public:
  virtual ~Team() = default;
  virtual TeamId id() const = 0;
  virtual i64 number() const = 0;  // of the calling thread, 0 to size - 1
  virtual bool can_meet() const = 0;
  // Collective over the team. One thread runs its `make`; all threads get its result, which must not be null. What a thread did
  // before is visible to all afterwards.
  virtual void* meet(const std::function<void*()>& make) = 0;
};

// The team of the calling thread, in any supported OpenMP runtime; one thread if there is none.
Team& runtime_team();

}  // namespace mercutio::omp
