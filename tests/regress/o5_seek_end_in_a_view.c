// O5: MPI_SEEK_END counts the etypes of the view, not those of the file.
#include "check.h"

enum { kWords = 20 };

static void seek_end(int skip) {   // the view takes one int and leaves `skip`
  const char *name = ck_filled("f", 4 * kWords);
  MPI_File fh = ck_open(name, MPI_MODE_RDWR);
  MPI_Datatype type;
  MPI_Offset at = -1, bytes = -1;
  MPI_Type_create_resized(MPI_INT, 0, 4 * (1 + skip), &type);
  MPI_Type_commit(&type);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, type, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_seek(fh, 0, MPI_SEEK_END));
  CHECK_OK(MPI_File_get_position(fh, &at));
  CHECK_INT(at, kWords / (1 + skip));
  CHECK_OK(MPI_File_get_byte_offset(fh, at, &bytes));
  CHECK_INT(bytes, 4 * kWords);
  CHECK_OK(MPI_File_seek(fh, -2, MPI_SEEK_END));
  CHECK_OK(MPI_File_get_position(fh, &at));
  CHECK_INT(at, kWords / (1 + skip) - 2);
  CHECK_OK(MPI_File_seek_shared(fh, -1, MPI_SEEK_END));
  CHECK_OK(MPI_File_get_position_shared(fh, &at));
  CHECK_INT(at, kWords / (1 + skip) - 1);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&type);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR(seek_end, "every_word", 0);
  RUN_FOR(seek_end, "every_second", 1);
  RUN_FOR(seek_end, "every_fourth", 3);
  return ck_finish();
}
