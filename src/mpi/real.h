// Functions of the MPI library that are looked up at run time: those that this library overrides, and those that only some MPIs
// have.
#pragma once

#include "mpi/mpi_header.h"

namespace mercutio {

// The address of `name` in the MPI library itself, not in a preloaded wrapper. Null: it has none.
void* real_symbol(const char* name);

template <class Function>
Function* real_function(const char* name) { return reinterpret_cast<Function*>(real_symbol(name)); }

}  // namespace mercutio
