// P22: a variable of the MPI that asks for the thread level of MPI_Init holds under Mercutio.
#include <stdlib.h>

#include "check.h"

static void funneled(void) {
  int level = -1;
  CHECK_OK(MPI_Query_thread(&level));
  CHECK_INT(level, MPI_THREAD_FUNNELED);
}

// Another form on each rank: numbers, and names in MPICH and Open MPI 5.
int main(int argc, char **argv) {
#ifdef OPEN_MPI
  static const char *const forms[] = {"1", "funneled", "MPI_THREAD_FUNNELED"};
  const char *rank = getenv("OMPI_COMM_WORLD_RANK");
  setenv("OMPI_MPI_THREAD_LEVEL", forms[OMPI_MAJOR_VERSION >= 5 && rank ? atoi(rank) % 3 : 0], 1);
#else
  static const char *const forms[] = {"MPI_THREAD_FUNNELED", "mpi_thread_funneled"};
  const char *rank = getenv("PMI_RANK");
  setenv("MPIR_CVAR_DEFAULT_THREAD_LEVEL", forms[rank ? atoi(rank) % 2 : 0], 1);
#endif
  ck_init(&argc, &argv);
  if (ck_is_mercutio()) RUN(funneled);
  return ck_finish();
}
