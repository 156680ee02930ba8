// A parallel region of so many threads: OpenMP's, or std::thread's where this is built for sanitizers
// (thread_team.cpp).
#pragma once

#ifdef _OPENMP
#include <omp.h>

template <class Body>
void parallel(int threads, Body body) {
#pragma omp parallel num_threads(threads)
  body(omp_get_thread_num());
}
#else
#include "omp/thread_team.h"

template <class Body>
void parallel(int threads, Body body) {
  mercutio::omp::ThreadTeam(threads).run(body);
}
#endif
