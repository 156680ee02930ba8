// M19: a library closes its files in MPI_Finalize, by an attribute that it gave MPI_COMM_SELF before the first file was opened. They can be used
// until then, also where the counters of shared file pointers are in a window, as between nodes.
#include "check.h"

enum { kInts = 10 };
static MPI_File fh;
static int wrong;

static int close_it(MPI_Comm comm, int key, void *value, void *more) {
  int mine[kInts], got[kInts];
  MPI_Offset bytes = 0;
  MPI_Request request;
  (void)comm, (void)key, (void)value, (void)more;
  for (int i = 0; i < kInts; i++) mine[i] = ck_rank + 1;
  ck_failures = 0;
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_ordered(fh, mine, kInts, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_write_shared(fh, mine, kInts, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_iwrite_at_all(fh, (MPI_Offset)kInts * (2 * ck_size + ck_rank), mine, kInts, MPI_INT, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at_all(fh, (MPI_Offset)kInts * ck_rank, got, kInts, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(memcmp(mine, got, sizeof mine) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_get_size(fh, &bytes));
  CHECK_INT(bytes, 3 * ck_size * sizeof mine);
  CHECK_OK(MPI_File_close(&fh));
  wrong += ck_failures;
  return MPI_SUCCESS;
}

static void left_open(void) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm comm;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, close_it, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  CHECK_OK(MPI_File_open(comm, (char *)ck_fresh("f"), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
  setenv("MERCUTIO_SHARED_POINTER", "window", 1);
  ck_init(&argc, &argv);
  RUN(left_open);
  const int failed = ck_finish();
  return failed || wrong;
}
