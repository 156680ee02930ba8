// Comm over MPI. One duplicate per user communicator, cached on it as an attribute (MPICH has about 2,000 contexts in all);
// each open file takes a slot, i.e. a range of tags, of it. Opening a file on a known communicator sends no message here.
//
// Slots are handed out in the order of collective opens, the same on all ranks; those of open files are passed by when they come round,
// after (MPI_TAG_UB + 1) / tags opens.
#pragma once

#include <memory>

#include "comm/comm.h"
#include "mpi/mpi_header.h"

namespace mercutio {

// kComm: null handle or an inter-communicator. Collective over `user`.
Result<std::unique_ptr<Comm>> make_mpi_comm(MPI_Comm user);
// The duplicate under a Comm made here: MPI_File_get_group asks it.
MPI_Comm duplicate_of(const Comm& comm);
bool thread_multiple();   // MPI_Query_thread

}  // namespace mercutio
