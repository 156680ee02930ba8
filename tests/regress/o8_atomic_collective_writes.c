// O8: in atomic mode, of collective writes to the same bytes one rank's data is there whole.
#include "check.h"

enum { kBlock = 512, kBlocks = 256, kBytes = kBlock * kBlocks, kRepeats = 4 };

static MPI_File atomic_file(int strided) {
  MPI_File fh = ck_create("f");
  CHECK_OK(MPI_File_set_atomicity(fh, 1));
  if (!strided) return fh;
  MPI_Datatype contiguous, type;
  MPI_Type_contiguous(kBlock, MPI_BYTE, &contiguous);
  MPI_Type_create_resized(contiguous, 0, 3 * kBlock, &type);
  MPI_Type_commit(&type);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, type, "native", MPI_INFO_NULL));
  MPI_Type_free(&type);
  MPI_Type_free(&contiguous);
  return fh;
}

static void one_wins(int strided) {
  MPI_File fh = atomic_file(strided);
  char *buffer = malloc(kBytes);
  for (int repeat = 0; repeat < kRepeats; repeat++) {
    memset(buffer, 1 + repeat * ck_size + ck_rank, kBytes);
    CHECK_OK(MPI_File_write_at_all(fh, 0, buffer, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_File_read_at(fh, 0, buffer, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(buffer[0] > repeat * ck_size && buffer[0] <= (repeat + 1) * ck_size);
    for (int i = 1; i < kBytes; i++)
      if (!CHECK_INT(buffer[i], buffer[0])) break;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_close(&fh));
  free(buffer);
}

// Each rank begins where the first half of the rank before ends: what two share is of one of them.
static void overlap_by_half(int strided) {
  MPI_File fh = atomic_file(strided);
  int half = kBytes / 2;
  char *buffer = malloc(kBytes);
  for (int repeat = 0; repeat < kRepeats; repeat++) {
    memset(buffer, 1 + ck_rank, kBytes);
    CHECK_OK(MPI_File_write_at_all(fh, (MPI_Offset)half * ck_rank, buffer, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_File_read_at(fh, (MPI_Offset)half * ck_rank, buffer, half, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(buffer[0] == 1 + ck_rank || (ck_rank > 0 && buffer[0] == ck_rank));
    for (int i = 1; i < half; i++)
      if (!CHECK_INT(buffer[i], buffer[0])) break;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_close(&fh));
  free(buffer);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR(one_wins, "contiguous", 0);
  RUN_FOR(one_wins, "strided", 1);
  RUN_FOR(overlap_by_half, "contiguous", 0);
  RUN_FOR(overlap_by_half, "strided", 1);
  return ck_finish();
}
