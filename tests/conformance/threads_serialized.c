// MPI_THREAD_SERIALIZED: see thread_level.h.
#define LEVEL MPI_THREAD_SERIALIZED
#include "thread_level.h"
