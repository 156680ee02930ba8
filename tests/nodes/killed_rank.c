// Writes collectively until the last rank is killed between two writes. The job must end then, by the launcher's hand.
#include "check.h"

enum { kBytes = 4096, kWrites = 50, kLast = 25 };

int main(int argc, char **argv) {
  char *buffer = malloc(kBytes);
  ck_init(&argc, &argv);
  ck_case = "killed";
  memset(buffer, 'A' + ck_rank, kBytes);
  MPI_File fh = ck_create("f");
  for (int i = 0; i < kWrites; i++) {
    if (i == kLast && ck_rank == ck_size - 1) raise(SIGKILL);
    CHECK_OK(MPI_File_write_at_all(fh, (MPI_Offset)(i * ck_size + ck_rank) * kBytes, buffer, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  MPI_File_close(&fh);
  free(buffer);
  return ck_finish();
}
