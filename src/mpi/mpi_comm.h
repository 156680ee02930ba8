// Comm over MPI. The files on a communicator share one communicator of ours, and so do those on all duplicates of MPI_COMM_WORLD
// (rank_group.h), because MPICH has only about 2,000 contexts. Each open file has a range of its tags.
#pragma once

#include <memory>

#include "comm/comm.h"
#include "mpi/mpi_header.h"

namespace mercutio {

// Collective over `user`. kComm: null handle or inter-communicator.
Result<std::unique_ptr<Comm>> make_mpi_comm(MPI_Comm user);
// The communicator of a Comm made here, for MPI_File_get_group.
MPI_Comm duplicate_of(const Comm& comm);
bool thread_multiple();   // whether the MPI provides MPI_THREAD_MULTIPLE

}  // namespace mercutio
