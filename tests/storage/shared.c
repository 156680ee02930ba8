// The shared file pointer between nodes: each record is written once, by one rank, with none lost or mixed; ordered ones lie in the order of
// ranks; what is read through the pointer is read once.
#include "storage.h"

enum { kRecord = 700, kRecords = 20 };

// A record says whose it is and which one.
static void fill_record(unsigned char *record, int rank, int number) {
  record[0] = (unsigned char)(rank + 1);
  record[1] = (unsigned char)(number + 1);
  for (int i = 2; i < kRecord; i++) record[i] = st_byte(number, rank, i);
}

static int is_record(const unsigned char *record, int rank, int number) {
  unsigned char want[kRecord];
  fill_record(want, rank, number);
  return memcmp(want, record, kRecord) == 0;
}

// The records of a file in whatever order: each one of all ranks once. They become the model.
static void check_any_order(const unsigned char *bytes, St_Model *model) {
  char seen[64][kRecords] = {{0}};
  int strange = 0, twice = 0;
  for (int i = 0; i < ck_size * kRecords; i++) {
    const unsigned char *record = bytes + (long long)i * kRecord;
    int rank = record[0] - 1, number = record[1] - 1;
    int known = rank >= 0 && rank < ck_size && number >= 0 && number < kRecords && is_record(record, rank, number);
    strange += !known;
    if (known) twice += seen[rank][number]++ != 0;
  }
  ck_report_ints(strange, 0, ck_program, __LINE__, "records that nobody wrote");
  ck_report_ints(twice, 0, ck_program, __LINE__, "records that are there twice");
  st_put(model, 0, bytes, (long long)ck_size * kRecords * kRecord);
}

static void read_whole(const char *name, unsigned char *bytes, long long count) {
  MPI_File fh;
  MPI_Status status;
  MPI_Offset size = -1;
  if (!st_open(name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh)) return;
  CHECK_OK(MPI_File_get_size(fh, &size));
  CHECK_INT(size, count);
  CHECK_OK(MPI_File_read_at_all(fh, 0, bytes, (int)count, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, count);
  CHECK_OK(MPI_File_close(&fh));
}

static void written(int ordered) {
  St_Model model = {0};
  MPI_File fh;
  MPI_Status status;
  MPI_Offset position = -1;
  unsigned char record[kRecord];
  long long bytes = (long long)ck_size * kRecords * kRecord;
  unsigned char *got = calloc(1, (size_t)bytes);
  const char *name = ck_fresh("f");
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
  for (int i = 0; i < kRecords; i++) {
    fill_record(record, ck_rank, i);
    if (ordered)
      CHECK_OK(MPI_File_write_ordered(fh, record, kRecord, MPI_BYTE, &status));
    else
      CHECK_OK(MPI_File_write_shared(fh, record, kRecord, MPI_BYTE, &status));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_get_position_shared(fh, &position));
  CHECK_INT(position, bytes);
  st_sync_barrier_sync(fh);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  read_whole(name, got, bytes);
  if (ordered) {
    for (int i = 0; i < kRecords * ck_size; i++) {
      fill_record(record, i % ck_size, i / ck_size);
      st_put(&model, (long long)i * kRecord, record, kRecord);
    }
    st_report(&model, 0, got, bytes, __LINE__, "records in the order of ranks");
  } else {
    check_any_order(got, &model);
  }
  st_expect(name, &model);
  st_free(&model);
  free(got);
}

// Rank 0 writes the file; all read it through the shared pointer, and together they have read each record once.
static void read_once(int ordered) {
  int seen[64] = {0}, sum[64] = {0};
  MPI_File fh;
  MPI_Status status;
  unsigned char record[kRecord];
  const char *name = ck_fresh("f");
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
  for (int i = 0; ck_rank == 0 && i < kRecords; i++) {
    fill_record(record, 0, i);
    CHECK_OK(MPI_File_write_at(fh, (MPI_Offset)i * kRecord, record, kRecord, MPI_BYTE, &status));
  }
  st_sync_barrier_sync(fh);
  CHECK_OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
  for (int i = 0; i < kRecords / ck_size; i++) {
    memset(record, 0, sizeof record);
    if (ordered)
      CHECK_OK(MPI_File_read_ordered(fh, record, kRecord, MPI_BYTE, &status));
    else
      CHECK_OK(MPI_File_read_shared(fh, record, kRecord, MPI_BYTE, &status));
    int number = record[1] - 1, good = number >= 0 && number < kRecords && is_record(record, 0, number);
    CHECK(good);
    if (good) seen[number]++;
    if (ordered) CHECK_INT(number, i * ck_size + ck_rank);
  }
  MPI_Allreduce(seen, sum, kRecords, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < kRecords / ck_size * ck_size; i++)
    if (!CHECK_INT(sum[i], 1)) break;
  CHECK_OK(MPI_File_close(&fh));
}

// The end of a file that another rank has just made longer.
static void seek_to_the_end(void) {
  MPI_File fh;
  MPI_Status status;
  MPI_Offset position = -1;
  unsigned char bytes[kRecord];
  const char *name = ck_fresh("f");
  if (!st_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh)) return;
  memset(bytes, 7, sizeof bytes);
  for (int round = 1; round <= 4; round++) {
    if (ck_rank == round % ck_size) CHECK_OK(MPI_File_write_at(fh, (MPI_Offset)(round - 1) * kRecord, bytes, kRecord, MPI_BYTE, &status));
    st_sync_barrier_sync(fh);
    CHECK_OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_END));
    CHECK_OK(MPI_File_get_position_shared(fh, &position));
    CHECK_INT(position, round * kRecord);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR(written, "shared", 0);
  RUN_FOR(written, "ordered", 1);
  RUN_FOR(read_once, "shared", 0);
  RUN_FOR(read_once, "ordered", 1);
  RUN(seek_to_the_end);
  return ck_finish();
}
