// Dead ranks, as an MPI with user-level failure mitigation (ULFM) reports them: Open MPI 5, `mpirun --with-ft ulfm`. Any
// call on a communicator says so once the MPI knows, a probe too; so a rank that waits for memory others write probes now
// and then. Other MPIs end the job instead, and nothing here ever finds anything.
#pragma once

#include <atomic>

#include "base/types.h"
#include "mpi/mpi_header.h"

namespace mercutio {

// The MPI's error classes for it, which no header this is built with has. MPI_ERR_OTHER and -1: it has none.
struct FailureClasses {
  int failed = MPI_ERR_OTHER;
  int pending = -1, revoked = -1;
};
const FailureClasses& failure_classes();   // call it when MPI is initialised
bool is_failure(int code);                 // of a call of MPI: a rank has died, or the communicator was revoked
bool is_revoked(MPI_Comm comm);

// What is known of the ranks of one communicator of ours. Any thread.
class Failures {
 public:
  bool known() const { return known_.load(std::memory_order_acquire); }
  // The result of a call on the communicator. The first failure revokes it, so that nobody waits there for who has left.
  void note(MPI_Comm comm, int code);
  // Probes, by a tag of ours.
  void look(MPI_Comm comm, int tag);
  // known(); where the thread may call MPI, after a look if the last one was a while ago.
  bool found(MPI_Comm comm, int tag, bool may_call);

 private:
  std::atomic<bool> known_{false};
  std::atomic<i64> next_look_ns_{0};
};

}  // namespace mercutio
