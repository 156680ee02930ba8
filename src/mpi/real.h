// Functions of the MPI library that are looked up at run time: those this library itself overrides, and those only some
// MPIs have.
#pragma once

#include "mpi/mpi_header.h"

namespace mercutio {

// The address of `name` inside the MPI library itself, past any preloaded wrapper; null where it has none.
void* real_symbol(const char* name);

template <class Function>
Function* real_function(const char* name) { return reinterpret_cast<Function*>(real_symbol(name)); }

}  // namespace mercutio
