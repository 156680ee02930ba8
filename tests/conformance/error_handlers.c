// 8.3 and 14.7: files' own error handlers: the default, the user's, the one inherited from MPI_FILE_NULL, and the two that end
// the process, which are tried in a process of its own.
#include "access_kinds.h"
#include "child.h"

static int code_of_open(MPI_Comm comm, const char *name, int amode) {
  MPI_File fh = MPI_FILE_NULL;
  int code = MPI_File_open(comm, (char *)name, amode, MPI_INFO_NULL, &fh);
  if (code == MPI_SUCCESS) MPI_File_close(&fh);
  return code;
}

static int last(void) { return ck_rank == ck_size - 1; }

static int handler_calls, handler_class;
static MPI_File handler_file;

static void handler(MPI_File *file, int *code, ...) {
  handler_calls++;
  handler_file = *file;
  handler_class = ck_class(*code);
}

static void other_handler(MPI_File *file, int *code, ...) {
  (void)file;
  (void)code;
  handler_calls += 100;
}

static void default_handler(void) {
  MPI_Errhandler got = MPI_ERRHANDLER_NULL;
  CHECK_OK(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
  CHECK(got == MPI_ERRORS_RETURN);
  MPI_File fh = ck_create("f");
  CHECK_OK(MPI_File_get_errhandler(fh, &got));
  CHECK(got == MPI_ERRORS_RETURN);
  CHECK_OK(MPI_File_call_errhandler(fh, MPI_ERR_IO));
  CHECK_CLASS(MPI_File_seek(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK_OK(MPI_File_close(&fh));
}

static void user_handler(void) {
  MPI_Errhandler mine, got = MPI_ERRHANDLER_NULL;
  MPI_File fh = ck_create("f"), other = ck_create("g");
  CHECK_OK(MPI_File_create_errhandler(handler, &mine));
  CHECK_OK(MPI_File_set_errhandler(fh, mine));
  CHECK_OK(MPI_File_get_errhandler(fh, &got));
  CHECK(got == mine);
  CHECK_OK(MPI_Errhandler_free(&got));
  CHECK_OK(MPI_Errhandler_free(&mine));   // the file keeps it
  CHECK(mine == MPI_ERRHANDLER_NULL);
  handler_calls = 0;
  CHECK_ERROR(MPI_File_seek(fh, -1, MPI_SEEK_SET));
  CHECK_INT(handler_calls, 1);
  CHECK_INT(handler_class, MPI_ERR_ARG);
  CHECK(handler_file == fh);
  CHECK_ERROR(MPI_File_seek(other, -1, MPI_SEEK_SET));   // it has the default handler still
  CHECK_INT(handler_calls, 1);
  CHECK_OK(MPI_File_call_errhandler(fh, MPI_ERR_QUOTA));
  CHECK_INT(handler_calls, 2);
  CHECK_INT(handler_class, MPI_ERR_QUOTA);
  CHECK_OK(MPI_File_seek(fh, 1, MPI_SEEK_SET));
  CHECK_INT(handler_calls, 2);
  CHECK_OK(MPI_File_call_errhandler(fh, MPI_SUCCESS));   // any code that the program supplies
  CHECK_INT(handler_calls, 3);
  CHECK_INT(handler_class, MPI_SUCCESS);
  CHECK_OK(MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN));
  CHECK_ERROR(MPI_File_seek(fh, -1, MPI_SEEK_SET));
  CHECK_INT(handler_calls, 3);
  CHECK_OK(MPI_File_close(&other));
  CHECK_OK(MPI_File_close(&fh));
}

// One rank's mistake in a collective call is told to the handler of every rank.
static void handler_on_all_ranks(void) {
  MPI_Errhandler mine;
  MPI_File fh = ck_create("f");
  int x = 1;
  CHECK_OK(MPI_File_create_errhandler(handler, &mine));
  CHECK_OK(MPI_File_set_errhandler(fh, mine));
  CHECK_OK(MPI_Errhandler_free(&mine));
  handler_calls = 0;
  CHECK_ERROR(MPI_File_write_at_all(fh, 0, &x, last() ? -1 : 0, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_INT(handler_calls, 1);
  CHECK_INT(handler_class, MPI_ERR_COUNT);
  CHECK(handler_file == fh);
  CHECK_OK(MPI_File_close(&fh));
}

static void inherited_handler(void) {
  MPI_Errhandler mine, other, got = MPI_ERRHANDLER_NULL;
  CHECK_OK(MPI_File_create_errhandler(handler, &mine));
  CHECK_OK(MPI_File_create_errhandler(other_handler, &other));
  CHECK_OK(MPI_File_set_errhandler(MPI_FILE_NULL, mine));
  CHECK_OK(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
  CHECK(got == mine);
  CHECK_OK(MPI_Errhandler_free(&got));
  MPI_File fh = ck_create("f");
  CHECK_OK(MPI_File_set_errhandler(MPI_FILE_NULL, other));
  handler_calls = 0;
  CHECK_ERROR(MPI_File_seek(fh, -1, MPI_SEEK_SET));
  CHECK_INT(handler_calls, 1);
  CHECK(handler_file == fh);
  CHECK_OK(MPI_File_set_errhandler(MPI_FILE_NULL, mine));
  handler_calls = 0;
  CHECK_ERROR(code_of_open(MPI_COMM_WORLD, ck_fresh("missing"), MPI_MODE_RDONLY));
  CHECK_INT(handler_calls, 1);
  CHECK_INT(handler_class, MPI_ERR_NO_SUCH_FILE);
  CHECK(handler_file == MPI_FILE_NULL);
  CHECK_ERROR(MPI_File_delete((char *)ck_path("missing"), MPI_INFO_NULL));
  CHECK_INT(handler_calls, 2);
  CHECK_OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Errhandler_free(&mine));
  CHECK_OK(MPI_Errhandler_free(&other));
  CHECK_OK(MPI_File_close(&fh));
}

static void handler_of_communicators(MPI_Comm *comm, int *code, ...) {
  (void)comm;
  (void)code;
  handler_calls += 1000;
}

static void handler_of_windows(MPI_Win *win, int *code, ...) {
  (void)win;
  (void)code;
  handler_calls += 1000;
}

static void handler_arguments(void) {
  MPI_Errhandler other, got = MPI_ERRHANDLER_NULL;
  MPI_File fh = ck_create("f");
  CHECK_ERROR(MPI_File_set_errhandler(fh, MPI_ERRHANDLER_NULL));
  for (int kind = 0; kind < 2; kind++) {
    CHECK_OK(kind == 0 ? MPI_Comm_create_errhandler(handler_of_communicators, &other) : MPI_Win_create_errhandler(handler_of_windows, &other));
    CHECK_CLASS(MPI_File_set_errhandler(fh, other), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_set_errhandler(MPI_FILE_NULL, other), MPI_ERR_ARG);
    CHECK_OK(MPI_Errhandler_free(&other));
  }
  CHECK_OK(MPI_File_get_errhandler(fh, &got));
  CHECK(got == MPI_ERRORS_RETURN);
  CHECK_OK(MPI_File_close(&fh));
}

// What must end the process is tried in another one.
static void fatal(const char *name) {
  char text[4096] = "";
  if (ck_rank == 0) {
    int code = ck_run_child(name, text, sizeof text);
    CHECK(code != 0);
    CHECK(strstr(text, "came here") != NULL && strstr(text, "came back") == NULL);
    if (ck_is_mercutio()) CHECK(strstr(text, "no_such_file_of_the_child") != NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static void child_fatal(MPI_Errhandler errhandler) {
  MPI_File_set_errhandler(MPI_FILE_NULL, errhandler);
  fprintf(stderr, "came here\n");
  code_of_open(MPI_COMM_WORLD, ck_path("no_such_file_of_the_child"), MPI_MODE_RDONLY);
  fprintf(stderr, "came back\n");
}

static void run_as_child(const char *name) {
  ck_case = name;
  alarm((unsigned)ck_alarm_seconds);
  if (!strcmp(name, "fatal")) child_fatal(MPI_ERRORS_ARE_FATAL);
#ifdef MPI_ERRORS_ABORT
  if (!strcmp(name, "abort")) child_fatal(MPI_ERRORS_ABORT);
#endif
}

int main(int argc, char **argv) {
  const char *child = ck_child_name(argc, argv);
  ck_init(&argc, &argv);
  if (child) {
    run_as_child(child);
    MPI_Finalize();
    return 0;
  }
  RUN(default_handler);
  RUN(user_handler);
  RUN(handler_on_all_ranks);
  RUN(inherited_handler);
  RUN(handler_arguments);
  RUN_FOR(fatal, "fatal", "fatal");
#ifdef MPI_ERRORS_ABORT
  RUN_FOR(fatal, "abort", "abort");
#endif
  return ck_finish();
}
