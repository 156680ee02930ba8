// Who takes part: each MPI's own I/O, the ROMIO inside Open MPI, and Mercutio on each MPI.
#pragma once

#include <string>
#include <vector>

#include "bench.h"

namespace mercutio::tool {

struct Contender {
  std::string mpi;  // "mpich-4.0.2"
  std::string io;   // "host", "romio" (Open MPI's embedded one), "mercutio", "traced": the same with MERCUTIO_TRACE, "recorded": with MERCUTIO_SITE, or
                    // "against": another build of the library
  Words command;    // everything before the program's own options
  std::string library;  // the libmercutio.so that is to serve its calls; empty: none
  bool ours() const { return io == "mercutio"; }
  bool peer() const { return io == "host" || io == "romio"; }
  std::string name() const { return mpi + "/" + io; }
};

struct Field {
  std::vector<Contender> contenders;
  Words remarks;  // for the header: shims, MPIs that were left out and why
  Words program;  // the program of the first MPI, for --list
  bool refused = false;  // what was asked for by name can't be measured
};

struct MeasuringProgram {
  std::string name;
  Words sources;        // below share/mercutio/bench, without .c
  Words preloads;       // for all contenders
  Variables variables;  // for the ranks
};

MeasuringProgram pattern_program();  // of `mercutio bench`

// Compiles `program` for each MPI into `scratch`.
Field find_contenders(const BenchOptions& options, const MeasuringProgram& program, const std::string& scratch);

// Why the figures of a run are not those of `contender`, by what the run printed, whose first line names a library. Empty: they are.
std::string why_another(const Contender& contender, const std::string& printed);

// A library of ours for the ranks, in a build tree or where it is installed; empty when there is none.
std::string find_rank_library(const std::string& file_name);

}  // namespace mercutio::tool
