// R3: threads that move the individual file pointer by MPI_SEEK_CUR and by writes: no move is lost.
#include "check.h"

#include <pthread.h>

enum { kMoves = 20000 };

static MPI_File file;

static void *seek(void *unused) {
  for (int i = 0; i < kMoves; i++) CHECK_OK(MPI_File_seek(file, 1, MPI_SEEK_CUR));
  return unused;
}

static void *write_bytes(void *unused) {
  char byte = 'x';
  for (int i = 0; i < kMoves / 10; i++) CHECK_OK(MPI_File_write(file, &byte, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  return unused;
}

static void no_move_is_lost(void) {
  void *(*const bodies[])(void *) = {seek, seek, write_bytes};
  pthread_t threads[3];
  MPI_Offset end = 0;
  file = ck_create("f");
  for (int i = 0; i < 3; i++) CHECK_INT(pthread_create(&threads[i], NULL, bodies[i], NULL), 0);
  for (int i = 0; i < 3; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
  CHECK_OK(MPI_File_get_position(file, &end));
  CHECK_INT(end, 2 * kMoves + kMoves / 10);
  CHECK_OK(MPI_File_close(&file));
}

int main(int argc, char **argv) {
  int provided;
  ck_init_level(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (ck_is_mercutio() && provided == MPI_THREAD_MULTIPLE) RUN(no_move_is_lost);
  return ck_finish();
}
