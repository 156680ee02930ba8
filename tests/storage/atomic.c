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
  char text[200];
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
    ck_report_ints(ck_count(&status, MPI_BYTE), bytes, ck_program, __LINE__, "bytes read while others write");
    long long same = 0;
    while (same < bytes && got[same] == got[0]) same++;
    snprintf(text, sizeof text, "round %d, bytes of one rank, read while others write, begin with %02x, go on with %02x, end with %02x", round, got[0], got[same % bytes],
             got[bytes - 1]);
    ck_report_ints(same, bytes, ck_program, __LINE__, text);
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

// Each process has the file open twice: what it writes through one, it reads through the other meanwhile, beside the other ranks.
static void opened_twice(void) {
  enum { kPiece = 50, kStride = 3 * kPiece, kAll = kPieces * kPiece };
  St_Model model = {0};
  MPI_File fh[2];
  MPI_Datatype filetype;
  unsigned char buffer[kAll], got[kAll];
  char text[200];
  const char *name = ck_fresh("f");
  for (int i = 0; i < 2; i++)
    if (!open_atomic(name, &fh[i])) return;
  MPI_Type_create_hvector(kPieces, kPiece, kStride, MPI_BYTE, &filetype);
  MPI_Type_commit(&filetype);
  for (int i = 0; i < 2; i++) CHECK_OK(MPI_File_set_view(fh[i], 7, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
  memset(buffer, '0', kAll);
  CHECK_OK(MPI_File_write_at_all(fh[0], 0, buffer, kAll, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < kRounds; round++) {
    MPI_Request requests[2];
    MPI_Status status[2];
    memset(buffer, 'A' + ck_rank * 2 + round % 2, kAll);
    CHECK_OK(MPI_File_iwrite_at(fh[0], 0, buffer, kAll, MPI_BYTE, &requests[0]));
    CHECK_OK(MPI_File_iread_at(fh[1], 0, got, kAll, MPI_BYTE, &requests[1]));
    CHECK_OK(MPI_Waitall(2, requests, status));
    for (int i = 0; i < 2; i++) CHECK_COUNT(status[i], MPI_BYTE, kAll);
    int same = 0;
    while (same < kAll && got[same] == got[0]) same++;
    snprintf(text, sizeof text, "round %d, bytes of one rank, begin with %02x, go on with %02x", round, got[0], got[same % kAll]);
    ck_report_ints(same, kAll, ck_program, __LINE__, text);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_read_at_all(fh[0], 0, got, kAll, MPI_BYTE, MPI_STATUS_IGNORE));
  for (int i = 0; i < 2; i++) CHECK_OK(MPI_File_close(&fh[i]));
  for (int i = 0; i < kPieces; i++) st_put(&model, 7 + i * kStride, got, kPiece);
  st_closed(name, &model);
  MPI_Type_free(&filetype);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(seen_after_a_barrier);
  RUN(collective_is_seen);
  RUN_FOR(one_wins, "contiguous", 1);
  RUN_FOR(one_wins, "strided", kPieces);
  RUN(opened_twice);
  return ck_finish();
}
