// MPI_THREAD_FUNNELED: see thread_level.h.
#define LEVEL MPI_THREAD_FUNNELED
#include "thread_level.h"
