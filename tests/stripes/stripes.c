// 14.2.8: striping_factor, striping_unit and start_iodevice say how a file is made; get_info tells how it is. The file system's
// default is 4 stripes of 1 MiB from server 0 on.
#include "open_with.h"

enum { kBlock = 50000, kBlocks = 20 };

static void check_stripes(MPI_File fh, int factor, int unit, int first) {
  const char *const keys[] = {"striping_factor", "striping_unit", "start_iodevice"};
  const int wanted[] = {factor, unit, first};
  MPI_Info info = MPI_INFO_NULL;
  if (!CHECK_OK(MPI_File_get_info(fh, &info))) return;
  for (int i = 0; i < 3; i++) {
    char value[MPI_MAX_INFO_VAL] = "";
    int found = 0;
    MPI_Info_get(info, (char *)keys[i], MPI_MAX_INFO_VAL - 1, value, &found);
    CHECK(found);
    CHECK_INT(found ? atoi(value) : -1, wanted[i]);
  }
  MPI_Info_free(&info);
}

// Made so, it stays so, whatever later opens ask for.
static void makes(const char *name, const char *const *hints, int factor, int unit, int first) {
  static const char *const others[] = {"striping_factor", "5", "striping_unit", "65536", "start_iodevice", "3", NULL};
  MPI_File fh = open_with(name, hints);
  check_stripes(fh, factor, unit, first);
  CHECK_OK(MPI_File_close(&fh));
  fh = open_with(name, NULL);
  check_stripes(fh, factor, unit, first);
  CHECK_OK(MPI_File_close(&fh));
  fh = open_with(name, others);
  check_stripes(fh, factor, unit, first);
  CHECK_OK(MPI_File_close(&fh));
}

static void made_as_asked(void) {
  static const char *const hints[] = {"striping_factor", "3", "striping_unit", "131072", "start_iodevice", "2", NULL};
  makes(ck_fresh("asked"), hints, 3, 131072, 2);
}

static void what_is_left_open_is_the_default(void) {
  static const char *const first[] = {"start_iodevice", "5", NULL}, *const unit[] = {"striping_unit", "65536", NULL};
  static const char *const factor[] = {"striping_factor", "2", NULL};
  makes(ck_fresh("none"), NULL, 4, 1 << 20, 0);
  makes(ck_fresh("first"), first, 4, 1 << 20, 5);
  makes(ck_fresh("unit"), unit, 4, 65536, 0);
  makes(ck_fresh("factor"), factor, 2, 1 << 20, 0);
}

static void exclusive_too(void) {
  MPI_Info info;
  MPI_File fh = MPI_FILE_NULL;
  const char *name = ck_fresh("exclusive");
  const int amode = MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY;
  MPI_Info_create(&info);
  MPI_Info_set(info, "striping_factor", "6");
  if (CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)name, amode, info, &fh))) {
    check_stripes(fh, 6, 1 << 20, 0);
    CHECK_OK(MPI_File_close(&fh));
  }
  CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, (char *)name, amode, info, &fh), MPI_ERR_FILE_EXISTS);
  MPI_Info_free(&info);
}

static void data_arrives_in_stripes(void) {
  static const char *const hints[] = {"striping_factor", "3", "striping_unit", "65536", NULL};
  static unsigned char data[kBlock * kBlocks], back[kBlock * kBlocks];
  const char *name = ck_fresh("data");
  MPI_File fh = open_with(name, hints);
  MPI_Datatype type;
  MPI_Status status;
  for (int i = 0; i < kBlock * kBlocks; i++) data[i] = (unsigned char)(i * 3 + i / 1000 + ck_rank * 50);
  MPI_Type_vector(kBlocks, kBlock, kBlock * ck_size, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)kBlock * ck_rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_at_all(fh, 0, data, sizeof data, MPI_BYTE, &status));
  CHECK_OK(MPI_File_read_at_all(fh, 0, back, sizeof back, MPI_BYTE, &status));
  CHECK(!memcmp(data, back, sizeof data));
  check_stripes(fh, 3, 65536, 0);
  CHECK_OK(MPI_File_close(&fh));
  for (int i = 0; i < kBlocks; i++) CHECK_BYTES(name, (long long)kBlock * (i * ck_size + ck_rank), data + i * kBlock, kBlock);
  MPI_Type_free(&type);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(made_as_asked);
  RUN(what_is_left_open_is_the_default);
  RUN(exclusive_too);
  RUN(data_arrives_in_stripes);
  return ck_finish();
}
