// Files of drivers in libraries: where one can't be used, or a call of it fails, all ranks get the same class, and the text says
// what to do. The drivers are those of libraries/plain.c.
#include "check.h"

static char drivers[4096];   // MERCUTIO_DRIVERS of the test

static const char *plain(const char *tag) {
  static char name[CK_NAME_BYTES + 16];
  const char *path = ck_fresh(tag);
  snprintf(name, sizeof name, "plain:%s", path);
  return name;
}
static const char *on_disk(const char *name) { return name + strlen("plain:"); }

// Opens on all ranks; on failure all have the same class, and the text has the words.
static int code_of(const char *name, int amode, const char *words) {
  MPI_File fh = MPI_FILE_NULL;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length, code = MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &fh);
  CHECK_SAME(code);
  if (code == MPI_SUCCESS) {
    CHECK_OK(MPI_File_close(&fh));
  } else {
    MPI_Error_string(code, text, &length);
    if (words && !CHECK(strstr(text, words) != NULL)) fprintf(stderr, "%s isn't in: %s\n", words, text);
  }
  return code;
}

static const int kNew = MPI_MODE_CREATE | MPI_MODE_RDWR;

static void missing_everywhere(void) {
  CHECK_CLASS(code_of("absent://x", kNew, "libmercutio-driver-absent.so"), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_delete("absent://x", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_OPERATION);
}

// The last rank's node has no such library: nothing is made.
static void missing_on_one(void) {
  const char *name = plain("f");
  if (ck_rank == ck_size - 1) setenv("MERCUTIO_DRIVERS", "/nowhere", 1);
  if (ck_size > 1) CHECK_CLASS(code_of(name, kNew, "MERCUTIO_DRIVERS"), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_INT(ck_disk_size(on_disk(name)), -1);
  setenv("MERCUTIO_DRIVERS", drivers, 1);
}

// Rank 0 decides what a name with a colon means.
static void missing_on_the_first(void) {
  const char *name = plain("f");
  if (ck_rank == 0) setenv("MERCUTIO_DRIVERS", "/nowhere", 1);
  CHECK_CLASS(code_of(name, kNew, NULL), MPI_ERR_NO_SUCH_FILE);   // there is no folder "plain:"
  setenv("MERCUTIO_DRIVERS", drivers, 1);
  CHECK_OK(code_of(name, kNew, NULL));
  CHECK_INT(ck_disk_size(on_disk(name)), 0);
}

// Rank 0's name has the prefix, that of the others hasn't.
static void other_names(void) {
  const char *name = plain("f");
  CHECK_CLASS(code_of(ck_rank == 0 ? name : on_disk(name), kNew, "rank 0"), ck_size == 1 ? MPI_SUCCESS : MPI_ERR_NOT_SAME);
  if (ck_size > 1) CHECK_INT(ck_disk_size(on_disk(name)), -1);
}

static void unusable(void) {
  CHECK_CLASS(code_of("future:x", kNew, "version 99"), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(code_of("partial:x", kNew, "'write'"), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(code_of("nothing:x", kNew, "mercutio_driver_init"), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(code_of("broken:x", kNew, "can't be loaded"), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(code_of("unwilling:x", kNew, "asleep"), MPI_ERR_IO);
}

// `plan` is CALL:ERRNO, for the last rank.
static void fail_on_last(const char *plan) {
  char whole[64];
  snprintf(whole, sizeof whole, "%s:%d", plan, ck_size - 1);
  setenv("MERCUTIO_TEST_FAIL", whole, 1);
}

static void open_fails_on_one(void) {
  const char *name = plain("f");
  fail_on_last("open:13");
  CHECK_CLASS(code_of(name, kNew, "told to fail"), MPI_ERR_ACCESS);
  fail_on_last("get_traits:28");
  CHECK_CLASS(code_of(name, kNew, "get_traits"), MPI_ERR_NO_SPACE);
  setenv("MERCUTIO_TEST_FAIL", "get_traits:5:0", 1);
  name = plain("taken_back");
  CHECK_CLASS(code_of(name, kNew | MPI_MODE_EXCL, "get_traits"), MPI_ERR_IO);
  CHECK_INT(ck_disk_size(on_disk(name)), -1);   // rank 0 has made it
  name = plain("f");
  setenv("MERCUTIO_TEST_FAIL", "get_handle:12:0", 1);
  CHECK_CLASS(code_of(name, kNew, "get_handle"), MPI_ERR_NO_MEM);
  unsetenv("MERCUTIO_TEST_FAIL");
  CHECK_OK(code_of(name, kNew, NULL));
}

static void calls_fail_on_one(void) {
  MPI_File fh = ck_open(plain("f"), kNew);
  MPI_Offset bytes = 0;
  int data[1000] = {0}, code;
  fail_on_last("write:28");
  code = MPI_File_write_at_all(fh, (MPI_Offset)sizeof data * ck_rank, data, 1000, MPI_INT, MPI_STATUS_IGNORE);
  CHECK_SAME(code);
  fail_on_last("set_size:122");
  code = MPI_File_set_size(fh, 7);   // by rank 0 for all
  CHECK_SAME(code);
  CHECK_CLASS(code, ck_size == 1 ? MPI_ERR_QUOTA : MPI_SUCCESS);
  fail_on_last("sync:5");
  CHECK_OK(MPI_File_write_at(fh, 4 * ck_rank, data, 1, MPI_INT, MPI_STATUS_IGNORE));
  code = MPI_File_sync(fh);
  CHECK_SAME(code);
  CHECK_CLASS(code, MPI_ERR_IO);
  fail_on_last("get_size:13");
  CHECK_CLASS(MPI_File_get_size(fh, &bytes), ck_rank == ck_size - 1 ? MPI_ERR_ACCESS : MPI_SUCCESS);
  fail_on_last("close:28");
  code = MPI_File_close(&fh);
  CHECK_SAME(code);
  CHECK_CLASS(code, MPI_ERR_NO_SPACE);
  CHECK(fh == MPI_FILE_NULL);
  unsetenv("MERCUTIO_TEST_FAIL");
}

// What a rank keeps of earlier writes is written before a collective access: all ranks learn that it can't be.
static void kept_writes_fail_on_one(void) {
  MPI_Info info;
  MPI_File fh;
  int one = 1, code;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mercutio_write_behind", "enable");
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, plain("f"), kNew, info, &fh));
  MPI_Info_free(&info);
  CHECK_OK(MPI_File_write_at(fh, 4 * ck_rank, &one, 1, MPI_INT, MPI_STATUS_IGNORE));
  fail_on_last("flush:28");
  code = MPI_File_read_at_all(fh, 4 * ck_rank, &one, 1, MPI_INT, MPI_STATUS_IGNORE);
  CHECK_SAME(code);
  CHECK_CLASS(code, MPI_ERR_NO_SPACE);
  unsetenv("MERCUTIO_TEST_FAIL");
  CHECK_OK(MPI_File_close(&fh));
}

// All ranks but the first open with what the first one has handed on.
static void handles_are_handed_on(void) {
  const char *name = plain("f");
  setenv("MERCUTIO_TEST_NEEDS_HANDLE", "1", 1);
  CHECK_OK(code_of(name, kNew, NULL));
  CHECK_OK(code_of(name, MPI_MODE_RDONLY, NULL));
  unsetenv("MERCUTIO_TEST_NEEDS_HANDLE");
}

// A library may keep data in each process: ranks count, not nodes.
static void writes_that_others_do_not_see(void) {
  const char *name = plain("f");
  MPI_File fh;
  MPI_Info info;
  CHECK_OK(code_of(name, kNew, NULL));
  setenv("MERCUTIO_TEST_SEEN", "1", 1);
  CHECK_CLASS(code_of(name, kNew, "ranks don't see"), ck_size == 1 ? MPI_SUCCESS : MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_OK(code_of(name, MPI_MODE_RDONLY, NULL));
  CHECK_OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK_OK(MPI_File_close(&fh));
  MPI_Info_create(&info);
  MPI_Info_set(info, "mercutio_coherence", "none");
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, info, &fh));
  CHECK_OK(MPI_File_close(&fh));
  MPI_Info_free(&info);
  unsetenv("MERCUTIO_TEST_SEEN");
}

// Where nobody else sees a lock, the ranks take turns.
static void atomic_mode_needs_no_locks(void) {
  const char *name = plain("f");
  for (int locks = 0; locks <= 2; locks++) {   // nobody, this node, all
    char value[2] = {(char)('0' + locks), 0};
    int one = ck_rank + 1, atomic = 0;
    setenv("MERCUTIO_TEST_LOCKS", value, 1);
    MPI_File fh = ck_open(name, kNew);
    CHECK_OK(MPI_File_set_atomicity(fh, 1));
    CHECK_OK(MPI_File_get_atomicity(fh, &atomic));
    CHECK_INT(atomic, 1);
    CHECK_OK(MPI_File_write_at_all(fh, 4 * ck_rank, &one, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_close(&fh));
    CHECK_BYTES(on_disk(name), 4 * ck_rank, &one, 4);
  }
  unsetenv("MERCUTIO_TEST_LOCKS");
}

static void what_is_left_out(void) {
  char name[CK_NAME_BYTES + 16];
  const char *path = ck_fresh("f");
  MPI_Offset bytes = -1;
  snprintf(name, sizeof name, "least:%s", path);
  MPI_File fh = ck_open(name, kNew);
  CHECK_OK(MPI_File_preallocate(fh, 1000));
  CHECK_OK(MPI_File_set_size(fh, 2000));
  CHECK_OK(MPI_File_get_size(fh, &bytes));
  CHECK_INT(bytes, 2000);
  CHECK_OK(MPI_File_sync(fh));
  CHECK_CLASS(MPI_File_set_size(fh, 10), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_OK(MPI_File_set_atomicity(fh, 1));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_CLASS(MPI_File_delete(name, MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_OPERATION);
}

// What ranks keep of their writes is in the file before it is preallocated: a driver may do that by setting the size that it has seen.
static void kept_writes_come_first(void) {
  const char *name = plain("f");
  const int others = (ck_rank + 1) % ck_size;
  char mine = (char)('a' + ck_rank), theirs = (char)('a' + others);
  MPI_File fh;
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mercutio_write_behind", "enable");
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, kNew, info, &fh));
  MPI_Info_free(&info);
  CHECK_OK(MPI_File_write_at(fh, 100 + ck_rank, &mine, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_preallocate(fh, 50));
  CHECK_BYTES(on_disk(name), 100 + others, &theirs, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_close(&fh));
}

static void it_is_named(void) {
  MPI_File fh = ck_open(plain("f"), kNew);
  MPI_Info info;
  char value[64] = "";
  int flag = 0;
  CHECK_OK(MPI_File_get_info(fh, &info));
  MPI_Info_get(info, "romio_filesystem_type", 63, value, &flag);
  CHECK(flag && !strcmp(value, "plain"));
  MPI_Info_get(info, "striping_unit", 63, value, &flag);
  CHECK(flag && !strcmp(value, "65536"));
  MPI_Info_free(&info);
  CHECK_OK(MPI_File_close(&fh));
}

static void deleting(void) {
  const char *name = plain("f");
  MPI_File fh = ck_open(name, kNew);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(on_disk(name)), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) CHECK_OK(MPI_File_delete(name, MPI_INFO_NULL));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_CLASS(MPI_File_delete(name, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  fh = ck_open(name, kNew | MPI_MODE_DELETE_ON_CLOSE);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(on_disk(name)), -1);
}

// Writes that are seen when they are published: an independent access, too, has its turn, and a rank reads what it has written itself.
static void published_files(void) {
  const char *name = plain("f");
  char mine[8] = "abcdefg", back[8] = "";
  MPI_File fh;
  MPI_Offset bytes = -1;
  setenv("MERCUTIO_TEST_SEEN", "3", 1);
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, kNew, MPI_INFO_NULL, &fh));
  CHECK_OK(MPI_File_write_at_all(fh, 8 * ck_rank, mine, 8, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at(fh, 8 * ck_rank, back, 8, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(!memcmp(mine, back, 8));
  CHECK_OK(MPI_File_sync(fh));
  CHECK_OK(MPI_File_read_at(fh, 8 * ck_rank, mine, 8, MPI_BYTE, MPI_STATUS_IGNORE));
  setenv("MERCUTIO_TEST_FAIL", "begin_turn:28", 1);
  CHECK_CLASS(MPI_File_write_at(fh, 8 * ck_rank, mine, 8, MPI_BYTE, MPI_STATUS_IGNORE), ck_size == 1 ? MPI_SUCCESS : MPI_ERR_NO_SPACE);
  unsetenv("MERCUTIO_TEST_FAIL");
  CHECK_OK(MPI_File_write_at_all(fh, 8 * ck_rank, mine, 8, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_set_size(fh, 4));
  CHECK_OK(MPI_File_get_size(fh, &bytes));
  CHECK_INT(bytes, 4);
  CHECK_OK(MPI_File_close(&fh));
  unsetenv("MERCUTIO_TEST_SEEN");
}

// Atomic mode on such files: where one rank can't have its own open, or can't publish an access, the error is that of all, or of that rank.
static void published_atomically(void) {
  const char *name = plain("f");
  char letter = (char)('a' + ck_rank), back[8] = "";
  MPI_File fh;
  int atomic = -1;
  setenv("MERCUTIO_TEST_SEEN", "3", 1);
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, kNew, MPI_INFO_NULL, &fh));
  if (ck_size > 1) {
    if (ck_rank == 1) setenv("MERCUTIO_TEST_FAIL", "open:28", 1);
    CHECK_CLASS(MPI_File_set_atomicity(fh, 1), MPI_ERR_NO_SPACE);
    unsetenv("MERCUTIO_TEST_FAIL");
    CHECK_OK(MPI_File_get_atomicity(fh, &atomic));
    CHECK_INT(atomic, 0);
  }
  CHECK_OK(MPI_File_set_atomicity(fh, 1));
  CHECK_OK(MPI_File_write_at(fh, ck_rank, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_read_at_all(fh, 0, back, ck_size, MPI_CHAR, MPI_STATUS_IGNORE));
  for (int i = 0; i < ck_size; i++) CHECK_INT(back[i], 'a' + i);
  if (ck_size > 1) {
    if (ck_rank == 1) setenv("MERCUTIO_TEST_FAIL", "publish:28", 1);
    CHECK_CLASS(MPI_File_write_at(fh, ck_rank, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE), ck_rank == 1 ? MPI_ERR_NO_SPACE : MPI_SUCCESS);
    unsetenv("MERCUTIO_TEST_FAIL");
  }
  CHECK_OK(MPI_File_write_at(fh, ck_rank, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE));   // nobody waits for a turn that has ended badly
  CHECK_OK(MPI_File_set_atomicity(fh, 0));
  CHECK_OK(MPI_File_write_at_all(fh, ck_rank, &letter, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  unsetenv("MERCUTIO_TEST_SEEN");
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  snprintf(drivers, sizeof drivers, "%s", getenv("MERCUTIO_DRIVERS") ? getenv("MERCUTIO_DRIVERS") : "");
  RUN(missing_everywhere);
  RUN(missing_on_one);
  RUN(missing_on_the_first);
  RUN(other_names);
  RUN(unusable);
  RUN(open_fails_on_one);
  RUN(calls_fail_on_one);
  RUN(kept_writes_fail_on_one);
  RUN(handles_are_handed_on);
  RUN(writes_that_others_do_not_see);
  RUN(published_files);
  RUN(published_atomically);
  RUN(atomic_mode_needs_no_locks);
  RUN(what_is_left_out);
  RUN(kept_writes_come_first);
  RUN(it_is_named);
  RUN(deleting);
  return ck_finish();
}
