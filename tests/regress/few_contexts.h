// A program that has used up the communicators an MPI can have. With few left a file is opened or refused, with the same class of error on
// all ranks; what was opened works; and the program goes on.
#ifndef MERCUTIO_TESTS_FEW_CONTEXTS_H
#define MERCUTIO_TESTS_FEW_CONTEXTS_H

#include "check.h"

enum { kMost = 2200 };   // of MPIs that can have more, nothing is to be tested

static MPI_Comm spare[kMost];
static int spares;

static void use_up(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  while (spares < kMost && MPI_Comm_dup(MPI_COMM_WORLD, &spare[spares]) == MPI_SUCCESS) spares++;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void use(const char *name, MPI_Comm comm) {
  MPI_File fh = MPI_FILE_NULL;
  char mine[64], got[64] = {0};
  MPI_Status status;
  int code = MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
  CHECK_SAME(code);
  if (code != MPI_SUCCESS) return;
  memset(mine, 'a' + ck_rank, sizeof mine);
  CHECK_OK(MPI_File_write_at_all(fh, 64 * ck_rank, mine, 64, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at_all(fh, 64 * ck_rank, got, 64, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(memcmp(mine, got, sizeof mine) == 0);
  MPI_Barrier(comm);
  code = MPI_File_read_shared(fh, got, 64, MPI_BYTE, &status);
  if (code == MPI_SUCCESS) CHECK_COUNT(status, MPI_BYTE, 64);
  CHECK_OK(MPI_File_close(&fh));
}

static void with_contexts_left(int left) {
  const char *name = ck_fresh("f");
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);   // nothing is known of it yet
  use_up();
  for (int i = 0; i < left; i++) MPI_Comm_free(&spare[--spares]);
  use(name, comm);
  for (int i = 0; i < 8; i++) MPI_Comm_free(&spare[--spares]);
  use(name, comm);
  MPI_Comm_free(&comm);
}

static void with_few_contexts_left(void) {
  static const char *const names[] = {"0", "1", "2", "3", "4", "5"};
  for (int left = 0; left < 6; left++) RUN_FOR(with_contexts_left, names[left], left);
}

#endif
