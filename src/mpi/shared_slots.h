// Counters all ranks of a communicator share: the shared file pointers of the files opened on it. On one node they lie in
// shared memory (see node_memory.h); across nodes in an RMA window on rank 0, used by MPI_Fetch_and_op under passive target
// locks; where there are no windows either, in a locked file that all nodes see, beside the data. MERCUTIO_SHARED_POINTER
// chooses where to begin.
#pragma once

#include <memory>

#include "base/result.h"
#include "model/topology.h"
#include "mpi/mpi_header.h"

namespace mercutio {

class SharedSlots {
 public:
  virtual ~SharedSlots() = default;
  virtual Result<i64> take() = 0;   // collective: a slot nobody has, holding 0; the same on all ranks
  virtual void give_back(i64 slot) = 0;   // in the same order on all ranks
  virtual Result<i64> fetch_add(i64 slot, i64 delta) = 0;
  virtual Status store(i64 slot, i64 value) = 0;
  virtual bool calls_mpi() const { return false; }   // to fetch and store
};

// Collective over `comm`. `folder` counts on rank 0: of a file that all ranks have open.
Result<std::unique_ptr<SharedSlots>> make_shared_slots(MPI_Comm comm, const Topology& topology, const std::string& folder);

}  // namespace mercutio
