// Names that nodes have looked for, made and deleted before: who asked for a file that was not there, or had it open when another node
// deleted it, still opens the one that is there now.
#include "storage.h"

enum { kBytes = 5000, kRounds = 6 };

static void write_share(MPI_File fh, St_Model *model, int generation) {
  MPI_Status status;
  St_Part mine = {ck_rank * (long long)kBytes, kBytes, 0, 1};
  unsigned char *buffer = st_fill(&mine, generation, ck_rank);
  CHECK_OK(MPI_File_write_at_all(fh, mine.first, buffer, kBytes, MPI_BYTE, &status));
  free(buffer);
  st_truncate(model, 0);
  for (int rank = 0; rank < ck_size; rank++) {
    St_Part part = {rank * (long long)kBytes, kBytes, 0, 1};
    st_put_part(model, &part, generation, rank);
  }
}

// One rank succeeds, if the file was there, and the others are told that it isn't.
static void every_rank_deletes(const char *name, int there) {
  int code = MPI_File_delete((char *)name, MPI_INFO_NULL), done = code == MPI_SUCCESS, sum = 0;
  if (!done) CHECK_CLASS(code, MPI_ERR_NO_SUCH_FILE);
  MPI_Allreduce(&done, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_INT(sum, there);
}

static void all_delete_then_create(void) {
  St_Model model = {0};
  MPI_File fh;
  const char *name = ck_path("f");
  for (int round = 0; round < kRounds; round++) {
    every_rank_deletes(name, round > 0);
    if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
    write_share(fh, &model, round);
    CHECK_OK(MPI_File_close(&fh));
    st_reopened(name, &model, "created anew");
  }
  st_closed(name, &model);
}

// Each rank has asked for the file by itself, by MPI and by POSIX, before all create it.
static void looked_for_before(int exclusive) {
  St_Model model = {0};
  MPI_File fh;
  struct stat s;
  char tag[32];
  for (int round = 0; round < kRounds; round++) {
    snprintf(tag, sizeof tag, "f%d", round);
    const char *name = ck_path(tag);
    CHECK(stat(ck_on_disk(name), &s) != 0);
    CHECK_CLASS(MPI_File_open(MPI_COMM_SELF, (char *)name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh), MPI_ERR_NO_SUCH_FILE);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh), MPI_ERR_NO_SUCH_FILE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR | (exclusive ? MPI_MODE_EXCL : 0), MPI_INFO_NULL, &fh)) return;
    write_share(fh, &model, round);
    CHECK_OK(MPI_File_close(&fh));
    st_reopened(name, &model, "created");
    st_expect(name, &model);
  }
  st_free(&model);
}

static void exclusive_is_refused(void) {
  MPI_File fh;
  const char *name = ck_fresh("f");
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_EXCL, MPI_INFO_NULL, &fh)) return;
  CHECK_OK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_EXCL, MPI_INFO_NULL, &fh), MPI_ERR_FILE_EXISTS);
  CHECK_CLASS(MPI_File_open(MPI_COMM_SELF, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_EXCL, MPI_INFO_NULL, &fh), MPI_ERR_FILE_EXISTS);
}

static void deleted_on_close(void) {
  St_Model model = {0};
  MPI_File fh;
  const char *name = ck_fresh("f");
  for (int round = 0; round < kRounds; round++) {
    if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &fh)) return;
    write_share(fh, &model, round);
    st_sync_barrier_sync(fh);
    ST_READ(fh, &model, "before it is deleted");
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_File_close(&fh));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh), MPI_ERR_NO_SUCH_FILE);
  }
  st_free(&model);
}

// A file of the same name, of another rank's making, has nothing of the one that was read before.
static void replaced_by_another_rank(void) {
  St_Model model = {0};
  MPI_File fh;
  MPI_Status status;
  const char *name = ck_path("f");
  for (int round = 0; round < kRounds; round++) {
    St_Part whole = {0, kBytes - 100 * round, 0, 1};
    if (ck_rank == round % ck_size) {
      unsigned char *buffer = st_fill(&whole, round, ck_rank);
      if (round) CHECK_OK(MPI_File_delete((char *)name, MPI_INFO_NULL));
      if (CHECK_OK(MPI_File_open(MPI_COMM_SELF, (char *)name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &fh))) {
        CHECK_OK(MPI_File_write(fh, buffer, (int)whole.bytes, MPI_BYTE, &status));
        CHECK_OK(MPI_File_close(&fh));
      }
      free(buffer);
    }
    st_truncate(&model, 0);
    st_put_part(&model, &whole, round, round % ck_size);
    st_reopened(name, &model, "another rank's file");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  st_closed(name, &model);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN(all_delete_then_create);
  RUN_FOR(looked_for_before, "created", 0);
  RUN_FOR(looked_for_before, "exclusive", 1);
  RUN(exclusive_is_refused);
  RUN(deleted_on_close);
  RUN(replaced_by_another_rank);
  return ck_finish();
}
