// P21: a program that calls MPI_Init is told that it has the level it would have without Mercutio.
#include "check.h"

static void single(void) {
  int level = -1;
  CHECK_OK(MPI_Query_thread(&level));
  CHECK_INT(level, MPI_THREAD_SINGLE);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  if (ck_is_mercutio()) RUN(single);
  return ck_finish();
}
