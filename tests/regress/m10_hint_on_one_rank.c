// M10: hints that only one rank gives, or that differ among the ranks, stop nobody: the file is open and the data right.
#include "check.h"

static const char *const pairs[][2] = {
    {"cb_nodes", "2"}, {"cb_buffer_size", "65536"}, {"romio_cb_write", "enable"}, {"romio_cb_read", "disable"},
    {"striping_unit", "65536"}, {"striping_factor", "2"}, {"start_iodevice", "0"}, {"cb_config_list", "*:1"},
    {"romio_no_indep_rw", "true"}, {"ind_rd_buffer_size", "4096"}, {"collective_buffering", "true"}};
enum { kPairs = sizeof pairs / sizeof *pairs, kBlock = 64, kBlocks = 100, kBytes = kBlock * kBlocks };

static MPI_Info info_of(int rank) {
  MPI_Info info;
  if (ck_rank != rank) return MPI_INFO_NULL;
  MPI_Info_create(&info);
  for (int i = 0; i < kPairs; i++) MPI_Info_set(info, pairs[i][0], pairs[i][1]);
  return info;
}

static void write_and_read(MPI_File fh) {
  char data[kBytes], got[kBytes] = {0};
  memset(data, 'a' + ck_rank, kBytes);
  CHECK_OK(MPI_File_write_at_all(fh, 0, data, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at_all(fh, 0, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(memcmp(data, got, kBytes) == 0);
}

static void use(const char *name, MPI_Info info) {
  MPI_File fh = MPI_FILE_NULL;
  MPI_Datatype type;
  MPI_Type_vector(kBlocks, kBlock, kBlock * ck_size, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  int code = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh);
  if (CHECK_OK(code)) {
    CHECK_OK(MPI_File_set_view(fh, kBlock * ck_rank, MPI_BYTE, type, "native", info));
    write_and_read(fh);
    CHECK_OK(MPI_File_set_info(fh, info == MPI_INFO_NULL ? MPI_INFO_ENV : info));
    write_and_read(fh);
    CHECK_OK(MPI_File_close(&fh));
  }
  MPI_Type_free(&type);
}

static void only_on(int rank) {
  MPI_Info info = info_of(rank);
  use(ck_fresh("f"), info);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
}

static void differ(void) {
  MPI_Info info;
  char value[20];
  MPI_Info_create(&info);
  snprintf(value, sizeof value, "%d", ck_rank + 1);
  MPI_Info_set(info, "cb_nodes", value);
  snprintf(value, sizeof value, "%d", 4096 << ck_rank);
  MPI_Info_set(info, "cb_buffer_size", value);
  MPI_Info_set(info, "romio_cb_write", ck_rank % 2 ? "disable" : "enable");
  MPI_Info_set(info, "romio_cb_read", ck_rank % 2 ? "enable" : "disable");
  use(ck_fresh("f"), info);
  MPI_Info_free(&info);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR(only_on, "first", 0);
  RUN_FOR(only_on, "second", 1 % ck_size);
  RUN_FOR(only_on, "last", ck_size - 1);
  RUN(differ);
  return ck_finish();
}
