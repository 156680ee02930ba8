// The team of threads that makes a collective call: what the OpenMP runtime knows of it. Tests have teams of
// std::thread.
//
// Only the meeting at the beginning of a call is left to the runtime, which alone knows who belongs together before a
// file does. What follows waits at the file's own Barrier: the runtime's would spin as the program's OMP_WAIT_POLICY
// says, which suits computing, not waiting for storage.
#pragma once

#include <functional>

#include "base/types.h"

namespace mercutio::omp {

// Teams that may go on with each other's files are equal: size, depth of the nesting, and place of the team in it.
struct TeamId {
  i64 size = 1;
  i64 level = 0;
  i64 place = 0;  // from the numbers of the enclosing threads

  bool operator==(const TeamId&) const = default;
};

class Team {
 public:
  virtual ~Team() = default;
  virtual TeamId id() const = 0;
  virtual i64 number() const = 0;  // of the calling thread, 0 .. size - 1
  virtual bool can_meet() const = 0;
  // All threads of the team call. One of them runs its `make`, and all get what it gave, never null. What a thread did
  // before, all see afterwards.
  virtual void* meet(const std::function<void*()>& make) = 0;
};

// The team that the calling thread is in, under whichever OpenMP runtime the program has. One thread without any.
Team& runtime_team();

}  // namespace mercutio::omp
