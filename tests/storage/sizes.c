// Sizes, as all ranks see them at once: set_size and preallocate are collective, and after them every rank knows the size; a file that another
// rank made longer has its size after sync, barrier and sync. What was cut off and is grown again is zero.
#include "storage.h"

static MPI_Offset size_of(MPI_File fh) {
  MPI_Offset size = -1;
  CHECK_OK(MPI_File_get_size(fh, &size));
  return size;
}

static MPI_Offset end_of(MPI_File fh) {
  MPI_Offset position = -1;
  CHECK_OK(MPI_File_seek(fh, 0, MPI_SEEK_END));
  CHECK_OK(MPI_File_get_position(fh, &position));
  return position;
}

static void set_size(void) {
  static const long long sizes[] = {1000, 5000, 100, 1000000, 0, 4096, 4097};
  St_Model model = {0};
  MPI_File fh;
  const char *name = ck_fresh("f");
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    CHECK_OK(MPI_File_set_size(fh, sizes[i]));
    CHECK_INT(size_of(fh), sizes[i]);
    CHECK_INT(end_of(fh), sizes[i]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_close(&fh));
  st_truncate(&model, 4097);
  st_closed(name, &model);
}

static void preallocate(void) {
  St_Model model = {0};
  MPI_File fh;
  const char *name = ck_fresh("f");
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
  CHECK_OK(MPI_File_preallocate(fh, 70000));
  CHECK_INT(size_of(fh), 70000);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_preallocate(fh, 500));   // never makes it smaller
  CHECK_INT(size_of(fh), 70000);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Offset size = -1;
  if (st_open(name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh)) {
    CHECK_OK(MPI_File_get_size(fh, &size));
    CHECK_INT(size, 70000);
    CHECK_OK(MPI_File_close(&fh));
  }
  st_free(&model);
}

// Every rank has the old bytes in its cache when they are cut off.
static void cut_off_and_grown_again(int rewritten) {
  enum { kBytes = 50000, kCut = 10001 };
  St_Model model = {0};
  MPI_File fh;
  MPI_Status status;
  St_Part whole = {0, kBytes, 0, 1};
  const char *name = ck_fresh("f");
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
  if (ck_rank == 0) {
    unsigned char *buffer = st_fill(&whole, 1, 0);
    CHECK_OK(MPI_File_write_at(fh, 0, buffer, kBytes, MPI_BYTE, &status));
    free(buffer);
  }
  st_put_part(&model, &whole, 1, 0);
  st_sync_barrier_sync(fh);
  ST_READ(fh, &model, "all of it");
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_set_size(fh, kCut));
  st_truncate(&model, kCut);
  if (rewritten) {   // from its end on, by the last rank
    St_Part end = {kBytes - 100, 100, 0, 1};
    if (ck_rank == ck_size - 1) {
      unsigned char *buffer = st_fill(&end, 2, ck_rank);
      CHECK_OK(MPI_File_write_at(fh, end.first, buffer, 100, MPI_BYTE, &status));
      free(buffer);
    }
    st_put_part(&model, &end, 2, ck_size - 1);
  } else {
    CHECK_OK(MPI_File_set_size(fh, kBytes));
    st_grow(&model, kBytes);
  }
  st_sync_barrier_sync(fh);
  CHECK_INT(size_of(fh), kBytes);
  ST_READ(fh, &model, "zeros where it was cut off");
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_close(&fh));
  st_closed(name, &model);
}

static void grown_by_another_rank(void) {
  enum { kStep = 3333 };
  St_Model model = {0};
  MPI_File fh;
  MPI_Status status;
  const char *name = ck_fresh("f");
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
  for (int round = 0; round < 8; round++) {
    St_Part part = {(long long)round * kStep, kStep, 0, 1};
    if (ck_rank == round % ck_size) {
      unsigned char *buffer = st_fill(&part, round, ck_rank);
      CHECK_OK(MPI_File_write_at(fh, part.first, buffer, kStep, MPI_BYTE, &status));
      free(buffer);
    }
    st_put_part(&model, &part, round, round % ck_size);
    st_sync_barrier_sync(fh);
    CHECK_INT(size_of(fh), model.size);
    CHECK_INT(end_of(fh), model.size);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_close(&fh));
  st_closed(name, &model);
}

// A collective write makes the file longer, too: each rank reads beyond what it has written itself.
static void grown_by_a_collective(void) {
  St_Model model = {0};
  MPI_File fh;
  MPI_Status status;
  const char *name = ck_fresh("f");
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
  for (int round = 0; round < 4; round++) {
    long long start = model.size;
    for (int rank = 0; rank < ck_size; rank++) {
      St_Part part = {start + rank * 1500, 1500, 0, 1};
      if (rank == ck_rank) {
        unsigned char *buffer = st_fill(&part, round, rank);
        CHECK_OK(MPI_File_write_at_all(fh, part.first, buffer, 1500, MPI_BYTE, &status));
        free(buffer);
      }
      st_put_part(&model, &part, round, rank);
    }
    st_sync_barrier_sync(fh);
    CHECK_INT(size_of(fh), model.size);
    ST_READ(fh, &model, "all of it");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_close(&fh));
  st_closed(name, &model);
}

// The pointers of a file that is opened with MPI_MODE_APPEND start at its end, as the ranks that wrote it left it.
static void appended(void) {
  enum { kRecord = 901 };
  St_Model model = {0};
  MPI_File fh;
  MPI_Status status;
  MPI_Offset position = -1;
  const char *name = ck_fresh("f");
  for (int round = 0; round < 4; round++) {
    St_Part part = {(long long)round * kRecord, kRecord, 0, 1};
    if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL, &fh)) return;
    CHECK_OK(MPI_File_get_position(fh, &position));
    CHECK_INT(position, model.size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (ck_rank == round % ck_size) {
      unsigned char *buffer = st_fill(&part, round, ck_rank);
      CHECK_OK(MPI_File_write(fh, buffer, kRecord, MPI_BYTE, &status));
      free(buffer);
    }
    st_put_part(&model, &part, round, round % ck_size);
    CHECK_OK(MPI_File_close(&fh));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  st_closed(name, &model);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(set_size);
  RUN(preallocate);
  RUN_FOR(cut_off_and_grown_again, "set_size", 0);
  RUN_FOR(cut_off_and_grown_again, "write", 1);
  RUN(grown_by_another_rank);
  RUN(grown_by_a_collective);
  RUN(appended);
  return ck_finish();
}
