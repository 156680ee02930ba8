// 14.7 and 14.8: the error class of every wrong use the chapter names, the same on all ranks when one of them alone is
// wrong; what the texts say. Errors no rank can make on purpose (quota, a disk that fails) are
// made by a seccomp filter in a process of its own.
#include "access_kinds.h"
#include "child.h"

static int code_of_open(MPI_Comm comm, const char *name, int amode) {
  MPI_File fh = MPI_FILE_NULL;
  int code = MPI_File_open(comm, (char *)name, amode, MPI_INFO_NULL, &fh);
  if (code == MPI_SUCCESS) MPI_File_close(&fh);
  return code;
}

static int last(void) { return ck_rank == ck_size - 1; }

// ---- opening and deleting -----------------------------------------------------------------------------------------------

static void open_no_such_file(void) {
  const char *name = ck_fresh("f");
  CHECK_CLASS(code_of_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR), MPI_ERR_NO_SUCH_FILE);
  CHECK_CLASS(MPI_File_delete((char *)name, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
}

static void open_file_exists(void) {
  const char *name = ck_filled("f", 10);
  CHECK_CLASS(code_of_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_EXCL), MPI_ERR_FILE_EXISTS);
  CHECK_INT(ck_disk_size(name), 10);
}

static void open_bad_file(void) {
  char name[2 * CK_NAME_BYTES], component[301];
  const char *plain = ck_filled("f", 10);
  snprintf(name, sizeof name, "%s/below_a_file", plain);
  CHECK_CLASS(code_of_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE), MPI_ERR_BAD_FILE);
  memset(component, 'x', 300);
  component[300] = 0;
  snprintf(name, sizeof name, "%s/%s", ck_dir, component);
  CHECK_CLASS(code_of_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE), MPI_ERR_BAD_FILE);
  CHECK_CLASS(MPI_File_delete(name, MPI_INFO_NULL), MPI_ERR_BAD_FILE);
}

static void open_access(void) {
  const char *name = ck_filled("f", 10);
  int root = geteuid() == 0, code;
  if (ck_rank == 0) CHECK_INT(chmod(ck_on_disk(name), 0), 0);
  MPI_Barrier(MPI_COMM_WORLD);
  if (root) CHECK_INT(seteuid(65534), 0);
  code = code_of_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR);
  if (root) CHECK_INT(seteuid(0), 0);
  CHECK_CLASS(code, MPI_ERR_ACCESS);
}

// A program that runs can't be written. The launcher's runs even where this one is emulated.
static void open_file_in_use(void) {
  char name[40];
  snprintf(name, sizeof name, "/proc/%d/exe", (int)getppid());
  CHECK_CLASS(code_of_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR), MPI_ERR_FILE_IN_USE);
}

static void open_amode(void) {
  const char *name = ck_filled("f", 10);
  const int wrong[] = {0, MPI_MODE_RDONLY | MPI_MODE_RDWR, MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_MODE_RDONLY | MPI_MODE_EXCL,
                       MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    CHECK_CLASS(code_of_open(MPI_COMM_WORLD, name, wrong[i]), MPI_ERR_AMODE);
}

static void open_amode_of_one(void) {
  int code = code_of_open(MPI_COMM_WORLD, ck_filled("f", 10), last() ? 0 : MPI_MODE_RDWR);
  CHECK_CLASS(code, MPI_ERR_AMODE);
  CHECK_SAME(code);
}

static void open_amode_not_same(void) {
  if (ck_size == 1) return;
  int code = code_of_open(MPI_COMM_WORLD, ck_filled("f", 10), last() ? MPI_MODE_RDONLY : MPI_MODE_RDWR);
  CHECK_CLASS(code, MPI_ERR_NOT_SAME);
}

static void open_missing_for_one(void) {
  const char *name = ck_filled("f", 10);
  if (ck_size == 1) return;
  int code = code_of_open(MPI_COMM_WORLD, last() ? ck_path("missing") : name, MPI_MODE_RDWR);
  CHECK_CLASS(code, MPI_ERR_NO_SUCH_FILE);
}

static void open_null_communicator(void) {
  CHECK_CLASS(code_of_open(MPI_COMM_NULL, ck_path("f"), MPI_MODE_RDWR | MPI_MODE_CREATE), MPI_ERR_COMM);
}

// ---- handles and arguments ----------------------------------------------------------------------------------------------

static void null_file_by(int kind) {
  int x = 0;
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  CkAccess a = {0, kind, MPI_FILE_NULL, 0, &x, 1, MPI_INT};
  CHECK_CLASS(ck_call_read(&a, &status, &request), MPI_ERR_FILE);
  a.write = 1;
  CHECK_CLASS(ck_call_write(&a, &status, &request), MPI_ERR_FILE);
  if (ck_kind_is_split(kind)) CHECK_CLASS(ck_call_end(&a, &status), MPI_ERR_FILE);
}

static void null_file(void) {
  MPI_File fh = MPI_FILE_NULL;
  MPI_Offset offset = 0;
  MPI_Datatype etype, filetype;
  MPI_Group group;
  MPI_Info info;
  MPI_Aint extent;
  char datarep[MPI_MAX_DATAREP_STRING];
  int value = 0;
  CHECK_CLASS(MPI_File_set_size(fh, 0), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_preallocate(fh, 0), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_get_size(fh, &offset), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_get_group(fh, &group), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_get_amode(fh, &value), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_set_info(fh, MPI_INFO_NULL), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_get_info(fh, &info), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_get_view(fh, &offset, &etype, &filetype, datarep), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_seek(fh, 0, MPI_SEEK_SET), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_get_position(fh, &offset), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_get_position_shared(fh, &offset), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_get_byte_offset(fh, 0, &offset), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_get_type_extent(fh, MPI_INT, &extent), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_set_atomicity(fh, 1), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_get_atomicity(fh, &value), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_sync(fh), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_close(&fh), MPI_ERR_FILE);
}

// One access with these arguments on the last rank, good ones on the others. A collective gives all ranks the same class.
static void wrong_on_one(int kind, MPI_File fh, MPI_Count count, MPI_Datatype type, int class) {
  int data[4] = {0, 0, 0, 0};
  MPI_Status status;
  for (int write = 0; write < 2; write++) {
    CkAccess a = {write, kind, fh, 0, data, 1, MPI_INT};
    if (last()) a.count = count, a.type = type;
    int code = ck_do(&a, &status), all = ck_kind_is_collective(kind);
    CHECK_CLASS(code, last() || all ? class : MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void negative_count(int kind) {
  MPI_File fh = ck_open(ck_filled("f", 400), MPI_MODE_RDWR);
  wrong_on_one(kind, fh, -1, MPI_INT, MPI_ERR_COUNT);
  CHECK_OK(MPI_File_close(&fh));
}

static void null_type(int kind) {
  MPI_File fh = ck_open(ck_filled("f", 400), MPI_MODE_RDWR);
  wrong_on_one(kind, fh, 1, MPI_DATATYPE_NULL, MPI_ERR_TYPE);
  CHECK_OK(MPI_File_close(&fh));
}

static void uncommitted_type(int kind) {
  MPI_File fh = ck_open(ck_filled("f", 400), MPI_MODE_RDWR);
  MPI_Datatype type;
  MPI_Type_contiguous(1, MPI_INT, &type);
  wrong_on_one(kind, fh, 1, type, MPI_ERR_TYPE);
  MPI_Type_free(&type);
  CHECK_OK(MPI_File_close(&fh));
}

static void negative_offset(int kind) {
  MPI_File fh = ck_open(ck_filled("f", 400), MPI_MODE_RDWR);
  int data = 0;
  MPI_Status status;
  if (ck_kind_is_explicit(kind)) {
    int code = ck_read(kind, fh, last() ? -5 : 0, &data, 1, MPI_INT, &status);
    CHECK_CLASS(code, last() || ck_kind_is_collective(kind) ? MPI_ERR_ARG : MPI_SUCCESS);
  }
  CHECK_OK(MPI_File_close(&fh));
}

static void wrong_direction(int kind) {
  const char *name = ck_filled("f", 400);
  int data[4] = {0, 0, 0, 0};
  MPI_Status status;
  MPI_File fh = ck_open(name, MPI_MODE_RDONLY);
  CkAccess a = {1, kind, fh, 0, data, 1, MPI_INT};
  CHECK_CLASS(ck_do(&a, &status), MPI_ERR_READ_ONLY);
  CHECK_OK(MPI_File_close(&fh));
  fh = ck_open(name, MPI_MODE_WRONLY);
  a.write = 0;
  a.fh = fh;
  CHECK_CLASS(ck_do(&a, &status), MPI_ERR_ACCESS);
  CHECK_OK(MPI_File_close(&fh));
}

static void sequential(int kind) {
  int data[4] = {1, 2, 3, 4};
  MPI_Status status;
  MPI_File fh = ck_open(ck_fresh("f"), MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL);
  MPI_Request request = MPI_REQUEST_NULL;
  CkAccess a = {1, kind, fh, 0, data, 1, MPI_INT};
  CHECK_CLASS(ck_call_write(&a, &status, &request), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_OK(MPI_File_close(&fh));
}

static void sequential_pointers(void) {
  MPI_Offset offset = 0;
  MPI_File fh = ck_open(ck_fresh("f"), MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL);
  CHECK_CLASS(MPI_File_seek(fh, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_get_position(fh, &offset), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_OK(MPI_File_get_byte_offset(fh, 3, &offset));
  CHECK_INT(offset, 3);
  CHECK_OK(MPI_File_close(&fh));
}

static void seek_arguments(void) {
  MPI_File fh = ck_open(ck_filled("f", 100), MPI_MODE_RDWR);
  MPI_Offset at = -1;
  CHECK_OK(MPI_File_seek(fh, 7, MPI_SEEK_SET));
  CHECK_CLASS(MPI_File_seek(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_seek(fh, -8, MPI_SEEK_CUR), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_seek(fh, -101, MPI_SEEK_END), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_seek(fh, 0, 12345), MPI_ERR_ARG);
  CHECK_OK(MPI_File_get_position(fh, &at));
  CHECK_INT(at, 7);
  CHECK_CLASS(MPI_File_seek_shared(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  if (ck_is_mercutio()) CHECK_CLASS(MPI_File_seek_shared(fh, 0, last() ? 12345 : MPI_SEEK_SET), MPI_ERR_ARG);   // hosts hang
  CHECK_CLASS(MPI_File_get_byte_offset(fh, -1, &at), MPI_ERR_ARG);
  CHECK_OK(MPI_File_close(&fh));
}

// ---- arguments that must be the same on all ranks -----------------------------------------------------------------------

static void not_same(void) {
  MPI_File fh = ck_create("f");
  int flag = 7;
  if (ck_size > 1) {
    CHECK_CLASS(MPI_File_set_size(fh, last() ? 10 : 20), MPI_ERR_NOT_SAME);
    CHECK_CLASS(MPI_File_preallocate(fh, last() ? 10 : 20), MPI_ERR_NOT_SAME);
    CHECK_CLASS(MPI_File_set_atomicity(fh, last()), MPI_ERR_NOT_SAME);
    CHECK_CLASS(MPI_File_seek_shared(fh, last() ? 10 : 20, MPI_SEEK_SET), MPI_ERR_NOT_SAME);
    CHECK_CLASS(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, last() ? "native" : "external32", MPI_INFO_NULL), MPI_ERR_NOT_SAME);
    MPI_Datatype type = last() ? MPI_INT : MPI_DOUBLE;
    CHECK_CLASS(MPI_File_set_view(fh, 0, type, type, "native", MPI_INFO_NULL), MPI_ERR_NOT_SAME);
  }
  CHECK_OK(MPI_File_get_atomicity(fh, &flag));
  CHECK_INT(flag, 0);
  CHECK_OK(MPI_File_close(&fh));
}

static void view_of_one(void) {
  MPI_File fh = ck_create("f");
  MPI_Datatype wrong = last() ? MPI_DATATYPE_NULL : MPI_INT;
  int one = last();
  CHECK_CLASS(MPI_File_set_view(fh, one ? -4 : 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_set_view(fh, 0, MPI_INT, wrong, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_File_set_view(fh, 0, wrong, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "no such", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP);
  CHECK_CLASS(MPI_File_set_view(fh, one ? MPI_DISPLACEMENT_CURRENT : 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_set_size(fh, one ? -1 : 0), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_preallocate(fh, one ? -1 : 0), MPI_ERR_ARG);
  CHECK_OK(MPI_File_close(&fh));
}

static void split_misuse(void) {
  MPI_File fh = ck_open(ck_filled("f", 400), MPI_MODE_RDWR);
  int a[4] = {0, 0, 0, 0}, b[4] = {0, 0, 0, 0};
  MPI_Status status;
  CHECK_ERROR(MPI_File_read_all_end(fh, a, &status));
  CHECK_OK(MPI_File_read_all_begin(fh, a, 4, MPI_INT));
  CHECK_ERROR(MPI_File_write_all_begin(fh, b, 4, MPI_INT));
  CHECK_ERROR(MPI_File_read_all(fh, b, 4, MPI_INT, &status));
  CHECK_ERROR(MPI_File_write_all_end(fh, b, &status));
  CHECK_ERROR(MPI_File_read_at_all_end(fh, b, &status));
  CHECK_OK(MPI_File_read_all_end(fh, a, &status));
  CHECK_COUNT(status, MPI_INT, 4);
  CHECK_ERROR(MPI_File_read_all_end(fh, a, &status));
  CHECK_OK(MPI_File_read_at(fh, 0, b, 4, MPI_INT, &status));
  CHECK(!memcmp(a, b, sizeof a));
  CHECK_OK(MPI_File_close(&fh));
}

// ---- storage that refuses -----------------------------------------------------------------------------------------------

static void no_space(int kind) {
  char data[4096];
  MPI_Status status;
  MPI_File fh = MPI_FILE_NULL;
  memset(data, 'x', sizeof data);
  if (!CHECK_OK(MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_RDWR, MPI_INFO_NULL, &fh))) return;
  int code = ck_write(kind, fh, 4096 * ck_rank, data, sizeof data, MPI_BYTE, &status);
  CHECK_CLASS(code, MPI_ERR_NO_SPACE);
  MPI_File_close(&fh);
}

static void storage_errors(void) {
  if (ck_size > 1) return;
  int code = ck_run_child("storage", NULL, 0);
  CHECK_INT(code, 0);
}

// Runs alone: every errno a write can have, made by the kernel's filter.
static void child_storage(void) {
  const struct {
    int number, class;
  } rows[] = {{EDQUOT, MPI_ERR_QUOTA}, {ENOSPC, MPI_ERR_NO_SPACE}, {EIO, MPI_ERR_IO}, {EROFS, MPI_ERR_READ_ONLY},
              {EFBIG, MPI_ERR_NO_SPACE}, {EACCES, MPI_ERR_ACCESS}, {ESTALE, MPI_ERR_IO}};
  MPI_Info info;
  MPI_File fh;
  MPI_Status status;
  char text[MPI_MAX_ERROR_STRING];
  int data[4] = {1, 2, 3, 4}, length;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mercutio_async_backend", "threads");
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, ck_path("child"), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
  MPI_Info_free(&info);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (!ck_fail_writes(rows[i].number)) break;   // no filters here
    for (int kind = 0; kind < kAllKinds; kind++) {
      if (!ck_kind_exists(kind)) continue;
      int code = ck_write(kind, fh, 0, data, 4, MPI_INT, &status);
      if (!CHECK_CLASS(code, rows[i].class)) fprintf(stderr, "    ... by %s\n", ck_kind_names[kind]);
    }
    int code = MPI_File_write_at(fh, 0, data, 4, MPI_INT, &status);
    MPI_Error_string(code, text, &length);
    if (ck_is_mercutio()) CHECK(strstr(text, strerror(rows[i].number)) != NULL);
  }
  MPI_File_close(&fh);
}

// ---- texts --------------------------------------------------------------------------------------------------------------

static int says(int code, const char *what) {
  char text[MPI_MAX_ERROR_STRING] = "", line[2 * MPI_MAX_ERROR_STRING];
  int length = -1;
  CHECK_OK(MPI_Error_string(code, text, &length));
  CHECK_INT(length, strlen(text));
  if (strstr(text, what)) return 1;
  snprintf(line, sizeof line, "'%s' is not in: %s", what, text);
  return ck_report(0, __FILE__, __LINE__, line);
}

static void texts(void) {
  const char *name = ck_fresh("missing"), *made = ck_filled("f", 10);
  if (!ck_is_mercutio()) return;
  int x = 0, code = code_of_open(MPI_COMM_WORLD, name, MPI_MODE_RDONLY);
  says(code, name);
  says(code, "MPI_File_open");
  says(code, "ENOENT");
  says(code, strerror(ENOENT));
  code = MPI_File_delete((char *)name, MPI_INFO_NULL);
  says(code, name);
  says(code, "MPI_File_delete");
  MPI_File fh = ck_open(made, MPI_MODE_RDONLY);
  code = MPI_File_write_at_all(fh, 0, &x, 1, MPI_INT, MPI_STATUS_IGNORE);
  says(code, made);
  says(code, "MPI_File_write_at_all");
  says(code, "MPI_MODE_RDONLY");
  says(code, "rank");
  CHECK_OK(MPI_File_close(&fh));
  fh = ck_open("/dev/full", MPI_MODE_RDWR);
  code = MPI_File_write_at(fh, 0, &x, 1, MPI_INT, MPI_STATUS_IGNORE);
  says(code, "/dev/full");
  says(code, "ENOSPC");
  says(code, "offset 0");
  says(code, "4 bytes");
  MPI_File_close(&fh);
}

// Codes are limited in number: many different texts must not use them up.
// What is no code is no reason to die, though codes have been added.
static void text_of_no_code(void) {
#ifdef MPICH_VERSION   // Open MPI's error is one of MPI_COMM_WORLD
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  CHECK_ERROR(code_of_open(MPI_COMM_WORLD, ck_fresh("missing"), MPI_MODE_RDONLY));
  CHECK_OK(MPI_Error_string(-1, text, &length));
  CHECK(length > 0);
#endif
}

static void many_texts(void) {
  char name[CK_NAME_BYTES + 40];
  for (int i = 0; i < 3000; i++) {
    snprintf(name, sizeof name, "%s/no_such_file_%d_of_rank_%d", ck_dir, i, ck_rank);
    int code = MPI_File_delete(name, MPI_INFO_NULL);
    if (!CHECK_CLASS(code, MPI_ERR_NO_SUCH_FILE)) break;
    if (ck_is_mercutio() && !says(code, name)) break;
  }
}

static void run_opening(void) {
  RUN(open_no_such_file);
  RUN(open_file_exists);
  RUN(open_bad_file);
  RUN(open_access);
  RUN(open_file_in_use);
  RUN(open_amode);
  RUN(open_amode_of_one);
  RUN(open_amode_not_same);
  RUN(open_missing_for_one);
  RUN(open_null_communicator);
}

int main(int argc, char **argv) {
  const char *child = ck_child_name(argc, argv);
  ck_init(&argc, &argv);
  // An error of a request is told to the communicator's handler by some MPIs.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (child) {
    ck_case = child;
    alarm((unsigned)ck_alarm_seconds);
    child_storage();
    MPI_Finalize();
    return ck_failures != 0;
  }
  run_opening();
  RUN(null_file);
  RUN_FOR_KINDS(null_file_by, 0, kAllKinds);
  RUN_FOR_KINDS(negative_count, 0, kAllKinds);
  RUN_FOR_KINDS(null_type, 0, kAllKinds);
  RUN_FOR_KINDS(uncommitted_type, 0, kAllKinds);
  RUN_FOR_KINDS(negative_offset, 0, kKinds);
  RUN_FOR_KINDS(wrong_direction, 0, kAllKinds);
  RUN_FOR_KINDS(sequential, 0, kKinds);
  RUN(sequential_pointers);
  RUN(seek_arguments);
  RUN(not_same);
  RUN(view_of_one);
  RUN(split_misuse);
  RUN_FOR_KINDS(no_space, 0, kAllKinds);
  RUN(storage_errors);
  RUN(texts);
  RUN(text_of_no_code);
  RUN(many_texts);
  return ck_finish();
}
