// `mercutio place`: on which node each rank should run, so that little of the collective I/O's exchange crosses the network.
#pragma once

#include <string>

#include "place/solve.h"

namespace mercutio::tool {

struct PlaceOptions {
  std::string trace, matrix_file;             // one of them
  std::string use = "exchange";               // of a trace; or neighbours
  std::string hosts_file, machine_file;       // where ranks may run; without: where they ran
  std::string costs_file;                     // between nodes
  std::string topology;                       // of a node: a file of lstopo's, or "here"
  place::Search search;
  std::string rankfile, hydra_file, slurm_file, matrix_output;   // to write
};

int place_ranks(const PlaceOptions& options);

}  // namespace mercutio::tool
