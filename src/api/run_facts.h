// Facts about the job that are stored in its trace; and the library that opens a file, from the call stack.
#pragma once

#include <string>

#include "insight/job_summary.h"

namespace mercutio {

// Lines "key=value": job, user, command, directory, MPI, Mercutio.
std::string run_facts();
std::string job_id();   // of the batch system; "": there is none
JobIdentity job_identity();

// The library above MPI-IO that this thread was called through ("h5py", "hdf5", "netcdf", ...), the outermost if there are several.
// kTool inside MPI_Finalize. Empty: none that is known.
std::string opening_library();

}  // namespace mercutio
