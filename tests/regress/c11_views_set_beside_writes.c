// C11: a thread writes while another sets views. The other one writes into the holes of the view before, and that stays: no data sieving by that view
// goes on. A write by the individual pointer goes by the view before, or by the one after and from its beginning.
#include "access_kinds.h"

#include <pthread.h>
#include <sched.h>

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

enum { kHeader = 64, kRounds = 2000 };

static volatile int begun, ended;

static void *write_behind_header(void *failures) {
  char data[kHeader];
  memset(data, 'd', sizeof data);
  for (int round = 1; round <= kRounds; round++) {
    while (begun < round) sched_yield();
    *(int *)failures += MPI_File_write(fh, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    ended = round;
  }
  return NULL;
}

static int header_stands(void) {
  char seen[kHeader], header[kHeader];
  memset(header, 'h', sizeof header);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_read_at(fh, 0, seen, sizeof seen, MPI_BYTE, MPI_STATUS_IGNORE));
  return memcmp(seen, header, sizeof seen) == 0;
}

static void pointers_change_with_views(void) {
  char header[kHeader], name[CK_NAME_BYTES + 20];
  pthread_t thread;
  int failures = 0;
  snprintf(name, sizeof name, "%s.%d", ck_fresh("f"), ck_rank);
  memset(header, 'h', sizeof header);
  begun = ended = 0;
  CHECK_OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh));
  CHECK_INT(pthread_create(&thread, NULL, write_behind_header, &failures), 0);
  for (int round = 1; round <= kRounds; round++) {
    CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK_OK(MPI_File_write(fh, header, sizeof header, MPI_BYTE, MPI_STATUS_IGNORE));
    begun = round;
    for (volatile int wait = 0; wait < round % 50 * 60; wait++) continue;
    CHECK_OK(MPI_File_set_view(fh, kFirst, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    while (ended < round) sched_yield();
    CHECK_INT(header_stands(), 1);
  }
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
  if (provided == MPI_THREAD_MULTIPLE) {
    RUN(holes_stay);
    RUN(pointers_change_with_views);
  }
  MPI_Type_free(&piece);
  MPI_Type_free(&pieces);
  return ck_finish();
}
