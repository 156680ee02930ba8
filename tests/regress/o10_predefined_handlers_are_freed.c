// O10: a predefined handler that MPI_File_get_errhandler gave out may be freed; Open MPI counts its references and refused
// a free it had not counted.
#include "check.h"

static void get_and_free(MPI_File fh, MPI_Errhandler expected) {
  enum { kTimes = 40 };
  MPI_Errhandler got[kTimes];
  for (int i = 0; i < kTimes; ++i) CHECK_OK(MPI_File_get_errhandler(fh, &got[i]));
  for (int i = 0; i < kTimes; ++i) {
    CHECK(got[i] == expected);
    CHECK_OK(MPI_Errhandler_free(&got[i]));
    CHECK(got[i] == MPI_ERRHANDLER_NULL);
  }
}

static void handlers_of_the_default(void) { get_and_free(MPI_FILE_NULL, MPI_ERRORS_RETURN); }

static void handlers_of_a_file(void) {
  char path[CK_NAME_BYTES + 8];
  snprintf(path, sizeof path, "%s/o10.dat", ck_dir);
  MPI_File fh = MPI_FILE_NULL;
  if (!CHECK_OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh))) return;
  get_and_free(fh, MPI_ERRORS_RETURN);
  CHECK_OK(MPI_File_set_errhandler(fh, MPI_ERRORS_ARE_FATAL));
  get_and_free(fh, MPI_ERRORS_ARE_FATAL);
  CHECK_OK(MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_File_close(&fh));
}

static void handlers_of_a_communicator(void) {
  MPI_Errhandler got = MPI_ERRHANDLER_NULL;
  CHECK_OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
  CHECK_OK(MPI_Errhandler_free(&got));
  CHECK(got == MPI_ERRHANDLER_NULL);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(handlers_of_the_default);
  RUN(handlers_of_a_file);
  RUN(handlers_of_a_communicator);
  return ck_finish();
}
