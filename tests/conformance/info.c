// 14.2.8 and 14.3: info. Hints are taken at open, set_info and set_view; get_info tells those in effect; unknown keys and
// bad values are ignored; info that differs between the ranks, or that one rank alone gives, never hangs and never changes
// the data.
#include "check.h"

enum { kBlocks = 40, kBlock = 100 };

static int value_of(MPI_File fh, const char *key, char *value) {
  MPI_Info info = MPI_INFO_NULL;
  int found = 0;
  value[0] = 0;
  if (!CHECK_OK(MPI_File_get_info(fh, &info))) return 0;
  CHECK(info != MPI_INFO_NULL);
  MPI_Info_get(info, (char *)key, MPI_MAX_INFO_VAL - 1, value, &found);
  MPI_Info_free(&info);
  return found;
}

static long long number_of(MPI_File fh, const char *key) {
  char value[MPI_MAX_INFO_VAL];
  return value_of(fh, key, value) ? atoll(value) : -1;
}

static MPI_Info one(const char *key, const char *value) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, (char *)key, (char *)value);
  return info;
}

static MPI_File open_with(const char *name, MPI_Info info) {
  MPI_File fh = MPI_FILE_NULL;
  if (!CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh)))
    MPI_Abort(MPI_COMM_WORLD, 1);
  return fh;
}

// The ranks' blocks in turn, written and read collectively, checked on the disk.
static void move_blocks(MPI_File fh, const char *name) {
  static unsigned char data[kBlocks * kBlock], back[kBlocks * kBlock];
  MPI_Datatype type;
  MPI_Status status;
  for (int i = 0; i < kBlocks * kBlock; i++) data[i] = (unsigned char)(i * 3 + ck_rank * 50);
  MPI_Type_vector(kBlocks, kBlock, kBlock * ck_size, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  CHECK_OK(MPI_File_set_view(fh, kBlock * ck_rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_at_all(fh, 0, data, sizeof data, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, sizeof data);
  memset(back, 0, sizeof back);
  CHECK_OK(MPI_File_read_at_all(fh, 0, back, sizeof back, MPI_BYTE, &status));
  CHECK(!memcmp(data, back, sizeof data));
  CHECK_OK(MPI_File_write_at(fh, 7, data + 7, 500, MPI_BYTE, &status));
  memset(back, 0, sizeof back);
  CHECK_OK(MPI_File_read_at(fh, 3, back, 2000, MPI_BYTE, &status));
  CHECK(!memcmp(data + 3, back, 2000));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kBlocks; i++) CHECK_BYTES(name, (long long)kBlock * (i * ck_size + ck_rank), data + i * kBlock, kBlock);
  MPI_Type_free(&type);
}

static void hints_in_effect(void) {
  static const char *const keys[] = {"cb_buffer_size", "cb_nodes", "romio_cb_read", "romio_cb_write", "romio_ds_read",
                                     "romio_ds_write", "ind_rd_buffer_size", "ind_wr_buffer_size", "romio_no_indep_rw",
                                     "romio_visibility_immediate", "romio_filesystem_type"};
  char value[MPI_MAX_INFO_VAL];
  MPI_File fh = ck_create("f");
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (!CHECK(value_of(fh, keys[i], value))) fprintf(stderr, "    ... %s\n", keys[i]);
  CHECK(value_of(fh, "romio_visibility_immediate", value) && !strcmp(value, "true"));   // HDF5 asks for it
  CHECK(number_of(fh, "cb_buffer_size") > 0);
  CHECK_OK(MPI_File_close(&fh));
}

static void given_at_open(void) {
  const char *name = ck_fresh("f");
  char value[MPI_MAX_INFO_VAL];
  MPI_Info info = one("cb_buffer_size", "123456");
  MPI_Info_set(info, "romio_cb_write", "disable");
  MPI_Info_set(info, "romio_ds_write", "enable");
  MPI_Info_set(info, "ind_wr_buffer_size", "65536");
  MPI_File fh = open_with(name, info);
  MPI_Info_set(info, "cb_buffer_size", "99");   // the program's own object: no effect on the file
  MPI_Info_free(&info);
  CHECK_INT(number_of(fh, "cb_buffer_size"), 123456);
  CHECK_INT(number_of(fh, "ind_wr_buffer_size"), 65536);
  CHECK(value_of(fh, "romio_cb_write", value) && !strcmp(value, "disable"));
  CHECK(value_of(fh, "romio_ds_write", value) && !strcmp(value, "enable"));
  move_blocks(fh, name);
  CHECK_OK(MPI_File_close(&fh));
}

// What is returned is what holds: no more aggregators than ranks, nothing that can't be, a given value or the one before.
static void tells_what_holds(void) {
  const char *name = ck_fresh("f");
  char value[MPI_MAX_INFO_VAL];
  MPI_Info info = one("cb_nodes", "64");
  MPI_Info_set(info, "cb_buffer_size", "5 parsecs");
  MPI_Info_set(info, "start_iodevice", "3");
  MPI_Info_set(info, "romio_visibility_immediate", "maybe");
  MPI_File fh = open_with(name, info);
  MPI_Info_free(&info);
  CHECK_INT(number_of(fh, "cb_nodes"), ck_size);
  CHECK(number_of(fh, "cb_buffer_size") > 5);
  CHECK(value_of(fh, "romio_visibility_immediate", value) && strcmp(value, "maybe"));
  info = one("cb_nodes", "1");
  CHECK_OK(MPI_File_set_info(fh, info));
  MPI_Info_free(&info);
  CHECK_INT(number_of(fh, "cb_nodes"), 1);
  move_blocks(fh, name);
  CHECK_OK(MPI_File_close(&fh));
}

// A file's own info, handed to the next open, changes nothing.
static void handed_on(void) {
  MPI_Info info, again;
  MPI_File fh = open_with(ck_fresh("f"), MPI_INFO_NULL);
  CHECK_OK(MPI_File_get_info(fh, &info));
  CHECK_OK(MPI_File_close(&fh));
  fh = open_with(ck_fresh("f"), info);
  CHECK_OK(MPI_File_get_info(fh, &again));
  CHECK_OK(MPI_File_close(&fh));
  int keys, found;
  CHECK_OK(MPI_Info_get_nkeys(again, &keys));
  for (int i = 0; i < keys; i++) {
    char key[MPI_MAX_INFO_KEY], first[MPI_MAX_INFO_VAL] = "", second[MPI_MAX_INFO_VAL] = "";
    MPI_Info_get_nthkey(again, i, key);
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL - 1, first, &found);
    MPI_Info_get(again, key, MPI_MAX_INFO_VAL - 1, second, &found);
    if (!CHECK(!strcmp(first, second))) fprintf(stderr, "    ... %s: %s, then %s\n", key, first, second);
  }
  MPI_Info_free(&info);
  MPI_Info_free(&again);
}

static void result_is_a_copy(void) {
  MPI_File fh = ck_create("f");
  MPI_Info info;
  long long before = number_of(fh, "cb_buffer_size");
  CHECK_OK(MPI_File_get_info(fh, &info));
  MPI_Info_set(info, "cb_buffer_size", "77777");
  MPI_Info_free(&info);
  CHECK_INT(number_of(fh, "cb_buffer_size"), before);
  CHECK_OK(MPI_File_close(&fh));
}

static void set_later(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = open_with(name, MPI_INFO_NULL);
  MPI_Info info = one("cb_buffer_size", "32768");
  MPI_Info_set(info, "ind_rd_buffer_size", "40000");
  CHECK_OK(MPI_File_set_info(fh, info));
  MPI_Info_free(&info);
  CHECK_INT(number_of(fh, "cb_buffer_size"), 32768);
  CHECK_INT(number_of(fh, "ind_rd_buffer_size"), 40000);
  CHECK_OK(MPI_File_set_info(fh, MPI_INFO_NULL));
  CHECK_INT(number_of(fh, "cb_buffer_size"), 32768);
  info = one("cb_buffer_size", "16384");
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", info));
  MPI_Info_free(&info);
  CHECK_INT(number_of(fh, "cb_buffer_size"), 16384);
  CHECK_INT(number_of(fh, "ind_rd_buffer_size"), 40000);   // what isn't mentioned stays
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_INT(number_of(fh, "cb_buffer_size"), 16384);
  move_blocks(fh, name);
  CHECK_OK(MPI_File_close(&fh));
}

static void unknown_keys(void) {
  const char *name = ck_fresh("f");
  char key[64], longer[MPI_MAX_INFO_VAL];
  MPI_Info info;
  MPI_Info_create(&info);
  memset(longer, 'v', sizeof longer);
  longer[sizeof longer - 1] = 0;
  for (int i = 0; i < 150; i++) {
    snprintf(key, sizeof key, "key_nobody_knows_%d", i);
    MPI_Info_set(info, key, i % 50 ? "some value" : longer);
  }
  MPI_Info_set(info, "striping_unitt", "banana");
  MPI_File fh = open_with(name, info);
  CHECK_OK(MPI_File_set_info(fh, info));
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", info));
  MPI_Info_free(&info);
  move_blocks(fh, name);
  CHECK_OK(MPI_File_close(&fh));
}

static void bad_values(void) {
  static const char *const rows[][2] = {{"cb_buffer_size", "banana"}, {"cb_buffer_size", "-5"}, {"cb_buffer_size", "0"},
                                        {"cb_buffer_size", "99999999999999999999"}, {"cb_nodes", "-1"}, {"cb_nodes", "x"},
                                        {"romio_cb_write", "perhaps"}, {"romio_ds_read", ""}, {"ind_rd_buffer_size", "1e9"},
                                        {"striping_unit", "-4096"}, {"cb_config_list", ",,,:"}};
  const char *name = ck_fresh("f");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    MPI_Info info;
    MPI_Info_create(&info);
    if (rows[i][1][0]) MPI_Info_set(info, (char *)rows[i][0], (char *)rows[i][1]);
    MPI_File fh = open_with(name, info);
    CHECK_OK(MPI_File_set_info(fh, info));
    CHECK(number_of(fh, "cb_buffer_size") > 0);
    if (i % 4 == 0) move_blocks(fh, name);
    MPI_Info_free(&info);
    CHECK_OK(MPI_File_close(&fh));
  }
}

// Key and value per rank; a null key stands for MPI_INFO_NULL.
static MPI_Info info_of_rank(int giver, const char *key, const char *value) {
  if (giver >= 0 && ck_rank != giver % ck_size) return MPI_INFO_NULL;
  return one(key, value);
}

static void on_one_rank(int giver) {
  static const char *const rows[][2] = {{"cb_buffer_size", "8192"}, {"cb_nodes", "1"}, {"romio_cb_write", "disable"},
                                        {"romio_cb_read", "enable"}, {"romio_no_indep_rw", "true"}, {"striping_unit", "65536"},
                                        {"key_nobody_knows", "1"}, {"romio_ds_write", "disable"}};
  const char *name = ck_fresh("f");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    MPI_Info info = info_of_rank(giver, rows[i][0], rows[i][1]);
    MPI_File fh = open_with(name, info);
    CHECK_OK(MPI_File_set_info(fh, info));
    CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", info));
    move_blocks(fh, name);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    CHECK_OK(MPI_File_close(&fh));
  }
}

static void differing(void) {
  const char *name = ck_fresh("f");
  char text[40];
  MPI_Info info;
  snprintf(text, sizeof text, "%d", 4096 * (ck_rank + 1));
  info = one("cb_buffer_size", text);
  MPI_Info_set(info, "ind_rd_buffer_size", text);
  snprintf(text, sizeof text, "%d", ck_rank + 1);
  MPI_Info_set(info, "cb_nodes", text);
  MPI_Info_set(info, "striping_factor", text);
  MPI_Info_set(info, "romio_cb_write", ck_rank % 2 ? "enable" : "disable");
  MPI_Info_set(info, "romio_ds_write", ck_rank % 2 ? "disable" : "enable");
  MPI_File fh = open_with(name, info);
  CHECK_OK(MPI_File_set_info(fh, info));
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", info));
  MPI_Info_free(&info);
  long long mine = number_of(fh, "cb_buffer_size"), low, high;   // what must agree does
  MPI_Allreduce(&mine, &low, 1, MPI_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &high, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
  CHECK_INT(low, high);
  move_blocks(fh, name);
  CHECK_OK(MPI_File_close(&fh));
}

// Every way to move the data gives the same file.
static void combination(int which) {
  static const char *const toggles[] = {"enable", "disable", "automatic"};
  static const char *const sizes[] = {"1024", "4000", "1048576"}, *const nodes[] = {"1", "2", "64"};
  const char *name = ck_fresh("f");
  MPI_Info info = one("romio_cb_write", toggles[which % 3]);
  MPI_Info_set(info, "romio_cb_read", toggles[(which + 1) % 3]);
  MPI_Info_set(info, "romio_ds_write", toggles[which / 3 % 3]);
  MPI_Info_set(info, "romio_ds_read", toggles[which / 3 % 3]);
  MPI_Info_set(info, "cb_buffer_size", (char *)sizes[which / 2 % 3]);
  MPI_Info_set(info, "ind_wr_buffer_size", (char *)sizes[(which + 2) % 3]);
  MPI_Info_set(info, "ind_rd_buffer_size", (char *)sizes[(which + 1) % 3]);
  MPI_Info_set(info, "cb_nodes", (char *)nodes[which % 3]);
  MPI_Info_set(info, "cb_config_list", "*:*");
  MPI_File fh = open_with(name, info);
  MPI_Info_free(&info);
  move_blocks(fh, name);
  CHECK_OK(MPI_File_close(&fh));
}

static void environment_info(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = open_with(name, MPI_INFO_ENV);
  move_blocks(fh, name);
  CHECK_OK(MPI_File_set_info(fh, MPI_INFO_ENV));
  CHECK_OK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) CHECK_OK(MPI_File_delete((char *)name, MPI_INFO_ENV));
  MPI_Barrier(MPI_COMM_WORLD);
}

static void permissions(void) {
  const char *name = ck_fresh("f");
  struct stat s;
  mode_t mask = umask(0);
  MPI_Info info = one("file_perm", "640");
  MPI_File fh = open_with(name, info);
  MPI_Info_free(&info);
  CHECK_OK(MPI_File_close(&fh));
  umask(mask);
  CHECK(stat(ck_on_disk(name), &s) == 0 && (s.st_mode & 0777) == 0640);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(hints_in_effect);
  RUN(given_at_open);
  if (ck_is_mercutio()) {
    RUN(tells_what_holds);
    RUN(handed_on);
  }
  RUN(result_is_a_copy);
  RUN(set_later);
  RUN(unknown_keys);
  RUN(bad_values);
  RUN_FOR(on_one_rank, "all", -1);
  RUN_FOR(on_one_rank, "first", 0);
  RUN_FOR(on_one_rank, "last", ck_size - 1);
  RUN(differing);
  for (int i = 0; i < 9; i++) {
    char name[12];
    snprintf(name, sizeof name, "%d", i);
    RUN_FOR(combination, name, i);
  }
  RUN(environment_info);
  if (ck_is_mercutio()) RUN(permissions);
  return ck_finish();
}
