/* What opening and closing files costs: each round duplicates MPI_COMM_WORLD, opens a file on the duplicate and closes it, as HDF5 and PnetCDF
   do. Prints the seconds of a round, the processor time of all ranks in a round, both without the first rounds, and the same of the first round.

     opens FILE ROUNDS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double processor_time(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + 1e-6 * (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

static void round_of(const char *name) {
  MPI_Comm dup;
  MPI_File fh;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  if (MPI_File_open(dup, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_File_close(&fh);
  MPI_Comm_free(&dup);
}

static void measure(const char *name, int rounds, double out[2]) {
  double mine, all, begin;
  MPI_Barrier(MPI_COMM_WORLD);
  begin = MPI_Wtime();
  mine = processor_time();
  for (int i = 0; i < rounds; i++) round_of(name);
  mine = processor_time() - mine;
  MPI_Barrier(MPI_COMM_WORLD);
  out[0] = (MPI_Wtime() - begin) / rounds;
  MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  out[1] = all / rounds;
}

int main(int argc, char **argv) {
  double first[2], later[2];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  measure(argv[1], 1, first);
  measure(argv[1], atoi(argv[2]), later);
  if (rank == 0) printf("%.9f %.9f %.9f %.9f\n", later[0], later[1], first[0], first[1]);
  MPI_Finalize();
  return 0;
}
