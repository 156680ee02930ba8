/* Rmpi has no I/O of its own. R programs call C for it, loaded with dyn.load(): each rank writes its blocks of a file collectively through a view, and
   reads those of the next rank. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { kBlock = 64, kBlocks = 200 };

/* *wrong: calls that failed and bytes that differ. */
void write_and_read(char** path, int* wrong) {
  int rank, size;
  static char mine[kBlock * kBlocks], seen[kBlock * kBlocks];
  MPI_Datatype view;
  MPI_File file;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size;
  memset(mine, rank + 1, sizeof mine);
  MPI_Type_vector(kBlocks, kBlock, kBlock * size, MPI_BYTE, &view);
  MPI_Type_commit(&view);
  *wrong = 0;
  *wrong += MPI_File_open(MPI_COMM_WORLD, *path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS;
  if (*wrong) return;
  *wrong += MPI_File_set_view(file, rank * kBlock, MPI_BYTE, view, "native", MPI_INFO_NULL) != MPI_SUCCESS;
  *wrong += MPI_File_write_all(file, mine, sizeof mine, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  *wrong += MPI_File_sync(file) != MPI_SUCCESS;
  MPI_Barrier(MPI_COMM_WORLD);
  *wrong += MPI_File_sync(file) != MPI_SUCCESS;
  *wrong += MPI_File_set_view(file, next * kBlock, MPI_BYTE, view, "native", MPI_INFO_NULL) != MPI_SUCCESS;
  *wrong += MPI_File_read_at(file, 0, seen, sizeof seen, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  for (size_t i = 0; i < sizeof seen; ++i) *wrong += seen[i] != next + 1;
  *wrong += MPI_File_close(&file) != MPI_SUCCESS;
  MPI_Type_free(&view);
}
