// What a job was, for whoever looks at its trace months later; and who opens a file, by the call stack.
#pragma once

#include <string>

#include "insight/job_summary.h"

namespace mercutio {

// Lines "key=value": job, user, command, directory, MPI, Mercutio.
std::string run_facts();
JobIdentity job_identity();

// The library above MPI-IO from which this thread comes ("h5py", "hdf5", "netcdf", ...), the one next to the program where there are
// several; kTool inside of MPI_Finalize; empty: none that is known.
std::string opening_library();

}  // namespace mercutio
