// P19: types that are not committed are refused in a session, and by a program that calls MPI_Init after it has used a type in a session.
#include "check.h"

#if CK_HAS_SESSIONS

static MPI_Session session;   // to the end: no MPI can be initialised again
static int refused = MPI_ERR_TYPE;

static void use_in_session(void) {
  MPI_Group group;
  MPI_Datatype pair, uncommitted;
  MPI_File fh;
  int data[2] = {0, 0};
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://SELF", &group);
  MPI_Comm_create_from_group(group, "mercutio.regress", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &ck_comm);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_contiguous(2, MPI_INT, &uncommitted);
  if (MPI_File_open(ck_comm, "/dev/null", MPI_MODE_RDWR, MPI_INFO_NULL, &fh) == MPI_SUCCESS) {
    MPI_File_write_at(fh, 0, data, 1, pair, MPI_STATUS_IGNORE);
    MPI_Error_class(MPI_File_write_at(fh, 0, data, 1, uncommitted, MPI_STATUS_IGNORE), &refused);
    MPI_File_close(&fh);
  }
  MPI_Type_free(&pair);
  MPI_Type_free(&uncommitted);
  MPI_Group_free(&group);
  MPI_Comm_free(&ck_comm);
  ck_comm = MPI_COMM_WORLD;
}

static void an_uncommitted_type(void) {
  MPI_Datatype type;
  int data[3] = {0, 0, 0};
  MPI_File fh = ck_open(ck_fresh("f"), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  CHECK_CLASS(MPI_File_write_at(fh, 0, data, 1, type, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  MPI_Type_free(&type);
  CHECK_OK(MPI_File_close(&fh));
}

#endif

int main(int argc, char **argv) {
#if CK_HAS_SESSIONS
  static char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(library, &length);
  const int both = !strstr(library, "Intel");   // which has either sessions or MPI_Init
  if (both) use_in_session();
  ck_init(&argc, &argv);
  if (both) {
    CHECK_INT(refused, MPI_ERR_TYPE);
    RUN(an_uncommitted_type);
    MPI_Session_finalize(&session);
  }
#else
  ck_init(&argc, &argv);
#endif
  return ck_finish();
}
