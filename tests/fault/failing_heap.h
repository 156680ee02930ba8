// Allocations that fail, of one thread. operator new of the program keeps the rules of the standard: what fails calls the new-handler and tries
// again. Anonymous mappings, which the reserve is, count as allocations.
#pragma once

#include <climits>

// Of the thread that plays the rank without memory.
struct Heap {
  bool short_of_memory = false;
  long until_failure = -1;     // allocations before the one that fails; -1: none fails by number
  long bytes_left = LONG_MAX;
  long failures = 0;
  long every = 0;              // each allocation whose number is a multiple of it fails; 0: none by this
  long allocations = 0;
};
extern thread_local Heap heap;
