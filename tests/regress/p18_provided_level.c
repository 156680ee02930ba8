// P18: a program gets the thread level that it asks for, as the standard wants where an MPI has it.
#include "check.h"

static int provided;

static void funneled(void) {
  int level = -1;
  CHECK_INT(provided, MPI_THREAD_FUNNELED);
  CHECK_OK(MPI_Query_thread(&level));
  CHECK_INT(level, MPI_THREAD_FUNNELED);
}

int main(int argc, char **argv) {
  ck_init_level(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  RUN(funneled);
  return ck_finish();
}
