// P22: a variable of the MPI that asks for the thread level of MPI_Init holds under Mercutio.
#include <stdlib.h>

#include "check.h"

static void funneled(void) {
  int level = -1;
  CHECK_OK(MPI_Query_thread(&level));
  CHECK_INT(level, MPI_THREAD_FUNNELED);
}

int main(int argc, char **argv) {
#ifdef OPEN_MPI
  setenv("OMPI_MPI_THREAD_LEVEL", "1", 1);
#else
  setenv("MPIR_CVAR_DEFAULT_THREAD_LEVEL", "MPI_THREAD_FUNNELED", 1);
#endif
  ck_init(&argc, &argv);
  if (ck_is_mercutio()) RUN(funneled);
  return ck_finish();
}
