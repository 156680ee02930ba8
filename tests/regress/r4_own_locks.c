// R4: a program may lock the whole file itself, for the others that run it, say. Opening and writing wait for no such lock, of this process or of
// another one, and a file that was opened, and not yet written to, can be locked.
#include "check.h"

#include <fcntl.h>
#include <unistd.h>

enum { kPiece = 8, kPieces = 500 };

static void locked(int before_open) {
  char path[4096], data[kPiece * kPieces], expected[kPiece];
  MPI_File fh = MPI_FILE_NULL;
  MPI_Datatype type, tiled;
  snprintf(path, sizeof path, "%s", ck_fresh("f"));
  int fd = ck_rank == 0 ? open(path, O_RDWR | O_CREAT, 0600) : -1;
  if (ck_rank == 0 && before_open) CHECK(lockf(fd, F_TLOCK, 0) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  if (ck_rank == 0 && !before_open) CHECK(lockf(fd, F_TLOCK, 0) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_contiguous(kPiece, MPI_BYTE, &type);
  MPI_Type_create_resized(type, 0, kPiece * ck_size, &tiled);
  MPI_Type_commit(&tiled);
  memset(data, 'a' + ck_rank, sizeof data);
  CHECK_OK(MPI_File_set_view(fh, ck_rank * kPiece, MPI_BYTE, tiled, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_at_all(fh, 0, data, sizeof data / 2, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_write_at(fh, sizeof data / 2, data, sizeof data / 2, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) CHECK(lockf(fd, F_ULOCK, 0) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_write_at(fh, 0, data, sizeof data / 2, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  if (ck_rank == 0) close(fd);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kPieces; ++i) {
    for (int rank = 0; rank < ck_size; ++rank) {
      memset(expected, 'a' + rank, kPiece);
      CHECK_BYTES(path, ((long long)i * ck_size + rank) * kPiece, expected, kPiece);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&type);
  MPI_Type_free(&tiled);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR(locked, "before", 1);
  RUN_FOR(locked, "after", 0);
  return ck_finish();
}
