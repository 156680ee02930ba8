/* The main program of those that write a table, a column of it from each rank, through a library. PROGRAM FILE [1]. With 1 the access is
   collective. BAD_SCALE as in bad.c. */
#ifndef BAD_COLUMNS_H
#define BAD_COLUMNS_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRows = 8192, kWidth = 64 };

/* Makes the file and writes this rank's column. */
static void write_columns(const char* name, int collective, int rank, int ranks);

int main(int argc, char** argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  const double begin = MPI_Wtime();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int scale = getenv("BAD_SCALE") ? atoi(getenv("BAD_SCALE")) : 1;
  for (int i = 0; i < scale; ++i) write_columns(argv[1], argc > 2, rank, ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("seconds %.6f\n", MPI_Wtime() - begin);
  MPI_Finalize();
  return 0;
}

#endif
