// P5: a program that has sessions only and never calls MPI_Init. Its files work on communicators made from a group of the session, with
// independent, collective, nonblocking and split accesses and every kind of file pointer.
#include "check.h"

#if CK_HAS_SESSIONS
#define BYTES 5000

static unsigned char mine[BYTES], got[BYTES];

static void fill(int round) {
  for (int i = 0; i < BYTES; i++) mine[i] = (unsigned char)(i * 5 + ck_rank * 31 + round);
}

static void check_got(const char *name, long long block) {
  CHECK(memcmp(got, mine, BYTES) == 0);
  MPI_Barrier(ck_comm);
  CHECK_BYTES(name, block * BYTES, mine, BYTES);
}

static MPI_Datatype interleaved(void) {
  MPI_Datatype block, type;
  MPI_Type_contiguous(BYTES / 10, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)ck_size * (BYTES / 10), &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&block);
  return type;
}

static void independent(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  fill(1);
  CHECK_OK(MPI_File_write_at(fh, (MPI_Offset)ck_rank * BYTES, mine, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at(fh, (MPI_Offset)ck_rank * BYTES, got, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  check_got(name, ck_rank);
}

static void collective(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype type = interleaved();
  MPI_Status status;
  fill(2);
  CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)ck_rank * (BYTES / 10), MPI_BYTE, type, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_all(fh, mine, BYTES, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, BYTES);
  CHECK_OK(MPI_File_read_at_all(fh, 0, got, BYTES, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, BYTES);
  CHECK_OK(MPI_File_close(&fh));
  CHECK(memcmp(got, mine, BYTES) == 0);
  for (int i = 0; i < 10; i++) CHECK_BYTES(name, ((long long)i * ck_size + ck_rank) * (BYTES / 10), mine + i * (BYTES / 10), BYTES / 10);
  MPI_Type_free(&type);
}

static void nonblocking(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Request request;
  fill(3);
  CHECK_OK(MPI_File_iwrite_at_all(fh, (MPI_Offset)ck_rank * BYTES, mine, BYTES, MPI_BYTE, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_iread_at(fh, (MPI_Offset)ck_rank * BYTES, got, BYTES, MPI_BYTE, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  check_got(name, ck_rank);
}

static void split_and_ordered(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  fill(4);
  CHECK_OK(MPI_File_write_at_all_begin(fh, (MPI_Offset)ck_rank * BYTES, mine, BYTES, MPI_BYTE));
  CHECK_OK(MPI_File_write_at_all_end(fh, mine, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_ordered(fh, got, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  check_got(name, ck_rank);
}

static void a_file_of_its_own(void) {
  MPI_Comm alone;
  MPI_File fh;
  char tag[32];
  const char *name;
  fill(5);
  MPI_Comm_split(ck_comm, ck_rank, 0, &alone);
  snprintf(tag, sizeof tag, "of%d", ck_rank);
  name = ck_path(tag);
  CHECK_OK(MPI_File_open(alone, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
  CHECK_OK(MPI_File_write_all(fh, mine, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at(fh, 0, got, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(memcmp(got, mine, BYTES) == 0);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), -1);
  MPI_Comm_free(&alone);
}

static void errors_are_returned(void) {
  MPI_File fh = MPI_FILE_NULL;
  int code = MPI_File_open(ck_comm, ck_fresh("missing"), MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);
  CHECK_CLASS(code, MPI_ERR_NO_SUCH_FILE);
  CHECK_SAME(code);
}

int main(int argc, char **argv) {
  MPI_Session session;
  MPI_Group group;
  int failed;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "mercutio.regress", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &ck_comm);
  MPI_Group_free(&group);
  ck_init_level(&argc, &argv, CK_INITIALISED, NULL);
  RUN(independent);
  RUN(collective);
  RUN(nonblocking);
  RUN(split_and_ordered);
  RUN(a_file_of_its_own);
  RUN(errors_are_returned);
  failed = ck_done();
  MPI_Comm_free(&ck_comm);
  MPI_Session_finalize(&session);
  return failed;
}
#else
int main(int argc, char **argv) {   // before MPI-4 there are no sessions
  ck_init(&argc, &argv);
  return ck_finish();
}
#endif
