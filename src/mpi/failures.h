// Detects dead ranks with an MPI that has user-level failure mitigation (ULFM): Open MPI 5, `mpirun --with-ft ulfm`. Once the MPI
// knows of a dead rank, any call on a communicator with that rank returns an error. A rank that waits for memory that others write
// therefore probes regularly. Other MPIs end the job, and then nothing is ever detected here.
#pragma once

#include <atomic>

#include "base/types.h"
#include "mpi/mpi_header.h"

namespace mercutio {

// The MPI's error classes for failures, which the headers used for the build do not have. MPI_ERR_OTHER and -1: the MPI has none.
struct FailureClasses {
  int failed = MPI_ERR_OTHER;
  int pending = -1, revoked = -1;
};
const FailureClasses& failure_classes();   // call it after MPI has been initialised
bool is_failure(int code);                 // `code` of an MPI call: a rank has died or the communicator was revoked
bool is_revoked(MPI_Comm comm);
// Whether a rank of `comm` has died. A call can fail on a broken connection some milliseconds before the MPI knows of the death that
// broke it, so a call that failed waits here for that, 1 s at most. False without ULFM.
bool has_failed_ranks(MPI_Comm comm);

// The known failures of one of our communicators. Thread-safe.
class Failures {
 public:
  Failures();
  bool known() const { return known_.load(std::memory_order_acquire); }
  // Takes the result of a call on the communicator. The first failure revokes the communicator, so that no rank waits there for
  // ever.
  void note(MPI_Comm comm, int code);
  // Probes, with a tag of ours.
  void poll(MPI_Comm comm, int tag);
  bool reported() const { return reported_; }   // whether this MPI reports failed ranks at all
  // known(). Probes first if the last probe was some time ago: only if the MPI reports failed ranks and this thread may call it.
  bool found(MPI_Comm comm, int tag);

 private:
  const bool reported_;
  std::atomic<bool> known_{false};
  std::atomic<i64> next_poll_ns_{0};
};

}  // namespace mercutio
