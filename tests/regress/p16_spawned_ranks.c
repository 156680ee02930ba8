// P16: files on a communicator that spawned processes share with those that started them. Nothing of theirs is left in MPI_Finalize, where Open MPI ends
// the job if there is another communicator of such processes than the one that this program leaves.
#include "check.h"

static void together(MPI_Comm all, const char *name) {
  int rank, size;
  MPI_File fh;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  for (int round = 0; round < 2; round++) {
    CHECK_OK(MPI_File_open(all, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    CHECK_OK(MPI_File_write_at_all(fh, rank * (MPI_Offset)sizeof rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    int next = (rank + 1) % size, got = -1;
    CHECK_OK(MPI_File_sync(fh));
    MPI_Barrier(all);
    CHECK_OK(MPI_File_sync(fh));
    CHECK_OK(MPI_File_read_at_all(fh, next * (MPI_Offset)sizeof got, &got, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_INT(got, next);
    CHECK_OK(MPI_File_close(&fh));
  }
}

#ifdef OPEN_MPI   // Debian's MPICH ends the job in MPI_Comm_spawn
static void spawned(const char *program) {
  MPI_Comm between, all;
  int codes[2];
  char *const name = (char *)ck_fresh("f"), *words[] = {"--spawned", name, NULL};
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (MPI_Comm_spawn(program, words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, codes) != MPI_SUCCESS) return;   // this launcher can't
  MPI_Intercomm_merge(between, 0, &all);   // and is left
  together(all, name);
  MPI_Comm_disconnect(&between);
}
#endif

int main(int argc, char **argv) {
  if (argc == 3 && strcmp(argv[1], "--spawned") == 0) {
    MPI_Comm between, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&between);
    MPI_Intercomm_merge(between, 1, &all);
    together(all, argv[2]);
    MPI_Comm_disconnect(&between);
    MPI_Finalize();
    return 0;
  }
  ck_init(&argc, &argv);
#ifdef OPEN_MPI
  RUN_FOR(spawned, "merged", argv[0]);
#endif
  return ck_finish();
}
