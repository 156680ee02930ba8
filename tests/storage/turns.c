// Ranks that write and read in turn: sync, barrier and sync between one rank's write and another rank's read of the same bytes, of bytes
// beside them in the same page, and of bytes by which the file grows; restart files that are rewritten in place.
#include "storage.h"

enum { kRounds = 24 };

typedef struct {
  const char *name;
  long long at, bytes, step;   // round r writes `bytes` at at + r * step
} Message;

static const Message kMessages[] = {
    {"in_place", 0, 1000, 0}, {"a_page", 4096, 4096, 0}, {"across_pages", 3000, 9000, 0}, {"beside", 64, 64, 64}, {"growing", 0, 3001, 3001},
};

static void ping_pong(const Message *message) {
  St_Model model = {0};
  MPI_File fh;
  MPI_Status status;
  const char *name = ck_fresh("f");
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
  for (int round = 0; round < kRounds; round++) {
    int writer = round % ck_size;
    St_Part part = {message->at + round * message->step, message->bytes, 0, 1};
    if (ck_rank == writer) {
      unsigned char *buffer = st_fill(&part, round, writer);
      CHECK_OK(MPI_File_write_at(fh, part.first, buffer, (int)part.bytes, MPI_BYTE, &status));
      free(buffer);
    }
    st_put_part(&model, &part, round, writer);
    st_sync_barrier_sync(fh);
    ST_READ_AT(fh, &model, part.first, part.bytes, "the message");
    MPI_Barrier(MPI_COMM_WORLD);   // nobody writes what others still read
  }
  ST_READ(fh, &model, "all messages");
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_close(&fh));
  st_closed(name, &model);
}

// Every rank writes its own record of a page that all share, and reads the others' ones.
static void one_page(void) {
  enum { kRecord = 200 };
  St_Model model = {0};
  MPI_File fh;
  MPI_Status status;
  const char *name = ck_fresh("f");
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
  for (int round = 0; round < kRounds; round++) {
    St_Part mine = {ck_rank * kRecord, kRecord, 0, 1};
    unsigned char *buffer = st_fill(&mine, round, ck_rank);
    CHECK_OK(MPI_File_write_at(fh, mine.first, buffer, kRecord, MPI_BYTE, &status));
    free(buffer);
    for (int rank = 0; rank < ck_size; rank++) {
      St_Part part = {rank * kRecord, kRecord, 0, 1};
      st_put_part(&model, &part, round, rank);
    }
    st_sync_barrier_sync(fh);
    ST_READ(fh, &model, "the page");
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_close(&fh));
  st_closed(name, &model);
}

static St_Part restart_part(int record, int rank) { return (St_Part){(long long)rank * record, record, (long long)ck_size * record, 300000 / record}; }

static void write_restart(MPI_File fh, int record, int generation) {
  MPI_Datatype filetype;
  MPI_Status status;
  St_Part mine = restart_part(record, ck_rank);
  unsigned char *buffer = st_fill(&mine, generation, ck_rank);
  MPI_Type_create_hvector((int)mine.records, (int)mine.bytes, mine.stride, MPI_BYTE, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_OK(MPI_File_set_view(fh, mine.first, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_all(fh, buffer, (int)st_part_bytes(&mine), MPI_BYTE, &status));
  MPI_Type_free(&filetype);
  free(buffer);
}

// A restart file, rewritten in place: written by all, closed, read by all with another rank's part for each.
static void generations(int record) {
  St_Model model = {0};
  MPI_File fh;
  const char *name = ck_fresh("f");
  for (int generation = 1; generation <= 6; generation++) {
    if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
    write_restart(fh, record, generation);
    CHECK_OK(MPI_File_close(&fh));
    for (int rank = 0; rank < ck_size; rank++) {
      St_Part part = restart_part(record, rank);
      st_put_part(&model, &part, generation, rank);
    }
    st_reopened(name, &model, "the generation");
  }
  st_closed(name, &model);
}

// Larger and smaller ones in turn, cut to their size.
static void generations_of_other_sizes(void) {
  St_Model model = {0};
  MPI_File fh;
  MPI_Status status;
  const char *name = ck_fresh("f");
  for (int generation = 1; generation <= 6; generation++) {
    long long share = generation % 2 ? 70001 : 30003;
    St_Part mine = {ck_rank * share, share, 0, 1};
    unsigned char *buffer = st_fill(&mine, generation, ck_rank);
    if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
    CHECK_OK(MPI_File_set_size(fh, 0));
    CHECK_OK(MPI_File_write_at_all(fh, mine.first, buffer, (int)share, MPI_BYTE, &status));
    CHECK_OK(MPI_File_close(&fh));
    free(buffer);
    st_truncate(&model, 0);
    for (int rank = 0; rank < ck_size; rank++) {
      St_Part part = {rank * share, share, 0, 1};
      st_put_part(&model, &part, generation, rank);
    }
    st_reopened(name, &model, "the generation");
  }
  st_closed(name, &model);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  for (size_t i = 0; i < sizeof kMessages / sizeof *kMessages; i++) RUN_FOR(ping_pong, kMessages[i].name, &kMessages[i]);
  RUN(one_page);
  RUN_FOR(generations, "100", 100);
  RUN_FOR(generations, "10000", 10000);
  RUN_FOR(generations, "300000", 300000);
  RUN(generations_of_other_sizes);
  return ck_finish();
}
