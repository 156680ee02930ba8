// C11: while a thread writes through a view with holes, another sets a view without, and back. What it writes into the holes meanwhile stays: no
// data sieving by the old view goes on.
#include "access_kinds.h"

#include <pthread.h>

enum { kPieces = 500, kPiece = 2, kPitch = 8, kViews = 100, kStep = 7, kBytes = kPieces * kPitch, kFirst = 1 << 20 };

static MPI_File fh;
static MPI_Datatype pieces;
static volatile int over;

static MPI_Offset my_part(void) { return kFirst + ck_rank * (MPI_Offset)kBytes; }

// By the view with holes: the pieces of this rank's part. By the other one: bytes before all parts.
static void *write_pieces(void *failures) {
  char data[kPieces * kPiece];
  MPI_Offset to = my_part() / kPitch * kPiece;
  memset(data, 'p', sizeof data);
  while (!over) *(int *)failures += MPI_File_write_at(fh, to, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  return NULL;
}

// How many bytes are others than those that were written.
static int write_holes(char value) {
  MPI_Offset first = my_part() + kPitch / 2;
  int wrong = 0;
  for (int i = 0; i < kPieces; i += kStep) CHECK_OK(MPI_File_write_at(fh, first + kPitch * i, &value, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < kPieces; i += kStep) {
    char seen = 0;
    CHECK_OK(MPI_File_read_at(fh, first + kPitch * i, &seen, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    wrong += seen != value;
  }
  return wrong;
}

static void holes_stay(void) {
  pthread_t thread;
  int failures = 0;
  over = 0;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, ck_fresh("f"), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, pieces, "native", MPI_INFO_NULL));
  CHECK_INT(pthread_create(&thread, NULL, write_pieces, &failures), 0);
  for (int i = 0; i < kViews; i++) {
    CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_INT(write_holes((char)('A' + i % 26)), 0);
    CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, pieces, "native", MPI_INFO_NULL));
  }
  over = 1;
  pthread_join(thread, NULL);
  CHECK_INT(failures, 0);
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  MPI_Datatype piece;
  int provided;
  ck_init_level(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Type_contiguous(kPiece, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, kPitch, &pieces);
  MPI_Type_commit(&pieces);
  if (provided == MPI_THREAD_MULTIPLE) RUN(holes_stay);
  MPI_Type_free(&piece);
  MPI_Type_free(&pieces);
  return ck_finish();
}
