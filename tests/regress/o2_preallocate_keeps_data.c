// O2: preallocating space for a file that has data changes none of it.
#include "check.h"

enum { kOldBytes = 80 << 20, kNewBytes = 81 << 20, kPiece = 1 << 20 };

static int old_word(long long i) { return (int)(i * 2654435761u ^ 0x1234567); }

static void preallocate(void) {
  const char *name = ck_fresh("f");
  int *piece = malloc(kPiece);
  if (ck_rank == 0) {
    int fd = open(name, O_CREAT | O_WRONLY, 0666);
    for (long long at = 0; at < kOldBytes; at += kPiece) {
      for (int i = 0; i < kPiece / 4; i++) piece[i] = old_word(at / 4 + i);
      if (!CHECK_INT(pwrite(fd, piece, kPiece, at), kPiece)) break;
    }
    close(fd);
  }
  MPI_File fh = ck_open(name, MPI_MODE_RDWR);
  MPI_Offset size = -1;
  CHECK_OK(MPI_File_preallocate(fh, kNewBytes));
  CHECK_OK(MPI_File_get_size(fh, &size));
  CHECK_INT(size, kNewBytes);
  CHECK_OK(MPI_File_preallocate(fh, kOldBytes));
  CHECK_OK(MPI_File_get_size(fh, &size));
  CHECK_INT(size, kNewBytes);
  CHECK_OK(MPI_File_close(&fh));
  int fd = open(name, O_RDONLY);
  long long wrong = 0;
  for (long long at = (long long)kPiece * ck_rank; at < kOldBytes; at += (long long)kPiece * ck_size) {
    CHECK_INT(pread(fd, piece, kPiece, at), kPiece);
    for (int i = 0; i < kPiece / 4; i++) wrong += piece[i] != old_word(at / 4 + i);
  }
  CHECK_INT(wrong, 0);
  close(fd);
  free(piece);
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) unlink(name);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(preallocate);
  return ck_finish();
}
