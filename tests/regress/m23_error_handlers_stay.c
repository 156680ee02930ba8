// M23: an access with a new datatype leaves the error handlers of MPI_COMM_WORLD and MPI_COMM_SELF alone, also for a moment: one that another thread
// sets then would be lost.
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

static MPI_Errhandler own;
static MPI_Comm watched;
static atomic_int ends;
static int lost;

static void handle(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

static void *set_and_look(void *unused) {
  while (!ends) {
    MPI_Errhandler got = MPI_ERRHANDLER_NULL;
    MPI_Comm_set_errhandler(watched, own);
    MPI_Comm_get_errhandler(watched, &got);
    lost += got != own;
    MPI_Errhandler_free(&got);
    MPI_Comm_set_errhandler(watched, MPI_ERRORS_ARE_FATAL);
  }
  return unused;
}

static void beside_accesses(MPI_Comm comm) {
  const char *name = ck_fresh(ck_rank == 0 ? "0" : "1");
  int data[4] = {0, 0, 0, 0};
  pthread_t thread;
  MPI_File fh;
  watched = comm;
  ends = lost = 0;
  CHECK_OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
  CHECK_INT(pthread_create(&thread, NULL, set_and_look, NULL), 0);
  for (const double end = MPI_Wtime() + 0.7; MPI_Wtime() < end;) {
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    CHECK_OK(MPI_File_write_at(fh, 0, data, 1, pair, MPI_STATUS_IGNORE));
    MPI_Type_free(&pair);
  }
  ends = 1;
  CHECK_INT(pthread_join(thread, NULL), 0);
  CHECK_INT(lost, 0);
  CHECK_OK(MPI_File_close(&fh));
}

static void handlers_of_world(void) { beside_accesses(MPI_COMM_WORLD); }
static void handlers_of_self(void) { beside_accesses(MPI_COMM_SELF); }

int main(int argc, char **argv) {
  int level = MPI_THREAD_SINGLE;
  ck_init_level(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_create_errhandler(handle, &own);
  if (level == MPI_THREAD_MULTIPLE) {
    RUN(handlers_of_world);
    RUN(handlers_of_self);
  }
  return ck_finish();
}
