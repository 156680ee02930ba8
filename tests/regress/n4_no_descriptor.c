// N4: a rank that has no file descriptor left gets an error from the first open of its ranks, as all of them do. MPICH waits for ever if it makes shared
// memory then.
#include "check.h"

#include <sys/resource.h>

static void no_descriptor(void) {
  enum { kMost = 4096 };
  static int open_now[kMost];
  int count = 0;
  struct rlimit before, limit;
  const char *name = ck_fresh("f");
  CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
  limit = before;
  limit.rlim_cur = 100;
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == ck_size - 1) {
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (count < kMost && (open_now[count] = open("/", O_RDONLY)) >= 0) count++;
  }
  MPI_File fh = MPI_FILE_NULL;
  const int code = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
  while (count > 0) close(open_now[--count]);
  CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0);
  CHECK(code != MPI_SUCCESS);
  CHECK_SAME(code);
  fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_write_at_all(fh, ck_rank * (MPI_Offset)sizeof ck_rank, &ck_rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), ck_size * (long long)sizeof ck_rank);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  if (ck_is_mercutio() && ck_size > 1) RUN(no_descriptor);
  return ck_finish();
}
