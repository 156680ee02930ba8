// M13: while a rank waits in MPI_File_open for the others, another of its threads may set the error handler of the communicator, and that one stays set.
#include "check.h"

#include <pthread.h>

static MPI_Comm side, opened_on;   // `side`: to say that the others may come
static MPI_Errhandler first, second;

static void first_handler(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }
static void second_handler(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

static void is_set(MPI_Errhandler expected) {
  MPI_Errhandler got = MPI_ERRHANDLER_NULL;
  CHECK_OK(MPI_Comm_get_errhandler(opened_on, &got));
  CHECK(got == expected);
  CHECK_OK(MPI_Errhandler_free(&got));
}

typedef void *Body(void *);

// The last rank's other thread runs `body` while that rank waits for the others.
static void open_beside(MPI_Comm comm, Body *body) {
  const char *name = ck_fresh("f");
  char byte = 0;
  pthread_t thread;
  MPI_File fh = MPI_FILE_NULL;
  opened_on = comm;
  CHECK_OK(MPI_Comm_set_errhandler(comm, first));
  const int waits = ck_rank == ck_size - 1;
  if (waits) CHECK_INT(pthread_create(&thread, NULL, body, NULL), 0);
  if (!waits) MPI_Recv(&byte, 1, MPI_BYTE, ck_size - 1, 0, side, MPI_STATUS_IGNORE);
  CHECK_OK(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  if (waits) CHECK_INT(pthread_join(thread, NULL), 0);
  CHECK_OK(MPI_File_close(&fh));
}

static void let_others_come(void) {
  char byte = 0;
  for (int rank = 0; rank < ck_size - 1; rank++) MPI_Send(&byte, 1, MPI_BYTE, rank, 0, side);
}

static void *set_own(void *unused) {
  usleep(200000);
  CHECK_OK(MPI_Comm_set_errhandler(opened_on, second));
  let_others_come();
  return unused;
}

static void *set_predefined(void *unused) {
  usleep(200000);
  CHECK_OK(MPI_Comm_set_errhandler(opened_on, MPI_ERRORS_ARE_FATAL));
  let_others_come();
  return unused;
}

// On a communicator of which the library knows nothing yet, and again.
static void twice(Body *body, MPI_Errhandler expected) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < 2; i++) {
    open_beside(comm, body);
    is_set(ck_rank == ck_size - 1 ? expected : first);
  }
  MPI_Comm_free(&comm);
}

static void *set_nothing(void *unused) {
  let_others_come();
  return unused;
}

static void own_handler_stays(void) { twice(set_own, second); }
static void predefined_handler_stays(void) { twice(set_predefined, MPI_ERRORS_ARE_FATAL); }
static void handler_is_restored(void) { twice(set_nothing, first); }

int main(int argc, char **argv) {
  int provided;
  ck_init_level(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_dup(MPI_COMM_WORLD, &side);
  MPI_Comm_create_errhandler(first_handler, &first);
  MPI_Comm_create_errhandler(second_handler, &second);
  if (provided == MPI_THREAD_MULTIPLE && ck_size > 1) {
    RUN(own_handler_stays);
    RUN(predefined_handler_stays);
    RUN(handler_is_restored);
  }
  MPI_Errhandler_free(&first);
  MPI_Errhandler_free(&second);
  MPI_Comm_free(&side);
  return ck_finish();
}
