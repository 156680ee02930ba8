// N3: an error handler of the program that does not return, because it ends its thread or throws a C++ exception, leaves the
// call through the library. The program goes on, and so does the file.
#include "check.h"

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

int main(int argc, char **argv) {
  int provided;
  ck_init_level(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (ck_is_mercutio() && provided == MPI_THREAD_MULTIPLE) RUN(thread_ends_in_handler);   // OMPIO calls no handler there
  return ck_finish();
}
