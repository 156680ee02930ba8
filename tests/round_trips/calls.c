/* Fifty small collective calls on one file, of each kind as many: data, order, atomic mode. Prints the seconds that they took together,
   and those that open took. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kCalls = 10, kBytes = 1000 };

static double since(double start) {
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Wtime() - start;
}

int main(int argc, char** argv) {
  int rank, size, i, wrong = argc != 2;
  char mine[kBytes], got[kBytes];
  double opened, start;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  memset(mine, 'a' + rank, sizeof mine);
  opened = since(0);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  start = since(0);
  opened = start - opened;
  for (i = 0; i < kCalls; ++i) MPI_File_write_at_all(file, (MPI_Offset)(i * size + rank) * kBytes, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  for (i = 0; i < kCalls; ++i) {
    MPI_File_read_at_all(file, (MPI_Offset)(i * size + rank) * kBytes, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    wrong += memcmp(mine, got, sizeof got) != 0;
  }
  for (i = 0; i < kCalls; ++i) MPI_File_write_ordered(file, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_set_atomicity(file, 1);
  for (i = 0; i < kCalls; ++i) MPI_File_write_at_all(file, (MPI_Offset)(i * size + rank) * kBytes, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  for (i = 0; i < kCalls; ++i) {
    MPI_File_read_at_all(file, (MPI_Offset)(i * size + rank) * kBytes, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    wrong += memcmp(mine, got, sizeof got) != 0;
  }
  start = since(start);
  MPI_File_close(&file);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong, open %.3f, calls %.3f\n", wrong, opened, start);
  MPI_Finalize();
  return wrong != 0;
}
