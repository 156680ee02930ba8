// C9: the shared file pointer may be in a window on rank 0. Accesses by it end although rank 0 computes: it waits here for a file that rank 1
// makes after them, and calls nothing of MPI.
#include "check.h"

static void rank_0_computes(void) {
  const char *name = ck_fresh("f"), *done = ck_fresh("done");
  char byte = 'a', read[2] = {0, 0};
  MPI_File fh;
  MPI_Request request;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) {
    int looks = 0;
    while (access(done, F_OK) != 0 && ++looks < 30000) usleep(1000);
    CHECK(looks < 30000);
  } else if (ck_rank == 1) {
    MPI_Offset offset = -1;
    CHECK_OK(MPI_File_write_shared(fh, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_iwrite_shared(fh, &byte, 1, MPI_BYTE, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_get_position_shared(fh, &offset));
    CHECK_INT(offset, 2);
    close(open(done, O_CREAT | O_WRONLY, 0600));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_read_at_all(fh, 0, read, 2, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(read[0] == 'a' && read[1] == 'a');
  CHECK_OK(MPI_File_close(&fh));
  if (ck_rank == 0) unlink(done);
}

int main(int argc, char **argv) {
  setenv("MERCUTIO_SHARED_POINTER", "window", 1);
  ck_init(&argc, &argv);
  if (ck_size > 1) RUN(rank_0_computes);
  return ck_finish();
}
