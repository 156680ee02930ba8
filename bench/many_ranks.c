/* What a small operation costs with many ranks on one node: voluntary context switches of a rank, and processor time of a rank.

     many_ranks FILE write|read|sync|iwrite CALLS

   write, read: MPI_File_write_at_all and read_at_all of 8 bytes a rank. iwrite: MPI_File_iwrite_at_all of 8 bytes and MPI_Wait. sync:
   MPI_File_sync with nothing written. Prints the mean over the ranks and calls: switches, and seconds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static double processor_time(const struct rusage *used) {
  return (double)(used->ru_utime.tv_sec + used->ru_stime.tv_sec) + 1e-6 * (double)(used->ru_utime.tv_usec + used->ru_stime.tv_usec);
}

static int one_call(MPI_File fh, const char *what, MPI_Offset at, double *data) {
  MPI_Request request;
  if (!strcmp(what, "write")) return MPI_File_write_at_all(fh, at, data, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
  if (!strcmp(what, "read")) return MPI_File_read_at_all(fh, at, data, 1, MPI_DOUBLE, MPI_STATUS_IGNORE);
  if (!strcmp(what, "sync")) return MPI_File_sync(fh);
  const int code = MPI_File_iwrite_at_all(fh, at, data, 1, MPI_DOUBLE, &request);
  return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

int main(int argc, char **argv) {
  enum { kWarm = 20 };
  struct rusage before, after;
  double data = 1, mine[2], all[2];
  int rank, ranks;
  MPI_File fh;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4 || MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh) != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 2);
  const int calls = atoi(argv[3]);
  MPI_File_set_size(fh, 8 * (MPI_Offset)ranks);
  for (int i = 0; i < kWarm + calls; i++) {
    if (i == kWarm) getrusage(RUSAGE_SELF, &before);
    if (one_call(fh, argv[2], 8 * (MPI_Offset)rank, &data) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  getrusage(RUSAGE_SELF, &after);
  mine[0] = (double)(after.ru_nvcsw - before.ru_nvcsw) / calls;
  mine[1] = (processor_time(&after) - processor_time(&before)) / calls;
  MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%.9f %.9f\n", all[0] / ranks, all[1] / ranks);
  MPI_File_close(&fh);
  MPI_Finalize();
  return 0;
}
