/* A program that writes checkpoints, and one that reads them: it says what is on storage for certain, and what fails.
 *
 *     rounds write FILE ROUNDS|STOP BLOCK_BYTES BLOCKS SYNC_EVERY     (until the file STOP exists)
 *     rounds read FILE SYNCED LATEST BLOCK_BYTES BLOCKS RANKS
 *
 * Each round writes one of kRegions regions of the file, in turn, by a collective write of blocks that alternate among the ranks.
 * Each word of the file is its place and the round that wrote it, so that any program can tell of any word whether it is right:
 * a round that was synced must be there, or a later one of the same region. `read` does that, with any number of ranks.
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kRegions = 8 };

static int rank, ranks;

static const char *class_name(int code) {
  int cls = MPI_SUCCESS;
  MPI_Error_class(code, &cls);
  const struct {
    int cls;
    const char *name;
  } known[] = {{MPI_ERR_IO, "MPI_ERR_IO"},         {MPI_ERR_NO_SPACE, "MPI_ERR_NO_SPACE"},
               {MPI_ERR_ACCESS, "MPI_ERR_ACCESS"}, {MPI_ERR_NO_SUCH_FILE, "MPI_ERR_NO_SUCH_FILE"},
               {MPI_ERR_FILE, "MPI_ERR_FILE"},     {MPI_ERR_READ_ONLY, "MPI_ERR_READ_ONLY"},
               {MPI_ERR_OTHER, "MPI_ERR_OTHER"},   {MPI_ERR_BAD_FILE, "MPI_ERR_BAD_FILE"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (known[i].cls == cls) return known[i].name;
  return "another class";
}

/* One line a rank, in one write: lines of ranks must not mix. */
static int report(const char *what, int round, int code) {
  char text[MPI_MAX_ERROR_STRING + 1] = "", line[MPI_MAX_ERROR_STRING + 200];
  int length = 0;
  if (code == MPI_SUCCESS) return 0;
  MPI_Error_string(code, text, &length);
  for (char *c = text; *c; ++c) *c = *c == '\n' ? ' ' : *c;
  length = snprintf(line, sizeof line, "failed rank %d round %d %s %s: %s\n", rank, round, what, class_name(code), text);
  if (write(1, line, (size_t)length) != length) return 2;
  return 1;
}

static uint64_t word_at(uint64_t index, int round) {
  return (uint64_t)round << 40 | index;
}

static int set_view(MPI_File file, int block_bytes) {
  MPI_Datatype block, tile;
  MPI_Type_contiguous(block_bytes, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)block_bytes * ranks, &tile);
  MPI_Type_commit(&tile);
  const int code = MPI_File_set_view(file, (MPI_Offset)rank * block_bytes, MPI_BYTE, tile, "native", MPI_INFO_NULL);
  MPI_Type_free(&block);
  MPI_Type_free(&tile);
  return report("set_view", 0, code);
}

static void say(const char *word, int number) {
  if (rank != 0) return;
  printf("%s %d\n", word, number);
  fflush(stdout);
}

static int goes_on(const char *until, int round) {
  int yes = rank == 0 && (until[0] == '/' ? access(until, F_OK) != 0 : round <= atoi(until));
  MPI_Bcast(&yes, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return yes;
}

static int write_rounds(MPI_File file, const char *until, int block_bytes, int blocks, int sync_every) {
  const int words = block_bytes / 8, mine = words * blocks;
  uint64_t *data = malloc((size_t)mine * 8);
  int failed = set_view(file, block_bytes);
  for (int round = 1; !failed && goes_on(until, round); ++round) {
    const uint64_t region = (uint64_t)(round % kRegions);
    for (int i = 0; i < mine; ++i) {
      const uint64_t block = region * (uint64_t)blocks + (uint64_t)(i / words);   /* the how manieth of this rank's blocks in the file */
      data[i] = word_at((block * ranks + rank) * words + i % words, round);
    }
    say("begins", round);
    failed = report("write", round, MPI_File_write_at_all(file, (MPI_Offset)region * mine * 8, data, mine * 8, MPI_BYTE, MPI_STATUS_IGNORE));
    if (failed || round % sync_every != 0) continue;
    failed = report("sync", round, MPI_File_sync(file));
    if (!failed) say("synced", round);
  }
  free(data);
  return failed;
}

/* The last round up to `synced` that wrote a region. */
static int least_round(int region, int synced) {
  return synced - ((synced - region) % kRegions + kRegions) % kRegions;
}

static int read_rounds(MPI_File file, int synced, int latest, int64_t region_bytes) {
  int failed = 0;
  const int64_t share = region_bytes / 8 / ranks;
  uint64_t *data = malloc((size_t)share * 8);
  for (int region = 0; region < kRegions && !failed; ++region) {
    const int least = least_round(region, synced);
    if (least <= 0) continue;
    const int64_t first = region * (region_bytes / 8) + rank * share;
    MPI_Status status;
    int bytes = 0;
    failed = report("read", region, MPI_File_read_at_all(file, first * 8, data, (int)share * 8, MPI_BYTE, &status));
    if (!failed) MPI_Get_count(&status, MPI_BYTE, &bytes);
    for (int64_t i = 0; i < share && !failed; ++i) {
      const uint64_t place = data[i] & ((UINT64_C(1) << 40) - 1);
      const int round = (int)(data[i] >> 40);
      if (i < bytes / 8 && place == (uint64_t)(first + i) && round >= least && round <= latest && round % kRegions == region) continue;
      printf("failed rank %d: word %" PRId64 " of region %d, which round %d synced, is of round %d and place %" PRIu64 " (%d bytes came)\n", rank,
             first + i, region, least, round, place, bytes);
      failed = 1;
    }
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  }
  free(data);
  if (!failed) say("verified", synced);
  return failed;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int writes = argc > 1 && strcmp(argv[1], "write") == 0;
  if (argc != (writes ? 7 : 8)) return 2;
  const int n[] = {atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), atoi(argv[6])};
  MPI_File file;
  printf("process %d %d\n", rank, (int)getpid());
  fflush(stdout);
  int failed = report("open", 0, MPI_File_open(MPI_COMM_WORLD, argv[2], writes ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY,
                                               MPI_INFO_NULL, &file));
  if (!failed) {
    failed = writes ? write_rounds(file, argv[3], n[1], n[2], n[3]) : read_rounds(file, n[0], n[1], (int64_t)n[2] * n[3] * atoi(argv[7]));
    failed |= report("close", 0, MPI_File_close(&file));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  say(failed ? "ended" : "done", failed);
  MPI_Finalize();
  return failed ? 3 : 0;
}
