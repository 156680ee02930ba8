// P9: as P8, where MPICH takes odd and even ranks for those of two nodes.
#define BETWEEN_NODES 1
#include "p8_congruent_communicators.c"
