/* The accesses that bench/tune.py tunes: accesses FILE write|read collective|independent BLOCK BLOCKS CALLS. Each rank has every
 * n-th block of BLOCK bytes, BLOCKS of them in one call, CALLS calls. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  fprintf(stderr, "accesses: %s failed\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int rank = 0, ranks = 0;
  MPI_File file;
  MPI_Datatype block, mine;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 7) check(1, "reading the arguments");
  const int writes = strcmp(argv[2], "write") == 0, together = strcmp(argv[3], "collective") == 0;
  const int bytes = atoi(argv[4]), blocks = atoi(argv[5]), calls = atoi(argv[6]);
  char* data = calloc((size_t)bytes * (size_t)blocks, 1);
  check(MPI_File_open(MPI_COMM_WORLD, argv[1], writes ? MPI_MODE_RDWR | MPI_MODE_CREATE : MPI_MODE_RDONLY, MPI_INFO_NULL, &file), "open");
  MPI_Type_contiguous(bytes, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)bytes * ranks, &mine);
  MPI_Type_commit(&mine);
  check(MPI_File_set_view(file, (MPI_Offset)bytes * rank, MPI_BYTE, mine, "native", MPI_INFO_NULL), "set_view");
  for (int call = 0; call < calls; ++call) {
    const int count = bytes * blocks;
    int code = 0;
    if (writes)
      code = together ? MPI_File_write_all(file, data, count, MPI_BYTE, MPI_STATUS_IGNORE) : MPI_File_write(file, data, count, MPI_BYTE, MPI_STATUS_IGNORE);
    else
      code = together ? MPI_File_read_all(file, data, count, MPI_BYTE, MPI_STATUS_IGNORE) : MPI_File_read(file, data, count, MPI_BYTE, MPI_STATUS_IGNORE);
    check(code, "an access");
  }
  check(MPI_File_close(&file), "close");
  MPI_Type_free(&mine);
  MPI_Type_free(&block);
  free(data);
  MPI_Finalize();
  return 0;
}
