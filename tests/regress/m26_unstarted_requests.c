// M26: the MPI has no request for a nonblocking collective access of one rank. That rank takes part all the same, so no other one waits for ever, and its error
// goes to the file's error handler.
#include "check.h"

static int fails, failed;   // from now on, and how often it has
static int handled;

int PMPI_Grequest_start(MPI_Grequest_query_function *query, MPI_Grequest_free_function *forget, MPI_Grequest_cancel_function *cancel, void *state,
                        MPI_Request *request) {
  int (*real)(MPI_Grequest_query_function *, MPI_Grequest_free_function *, MPI_Grequest_cancel_function *, void *, MPI_Request *);
  *(void **)&real = dlsym(RTLD_NEXT, "PMPI_Grequest_start");
  if (!fails) return real(query, forget, cancel, state, request);
  failed++;
  return MPI_ERR_OTHER;
}

static void handle(MPI_File *fh, int *code, ...) {
  (void)fh, (void)code;
  handled++;
}

// MPICH has another call for such requests, which can't be replaced: there nothing fails.
static void no_request_on_one_rank(void) {
  MPI_File fh = ck_create("f");
  MPI_Errhandler handler;
  MPI_Request request = MPI_REQUEST_NULL;
  int data = ck_rank;
  handled = failed = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_File_create_errhandler(handle, &handler);
  MPI_File_set_errhandler(fh, handler);
  fails = ck_rank == ck_size - 1;
  const int code = MPI_File_iwrite_at_all(fh, ck_rank * (MPI_Offset)sizeof data, &data, 1, MPI_INT, &request);
  fails = 0;
  if (failed) {
    CHECK_ERROR(code);
    CHECK_INT(handled, 1);
    CHECK(request == MPI_REQUEST_NULL);
  } else {
    CHECK_OK(code);
    MPI_Wait(&request, MPI_STATUS_IGNORE);   // an error, too, where a rank has failed
  }
  CHECK_OK(MPI_File_write_at_all(fh, ck_rank * (MPI_Offset)sizeof data, &data, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  MPI_Errhandler_free(&handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  if (ck_is_mercutio()) RUN(no_request_on_one_rank);
  return ck_finish();
}
