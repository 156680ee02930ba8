// M6: after a split collective that failed, in its begin or in its end, the file takes the next one.
#include "write_limit.h"

static void whole_split_write(MPI_File fh, const char *name) {
  int data = 1000 + ck_rank, got = 0;
  MPI_Status status;
  CHECK_OK(MPI_File_write_at_all_begin(fh, 4 * ck_rank, &data, 4, MPI_BYTE));
  CHECK_OK(MPI_File_write_at_all_end(fh, &data, &status));
  CHECK_COUNT(status, MPI_BYTE, 4);
  CHECK_BYTES(name, 4 * ck_rank, &data, 4);
  CHECK_OK(MPI_File_read_at_all_begin(fh, 4 * ck_rank, &got, 4, MPI_BYTE));
  CHECK_OK(MPI_File_read_at_all_end(fh, &got, &status));
  CHECK_INT(got, data);
}

static void bad_arguments(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  int data = 0;
  CHECK_CLASS(MPI_File_write_at_all_begin(fh, 0, &data, -1, MPI_BYTE), MPI_ERR_COUNT);
  whole_split_write(fh, name);
  CHECK_ERROR(MPI_File_read_at_all_begin(fh, -1, &data, 1, MPI_BYTE));
  whole_split_write(fh, name);
  CHECK_ERROR(MPI_File_write_ordered_begin(fh, &data, 1, MPI_DATATYPE_NULL));
  whole_split_write(fh, name);
  CHECK_ERROR(MPI_File_write_at_all_end(fh, &data, MPI_STATUS_IGNORE));   // nothing was begun
  whole_split_write(fh, name);
  CHECK_OK(MPI_File_close(&fh));
}

static void wrong_mode(void) {
  const char *name = ck_filled("f", 4 * ck_size);
  MPI_File fh = ck_open(name, MPI_MODE_RDONLY);
  unsigned char data[4];
  CHECK_ERROR(MPI_File_write_all_begin(fh, data, 4, MPI_BYTE));
  CHECK_OK(MPI_File_read_at_all_begin(fh, 4 * ck_rank, data, 4, MPI_BYTE));
  CHECK_OK(MPI_File_read_at_all_end(fh, data, MPI_STATUS_IGNORE));
  for (int i = 0; i < 4; i++) CHECK_INT(data[i], ck_byte_at(4 * ck_rank + i));
  CHECK_OK(MPI_File_close(&fh));
}

static void wrong_type(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  int data = 0;
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_ERROR(MPI_File_write_all_begin(fh, &data, 3, MPI_BYTE));   // not whole etypes
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  whole_split_write(fh, name);
  CHECK_OK(MPI_File_close(&fh));
}

static void failed_write(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = open_with(name, kAllAggregate);
  char *buffer = calloc(1, kShare);
  limit_writes(ck_size - 1);
  int code = MPI_File_write_at_all_begin(fh, (MPI_Offset)kShare * ck_rank, buffer, kShare, MPI_BYTE);
  if (code == MPI_SUCCESS) code = MPI_File_write_at_all_end(fh, buffer, MPI_STATUS_IGNORE);
  lift_limit();
  CHECK_CLASS(code, MPI_ERR_NO_SPACE);
  whole_split_write(fh, name);
  CHECK_OK(MPI_File_close(&fh));
  free(buffer);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  return_errors();
  RUN(bad_arguments);
  RUN(wrong_mode);
  RUN(wrong_type);
  RUN(failed_write);
  return ck_finish();
}
