// MPI_THREAD_SINGLE: see thread_level.h.
#define LEVEL MPI_THREAD_SINGLE
#include "thread_level.h"
