// Atomic mode on nodes with caches of their own: what one rank has written another one reads after a barrier, without a sync, and
// what overlaps is one rank's entirely. Storage that can't keep this must refuse the mode.
#include "storage.h"

enum { kRounds = 16, kBytes = 5000, kPieces = 40 };

// All ranks agree whether the mode is there; where it is refused, nothing is promised.
static int open_atomic(const char *name, MPI_File *fh) {
  int refused, any = 0;
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, fh)) return 0;
  int code = MPI_File_set_atomicity(*fh, 1);
  CHECK_SAME(code);
  refused = code != MPI_SUCCESS;
  MPI_Allreduce(&refused, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (any) {
    st_refused(code);
    CHECK_OK(MPI_File_close(fh));
  }
  return !any;
}

static void seen_after_a_barrier(void) {
  St_Model model = {0};
  MPI_File fh;
  MPI_Status status;
  const char *name = ck_fresh("f");
  if (!open_atomic(name, &fh)) return;
  for (int round = 0; round < kRounds; round++) {
    int writer = round % ck_size;
    St_Part part = {100 + round % 3 * 1700, kBytes, 0, 1};
    if (ck_rank == writer) {
      unsigned char *buffer = st_fill(&part, round, writer);
      CHECK_OK(MPI_File_write_at(fh, part.first, buffer, kBytes, MPI_BYTE, &status));
      free(buffer);
    }
    st_put_part(&model, &part, round, writer);
    MPI_Barrier(MPI_COMM_WORLD);
    ST_READ(fh, &model, "after a barrier");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_close(&fh));
  st_closed(name, &model);
}

static void collective_is_seen(void) {
  St_Model model = {0};
  MPI_File fh;
  MPI_Status status;
  const char *name = ck_fresh("f");
  if (!open_atomic(name, &fh)) return;
  for (int round = 0; round < kRounds; round++) {
    for (int rank = 0; rank < ck_size; rank++) {
      St_Part part = {(rank + round) % ck_size * (long long)kBytes, kBytes, 0, 1};
      if (rank == ck_rank) {
        unsigned char *buffer = st_fill(&part, round, rank);
        CHECK_OK(MPI_File_write_at_all(fh, part.first, buffer, kBytes, MPI_BYTE, &status));
        free(buffer);
      }
      st_put_part(&model, &part, round, rank);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    ST_READ_ALL(fh, &model, "after a barrier");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_close(&fh));
  st_closed(name, &model);
}

// All ranks write the same bytes at the same time, each its own letter: afterwards there is one letter. The letter that won is what
// the server must hold.
static void one_wins(int pieces) {
  St_Model model = {0};
  MPI_File fh;
  MPI_Datatype filetype;
  MPI_Status status;
  long long piece = pieces == 1 ? 10000 : 50, stride = 3 * piece, bytes = pieces * piece;
  unsigned char *buffer = malloc((size_t)bytes), *got = malloc((size_t)bytes);
  const char *name = ck_fresh("f");
  if (!open_atomic(name, &fh)) return;
  MPI_Type_create_hvector(pieces, (int)piece, stride, MPI_BYTE, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_OK(MPI_File_set_view(fh, 7, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
  for (int round = 0; round < kRounds; round++) {
    memset(buffer, 'A' + ck_rank, (size_t)bytes);
    CHECK_OK(MPI_File_write_at(fh, 0, buffer, (int)bytes, MPI_BYTE, &status));
    memset(got, 0, (size_t)bytes);
    CHECK_OK(MPI_File_read_at(fh, 0, got, (int)bytes, MPI_BYTE, &status));   // while others may still write
    long long same = 0;
    while (same < bytes && got[same] == got[0]) same++;
    ck_report_ints(same, bytes, ck_program, __LINE__, "bytes of one rank, read while others write");
    CHECK(got[0] >= 'A' && got[0] < 'A' + ck_size);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_File_read_at(fh, 0, got, (int)bytes, MPI_BYTE, &status));
    MPI_Bcast(got, 1, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (same = 0; same < bytes && got[same] == got[0];) same++;
    ck_report_ints(same, bytes, ck_program, __LINE__, "bytes of one rank, the same one for all");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_close(&fh));
  memset(buffer, got[0], (size_t)bytes);
  for (int i = 0; i < pieces; i++) st_put(&model, 7 + i * stride, buffer, piece);
  st_closed(name, &model);
  MPI_Type_free(&filetype);
  free(buffer);
  free(got);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(seen_after_a_barrier);
  RUN(collective_is_seen);
  RUN_FOR(one_wins, "contiguous", 1);
  RUN_FOR(one_wins, "strided", kPieces);
  return ck_finish();
}
