// C7: what a rank writes into the holes of a view through which another rank sieves stays, whichever open it writes through: the same one, where
// short writes take no range lock unless somebody sieves, another one of all ranks, or one of its own.
#include "check.h"

enum { kPiece = 8, kPieces = 256, kRounds = 300, kOpens = 60, kSieves = 30 };

static MPI_Datatype ck_tile;   // a piece of every rank

static MPI_File open_on(MPI_Comm comm, const char *path) {
  MPI_File fh = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK_OK(MPI_File_set_view(fh, kPiece * ck_rank, MPI_BYTE, ck_tile, "native", MPI_INFO_NULL));
  return fh;
}

static void write_piece(MPI_File fh, const char *data, int i) {
  CHECK_OK(MPI_File_write_at(fh, i * kPiece, data + i * kPiece, kPiece, MPI_BYTE, MPI_STATUS_IGNORE));
}

// Rank 0 writes all its pieces at once, again and again, and the others write theirs one by one.
static void write_round(MPI_File sieving, MPI_File other, const char *data) {
  if (ck_rank == 0)
    for (int i = 0; i < kSieves; i++) CHECK_OK(MPI_File_write_at(sieving, 0, data, kPieces * kPiece, MPI_BYTE, MPI_STATUS_IGNORE));
  else
    for (int i = 0; i < kPieces; i++) write_piece(other, data, i);
}

static void check_round(MPI_File fh, const char *data) {
  char seen[kPieces * kPiece] = {0};
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_read_at(fh, 0, seen, sizeof seen, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(memcmp(seen, data, sizeof seen) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

static const char *data_of(int round) {
  static char data[kPieces * kPiece];
  memset(data, 1 + (round * ck_size + ck_rank) % 250, sizeof data);
  return data;
}

static void the_same_open(void) {
  MPI_File fh = open_on(MPI_COMM_WORLD, ck_fresh("f"));
  for (int round = 0; round < kRounds; round++) {
    const char *data = data_of(round);
    write_round(fh, fh, data);
    check_round(fh, data);
  }
  CHECK_OK(MPI_File_close(&fh));
}

// Nobody sieves while the other open exists, but it comes and goes meanwhile.
static void another_open(void) {
  const char *path = ck_fresh("f");
  MPI_File fh = open_on(MPI_COMM_WORLD, path);
  for (int round = 0; round < kOpens; round++) {
    const char *data = data_of(round);
    MPI_Request request;
    if (ck_rank == 0) CHECK_OK(MPI_File_iwrite_at(fh, 0, data, kPieces * kPiece, MPI_BYTE, &request));
    MPI_File other = open_on(MPI_COMM_WORLD, path);
    write_round(fh, other, data);
    if (ck_rank == 0) CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_close(&other));
    check_round(fh, data);
  }
  CHECK_OK(MPI_File_close(&fh));
}

static void an_open_of_its_own(void) {
  const char *path = ck_fresh("f");
  MPI_File fh = open_on(MPI_COMM_WORLD, path);
  for (int round = 0; round < kOpens; round++) {
    const char *data = data_of(round);
    for (int part = 0; part < 4; part++) {
      MPI_File own = ck_rank == 0 ? MPI_FILE_NULL : open_on(MPI_COMM_SELF, path);
      if (ck_rank == 0) write_round(fh, fh, data);
      for (int i = part; ck_rank != 0 && i < kPieces; i += 4) write_piece(i % 8 < 4 ? own : fh, data, i);
      if (ck_rank != 0) CHECK_OK(MPI_File_close(&own));
    }
    check_round(fh, data);
  }
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  MPI_Datatype piece;
  ck_init(&argc, &argv);
  MPI_Type_contiguous(kPiece, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, kPiece * ck_size, &ck_tile);
  MPI_Type_commit(&ck_tile);
  RUN(the_same_open);
  RUN(another_open);
  RUN(an_open_of_its_own);
  MPI_Type_free(&piece);
  MPI_Type_free(&ck_tile);
  return ck_finish();
}
