// Comm over MPI. The files on congruent communicators share one communicator of ours (rank_group.h; MPICH has about 2,000 contexts in all).
// Each open file has a range of tags of it.
#pragma once

#include <memory>

#include "comm/comm.h"
#include "mpi/mpi_header.h"

namespace mercutio {

// kComm: null handle or an inter-communicator. Collective over `user`.
Result<std::unique_ptr<Comm>> make_mpi_comm(MPI_Comm user);
// The communicator under a Comm made here, for MPI_File_get_group.
MPI_Comm duplicate_of(const Comm& comm);
bool thread_multiple();   // MPI_Query_thread

}  // namespace mercutio
