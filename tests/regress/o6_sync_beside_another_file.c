// O6: MPI_File_sync of one file succeeds while nonblocking and split accesses of another one are under way.
#include "check.h"

enum { kBytes = 1 << 20 };

static void sync_beside(int split) {
  char *buffer = malloc(kBytes);
  MPI_File a = ck_create("a"), b = ck_create("b");
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  memset(buffer, 'a' + ck_rank, kBytes);
  CHECK_OK(MPI_File_write_at_all(a, ck_rank * 10, buffer, 10, MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < 5; i++) {
    MPI_Offset offset = (MPI_Offset)ck_rank * kBytes;
    if (split)
      CHECK_OK(MPI_File_write_at_all_begin(b, offset, buffer, kBytes, MPI_BYTE));
    else
      CHECK_OK(MPI_File_iwrite_at(b, offset, buffer, kBytes, MPI_BYTE, &request));
    CHECK_OK(MPI_File_sync(a));
    CHECK_OK(split ? MPI_File_write_at_all_end(b, buffer, &status) : MPI_Wait(&request, &status));
    CHECK_COUNT(status, MPI_BYTE, kBytes);
  }
  CHECK_OK(MPI_File_close(&a));
  CHECK_OK(MPI_File_close(&b));
  CHECK_BYTES(ck_path("a"), ck_rank * 10, buffer, 10);
  CHECK_BYTES(ck_path("b"), (long long)ck_rank * kBytes, buffer, kBytes);
  free(buffer);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR(sync_beside, "nonblocking", 0);
  RUN_FOR(sync_beside, "split", 1);
  return ck_finish();
}
