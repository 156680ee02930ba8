// The team of the calling thread for tests without OpenMP: instead of src/omp/runtime.cpp.
#include "omp/thread_team.h"

namespace mercutio::omp {

Team& runtime_team() {
  static ThreadTeam alone(1, 0);
  Team* const team = ThreadTeam::current();
  return team ? *team : alone;
}

}  // namespace mercutio::omp
