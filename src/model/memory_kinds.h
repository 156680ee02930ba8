// Memory allocation kinds (MPI-4.1, 12.4.3): comma lists of kind[:restrictor]*, as "mpi:alloc_mem,system".
#pragma once

#include <string_view>

namespace mercutio {

// Whether each kind of `asserted` is in `supported`, as it is or without restrictors. Nothing asserted: true.
bool kinds_cover(std::string_view supported, std::string_view asserted);

}  // namespace mercutio
