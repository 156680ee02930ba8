// Random collective accesses under a simulated scheduler and network. The seed says everything, so a failure can be run
// again, step by step, in a debugger.
//   collective_simulation [--cases N] [--seed S] [--seconds T]
#include "seeded.h"
#include "simulated_case.h"

int main(int argc, char** argv) { return mercutio::sim::run_seeded(argc, argv, 2000, mercutio::sim::run_case); }
