// C5: writes that a rank has made before MPI_File_set_size don't come after it, also where they are kept (mercutio_write_behind). Then the
// file would be longer than what was set.
#include "check.h"

#define WRITES 100
#define FROM 2000
#define SIZE 220

static void shortened(void) {
  const char *name = ck_fresh("f");
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mercutio_write_behind", "enable");
  MPI_File fh;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
  MPI_Info_free(&info);
  for (int i = 0; i < WRITES; i++) {   // in a row: the later ones are kept
    const char byte = (char)(i + ck_rank);
    CHECK_OK(MPI_File_write_at(fh, (MPI_Offset)FROM * (ck_rank + 1) + i, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  CHECK_OK(MPI_File_set_size(fh, SIZE));
  MPI_Offset size = -1;
  CHECK_OK(MPI_File_get_size(fh, &size));
  CHECK_INT(size, SIZE);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
  CHECK_OK(MPI_File_get_size(fh, &size));
  CHECK_INT(size, SIZE);
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(shortened);
  return ck_finish();
}
