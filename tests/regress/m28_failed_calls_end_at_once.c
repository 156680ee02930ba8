// M28: where a call of the MPI fails, nobody waits for news of a dead rank if this MPI ends the job with such a rank: Open MPI 5 without --with-ft.
#include "check.h"

#include <time.h>

static int fails, naps;   // naps of a millisecond

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made) {
  int (*real)(MPI_Comm, int, int, MPI_Comm *) = (int (*)(MPI_Comm, int, int, MPI_Comm *))dlsym(RTLD_NEXT, "PMPI_Comm_split");
  return fails ? MPI_ERR_OTHER : real(comm, color, key, made);
}

int nanosleep(const struct timespec *time, struct timespec *left) {
  int (*real)(const struct timespec *, struct timespec *) = (int (*)(const struct timespec *, struct timespec *))dlsym(RTLD_NEXT, "nanosleep");
  if (time->tv_sec == 0 && time->tv_nsec == 1000000) naps++;
  return real(time, left);
}

// All ranks fail alike.
static void no_communicator(void) {
  const char *name = ck_fresh("f");
  MPI_Comm other;
  MPI_File fh = MPI_FILE_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -ck_rank, &other);
  fails = 1;
  naps = 0;
  CHECK_ERROR(MPI_File_open(other, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  fails = 0;
  CHECK(naps < 100);
  CHECK_OK(MPI_File_open(other, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK_OK(MPI_File_close(&fh));
  MPI_Comm_free(&other);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  if (ck_is_mercutio()) RUN(no_communicator);
  return ck_finish();
}
