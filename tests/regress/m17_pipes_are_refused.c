// M17: opening a named pipe is an error, also to read, where open(2) waits for somebody who writes.
#include "check.h"

#include <sys/stat.h>

static void pipes(void) {
  static const int modes[] = {MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL};
  const char *name = ck_fresh("f");
  if (ck_rank == 0) CHECK_INT(mkfifo(ck_on_disk(name), 0666), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    MPI_File fh = MPI_FILE_NULL;
    const int code = MPI_File_open(MPI_COMM_WORLD, name, modes[i], MPI_INFO_NULL, &fh);
    CHECK(code != MPI_SUCCESS);
    CHECK_SAME(code);
  }
  ck_fresh("f");
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  if (ck_is_mercutio()) RUN(pipes);
  return ck_finish();
}
