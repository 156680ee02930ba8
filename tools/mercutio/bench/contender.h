// Who takes part: each MPI's own I/O, the ROMIO inside Open MPI, and Mercutio on each MPI.
#pragma once

#include <string>
#include <vector>

#include "bench.h"

namespace mercutio::tool {

struct Contender {
  std::string mpi;  // "mpich-4.0.2"
  std::string io;   // "host", "romio" (Open MPI's embedded one) or "mercutio"
  Words command;    // everything before the program's own options
  bool ours() const { return io == "mercutio"; }
  std::string name() const { return mpi + "/" + io; }
};

struct Field {
  std::vector<Contender> contenders;
  Words remarks;  // for the header: shims, MPIs that were left out and why
  Words program;  // the program of the first MPI, for --list
};

// Compiles the measuring program for each MPI into `scratch`.
Field find_contenders(const BenchOptions& options, const std::string& scratch);

}  // namespace mercutio::tool
