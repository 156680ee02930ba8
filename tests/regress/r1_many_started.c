// R1: more nonblocking collective accesses than a file has tags. The calls that start them return before any other rank has called them.
#include "few_tags.h"

enum { kAccesses = 200 };   // 64 tags for a file

static MPI_File open_with(const char *name, const char *exchange) {
  MPI_File fh = MPI_FILE_NULL;
  MPI_Info info;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Info_create(&info);
  MPI_Info_set(info, "mercutio_exchange", exchange);
  CHECK_OK(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
  MPI_Info_free(&info);
  MPI_Comm_free(&comm);
  return fh;
}

// Rank 0 starts all of them before the others start one.
static void start_ahead(const char *exchange) {
  const char *name = ck_fresh("f");
  MPI_File fh = open_with(name, exchange);
  MPI_Request requests[kAccesses];
  MPI_Status statuses[kAccesses];
  int mine[kAccesses], got[kAccesses], go = 1;
  if (ck_rank > 0) MPI_Recv(&go, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < kAccesses; i++) {
    mine[i] = i * ck_size + ck_rank;
    CHECK_OK(MPI_File_iwrite_at_all(fh, (MPI_Offset)sizeof(int) * mine[i], &mine[i], 1, MPI_INT, &requests[i]));
  }
  if (ck_rank == 0)
    for (int rank = 1; rank < ck_size; rank++) MPI_Send(&go, 1, MPI_INT, rank, 0, MPI_COMM_WORLD);
  CHECK_OK(MPI_Waitall(kAccesses, requests, statuses));
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_read_at_all(fh, 0, got, kAccesses, MPI_INT, MPI_STATUS_IGNORE));
  for (int i = 0; i < kAccesses; i++)
    if (!CHECK_INT(got[i], i)) break;
  CHECK_OK(MPI_File_close(&fh));
}

static void default_exchange(void) { start_ahead("auto"); }
static void messages(void) { start_ahead("messages"); }

int main(int argc, char **argv) {
  int provided;
  ck_init_level(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  RUN(default_exchange);
  RUN(messages);
  return ck_finish();
}
