// Stripes of new files where the directory gives one (tests/tools/lustre_stripes.c): what several ranks open gets more servers as it grows,
// unless a hint asks for something else, or for the directory's.
#include "../open_with.h"

enum { kBlock = 65536, kBlocks = 64 };

static void check_hint(MPI_File fh, const char *key, const char *wanted) {
  MPI_Info info = MPI_INFO_NULL;
  char value[MPI_MAX_INFO_VAL] = "";
  int found = 0;
  if (!CHECK_OK(MPI_File_get_info(fh, &info))) return;
  MPI_Info_get(info, (char *)key, MPI_MAX_INFO_VAL - 1, value, &found);
  MPI_Info_free(&info);
  CHECK(found);
  CHECK_INT(atoi(value), atoi(wanted));
  if (atoi(wanted) == 0) CHECK(strcmp(value, wanted) == 0);
}

// Interleaved blocks of all ranks, twice: the second time the file has its servers.
static void write_and_check(const char *name, MPI_File fh) {
  static unsigned char data[kBlock * kBlocks], back[kBlock * kBlocks];
  MPI_Datatype type;
  MPI_Status status;
  MPI_Type_vector(kBlocks, kBlock, kBlock * ck_size, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)kBlock * ck_rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < kBlock * kBlocks; i++) data[i] = (unsigned char)(i * 3 + i / 1000 + ck_rank * 50 + round);
    CHECK_OK(MPI_File_write_at_all(fh, 0, data, sizeof data, MPI_BYTE, &status));
    CHECK_OK(MPI_File_read_at_all(fh, 0, back, sizeof back, MPI_BYTE, &status));
    CHECK(!memcmp(data, back, sizeof data));
  }
  CHECK_OK(MPI_File_sync(fh));
  for (int i = 0; i < kBlocks; i++) CHECK_BYTES(name, (long long)kBlock * (i * ck_size + ck_rank), data + i * kBlock, kBlock);
  MPI_Type_free(&type);
}

static void grows_over_servers(void) {
  const char *name = ck_fresh("grows");
  MPI_File fh = open_with(name, NULL);
  char servers[8];
  snprintf(servers, sizeof servers, "%d", ck_size);
  check_hint(fh, "striping_factor", "1");
  check_hint(fh, "mercutio_striping", "auto");
  write_and_check(name, fh);
  check_hint(fh, "striping_factor", servers);   // of what was written last
  check_hint(fh, "striping_unit", "1048576");
  CHECK_OK(MPI_File_close(&fh));
  fh = open_with(name, NULL);
  check_hint(fh, "striping_factor", servers);
  write_and_check(name, fh);
  CHECK_OK(MPI_File_close(&fh));
}

static void as_the_directory_says(void) {
  static const char *const hints[] = {"mercutio_striping", "directory", NULL};
  const char *name = ck_fresh("directory");
  MPI_File fh = open_with(name, hints);
  write_and_check(name, fh);
  check_hint(fh, "striping_factor", "1");
  CHECK_OK(MPI_File_close(&fh));
}

static void as_hints_say(void) {
  static const char *const factor[] = {"striping_factor", "4", NULL};
  static const char *const over[] = {"striping_factor", "5", "mercutio_overstriping", "2", "striping_unit", "65536", NULL};
  const char *name = ck_fresh("factor");
  MPI_File fh = open_with(name, factor);
  write_and_check(name, fh);
  check_hint(fh, "striping_factor", "4");
  CHECK_OK(MPI_File_close(&fh));
  name = ck_fresh("over");
  fh = open_with(name, over);
  write_and_check(name, fh);
  check_hint(fh, "striping_factor", "10");
  check_hint(fh, "mercutio_overstriping", "2");
  CHECK_OK(MPI_File_close(&fh));
}

// A file of each rank's own is not spread.
static void alone(void) {
  char name[64];
  MPI_File fh = MPI_FILE_NULL;
  static unsigned char data[3 << 20];
  MPI_Status status;
  snprintf(name, sizeof name, "alone%d", ck_rank);
  const char *path = ck_fresh(name);
  if (!CHECK_OK(MPI_File_open(MPI_COMM_SELF, (char *)path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh))) return;
  CHECK_OK(MPI_File_write_at(fh, 0, data, sizeof data, MPI_BYTE, &status));
  check_hint(fh, "striping_factor", "1");
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(grows_over_servers);
  RUN(as_the_directory_says);
  RUN(as_hints_say);
  RUN(alone);
  return ck_finish();
}
