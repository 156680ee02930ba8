// O9: a collective read over the end of the file reports what it read.
#include "access_kinds.h"

static void over_the_end(int kind) {
  const char *name = ck_filled("f", 1000);
  unsigned char got[4096];
  MPI_Status status;
  MPI_File fh = ck_open(name, MPI_MODE_RDONLY);
  memset(got, 0xee, sizeof got);
  CHECK_OK(ck_read(kind, fh, 0, got, sizeof got, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, 1000);
  for (int i = 0; i < (int)sizeof got; i++)
    if (!CHECK_INT(got[i], i < 1000 ? ck_byte_at(i) : 0xee)) break;
  CHECK_OK(ck_read(kind, fh, 300 * ck_rank, got, 300, MPI_BYTE, &status));   // only the last of four ranks is short
  CHECK_COUNT(status, MPI_BYTE, ck_rank < 3 ? 300 : ck_rank == 3 ? 100 : 0);
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR_KINDS(over_the_end, 0, kPlainKinds);
  return ck_finish();
}
