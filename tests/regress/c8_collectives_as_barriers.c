// C8: programs and libraries take a collective access for a barrier. What a rank has written by an independent call, through the same open or one of its
// own, is seen by the collective reads of others that follow, and overwritten by their collective writes, however often the same accesses were made before.
// What it has read so is from before their collective writes, if such reads recur; the same holds for the file's size. Rank 0 comes late, when the others
// already wait in the collective access. (The standard wants a barrier there.)
#include <unistd.h>

#include "check.h"

enum { kBlock = 1000, kRounds = 8, kUsualRounds = 20, kWritesBetweenReads = 6 };

static char usual(int round) { return (char)('a' + round); }
static char unusual(int round) { return (char)('A' + round); }

static void all_are(const char *bytes, char wanted) {
  for (int i = 0; i < kBlock; i++) {
    if (bytes[i] == wanted) continue;
    CHECK(bytes[i] == wanted);
    return;
  }
}

// Each rank has a block of kBlock bytes.
static void fill(MPI_File fh, char value) {
  char data[kBlock];
  memset(data, value, kBlock);
  CHECK_OK(MPI_File_write_at_all(fh, (MPI_Offset)ck_rank * kBlock, data, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
}

// Rank 0 writes the blocks of all, in some rounds.
static void reads_after_a_write(int own_open) {
  const char *path = ck_fresh("f");
  MPI_File fh = MPI_FILE_NULL, own = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  if (own_open && ck_rank == 0) CHECK_OK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &own));
  char got[kBlock], *data = malloc((size_t)ck_size * kBlock);
  char now = usual(0);
  fill(fh, now);
  for (int round = 0; round < kRounds; round++) {
    for (int i = 0; i < kUsualRounds; i++) {
      CHECK_OK(MPI_File_read_at_all(fh, (MPI_Offset)ck_rank * kBlock, got, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
      all_are(got, now);
    }
    now = unusual(round);
    if (ck_rank == 0) {
      usleep(20000);
      memset(data, now, (size_t)ck_size * kBlock);
      CHECK_OK(MPI_File_write_at(own_open ? own : fh, 0, data, ck_size * kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    CHECK_OK(MPI_File_read_at_all(fh, (MPI_Offset)ck_rank * kBlock, got, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
    all_are(got, now);
  }
  free(data);
  if (own != MPI_FILE_NULL) CHECK_OK(MPI_File_close(&own));
  CHECK_OK(MPI_File_close(&fh));
}

// Rank 0 writes where the others write together with it, before: their bytes come last.
static void writes_after_a_write(void) {
  MPI_File fh = ck_create("f");
  char got[kBlock], *data = malloc((size_t)ck_size * kBlock);
  for (int round = 0; round < kRounds; round++) {
    for (int i = 0; i < kUsualRounds; i++) fill(fh, usual(i % 8));
    if (ck_rank == 0) {
      usleep(20000);
      memset(data, '.', (size_t)ck_size * kBlock);
      CHECK_OK(MPI_File_write_at(fh, 0, data, ck_size * kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    fill(fh, unusual(round));
    CHECK_OK(MPI_File_read_at(fh, (MPI_Offset)((ck_rank + 1) % ck_size) * kBlock, got, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
    all_are(got, unusual(round));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  free(data);
  CHECK_OK(MPI_File_close(&fh));
}

// In each round rank 0 reads the blocks of the others, before they write them anew.
static void writes_after_a_read(int writes) {
  MPI_File fh = ck_create("f");
  char got[kBlock];
  fill(fh, usual(0));
  for (int round = 1; round < kRounds; round++) {
    if (ck_rank == 0) usleep(10000);
    for (int r = 1; ck_rank == 0 && r < ck_size; r++) {
      CHECK_OK(MPI_File_read_at(fh, (MPI_Offset)r * kBlock, got, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
      all_are(got, usual(round - 1));
    }
    for (int i = 0; i < writes; i++) fill(fh, usual(round));
  }
  CHECK_OK(MPI_File_close(&fh));
}

// In each round all ranks ask for the file's end, the last one late, and write behind it.
static void writes_after_a_size(int seeks) {
  MPI_File fh = ck_create("f");
  char data[kBlock] = {0};
  for (int round = 0; round < 2 * kUsualRounds; round++) {
    const MPI_Offset end = (MPI_Offset)round * ck_size * kBlock;
    MPI_Offset seen = -1;
    if (ck_rank == ck_size - 1) usleep(2000);
    if (seeks) {
      CHECK_OK(MPI_File_seek(fh, 0, MPI_SEEK_END));
      CHECK_OK(MPI_File_get_position(fh, &seen));
    } else {
      CHECK_OK(MPI_File_get_size(fh, &seen));
    }
    CHECK_INT(seen, end);
    CHECK_OK(MPI_File_write_at_all(fh, end + (MPI_Offset)ck_rank * kBlock, data, kBlock, MPI_BYTE, MPI_STATUS_IGNORE));
  }
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR(reads_after_a_write, "same_open", 0);
  RUN_FOR(reads_after_a_write, "another_open", 1);
  RUN(writes_after_a_write);
  RUN_FOR(writes_after_a_read, "each_write", 1);
  RUN_FOR(writes_after_a_read, "some_writes", kWritesBetweenReads);
  RUN_FOR(writes_after_a_size, "size", 0);
  RUN_FOR(writes_after_a_size, "seek", 1);
  return ck_finish();
}
