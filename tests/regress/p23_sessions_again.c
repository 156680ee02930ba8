// P23: a program that has sessions only, one after the other, and opens files in each. What is kept on datatypes and communicators in one session is not
// asked for in the next, when MPICH 5 has forgotten its attributes, also if a file outlives the communicators of its session. Other MPIs can't be
// initialised again. A trace is asked for, which needs no MPI_COMM_WORLD.
#include "check.h"

#if CK_HAS_SESSIONS
enum { kInts = 10 };

static void use_file(void) {
  MPI_Datatype pair, spread;
  MPI_File fh = ck_open(ck_fresh("f"), MPI_MODE_CREATE | MPI_MODE_RDWR);
  int mine[kInts], got[kInts] = {0};
  for (int i = 0; i < kInts; i++) mine[i] = 100 * ck_rank + i;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_create_resized(pair, 0, (MPI_Aint)(2 * sizeof(int)) * ck_size, &spread);
  MPI_Type_commit(&spread);
  CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)(2 * sizeof(int)) * ck_rank, MPI_INT, spread, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_all(fh, mine, kInts / 2, pair, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at_all(fh, 0, got, kInts, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(memcmp(mine, got, sizeof mine) == 0);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&pair);
  MPI_Type_free(&spread);
}

// MPICH 5 gives the handles of such types to others in the next session.
static void fortran_type(int number) {
  MPI_Datatype real;
  MPI_File fh = ck_open(ck_fresh("f90"), MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Status status;
  char mine[64] = "0123456789abcdef", got[64] = "";
  int bytes = 0;
  CHECK_OK(number % 2 ? MPI_Type_create_f90_real(12, 200, &real) : MPI_Type_create_f90_real(4, 10, &real));
  MPI_Type_size(real, &bytes);
  CHECK_OK(MPI_File_write_at(fh, 64 * ck_rank, mine, 1, real, &status));
  CHECK_COUNT(status, MPI_BYTE, bytes);
  CHECK_OK(MPI_File_read_at(fh, 64 * ck_rank, got, bytes, MPI_BYTE, &status));
  CHECK(memcmp(mine, got, (size_t)bytes) == 0);
  CHECK_OK(MPI_File_close(&fh));
}

// A file that is used when its session has no communicator any more. Its result is checked in the next session.
static int late_count = kInts;

static void late_file(MPI_File fh) {
  MPI_Datatype every_other;
  MPI_Status status;
  int mine[2 * kInts] = {0};
  MPI_Type_vector(kInts, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  late_count = MPI_File_write_at(fh, (MPI_Offset)sizeof mine * ck_rank, mine, 1, every_other, &status) == MPI_SUCCESS ? (int)ck_count(&status, MPI_INT) : -1;
  MPI_File_close(&fh);
  MPI_Type_free(&every_other);
}

static void late_file_was_written(int number) {
  (void)number;
  CHECK_INT(late_count, kInts);
}

static int forget(MPI_Comm comm, int keyval, void *value, void *state) {
  (void)comm, (void)keyval, (void)state;
  CHECK(value == &ck_rank);
  return MPI_SUCCESS;
}

// An attribute of the program's, whose key may be the number that one of the library's had in the session before.
static int own_attribute(void) {
  int keyval = MPI_KEYVAL_INVALID;
  CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, NULL));
  CHECK_OK(MPI_Comm_set_attr(ck_comm, keyval, &ck_rank));
  return keyval;
}

static void in_session(int number) {
  for (int file = 0; file < 2 + number; file++) use_file();
}

static int a_session(int *argc, char ***argv, int number, const char *name) {
  MPI_Session session;
  MPI_Group group;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS) return 0;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "mercutio.regress", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &ck_comm);
  MPI_Group_free(&group);
  if (number == 0) ck_init_level(argc, argv, CK_INITIALISED, NULL);
  int keyval = own_attribute();
  RUN_FOR(in_session, name, number);
  RUN_FOR(fortran_type, name, number);
  RUN_FOR(late_file_was_written, name, number);
  MPI_Comm_delete_attr(ck_comm, keyval);
  MPI_Comm_free_keyval(&keyval);
  MPI_File late = ck_open(ck_fresh("late"), MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Comm_free(&ck_comm);
  late_file(late);
  MPI_Session_finalize(&session);
  return 1;
}

int main(int argc, char **argv) {
  static const char *const names[] = {"first", "second", "third"};
  char trace[CK_NAME_BYTES], library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0, version = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--dir")) continue;
    snprintf(trace, sizeof trace, "%.400s/p23.mtrace", ck_on_disk(argv[i + 1]));
    setenv("MERCUTIO_TRACE", trace, 1);
  }
  MPI_Get_library_version(library, &length);
  const int sessions = sscanf(library, "MPICH Version: %d", &version) == 1 && version >= 5 ? 3 : 1;
  for (int i = 0; i < sessions; i++)
    if (!a_session(&argc, &argv, i, names[i])) return 1;
  return ck_done();
}
#else
int main(int argc, char **argv) {   // before MPI-4 there are no sessions
  ck_init(&argc, &argv);
  return ck_finish();
}
#endif
