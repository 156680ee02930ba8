// Collective and independent writes and reads of two nodes or more, whatever the storage: bench/storage.py runs it.
//   storage_patterns FILE     prints "pattern MB/s-written MB/s-read", every byte checked
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *name;
  long long bytes, blocks;   // of a rank; the blocks of the ranks interleave
  int independent;
} Pattern;

static const Pattern kPatterns[] = {
    {"contiguous-4MiB", 4 << 20, 1, 0}, {"interleaved-64KiB", 65536, 64, 0}, {"interleaved-64B", 64, 16384, 0}, {"independent-1KiB", 1024, 512, 1}};

static int rank, size;

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
  MPI_File_open(MPI_COMM_WORLD, (char *)name, writing ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_Barrier(MPI_COMM_WORLD);
  double begun = MPI_Wtime();
  move(file, p, data, writing);
  if (writing) MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  double seconds = MPI_Wtime() - begun;
  MPI_File_close(&file);
  return (double)(p->bytes * p->blocks * size) / seconds / 1e6;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (size_t i = 0; argc == 2 && i < sizeof kPatterns / sizeof *kPatterns; i++) {
    const Pattern *p = &kPatterns[i];
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
