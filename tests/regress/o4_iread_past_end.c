// O4: a nonblocking read that begins at or behind the end of the file completes, with no data.
#include "access_kinds.h"

static void past_end(int kind) {
  const char *name = ck_filled("f", 1000);
  char got[64];
  MPI_Status status;
  MPI_File fh = ck_open(name, MPI_MODE_RDONLY);
  for (int i = 0; i < 3; i++) {
    MPI_Offset offset = i == 0 ? 1000 : i == 1 ? 5000 : 990;
    memset(got, 'u', sizeof got);
    CHECK_OK(ck_read(kind, fh, offset, got, sizeof got, MPI_BYTE, &status));
    CHECK_COUNT(status, MPI_BYTE, i < 2 ? 0 : 10);
    for (int j = i < 2 ? 0 : 10; j < (int)sizeof got; j++)
      if (!CHECK_INT(got[j], 'u')) break;
  }
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR_KINDS(past_end, 0, kPlainKinds);
  return ck_finish();
}
