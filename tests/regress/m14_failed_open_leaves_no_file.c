// M14: where MPI_File_open with MPI_MODE_EXCL fails because one rank can't open the file, the file that rank 0 has made for it is gone, so that the program can
// try again. A file that was there before stays.
#include "check.h"

#include <sys/resource.h>

enum { kExclusive = MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR };

static struct rlimit before;

// This rank opens nothing more.
static void limit_descriptors(int rank) {
  CHECK_INT(getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit limit = before;
  limit.rlim_cur = 3;
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == rank) CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void lift_limit(void) { CHECK_INT(setrlimit(RLIMIT_NOFILE, &before), 0); }

static int try_open(const char *name, int amode) {
  MPI_File fh = MPI_FILE_NULL;
  int code = MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &fh);
  if (code == MPI_SUCCESS) CHECK_OK(MPI_File_close(&fh));
  return code;
}

static void fails_on_last_rank(const char *name, int amode, int left) {
  limit_descriptors(ck_size - 1);
  const int code = try_open(name, amode);
  lift_limit();
  CHECK(code != MPI_SUCCESS);
  CHECK_INT(access(ck_on_disk(name), F_OK) == 0, left);   // on every rank, as soon as the call returns
  CHECK_SAME(code);
}

static void exclusive(void) {
  const char *name = ck_fresh("f");
  fails_on_last_rank(name, kExclusive, 0);
  CHECK_OK(try_open(name, kExclusive));
  ck_fresh("f");
}

static void deleted_on_close(void) {
  const char *name = ck_fresh("f");
  fails_on_last_rank(name, kExclusive | MPI_MODE_DELETE_ON_CLOSE, 0);
  CHECK_OK(try_open(name, kExclusive | MPI_MODE_DELETE_ON_CLOSE));
  CHECK(access(ck_on_disk(name), F_OK) != 0);
}

static void appended_to(void) {
  const char *name = ck_fresh("f");
  fails_on_last_rank(name, kExclusive | MPI_MODE_APPEND, 0);
  CHECK_OK(try_open(name, kExclusive | MPI_MODE_APPEND));
  ck_fresh("f");
}

static void files_of_others_stay(void) {
  const char *name = ck_filled("f", 100);
  CHECK_CLASS(try_open(name, kExclusive), MPI_ERR_FILE_EXISTS);
  CHECK_INT(ck_disk_size(name), 100);
  fails_on_last_rank(name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, 1);
  CHECK_INT(ck_disk_size(name), 100);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  MPI_File fh = ck_open(ck_path("first"), MPI_MODE_CREATE | MPI_MODE_RDWR);   // from now on a file is all that an open opens
  if (ck_is_mercutio() && ck_size > 1) {
    RUN(exclusive);
    RUN(deleted_on_close);
    RUN(appended_to);
    RUN(files_of_others_stay);
  }
  CHECK_OK(MPI_File_close(&fh));
  return ck_finish();
}
