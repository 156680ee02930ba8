// N3: an error handler of the program that does not return, because it ends its thread or throws a C++ exception, leaves the
// call through the library. The program goes on, and so does the file.
#include "write_limit.h"

#include <pthread.h>

static MPI_File file;

static void leave(MPI_File *fh, int *code, ...) {
  (void)fh;
  pthread_exit(code ? &file : NULL);
}

static void *wrong_call(void *unused) {
  char byte = 0;
  (void)unused;
  MPI_File_write_at(file, -1, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
  return NULL;
}

static void thread_ends_in_handler(void) {
  MPI_Errhandler handler;
  pthread_t thread;
  char byte = 'x', got = 0;
  file = ck_open(ck_fresh("f"), MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_create_errhandler(leave, &handler));
  CHECK_OK(MPI_File_set_errhandler(file, handler));
  for (int i = 0; i < 3; i++) {
    void *result = NULL;
    CHECK_INT(pthread_create(&thread, NULL, wrong_call, NULL), 0);
    CHECK_INT(pthread_join(thread, &result), 0);
    CHECK(result == &file);
  }
  CHECK_OK(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Errhandler_free(&handler));
  CHECK_OK(MPI_File_write_at_all(file, ck_rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at_all(file, ck_rank, &got, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_INT(got, byte);
  CHECK_OK(MPI_File_close(&file));
}

static void *close_file(void *unused) {
  MPI_File_close(&file);
  return unused;
}

// The close fails on the last rank, whose handler does not return. The file is closed, and its place is free for the next one.
static void thread_ends_in_handler_of_close(void) {
  MPI_Errhandler handler;
  MPI_Info info;
  pthread_t thread;
  char bytes[64] = "";
  const int last = ck_size - 1;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mercutio_write_behind", "enable");
  CHECK_OK(MPI_File_create_errhandler(leave, &handler));
  for (int i = 0; i < 3; i++) {
    void *result = NULL;
    CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)ck_fresh("f"), MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    if (ck_rank == last) CHECK_OK(MPI_File_set_errhandler(file, handler));
    for (int j = 0; j < 20; j++) CHECK_OK(MPI_File_write_at(file, 2 * kLimit + 64 * j, bytes, 64, MPI_BYTE, MPI_STATUS_IGNORE));
    limit_writes(kEveryRank);
    CHECK_INT(pthread_create(&thread, NULL, close_file, NULL), 0);
    CHECK_INT(pthread_join(thread, &result), 0);
    CHECK(ck_rank != last || result == &file);
    CHECK(file == MPI_FILE_NULL);
    lift_limit();
  }
  CHECK_OK(MPI_Errhandler_free(&handler));
  MPI_Info_free(&info);
}

int main(int argc, char **argv) {
  int provided;
  ck_init_level(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (ck_is_mercutio() && provided == MPI_THREAD_MULTIPLE) {   // OMPIO calls no handler there
    RUN(thread_ends_in_handler);
    RUN(thread_ends_in_handler_of_close);
  }
  return ck_finish();
}
