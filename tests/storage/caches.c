// Pages that a node has read before another node rewrites them: by sync, barrier and sync, or by close and open, the new ones are
// seen. Blocks of less than a page, of pages and of many, by collective and by independent calls.
#include "storage.h"

enum { kFileBytes = 400000, kGenerations = 4 };

typedef struct {
  int block, collective;
} Way;

static const Way kWays[] = {{100, 0}, {100, 1}, {4096, 0}, {4096, 1}, {50000, 0}, {50000, 1}};
static const char *const kWayNames[] = {"100", "100_collective", "4096", "4096_collective", "50000", "50000_collective"};

// A generation gives each block of the file to the next rank; the file has a whole number of rounds of blocks.
static St_Part part_of(const Way *way, int generation, int rank) {
  long long first = (rank + generation) % ck_size, round = (long long)way->block * ck_size;
  return (St_Part){first * way->block, way->block, round, (kFileBytes + round - 1) / round};
}

static void write_generation(MPI_File fh, St_Model *model, const Way *way, int generation) {
  MPI_Status status;
  MPI_Datatype filetype;
  St_Part mine = part_of(way, generation, ck_rank);
  unsigned char *buffer = st_fill(&mine, generation, ck_rank);
  MPI_Type_create_hvector((int)mine.records, (int)mine.bytes, mine.stride, MPI_BYTE, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_OK(MPI_File_set_view(fh, mine.first, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
  if (way->collective)
    CHECK_OK(MPI_File_write_at_all(fh, 0, buffer, (int)st_part_bytes(&mine), MPI_BYTE, &status));
  else
    CHECK_OK(MPI_File_write_at(fh, 0, buffer, (int)st_part_bytes(&mine), MPI_BYTE, &status));
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  MPI_Type_free(&filetype);
  free(buffer);
  for (int rank = 0; rank < ck_size; rank++) {
    St_Part part = part_of(way, generation, rank);
    st_put_part(model, &part, generation, rank);
  }
}

static void look(MPI_File fh, const St_Model *model, const Way *way, const char *what) {
  if (way->collective)
    ST_READ_ALL(fh, model, what);
  else
    ST_READ(fh, model, what);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void rewritten_while_open(const Way *way) {
  St_Model model = {0};
  MPI_File fh;
  const char *name = ck_fresh("f");
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
  for (int generation = 1; generation <= kGenerations; generation++) {
    write_generation(fh, &model, way, generation);
    st_sync_barrier_sync(fh);
    look(fh, &model, way, "synced");
  }
  CHECK_OK(MPI_File_close(&fh));
  st_closed(name, &model);
}

// Nobody has the file open between the generations.
static void rewritten_and_closed(const Way *way) {
  St_Model model = {0};
  MPI_File fh;
  const char *name = ck_fresh("f");
  for (int generation = 1; generation <= kGenerations; generation++) {
    if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &fh)) return;
    write_generation(fh, &model, way, generation);
    CHECK_OK(MPI_File_close(&fh));
    MPI_Barrier(MPI_COMM_WORLD);
    if (!st_open(name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh)) return;
    look(fh, &model, way, "opened again");
    CHECK_OK(MPI_File_close(&fh));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  st_closed(name, &model);
}

// A reader that keeps its handle, and a writer that opens, writes and closes beside it, on another communicator.
static void rewritten_through_another_handle(const Way *way) {
  St_Model model = {0};
  MPI_File reader, writer;
  MPI_Status status;
  const char *name = ck_fresh("f");
  St_Part whole = {0, kFileBytes, 0, 1};
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &reader)) return;
  for (int generation = 1; generation <= kGenerations; generation++) {
    if (ck_rank == generation % ck_size) {
      unsigned char *buffer = st_fill(&whole, generation, ck_rank);
      CHECK_OK(MPI_File_open(MPI_COMM_SELF, (char *)name, MPI_MODE_WRONLY, MPI_INFO_NULL, &writer));
      for (long long at = 0; at < kFileBytes; at += way->block)
        CHECK_OK(MPI_File_write_at(writer, at, buffer + at, way->block, MPI_BYTE, &status));
      CHECK_OK(MPI_File_close(&writer));
      free(buffer);
    }
    st_put_part(&model, &whole, generation, generation % ck_size);
    st_sync_barrier_sync(reader);
    look(reader, &model, way, "written through another handle");
  }
  CHECK_OK(MPI_File_close(&reader));
  st_closed(name, &model);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  for (size_t i = 0; i < sizeof kWays / sizeof *kWays; i++) RUN_FOR(rewritten_while_open, kWayNames[i], &kWays[i]);
  for (size_t i = 0; i < sizeof kWays / sizeof *kWays; i++) RUN_FOR(rewritten_and_closed, kWayNames[i], &kWays[i]);
  for (size_t i = 4; i < sizeof kWays / sizeof *kWays; i++) RUN_FOR(rewritten_through_another_handle, kWayNames[i], &kWays[i]);
  return ck_finish();
}
