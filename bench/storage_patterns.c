// Collective and independent writes and reads of two nodes or more, whatever the storage: bench/storage.py runs it.
//   storage_patterns FILE [REPETITIONS [PATTERN]]     prints "pattern MB/s-written MB/s-read", every byte checked. Before that, for a file on NFS, lines
//                             "# pattern write|read OPERATION requests milliseconds": what the clients of all nodes asked the server for, and how long
//                             each request took from its start to its end, in sum. One rank on each node.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *name;
  long long bytes, blocks;   // of a rank; the blocks of the ranks interleave
  int independent, mode;     // of the open that writes
} Pattern;

static const Pattern kPatterns[] = {
    {"contiguous-4MiB", 4 << 20, 1, 0, MPI_MODE_RDWR},
    {"interleaved-64KiB", 65536, 64, 0, MPI_MODE_RDWR},
    {"interleaved-64B", 64, 16384, 0, MPI_MODE_RDWR},
    {"independent-1KiB", 1024, 512, 1, MPI_MODE_RDWR},
    {"write-only-1KiB", 1024, 512, 1, MPI_MODE_WRONLY},
    {"write-only-64KiB", 65536, 512, 1, MPI_MODE_WRONLY}};

enum { kOperations = 96, kNameBytes = 32 };
typedef struct {
  char name[kNameBytes];
  long long requests, milliseconds;
} Operation;

static int rank, size;

// What this node's client has asked servers of NFS for, over all its mounts (nfsiostat(8)).
static int count_operations(Operation *found) {
  int count = 0, listed = 0;
  char line[1024];
  FILE *stats = fopen("/proc/self/mountstats", "r");
  while (stats && fgets(line, sizeof line, stats)) {
    if (!strncmp(line, "device ", 7)) listed = 0;
    if (strstr(line, "per-op statistics")) listed = 1;
    char name[kNameBytes];
    long long words[8];
    if (!listed || sscanf(line, " %31[A-Z_0-9]: %lld %lld %lld %lld %lld %lld %lld %lld", name, &words[0], &words[1], &words[2], &words[3], &words[4], &words[5], &words[6], &words[7]) != 9) continue;
    int i = 0;
    while (i < count && strcmp(found[i].name, name)) i++;
    if (i == kOperations) break;
    if (i == count) {
      found[count] = (Operation){"", 0, 0};
      strcpy(found[count++].name, name);
    }
    found[i].requests += words[0];
    found[i].milliseconds += words[7];
  }
  if (stats) fclose(stats);
  return count;
}

// All nodes run one kernel's version, so that the lists have the same order; where there is none, nothing is printed.
static void print_operations(const char *pattern, const char *way, const Operation *before, const Operation *after, int count) {
  int most = 0;
  MPI_Allreduce(&count, &most, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  for (int i = 0; i < most; i++) {
    long long mine[2] = {after[i].requests - before[i].requests, after[i].milliseconds - before[i].milliseconds}, all[2];
    MPI_Reduce(mine, all, 2, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && all[0] > 0) printf("# %s %s %s %lld %lld\n", pattern, way, after[i].name, all[0], all[1]);
  }
}

static char byte_of(long long place) { return (char)(1 + (place * 31 + rank * 7) % 251); }

static void move(MPI_File file, const Pattern *p, char *data, int writing) {
  if (p->independent) {
    for (long long i = 0; i < p->blocks; i++) {
      long long at = (i * size + rank) * p->bytes;
      if (writing) MPI_File_write_at(file, at, data + i * p->bytes, (int)p->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
      if (!writing) MPI_File_read_at(file, at, data + i * p->bytes, (int)p->bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    return;
  }
  MPI_Datatype mine;
  MPI_Type_vector((int)p->blocks, (int)p->bytes, (int)p->bytes * size, MPI_BYTE, &mine);
  MPI_Type_commit(&mine);
  MPI_File_set_view(file, rank * p->bytes, MPI_BYTE, mine, "native", MPI_INFO_NULL);
  if (writing) MPI_File_write_at_all(file, 0, data, (int)(p->bytes * p->blocks), MPI_BYTE, MPI_STATUS_IGNORE);
  if (!writing) MPI_File_read_at_all(file, 0, data, (int)(p->bytes * p->blocks), MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_Type_free(&mine);
}

// MB/s of all ranks, from a barrier to a barrier; what is written is on the server by then.
static double timed(const char *name, const Pattern *p, char *data, int writing) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, (char *)name, writing ? MPI_MODE_CREATE | p->mode : MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  Operation before[kOperations] = {0}, after[kOperations] = {0};
  count_operations(before);
  MPI_Barrier(MPI_COMM_WORLD);
  double begun = MPI_Wtime();
  move(file, p, data, writing);
  if (writing) MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = MPI_Wtime() - begun;
  print_operations(p->name, writing ? "write" : "read", before, after, count_operations(after));
  MPI_File_close(&file);
  return (double)(p->bytes * p->blocks * size) / seconds / 1e6;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int repetitions = argc > 2 ? atoi(argv[2]) : 1, patterns = sizeof kPatterns / sizeof *kPatterns;
  for (int i = 0; i < patterns * repetitions; i++) {
    const Pattern *p = &kPatterns[i % patterns];
    if (argc > 3 && strcmp(argv[3], p->name)) continue;
    const size_t bytes = (size_t)p->bytes * (size_t)p->blocks;
    long long wrong = 0;
    char name[4096], *data = malloc(bytes);
    snprintf(name, sizeof name, "%s.%s", argv[1], p->name);
    for (size_t b = 0; b < bytes; b++) data[b] = byte_of((long long)b);
    double written = timed(name, p, data, 1);
    memset(data, 0, bytes);
    double read = timed(name, p, data, 0);
    for (size_t b = 0; b < bytes; b++) wrong += data[b] != byte_of((long long)b);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%s %.3f %.3f%s\n", p->name, written, read, wrong ? " WRONG" : "");
    if (rank == 0) MPI_File_delete(name, MPI_INFO_NULL);
    free(data);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
