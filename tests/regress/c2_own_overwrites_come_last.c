// C2: what a rank wrote collectively it can overwrite: its later write_at of the same bytes is what the file holds. Also in a file that is
// opened for writing only, by many aggregators, with and without write-behind.
#include "check.h"

enum { kBlock = 16, kBlocks = 100, kBytes = kBlock * kBlocks, kRounds = 20 };

static MPI_File open_with(const char *write_behind) {
  MPI_Info info;
  MPI_File fh = MPI_FILE_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "striping_unit", "64");
  MPI_Info_set(info, "striping_factor", "5");
  MPI_Info_set(info, "mercutio_write_behind", write_behind);
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, ck_fresh("f"), MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &fh));
  MPI_Info_free(&info);
  return fh;
}

static void overwrite(const char *write_behind) {
  char old[kBytes], new[kBytes];
  memset(old, 'a' + ck_rank, kBytes);
  memset(new, 'A' + ck_rank, kBytes);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Offset begin = (MPI_Offset)kBytes * ck_rank;
    MPI_File fh = open_with(write_behind);
    CHECK_OK(MPI_File_write_at_all(fh, begin, old, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    // From the last block to the first, so that nothing of it follows what came before. Rank 0 only closes, and last.
    for (int i = kBlocks - 1; ck_rank > 0 && i >= 0; --i)
      CHECK_OK(MPI_File_write_at(fh, begin + i * kBlock, new, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_File_close(&fh));
    CHECK_BYTES(ck_path("f"), (long long)begin, ck_rank > 0 ? new : old, kBytes);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void automatic(void) { overwrite("automatic"); }
static void enabled(void) { overwrite("enable"); }

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(automatic);
  RUN(enabled);
  return ck_finish();
}
