// Environment variables about the shared file pointer, the nodes and the progress thread.
#pragma once

#include <string>
#include <vector>

namespace mercutio {

// The first method to try. If memory fails, a window is tried; if a window fails, a file.
enum class SharedPointerWay { kMemory, kWindow, kFile };
SharedPointerWay shared_pointer_way();

// Directories for the counter file, best first. `folder`: of a file that all ranks have open, with a slash at the end; "": none.
std::vector<std::string> shared_pointer_directories(const std::string& folder);

// Whether MPICH has been told to take ranks of one node for those of several, as tests do.
bool mpi_divides_nodes();

bool progress_stays_bound();

}  // namespace mercutio
