// N5: the first open of ranks of which one may make small files only. MPICH maps the file of shared memory also where it could not be made that long.
#include "check.h"

#include <signal.h>
#include <sys/resource.h>

static void small_files(void) {
  enum { kBytes = 100 };
  struct rlimit before, limit;
  char mine[kBytes], got[kBytes];
  const char *name = ck_fresh("f");
  MPI_File fh = MPI_FILE_NULL;
  CHECK_INT(getrlimit(RLIMIT_FSIZE, &before), 0);
  limit = before;
  limit.rlim_cur = 9600;
  if (ck_rank == 0) CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const int code = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
  CHECK_SAME(code);
  if (CHECK_OK(code)) {
    memset(mine, 'a' + ck_rank, sizeof mine);
    CHECK_OK(MPI_File_write_at_all(fh, (MPI_Offset)ck_rank * kBytes, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_read_at_all(fh, (MPI_Offset)ck_rank * kBytes, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(memcmp(mine, got, sizeof mine) == 0);
    CHECK_OK(MPI_File_close(&fh));
  }
  CHECK_INT(setrlimit(RLIMIT_FSIZE, &before), 0);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  signal(SIGXFSZ, SIG_IGN);
  if (ck_is_mercutio()) RUN(small_files);
  return ck_finish();
}
