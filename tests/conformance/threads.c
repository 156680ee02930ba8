// MPI_THREAD_MULTIPLE: threads of a process on files of their own and on the same file, by every pointer; requests started
// here and finished there; independent accesses beside communication.
#include "access_kinds.h"

#include <pthread.h>

enum { kThreads = 4, kRecords = 60, kRecordInts = 16 };

typedef struct {
  int number;
  MPI_File fh;
  MPI_Comm comm;
  char name[CK_NAME_BYTES + 20];
  int *data;
  int failures;   // the checks are made by the main thread
  MPI_Request requests[kRecords];
} Worker;

static int provided;
static Worker workers[kThreads];

static int stamp(int rank, int thread, int record, int i) { return ((rank * 10 + thread) * 1000 + record) * 100 + i; }

static void run_workers(void *(*body)(void *)) {
  pthread_t threads[kThreads];
  for (int t = 0; t < kThreads; t++) CHECK_INT(pthread_create(&threads[t], NULL, body, &workers[t]), 0);
  for (int t = 0; t < kThreads; t++) pthread_join(threads[t], NULL);
  for (int t = 0; t < kThreads; t++) CHECK_INT(workers[t].failures, 0);
}

static void prepare(MPI_File fh) {
  for (int t = 0; t < kThreads; t++) {
    Worker *w = &workers[t];
    w->number = t;
    w->fh = fh;
    w->failures = 0;
    w->data = malloc(sizeof(int) * kRecords * kRecordInts);
    for (int r = 0; r < kRecords; r++)
      for (int i = 0; i < kRecordInts; i++) w->data[r * kRecordInts + i] = stamp(ck_rank, t, r, i);
  }
}

static void dispose(void) {
  for (int t = 0; t < kThreads; t++) free(workers[t].data);
}

// Every record of every rank and thread stands in the file once, whole, and those of one thread in their order.
static void check_records(const char *name, int ranks) {
  int total = ranks * kThreads * kRecords, next[8][kThreads];
  int *all = malloc(sizeof(int) * (size_t)total * kRecordInts);
  FILE *f = ck_look(name);
  memset(next, 0, sizeof next);
  CHECK_INT(ck_disk_size(name), (long long)total * kRecordInts * 4);
  CHECK(f && (int)fread(all, 4 * kRecordInts, (size_t)total, f) == total);
  for (int k = 0; k < total; k++) {
    int first = all[k * kRecordInts], who = first / 100000, rank = ranks == 1 ? 0 : who / 10, thread = who % 10;
    if (!CHECK(who >= 0 && rank < ranks && thread < kThreads)) break;
    if (!CHECK_INT(first / 100 % 1000, next[rank][thread]++)) break;
    for (int i = 0; i < kRecordInts; i++)
      if (!CHECK_INT(all[k * kRecordInts + i], first + i)) break;
  }
  if (f) fclose(f);
  free(all);
}

#define TRY(call) \
  do { \
    if ((call) != MPI_SUCCESS) w->failures++; \
  } while (0)

// ---- files of their own, collectively -----------------------------------------------------------------------------------

static void *own_file(void *argument) {
  Worker *w = argument;
  int back[kRecordInts], peer = (ck_rank + 1) % ck_size;
  for (int round = 0; round < 3; round++) {
    MPI_File fh;
    MPI_Datatype type;
    TRY(MPI_File_open(w->comm, w->name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    MPI_Type_vector(kRecords, kRecordInts, kRecordInts * ck_size, MPI_INT, &type);
    MPI_Type_commit(&type);
    TRY(MPI_File_set_view(fh, 4 * kRecordInts * ck_rank, MPI_INT, type, "native", MPI_INFO_NULL));
    TRY(MPI_File_write_all(fh, w->data, kRecords * kRecordInts, MPI_INT, MPI_STATUS_IGNORE));
    TRY(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    TRY(MPI_File_read_at_all(fh, kRecordInts * (7 * ck_size + peer), back, kRecordInts, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < kRecordInts; i++)
      if (back[i] != stamp(peer, w->number, 7, i)) w->failures++;
    TRY(MPI_File_write_ordered(fh, w->data, 1, MPI_INT, MPI_STATUS_IGNORE));
    TRY(MPI_File_close(&fh));
    MPI_Type_free(&type);
  }
  return NULL;
}

static void own_files(void) {
  prepare(MPI_FILE_NULL);
  for (int t = 0; t < kThreads; t++) {
    snprintf(workers[t].name, sizeof workers[t].name, "%s%d", ck_fresh("f"), t);
    MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm);
  }
  run_workers(own_file);
  for (int t = 0; t < kThreads; t++) {
    for (int r = 1; r < kRecords; r++)
      CHECK_BYTES(workers[t].name, 4LL * kRecordInts * (r * ck_size + ck_rank), workers[t].data + r * kRecordInts, 4 * kRecordInts);
    MPI_Comm_free(&workers[t].comm);
  }
  dispose();
}

// ---- one file -----------------------------------------------------------------------------------------------------------

static long long place_of(const Worker *w, int record) { return ((long long)ck_rank * kThreads + w->number) * kRecords + record; }

static void *at_offsets(void *argument) {
  Worker *w = argument;
  int back[kRecordInts];
  for (int r = 0; r < kRecords; r++) {
    MPI_Offset at = place_of(w, r) * kRecordInts;
    int *data = w->data + r * kRecordInts, kind = r % 2 ? kIat : kAt;
    TRY(ck_write(kind, w->fh, at, data, kRecordInts, MPI_INT, MPI_STATUS_IGNORE));
    TRY(ck_read(kind, w->fh, at, back, kRecordInts, MPI_INT, MPI_STATUS_IGNORE));
    if (memcmp(back, data, sizeof back)) w->failures++;
  }
  return NULL;
}

static void same_file_at_offsets(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  prepare(fh);
  run_workers(at_offsets);
  CHECK_OK(MPI_File_close(&fh));
  for (int t = 0; t < kThreads; t++)
    CHECK_BYTES(name, place_of(&workers[t], 0) * kRecordInts * 4, workers[t].data, 4 * kRecords * kRecordInts);
  dispose();
}

static void *by_pointer(void *argument) {
  Worker *w = argument;
  for (int r = 0; r < kRecords; r++)
    TRY(MPI_File_write(w->fh, w->data + r * kRecordInts, kRecordInts, MPI_INT, MPI_STATUS_IGNORE));
  return NULL;
}

static void same_file_by_pointer(void) {
  char name[CK_NAME_BYTES + 20];
  MPI_File fh;
  MPI_Offset at = -1;
  snprintf(name, sizeof name, "%s%d", ck_fresh("any_order"), ck_rank);
  ck_remove(name);
  CHECK_OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  prepare(fh);
  for (int t = 0; t < kThreads; t++)   // the file has one rank's records: as if of rank 0
    for (int i = 0; i < kRecords * kRecordInts; i++) workers[t].data[i] -= ck_rank * 1000000;
  run_workers(by_pointer);
  CHECK_OK(MPI_File_get_position(fh, &at));
  CHECK_INT(at, kThreads * kRecords * kRecordInts);
  CHECK_OK(MPI_File_close(&fh));
  check_records(name, 1);
  dispose();
}

static void *by_shared_pointer(void *argument) {
  Worker *w = argument;
  for (int r = 0; r < kRecords; r++)
    TRY(MPI_File_write_shared(w->fh, w->data + r * kRecordInts, kRecordInts, MPI_INT, MPI_STATUS_IGNORE));
  return NULL;
}

static void same_file_by_shared_pointer(void) {
  const char *name = ck_fresh("any_order");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  prepare(fh);
  run_workers(by_shared_pointer);
  CHECK_OK(MPI_File_close(&fh));
  if (ck_rank == 0) check_records(name, ck_size);
  MPI_Barrier(MPI_COMM_WORLD);
  dispose();
}

// ---- requests -----------------------------------------------------------------------------------------------------------

static void *start_writes(void *argument) {
  Worker *w = argument;
  for (int r = 0; r < kRecords; r++)
    TRY(MPI_File_iwrite_at(w->fh, place_of(w, r) * kRecordInts, w->data + r * kRecordInts, kRecordInts, MPI_INT, &w->requests[r]));
  return NULL;
}

static void *finish_neighbour(void *argument) {
  Worker *w = argument, *other = &workers[(w->number + 1) % kThreads];
  MPI_Status statuses[kRecords];
  int done = 0, index;
  while (done < kRecords / 2) {
    TRY(MPI_Waitany(kRecords, other->requests, &index, MPI_STATUS_IGNORE));
    done++;
  }
  TRY(MPI_Waitall(kRecords, other->requests, statuses));
  return NULL;
}

static void requests_of_another_thread(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  prepare(fh);
  run_workers(start_writes);
  run_workers(finish_neighbour);
  CHECK_OK(MPI_File_close(&fh));
  for (int t = 0; t < kThreads; t++)
    CHECK_BYTES(name, place_of(&workers[t], 0) * kRecordInts * 4, workers[t].data, 4 * kRecords * kRecordInts);
  dispose();
}

// ---- beside communication -----------------------------------------------------------------------------------------------

static void *talk_or_write(void *argument) {
  Worker *w = argument;
  int next = (ck_rank + 1) % ck_size, before = (ck_rank + ck_size - 1) % ck_size, got = -1, sum;
  if (w->number % 2) return at_offsets(argument);
  for (int round = 0; round < 100; round++) {
    int mine = round * 100 + ck_rank;
    TRY(MPI_Sendrecv(&mine, 1, MPI_INT, next, 1, &got, 1, MPI_INT, before, 1, w->comm, MPI_STATUS_IGNORE));
    if (got != round * 100 + before) w->failures++;
    if (round % 10 == 0) TRY(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, w->comm));
  }
  return NULL;
}

static void beside_communication(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  prepare(fh);
  for (int t = 0; t < kThreads; t++) MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm);
  run_workers(talk_or_write);
  CHECK_OK(MPI_File_close(&fh));
  for (int t = 0; t < kThreads; t++) {
    if (t % 2) CHECK_BYTES(name, place_of(&workers[t], 0) * kRecordInts * 4, workers[t].data, 4 * kRecords * kRecordInts);
    MPI_Comm_free(&workers[t].comm);
  }
  dispose();
}

// ---- datatypes ----------------------------------------------------------------------------------------------------------

static pthread_barrier_t together;

// Each datatype is met for the first time by all threads at once.
static void *new_types(void *argument) {
  Worker *w = argument;
  const MPI_Datatype types[] = {MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_LONG,
                                MPI_UNSIGNED_LONG, MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE,
                                MPI_WCHAR, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T,
                                MPI_UINT64_T, MPI_C_BOOL, MPI_AINT, MPI_OFFSET, MPI_COUNT};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    pthread_barrier_wait(&together);
    for (int again = 0; again < 3; again++) TRY(MPI_File_set_view(w->fh, 0, types[i], types[i], "native", MPI_INFO_NULL));
  }
  return NULL;
}

static void types_met_together(void) {
  prepare(MPI_FILE_NULL);
  pthread_barrier_init(&together, NULL, kThreads);
  for (int t = 0; t < kThreads; t++) {
    char name[CK_NAME_BYTES + 20];
    snprintf(name, sizeof name, "%s%d.%d", ck_fresh("f"), ck_rank, t);
    CHECK_OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &workers[t].fh));
  }
  run_workers(new_types);
  for (int t = 0; t < kThreads; t++) CHECK_OK(MPI_File_close(&workers[t].fh));
  pthread_barrier_destroy(&together);
  dispose();
}

static void level(void) {
  int now = -1;
  CHECK_OK(MPI_Query_thread(&now));
  CHECK_INT(now, provided);
  CHECK_INT(provided, MPI_THREAD_MULTIPLE);
}

int main(int argc, char **argv) {
  ck_init_level(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  RUN(level);
  if (provided == MPI_THREAD_MULTIPLE) {
    RUN(types_met_together);
    RUN(own_files);
    RUN(same_file_at_offsets);
    RUN(same_file_by_pointer);
    RUN(same_file_by_shared_pointer);
    RUN(requests_of_another_thread);
    RUN(beside_communication);
  }
  return ck_finish();
}
