// The server goes away for a while and comes back with its grace time, while ranks of two nodes write, read and lock: accesses wait, and nothing is lost.
// run.py restarts the server when a file "restart" appears in MERCUTIO_TEST_EXPECTED, and removes that file when it is done.
#include "storage.h"

enum { kBytes = 30001, kRoundsAfter = 3, kMostRounds = 2000 };
enum { kIndependent, kCollective, kAtomic };

static const char *asking(void) {
  static char path[CK_NAME_BYTES];
  snprintf(path, sizeof path, "%s/restart", getenv("MERCUTIO_TEST_EXPECTED"));
  return path;
}

static void ask_for_a_restart(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank != 0) return;
  int fd = open(asking(), O_CREAT | O_WRONLY, 0644);
  CHECK(fd >= 0 && close(fd) == 0);
}

static int restarted(void) {
  int done = ck_rank == 0 && access(asking(), F_OK) != 0;
  MPI_Bcast(&done, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return done;
}

// The ranks' shares change places in every round.
static void one_round(MPI_File fh, St_Model *model, int way, int round) {
  MPI_Status status;
  St_Part mine = {(ck_rank + round) % ck_size * (long long)kBytes, kBytes, 0, 1};
  unsigned char *buffer = st_fill(&mine, round, ck_rank);
  if (way == kCollective)
    CHECK_OK(MPI_File_write_at_all(fh, mine.first, buffer, kBytes, MPI_BYTE, &status));
  else
    CHECK_OK(MPI_File_write_at(fh, mine.first, buffer, kBytes, MPI_BYTE, &status));
  free(buffer);
  for (int rank = 0; rank < ck_size; rank++) {
    St_Part part = {(rank + round) % ck_size * (long long)kBytes, kBytes, 0, 1};
    st_put_part(model, &part, round, rank);
  }
  if (way == kAtomic)
    MPI_Barrier(MPI_COMM_WORLD);
  else
    st_sync_barrier_sync(fh);
  ST_READ(fh, model, "of all ranks");
  MPI_Barrier(MPI_COMM_WORLD);
}

static void accessed(int way) {
  St_Model model = {0};
  MPI_File fh;
  const char *name = ck_fresh("f");
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
  if (way == kAtomic) CHECK_OK(MPI_File_set_atomicity(fh, 1));
  one_round(fh, &model, way, 0);
  ask_for_a_restart();
  int round = 1;
  while (round < kMostRounds && !restarted()) one_round(fh, &model, way, round++);
  CHECK(round < kMostRounds);
  for (int last = round + kRoundsAfter; round < last; round++) one_round(fh, &model, way, round);
  CHECK_OK(MPI_File_close(&fh));
  st_closed(name, &model);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR(accessed, "independent", kIndependent);
  RUN_FOR(accessed, "collective", kCollective);
  RUN_FOR(accessed, "atomic", kAtomic);
  return ck_finish();
}
