// M22: when the first file is opened, rank 1 has one file descriptor left. That open may fail, with one error for all; later ones, with descriptors
// free again, must not, and no rank may take the others' file for another one.
#include "check.h"

#include <sys/resource.h>

enum { kMost = 400 };

static void one_descriptor_left(void) {
  int taken[kMost], count = 0, code, lowest, highest;
  MPI_File fh;
  const char *name = ck_fresh("f");
  const struct rlimit few = {kMost, kMost};
  if (ck_rank == 1) {
    setrlimit(RLIMIT_NOFILE, &few);
    while (count < kMost && (taken[count] = open("/dev/null", O_RDONLY)) >= 0) count++;
    if (count > 0) close(taken[--count]);
  }
  code = MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
  MPI_Error_class(code, &code);
  MPI_Allreduce(&code, &lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&code, &highest, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK_INT(lowest, highest);
  CHECK(code != MPI_ERR_NOT_SAME);
  if (code == MPI_SUCCESS) CHECK_OK(MPI_File_close(&fh));
  while (count > 0) close(taken[--count]);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    CHECK_OK(MPI_File_close(&fh));
  }
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  if (ck_size > 1) RUN(one_descriptor_left);
  return ck_finish();
}
