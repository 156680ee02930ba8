// 14.2: opening, closing, deleting, resizing and querying files.
#include "check.h"

static int open_code(const char *name, int amode) {
  MPI_File fh = MPI_FILE_NULL;
  int rc = MPI_File_open(MPI_COMM_WORLD, (char *)name, amode, MPI_INFO_NULL, &fh);
  if (rc == MPI_SUCCESS) MPI_File_close(&fh);
  CHECK_SAME(rc);
  return rc;
}

static void create_and_close(void) {
  const char *name = ck_fresh("f");
  MPI_File fh;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &fh));
  CHECK(fh != MPI_FILE_NULL);
  CHECK_OK(MPI_File_close(&fh));
  CHECK(fh == MPI_FILE_NULL);
  CHECK_INT(ck_disk_size(name), 0);
}

static void invalid_amodes(void) {
  const char *name = ck_filled("f", 10);
  CHECK_CLASS(open_code(name, 0), MPI_ERR_AMODE);
  CHECK_CLASS(open_code(name, MPI_MODE_CREATE), MPI_ERR_AMODE);
  CHECK_CLASS(open_code(name, MPI_MODE_RDONLY | MPI_MODE_WRONLY), MPI_ERR_AMODE);
  CHECK_CLASS(open_code(name, MPI_MODE_RDONLY | MPI_MODE_RDWR), MPI_ERR_AMODE);
  CHECK_CLASS(open_code(name, MPI_MODE_WRONLY | MPI_MODE_RDWR), MPI_ERR_AMODE);
  CHECK_CLASS(open_code(name, MPI_MODE_RDONLY | MPI_MODE_CREATE), MPI_ERR_AMODE);
  CHECK_CLASS(open_code(name, MPI_MODE_RDONLY | MPI_MODE_EXCL), MPI_ERR_AMODE);
  CHECK_CLASS(open_code(name, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL), MPI_ERR_AMODE);
  CHECK_INT(ck_disk_size(name), 10);
}

static void valid_amodes(void) {
  const int modes[] = {MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR, MPI_MODE_RDWR | MPI_MODE_CREATE,
                       MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_MODE_RDONLY | MPI_MODE_UNIQUE_OPEN,
                       MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL};
  const char *name = ck_filled("f", 10);
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    MPI_File fh = ck_open(name, modes[i]);
    int got = 0;
    CHECK_OK(MPI_File_get_amode(fh, &got));
    CHECK_INT(got, modes[i]);
    CHECK_OK(MPI_File_close(&fh));
  }
  CHECK_INT(ck_disk_size(name), 10);
}

static void exclusive(void) {
  const char *name = ck_fresh("f");
  CHECK_OK(open_code(name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR));
  CHECK_CLASS(open_code(name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR), MPI_ERR_FILE_EXISTS);
  CHECK_OK(open_code(name, MPI_MODE_CREATE | MPI_MODE_RDWR));
}

static void missing_file(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = MPI_FILE_NULL;
  CHECK_CLASS(open_code(name, MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE);
  CHECK_CLASS(open_code(name, MPI_MODE_RDWR), MPI_ERR_NO_SUCH_FILE);
  CHECK_ERROR(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
  CHECK_INT(ck_disk_size(name), -1);
}

static void missing_folder(void) {
  char name[CK_NAME_BYTES];
  snprintf(name, sizeof name, "%s/no_such_folder/file", ck_dir);
  CHECK_CLASS(open_code(name, MPI_MODE_CREATE | MPI_MODE_RDWR), MPI_ERR_NO_SUCH_FILE);
}

static void directory(void) { CHECK_ERROR(open_code(ck_dir, MPI_MODE_RDWR)); }

static void amode_differs(void) {
  const char *name = ck_filled("f", 10);
  MPI_File fh = MPI_FILE_NULL;
  if (ck_size == 1) return;
  int rc = MPI_File_open(MPI_COMM_WORLD, (char *)name, ck_rank ? MPI_MODE_RDONLY : MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
  CHECK_ERROR(rc);
  if (rc == MPI_SUCCESS) MPI_File_close(&fh);
  CHECK_SAME(rc);
}

static void delete_on_close(void) {
  const char *name = ck_fresh("f");
  int x = ck_rank;
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  CHECK_OK(MPI_File_write_at(fh, ck_rank * 4, &x, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_INT(ck_disk_size(name) >= 0, 1);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_INT(ck_disk_size(name), -1);
}

static void append(void) {
  const char *name = ck_filled("f", 10);
  MPI_File fh = ck_open(name, MPI_MODE_WRONLY | MPI_MODE_APPEND);
  MPI_Offset at = -1;
  CHECK_OK(MPI_File_get_position(fh, &at));
  CHECK_INT(at, 10);
  CHECK_OK(MPI_File_get_position_shared(fh, &at));
  CHECK_INT(at, 10);
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) CHECK_OK(MPI_File_write(fh, "abcde", 5, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), 15);
  CHECK_BYTES(name, 10, "abcde", 5);
}

static void delete_file(void) {
  const char *name = ck_filled("f", 10);
  if (ck_rank == 0) {
    CHECK_OK(MPI_File_delete((char *)name, MPI_INFO_NULL));
    CHECK_INT(ck_disk_size(name), -1);
    CHECK_CLASS(MPI_File_delete((char *)name, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// A rank may change the size again as soon as it has been told the last one: it waits for the others.
static void check_size(MPI_File fh, MPI_Offset want) {
  MPI_Offset size = -1;
  CHECK_OK(MPI_File_get_size(fh, &size));
  CHECK_INT(size, want);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void sizes(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  check_size(fh, 0);
  CHECK_OK(MPI_File_set_size(fh, 1000));
  check_size(fh, 1000);
  CHECK_OK(MPI_File_set_size(fh, 100));
  check_size(fh, 100);
  CHECK_OK(MPI_File_preallocate(fh, 50));
  check_size(fh, 100);
  CHECK_OK(MPI_File_preallocate(fh, 100000));
  check_size(fh, 100000);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), 100000);
}

static void size_arguments(void) {
  MPI_File fh = ck_create("f");
  int rc = MPI_File_set_size(fh, -1);
  CHECK_CLASS(rc, MPI_ERR_ARG);
  CHECK_SAME(rc);
  rc = MPI_File_preallocate(fh, -1);
  CHECK_CLASS(rc, MPI_ERR_ARG);
  CHECK_SAME(rc);
  CHECK_OK(MPI_File_close(&fh));
}

static void size_differs(void) {
  MPI_File fh = ck_create("f");
  MPI_Offset size = -1;
  if (ck_size > 1) {
    int rc = MPI_File_set_size(fh, 100 + ck_rank);
    CHECK_ERROR(rc);
    CHECK_SAME(rc);
  }
  CHECK_OK(MPI_File_set_size(fh, 77));
  CHECK_OK(MPI_File_get_size(fh, &size));
  CHECK_INT(size, 77);
  CHECK_OK(MPI_File_close(&fh));
}

static void preallocate_keeps_data(void) {
  const char *name = ck_filled("f", 5000);
  unsigned char want[5000];
  MPI_File fh = ck_open(name, MPI_MODE_RDWR);
  for (int i = 0; i < 5000; i++) want[i] = ck_byte_at(i);
  CHECK_OK(MPI_File_preallocate(fh, 20000));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 0, want, 5000);
}

static void read_only_refuses(void) {
  const char *name = ck_filled("f", 100);
  MPI_File fh = ck_open(name, MPI_MODE_RDONLY);
  int x = 1, rc;
  rc = MPI_File_set_size(fh, 10);
  CHECK(ck_class(rc) == MPI_ERR_READ_ONLY || ck_class(rc) == MPI_ERR_ACCESS);
  CHECK_ERROR(MPI_File_preallocate(fh, 1000));
  CHECK_CLASS(MPI_File_write_at(fh, 0, &x, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  rc = MPI_File_write_at_all(fh, 0, &x, 1, MPI_INT, MPI_STATUS_IGNORE);
  CHECK_CLASS(rc, MPI_ERR_READ_ONLY);
  CHECK_SAME(rc);
  CHECK_CLASS(MPI_File_write(fh, &x, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_write_all(fh, &x, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), 100);
}

static void write_only_refuses(void) {
  const char *name = ck_filled("f", 100);
  MPI_File fh = ck_open(name, MPI_MODE_WRONLY);
  int x = 1;
  CHECK_CLASS(MPI_File_read_at(fh, 0, &x, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  CHECK_CLASS(MPI_File_read_at_all(fh, 0, &x, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  CHECK_CLASS(MPI_File_read(fh, &x, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  CHECK_OK(MPI_File_close(&fh));
}

static void group(void) {
  MPI_File fh = ck_create("f");
  MPI_Group mine, world;
  int result = -1;
  CHECK_OK(MPI_File_get_group(fh, &mine));
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_compare(mine, world, &result);
  CHECK_INT(result, MPI_IDENT);
  MPI_Group_free(&mine);
  MPI_Group_free(&world);
  CHECK_OK(MPI_File_close(&fh));
}

static void communicators(void) {
  const char *name = ck_fresh("f");
  MPI_Comm half, dup;
  MPI_File fh;
  char mine[CK_NAME_BYTES + 20];
  int size = 0, n = 0;
  MPI_Group group;
  MPI_Comm_split(MPI_COMM_WORLD, ck_rank % 2, -ck_rank, &half);
  MPI_Comm_size(half, &size);
  snprintf(mine, sizeof mine, "%s%d", name, ck_rank % 2);
  CHECK_OK(MPI_File_open(half, mine, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  MPI_Comm_free(&half);   // the file keeps what it needs
  CHECK_OK(MPI_File_get_group(fh, &group));
  MPI_Group_size(group, &n);
  CHECK_INT(n, size);
  MPI_Group_free(&group);
  CHECK_OK(MPI_File_write_at_all(fh, 4 * (ck_rank / 2), &ck_rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(mine, 4 * (ck_rank / 2), &ck_rank, 4);
  snprintf(mine, sizeof mine, "%s.self%d", name, ck_rank);
  CHECK_OK(MPI_File_open(MPI_COMM_SELF, mine, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK_OK(MPI_File_write_all(fh, &ck_rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(mine, 0, &ck_rank, 4);
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  CHECK_OK(MPI_File_open(dup, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK_OK(MPI_File_close(&fh));
  MPI_Comm_free(&dup);
}

static void intercommunicator(void) {
  const char *name = ck_fresh("f");
  MPI_Comm half, inter;
  MPI_File fh = MPI_FILE_NULL;
  if (ck_size == 1) return;
  MPI_Comm_split(MPI_COMM_WORLD, ck_rank % 2, ck_rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, (ck_rank + 1) % 2, 5, &inter);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_File_open(inter, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh), MPI_ERR_COMM);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static void many_files(void) {
  const char *name = ck_fresh("f");
  MPI_File files[20];
  char each[CK_NAME_BYTES + 20];
  for (int i = 0; i < 20; i++) {
    snprintf(each, sizeof each, "%s%d", name, i);
    CHECK_OK(MPI_File_open(MPI_COMM_WORLD, each, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &files[i]));
  }
  for (int i = 0; i < 20; i++) CHECK_OK(MPI_File_write_at(files[i], 4 * ck_rank, &i, 1, MPI_INT, MPI_STATUS_IGNORE));
  for (int i = 19; i >= 0; i--) CHECK_OK(MPI_File_close(&files[i]));
  for (int i = 0; i < 20; i++) {
    snprintf(each, sizeof each, "%s%d", name, i);
    CHECK_BYTES(each, 4 * ck_rank, &i, 4);
  }
}

static void handles(void) {
  MPI_File fh = ck_create("f");
#ifdef MPI_ABI
  CHECK(MPI_File_fromint(MPI_File_toint(fh)) == fh);
  CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
#else
  CHECK(MPI_File_f2c(MPI_File_c2f(fh)) == fh);
  CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
#endif
  CHECK_OK(MPI_File_close(&fh));
}

static void null_handle(void) {
  MPI_File fh = MPI_FILE_NULL;
  MPI_Offset size;
  int x = 0;
  CHECK_CLASS(MPI_File_get_size(fh, &size), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_read_at(fh, 0, &x, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_sync(fh), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_close(&fh), MPI_ERR_FILE);
}

static void odd_name(const char *tail) {
  char name[CK_NAME_BYTES + 300];
  MPI_File fh;
  snprintf(name, sizeof name, "%s/%s", ck_dir, tail);
  if (!CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh))) return;
  CHECK_OK(MPI_File_write_at_all(fh, 4 * ck_rank, &ck_rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 4 * ck_rank, &ck_rank, 4);
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) CHECK_OK(MPI_File_delete(name, MPI_INFO_NULL));
}

static void odd_names(void) {
  static const char *const tails[][2] = {{"n_colon", "n:foo"}, {"u_colon", "u:t.dat"}, {"space", "with a space"},
                                         {"utf8", "gr\xc3\xbc\xc3\x9f" "e"}, {"quotes", "'quote\""}, {"dash", "-dash"},
                                         {"signs", "a#b%c"}, {"colons", "x:y:z"}};
  char longer[201];
  for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) RUN_FOR(odd_name, tails[i][0], tails[i][1]);
  memset(longer, 'L', 200);
  longer[200] = 0;
  RUN_FOR(odd_name, "long", longer);
}

static void prefix_ufs(void) {
  char name[CK_NAME_BYTES];
  const char *plain = ck_fresh("f");
  MPI_File fh;
  snprintf(name, sizeof name, "ufs:%s", ck_on_disk(plain));
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK_OK(MPI_File_close(&fh));
  struct stat s;
  CHECK(stat(ck_on_disk(plain), &s) == 0 && s.st_size == 0);
}

static void no_litter(void) {
  char name[CK_NAME_BYTES + 20], command[2 * CK_NAME_BYTES];
  MPI_File fh;
  snprintf(name, sizeof name, "%s/%s_litter", ck_dir, ck_program);
  if (ck_rank == 0 && mkdir(ck_on_disk(name), 0777) != 0) CHECK(errno == EEXIST);
  MPI_Barrier(MPI_COMM_WORLD);
  snprintf(command, sizeof command, "test \"$(ls -A '%s')\" = f", ck_on_disk(name));
  strcat(name, "/f");
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK_OK(MPI_File_write_shared(fh, &ck_rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_write_ordered(fh, &ck_rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  if (ck_rank == 0) CHECK_INT(system(command), 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(create_and_close);
  RUN(invalid_amodes);
  RUN(valid_amodes);
  RUN(exclusive);
  RUN(missing_file);
  RUN(missing_folder);
  RUN(directory);
  RUN(amode_differs);
  RUN(delete_on_close);
  RUN(append);
  RUN(delete_file);
  RUN(sizes);
  RUN(size_arguments);
  RUN(size_differs);
  RUN(preallocate_keeps_data);
  RUN(read_only_refuses);
  RUN(write_only_refuses);
  RUN(group);
  RUN(communicators);
  RUN(intercommunicator);
  RUN(many_files);
  RUN(handles);
  RUN(null_handle);
  odd_names();
  RUN(prefix_ufs);
  RUN(no_litter);
  return ck_finish();
}
