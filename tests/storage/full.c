// Storage that is full, or a user's share of it (systems.py: small ones; MERCUTIO_TEST_FULL is "space" or "quota"): the call that can't write says so,
// with the right class, on all ranks if it is collective; what was written and synced before is there; and when the file is gone, there is room again.
#include "storage.h"

enum { kBlock = 500001, kMostRounds = 400, kTooMuch = 1 << 30 };
enum { kIndependent, kCollective, kNonblocking };

static int full_class(void) {
  const char *what = getenv("MERCUTIO_TEST_FULL");
  return what && !strcmp(what, "quota") ? MPI_ERR_QUOTA : MPI_ERR_NO_SPACE;
}

static int write_block(MPI_File fh, int way, long long offset, const unsigned char *block) {
  MPI_Request request;
  MPI_Status status;
  if (way == kCollective) return MPI_File_write_at_all(fh, offset, block, kBlock, MPI_BYTE, &status);
  if (way == kIndependent) return MPI_File_write_at(fh, offset, block, kBlock, MPI_BYTE, &status);
  int code = MPI_File_iwrite_at(fh, offset, block, kBlock, MPI_BYTE, &request);
  return code == MPI_SUCCESS ? MPI_Wait(&request, &status) : code;
}

// Whether a call succeeded on any rank, and on all; if not here, it must be because nothing is left.
static void check_full(int code, int *any, int *all) {
  int good = code == MPI_SUCCESS;
  if (!good) ck_report_class(code, full_class(), ck_program, __LINE__, "where nothing is left");
  MPI_Allreduce(&good, any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(&good, all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
}

// All rounds that every rank has written and synced; returns how many there are.
static int fill_up(MPI_File fh, int way, St_Model *model) {
  for (int round = 0; round < kMostRounds; round++) {
    int any, all, any_synced, all_synced;
    St_Part mine = {((long long)round * ck_size + ck_rank) * kBlock, kBlock, 0, 1};
    unsigned char *block = st_fill(&mine, round, ck_rank);
    int code = write_block(fh, way, mine.first, block);
    free(block);
    check_full(code, &any, &all);
    if (way == kCollective) CHECK_INT(any, all);
    check_full(MPI_File_sync(fh), &any_synced, &all_synced);
    CHECK_INT(any_synced, all_synced);
    if (!all || !all_synced) return round;
    for (int rank = 0; rank < ck_size; rank++) {
      St_Part part = {((long long)round * ck_size + rank) * kBlock, kBlock, 0, 1};
      st_put_part(model, &part, round, rank);
    }
  }
  CHECK(!"it is never full");
  return kMostRounds;
}

static void until_full(int way) {
  St_Model model = {0};
  MPI_File fh;
  MPI_Status status;
  int any, all;
  const char *name = ck_fresh("f");
  unsigned char *block = calloc(1, kBlock);
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
  CHECK(fill_up(fh, way, &model) > 0);
  ST_READ(fh, &model, "what was synced");
  MPI_Barrier(MPI_COMM_WORLD);
  check_full(MPI_File_close(&fh), &any, &all);
  MPI_Barrier(MPI_COMM_WORLD);
  if (st_open(name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh)) {
    ST_READ(fh, &model, "what was synced, opened again");
    CHECK_OK(MPI_File_close(&fh));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) CHECK_OK(MPI_File_delete((char *)name, MPI_INFO_NULL));
  MPI_Barrier(MPI_COMM_WORLD);
  if (st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh)) {
    CHECK_OK(MPI_File_write_at_all(fh, (MPI_Offset)ck_rank * kBlock, block, kBlock, MPI_BYTE, &status));
    CHECK_OK(MPI_File_close(&fh));
  }
  free(block);
  st_free(&model);
}

static void preallocate(void) {
  MPI_File fh;
  MPI_Offset size = -1;
  const char *name = ck_fresh("f");
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh)) return;
  int code = MPI_File_preallocate(fh, kTooMuch);
  CHECK_SAME(code);
  ck_report_class(code, full_class(), ck_program, __LINE__, "MPI_File_preallocate");
  CHECK_OK(MPI_File_get_size(fh, &size));
  CHECK(size >= 0 && size < kTooMuch);
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);   // a request's errors may go there, not to the file's handler
  RUN_FOR(until_full, "independent", kIndependent);
  RUN_FOR(until_full, "collective", kCollective);
  RUN_FOR(until_full, "nonblocking", kNonblocking);
  RUN(preallocate);
  return ck_finish();
}
