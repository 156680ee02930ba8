// P3: an MPI whose tags serve few files of a communicator at once. When they come round, those of files that are still open are passed by;
// where all are taken, opening is an error on all ranks, and works again after a close.
#include "few_tags.h"

enum { kFiles = 4, kBytes = 4096 };

static MPI_Comm fresh_comm(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  return comm;
}

static int open_on(MPI_Comm comm, const char *name, MPI_File *fh) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mercutio_exchange", "messages");
  MPI_Info_set(info, "romio_cb_write", "enable");
  const int code = MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, fh);
  MPI_Info_free(&info);
  return code;
}

static void all_are_taken(void) {
  MPI_Comm comm = fresh_comm();
  const char *name = ck_fresh("f");
  MPI_File files[kFiles], more = MPI_FILE_NULL;
  for (int i = 0; i < kFiles; i++) CHECK_OK(open_on(comm, name, &files[i]));
  CHECK_CLASS(open_on(comm, name, &more), MPI_ERR_NO_MEM);
  CHECK_OK(MPI_File_close(&files[2]));
  CHECK_OK(open_on(comm, name, &files[2]));
  for (int i = 0; i < kFiles; i++) CHECK_OK(MPI_File_close(&files[i]));
  MPI_Comm_free(&comm);
}

// The ranks start writing two files in different orders, after the tags have come round to where the first one has its own.
static void come_round(void) {
  MPI_Comm comm = fresh_comm();
  const char *names[2] = {ck_fresh("a"), ck_fresh("b")};
  MPI_File files[2], others;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  char data[2][kBytes], got[kBytes];
  CHECK_OK(open_on(comm, names[0], &files[0]));
  for (int i = 1; i < kFiles; i++) {
    CHECK_OK(open_on(comm, names[1], &others));
    CHECK_OK(MPI_File_close(&others));
  }
  CHECK_OK(open_on(comm, names[1], &files[1]));
  for (int i = 0; i < 2; i++) {
    memset(data[i], 'a' + 2 * ck_rank + i, kBytes);
    MPI_Datatype type;
    MPI_Type_vector(kBytes / 64, 64, 64 * ck_size, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    CHECK_OK(MPI_File_set_view(files[i], 64 * ck_rank, MPI_BYTE, type, "native", MPI_INFO_NULL));
    MPI_Type_free(&type);
  }
  for (int i = 0; i < 2; i++) {
    const int file = (i + ck_rank) % 2;
    CHECK_OK(MPI_File_iwrite_at_all(files[file], 0, data[file], kBytes, MPI_BYTE, &requests[file]));
  }
  CHECK_OK(MPI_Waitall(2, requests, statuses));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(MPI_File_read_at_all(files[i], 0, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(memcmp(got, data[i], kBytes) == 0);
    CHECK_OK(MPI_File_close(&files[i]));
  }
  MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
  setenv("MPIR_CVAR_ODD_EVEN_CLIQUES", "1", 1);   // MPICH: two nodes, so that small collectives are messages, too
  ck_init(&argc, &argv);
  RUN(all_are_taken);
  RUN(come_round);
  return ck_finish();
}
