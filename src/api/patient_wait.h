// Waits for the other ranks in MPI_Finalize, with a time limit, because some may never arrive.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/nap.h"
#include "base/types.h"
#include "mpi/mpi_header.h"

namespace mercutio {

inline bool wait_for(MPI_Request& request, std::chrono::nanoseconds patience = std::chrono::minutes(2)) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  for (i64 polls = 0;; ++polls) {
    int done = 0;
    if (PMPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (done) return true;
    if (std::chrono::steady_clock::now() > give_up) return false;
    if (polls > 32) nap(std::min<i64>(polls, 1000) * 1000);
  }
}

}  // namespace mercutio
