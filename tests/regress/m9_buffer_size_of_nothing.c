// M9: a cb_buffer_size that makes no sense is ignored, as hints are; nothing ends, divides by zero or hangs.
#include "check.h"

enum { kBlock = 100, kBlocks = 50, kBytes = kBlock * kBlocks };

static void buffer_size(const char *value) {
  static const char *const keys[] = {"cb_buffer_size", "ind_rd_buffer_size", "ind_wr_buffer_size"};
  char data[kBytes], got[kBytes] = {0}, in_effect[MPI_MAX_INFO_VAL + 1];
  MPI_Info info;
  MPI_File fh = MPI_FILE_NULL;
  MPI_Datatype type;
  int found = 0;
  const char *name = ck_fresh("f");
  MPI_Info_create(&info);
  for (int i = 0; i < 3; i++) MPI_Info_set(info, keys[i], value);
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "romio_cb_read", "enable");
  MPI_Info_set(info, "romio_ds_write", "enable");
  if (!CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh))) return;
  MPI_Type_vector(kBlocks, kBlock, kBlock * ck_size, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  CHECK_OK(MPI_File_set_view(fh, kBlock * ck_rank, MPI_BYTE, type, "native", info));
  MPI_Info_free(&info);
  memset(data, 'a' + ck_rank, sizeof data);
  CHECK_OK(MPI_File_write_at_all(fh, 0, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at_all(fh, 0, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(memcmp(data, got, kBytes) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int turn = 0; turn < ck_size; turn++) {
    if (turn == ck_rank) CHECK_OK(MPI_File_write_at(fh, 0, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  memset(got, 0, sizeof got);
  CHECK_OK(MPI_File_read_at(fh, 0, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(memcmp(data, got, kBytes) == 0);
  CHECK_OK(MPI_File_get_info(fh, &info));
  for (int i = 0; i < 3; i++) {
    CHECK_OK(MPI_Info_get(info, keys[i], MPI_MAX_INFO_VAL, in_effect, &found));
    CHECK(!found || atoll(in_effect) > 0);
  }
  MPI_Info_free(&info);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&type);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR(buffer_size, "zero", "0");
  RUN_FOR(buffer_size, "minus_one", "-1");
  RUN_FOR(buffer_size, "lowest", "-9223372036854775808");
  RUN_FOR(buffer_size, "too_large", "99999999999999999999999");
  RUN_FOR(buffer_size, "text", "many");
  RUN_FOR(buffer_size, "one", "1");
  return ck_finish();
}
