// P12: as P11, where MPICH takes odd and even ranks for those of two nodes.
#define BETWEEN_NODES 1
#include "p11_deferred_open.c"
