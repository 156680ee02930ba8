// C3: a communicator of one rank is not a job of one process. Files that every process opens on MPI_COMM_SELF: what one writes after another, in
// the order of barriers, is what the file holds, and disjoint writes through different handles are never lost, whoever sieves.
#include "check.h"

enum { kPieces = 20, kPiece = 64, kPeriod = 24, kTaken = 8, kPeriods = 2500 };

static MPI_File open_on(MPI_Comm comm, const char *path) {
  MPI_File fh = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  return fh;
}

// Rank 0 writes small pieces in a row, the last rank overwrites each of them behind a barrier.
static void overwritten_by_another(void) {
  char data[kPiece], expected[kPiece];
  MPI_File fh = open_on(MPI_COMM_SELF, ck_fresh("f"));
  int last = ck_size - 1;
  memset(data, 'a' + ck_rank, kPiece);
  memset(expected, 'a' + last, kPiece);
  for (int i = 0; i < kPieces; ++i) {
    if (ck_rank == 0) CHECK_OK(MPI_File_write_at(fh, i * kPiece, data, kPiece, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    if (ck_rank == last) {
      CHECK_OK(MPI_File_write_at(fh, i * kPiece, data, kPiece, MPI_BYTE, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_File_sync(fh));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kPieces; ++i) CHECK_BYTES(ck_path("f"), (long long)i * kPiece, expected, kPiece);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Rank 0 writes 8 of every 24 bytes through a view, the others the holes, at the same time and byte by byte disjoint. `shared`: the view's
// handle is the whole communicator's.
static void disjoint(int shared) {
  char *data = malloc(kPeriods * kTaken), other[kPeriod - kTaken], taken[kTaken];
  MPI_Datatype type, tiled;
  const char *path = ck_fresh("f");
  MPI_File fh = open_on(shared ? MPI_COMM_WORLD : MPI_COMM_SELF, path), own = open_on(MPI_COMM_SELF, path);
  MPI_Type_contiguous(kTaken, MPI_BYTE, &type);
  MPI_Type_create_resized(type, 0, kPeriod, &tiled);
  MPI_Type_commit(&tiled);
  memset(data, 'a', kPeriods * kTaken);
  memset(taken, 'a', kTaken);
  memset(other, 'b', sizeof other);
  if (shared || ck_rank == 0) CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, tiled, "native", MPI_INFO_NULL));
  for (int part = 0; part < 4; ++part) {
    MPI_Barrier(MPI_COMM_WORLD);
    int begin = part * kPeriods / 4, end = (part + 1) * kPeriods / 4;
    if (ck_rank == 0) {
      CHECK_OK(MPI_File_write_at(fh, begin * kTaken, data, (end - begin) * kTaken, MPI_BYTE, MPI_STATUS_IGNORE));
    } else {
      for (int i = begin + ck_rank - 1; i < end; i += ck_size - 1)
        CHECK_OK(MPI_File_write_at(own, (MPI_Offset)i * kPeriod + kTaken, other, sizeof other, MPI_BYTE, MPI_STATUS_IGNORE));
    }
  }
  CHECK_OK(MPI_File_close(&fh));
  CHECK_OK(MPI_File_close(&own));
  MPI_Barrier(MPI_COMM_WORLD);
  int wrong = 0;
  char got[kPeriod];
  FILE *file = fopen(path, "rb");
  for (int i = 0; CHECK(file != NULL) && i < kPeriods; ++i) {
    size_t bytes = fread(got, 1, kPeriod, file);
    wrong += bytes < kTaken || memcmp(got, taken, kTaken) != 0;
    wrong += ck_size > 1 && (bytes < kPeriod || memcmp(got + kTaken, other, sizeof other) != 0);
  }
  CHECK(wrong == 0);
  if (file) fclose(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&type);
  MPI_Type_free(&tiled);
  free(data);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(overwritten_by_another);
  for (int i = 0; i < 5; ++i) {
    RUN_FOR(disjoint, "self", 0);
    RUN_FOR(disjoint, "world", 1);
  }
  return ck_finish();
}
