// M18: an error calls a handler that the file has at that moment, also while other threads replace it; each handler that was given up is freed once.
#include "check.h"

#include <pthread.h>

enum { kErrors = 200000, kThreads = 4, kRounds = 20000 };
static MPI_File of_errors;
static int stop;
static long called;

static void count(MPI_File *file, int *code, ...) {
  (void)file, (void)code;
  __atomic_fetch_add(&called, 1, __ATOMIC_RELAXED);
}

static void set_new(MPI_File file) {
  MPI_Errhandler made;
  MPI_File_create_errhandler(count, &made);
  MPI_File_set_errhandler(file, made);
  MPI_Errhandler_free(&made);
}

static void *set_until_stopped(void *unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) set_new(of_errors);
  return unused;
}

static void *set_often(void *file) {
  for (int i = 0; i < kRounds; i++) {
    MPI_Errhandler got;
    set_new(*(MPI_File *)file);
    MPI_File_get_errhandler(*(MPI_File *)file, &got);
    MPI_Errhandler_free(&got);
  }
  return NULL;
}

static MPI_File open_alone(void) {
  MPI_File fh;
  char tag[32];
  snprintf(tag, sizeof tag, "f%d", ck_rank);
  CHECK_OK(MPI_File_open(MPI_COMM_SELF, (char *)ck_fresh(tag), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  return fh;
}

static void errors_reach_a_handler(void) {
  pthread_t thread;
  of_errors = open_alone();
  set_new(of_errors);
  called = stop = 0;
  CHECK_INT(pthread_create(&thread, NULL, set_until_stopped, NULL), 0);
  for (int i = 0; i < kErrors; i++) MPI_File_seek(of_errors, -1, MPI_SEEK_SET);
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  CHECK_INT(pthread_join(thread, NULL), 0);
  CHECK_INT(called, kErrors);
  CHECK_OK(MPI_File_close(&of_errors));
}

static void threads_replace(MPI_File *file) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; i++) CHECK_INT(pthread_create(&threads[i], NULL, set_often, file), 0);
  for (int i = 0; i < kThreads; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
  called = 0;
  CHECK_OK(MPI_File_call_errhandler(*file, MPI_ERR_IO));
  CHECK_INT(called, 1);
}

static void of_a_file(void) {
  MPI_File fh = open_alone();
  threads_replace(&fh);
  CHECK_OK(MPI_File_close(&fh));
}

static void of_no_file(void) {
  MPI_File none = MPI_FILE_NULL;
  threads_replace(&none);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
}

int main(int argc, char **argv) {
  int provided;
  ck_init_level(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided == MPI_THREAD_MULTIPLE) {
    RUN(errors_reach_a_handler);
    RUN(of_a_file);
    RUN(of_no_file);
  }
  return ck_finish();
}
