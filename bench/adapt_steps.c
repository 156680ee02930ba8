// A program whose collective accesses repeat: adapt_steps FILE OPERATION BLOCK BLOCKS CALLS. Each call moves BLOCKS blocks of BLOCK bytes of every
// rank, which interleave. Rank 0 prints what each call took the slowest rank, in microseconds. bench/adapt.py runs it.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kPlaces = 4 };   // steps after which the same bytes come again

int main(int argc, char **argv) {
  int rank, size, wrong = 0;
  MPI_File file;
  MPI_Datatype block, tile;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 6) MPI_Abort(MPI_COMM_WORLD, 2);
  const int writes = argv[2][0] == 'w', bytes = atoi(argv[3]), blocks = atoi(argv[4]), calls = atoi(argv[5]), all = bytes * blocks;
  char *data = malloc((size_t)all), *seen = malloc((size_t)all);
  for (int i = 0; i < all; i++) data[i] = (char)(1 + (i * 31 + rank * 7) % 251);
  double *took = calloc((size_t)calls, sizeof *took), *slowest = calloc((size_t)calls, sizeof *slowest);
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_Type_contiguous(bytes, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)bytes * size, &tile);
  MPI_Type_commit(&tile);
  MPI_File_set_view(file, (MPI_Offset)bytes * rank, MPI_BYTE, tile, "native", MPI_INFO_NULL);
  for (int place = 0; !writes && place < kPlaces; place++)
    MPI_File_write_at(file, (MPI_Offset)place * all, data, all, MPI_BYTE, MPI_STATUS_IGNORE);
  for (int call = 0; call < calls; call++) {
    const MPI_Offset at = (MPI_Offset)(call % kPlaces) * all;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begun = MPI_Wtime();
    if (writes) MPI_File_write_at_all(file, at, data, all, MPI_BYTE, MPI_STATUS_IGNORE);
    if (!writes) MPI_File_read_at_all(file, at, seen, all, MPI_BYTE, MPI_STATUS_IGNORE);
    took[call] = MPI_Wtime() - begun;
    if (!writes) wrong += memcmp(seen, data, (size_t)all) != 0;
  }
  MPI_Barrier(MPI_COMM_WORLD);   // what follows takes no core from the last call
  for (int place = 0; writes && place < kPlaces && place < calls; place++) {
    MPI_File_read_at(file, (MPI_Offset)place * all, seen, all, MPI_BYTE, MPI_STATUS_IGNORE);
    wrong += memcmp(seen, data, (size_t)all) != 0;
  }
  MPI_File_close(&file);
  MPI_Reduce(took, slowest, calls, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int call = 0; rank == 0 && call < calls; call++) printf("%.1f ", slowest[call] * 1e6);
  if (rank == 0) printf("\n%s\n", wrong ? "WRONG" : "right");
  MPI_Type_free(&block);
  MPI_Type_free(&tile);
  MPI_Finalize();
  return wrong != 0;
}
