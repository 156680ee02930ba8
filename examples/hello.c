/* The smallest useful parallel file: every rank writes the numbers that are its own, interleaved with everybody else's,
 * in one collective call, and reads them back.
 *
 *   mpicc hello.c -o hello && mercutio run -- mpirun -n 4 ./hello hello.bin
 *
 * The file then holds 0, 1, 2, ... in order: rank r of n owns the places r, r + n, r + 2n, ... */
#include <mpi.h>
#include <stdio.h>

enum { kNumbers = 8 };

static int failed(int error, const char* what) {
  if (error == MPI_SUCCESS) return 0;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(error, text, &length);
  fprintf(stderr, "hello: %s: %s\n", what, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
  return 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const char* path = argc > 1 ? argv[1] : "hello.bin";
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  /* What this rank sees of the file: one int, then a hole for the others, again and again. The view's displacement
   * moves its start to this rank's first place. */
  MPI_Datatype every_nth;
  MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)(ranks * sizeof(int)), &every_nth);
  MPI_Type_commit(&every_nth);

  int mine[kNumbers], back[kNumbers] = {0};
  for (int i = 0; i < kNumbers; i++) mine[i] = rank + i * ranks;

  /* Files report errors by return code unless told otherwise, so each call is checked. */
  MPI_File file;
  failed(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), "open");
  failed(MPI_File_set_size(file, 0), "set_size");
  failed(MPI_File_set_view(file, (MPI_Offset)(rank * sizeof(int)), MPI_INT, every_nth, "native", MPI_INFO_NULL),
         "set_view");
  MPI_Status status;
  int written = 0;
  failed(MPI_File_write_all(file, mine, kNumbers, MPI_INT, &status), "write_all");
  MPI_Get_count(&status, MPI_INT, &written);

  /* The view is this rank's own part, so it may read what it wrote without a sync; offset 0 is the view's beginning. */
  failed(MPI_File_read_at_all(file, 0, back, kNumbers, MPI_INT, MPI_STATUS_IGNORE), "read_at_all");
  failed(MPI_File_close(&file), "close");
  MPI_Type_free(&every_nth);

  int good = written == kNumbers, all_good = 0;
  for (int i = 0; i < kNumbers; i++) good = good && back[i] == mine[i];
  MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%s: %d numbers from %d ranks, %s\n", path, kNumbers * ranks, ranks, all_good ? "verified" : "WRONG");
  MPI_Finalize();
  return all_good ? 0 : 1;
}
