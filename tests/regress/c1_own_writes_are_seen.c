// C1: a process sees what it wrote before, always: ranks write one after the other in time, then all read the same blocks collectively.
// The rank that writes last arrives last, when the others already wait in the read.
#include <unistd.h>

#include "check.h"

enum { kBlock = 100, kBlocks = 50, kBytes = kBlock * kBlocks };

static void late_writers(int independent_view) {
  char data[kBytes], got[kBytes];
  MPI_Status status;
  MPI_Datatype type;
  MPI_File fh = ck_create("f");
  MPI_Type_vector(kBlocks, kBlock, kBlock * ck_size, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  memset(data, 'a' + ck_rank, kBytes);
  memset(got, '.', kBytes);
  CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)kBlock * ck_rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
  usleep(20000 * ck_rank);
  if (independent_view)
    CHECK_OK(MPI_File_write_at(fh, 0, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  else
    for (int i = 0; i < kBlocks; ++i) CHECK_OK(MPI_File_write_at(fh, i * kBlock, data, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at_all(fh, 0, got, kBytes, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, kBytes);
  CHECK(memcmp(data, got, kBytes) == 0);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&type);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR(late_writers, "blocks", 0);
  RUN_FOR(late_writers, "views", 1);
  return ck_finish();
}
