// P6: a rank that waits in an access lets other ranks' communication with it go on, also one-sided communication that the access knows
// nothing of. Rank 1 comes to the access only after that.
#include <unistd.h>

#include "check.h"

#define BYTES 1000
#define UPDATES 20

static unsigned char mine[BYTES];
static MPI_File fh;

static void nonblocking(void) {
  MPI_Request request;
  CHECK_OK(MPI_File_iwrite_at_all(fh, (MPI_Offset)ck_rank * BYTES, mine, BYTES, MPI_BYTE, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void blocking(void) {
  CHECK_OK(MPI_File_write_at_all(fh, (MPI_Offset)ck_rank * BYTES, mine, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void split(void) {
  CHECK_OK(MPI_File_write_at_all_begin(fh, (MPI_Offset)ck_rank * BYTES, mine, BYTES, MPI_BYTE));
  CHECK_OK(MPI_File_write_at_all_end(fh, mine, MPI_STATUS_IGNORE));
}

static void update_rank_0(MPI_Win window) {
  const long one = 1;
  usleep(50000);   // the others wait by then
  for (int i = 0; i < UPDATES; i++) {
    long before = -1;
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    CHECK_INT(before, i);
  }
}

static void beside_an_access(void (*access_file)(void)) {
  const char *name = ck_fresh("f");
  MPI_Info collective;
  MPI_Info_create(&collective);
  MPI_Info_set(collective, "romio_cb_write", "enable");   // all wait for each other
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, collective, &fh));
  MPI_Info_free(&collective);
  MPI_Win window;
  long *counter;
  MPI_Win_allocate(ck_rank == 0 ? (MPI_Aint)sizeof *counter : 0, sizeof *counter, MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &window);
  if (ck_rank == 0) *counter = 0;
  MPI_Win_lock_all(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  memset(mine, ck_rank + 1, BYTES);
  if (ck_rank == 1) update_rank_0(window);
  access_file();
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, (long long)ck_rank * BYTES, mine, BYTES);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR(beside_an_access, "nonblocking", nonblocking);
  RUN_FOR(beside_an_access, "blocking", blocking);
  RUN_FOR(beside_an_access, "split", split);
  return ck_finish();
}
