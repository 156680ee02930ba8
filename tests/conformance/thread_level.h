// What a program may do at the lower thread levels: LEVEL says which one. At MPI_THREAD_FUNNELED other threads compute while
// the main thread does I/O; at MPI_THREAD_SERIALIZED they take turns.
#include "access_kinds.h"

#include <pthread.h>

enum { kItems = 2000, kHelpers = 2 };

static int provided;
static volatile int stop;
static volatile unsigned computed[kHelpers];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void level(void) {
  int now = -1;
  CHECK_OK(MPI_Query_thread(&now));
  CHECK(now >= LEVEL);
}

static void *compute(void *argument) {
  int which = (int)(long)argument;
  while (!stop) {
    for (int i = 0; i < 1000; i++) computed[which] = computed[which] * 1664525u + 1013904223u;
  }
  return NULL;
}

// Requests for files and for messages in one Waitall, then collective accesses of every kind.
static void mixed(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  static int data[kItems], back[kItems];
  int token = ck_rank, got = -1;
  MPI_Request requests[4];
  MPI_Status statuses[4];
  for (int i = 0; i < kItems; i++) data[i] = ck_rank * kItems + i;
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  MPI_Offset mine = (MPI_Offset)ck_rank * kItems;
  CHECK_OK(MPI_File_iwrite_at(fh, mine, data, kItems / 2, MPI_INT, &requests[0]));
  MPI_Irecv(&got, 1, MPI_INT, (ck_rank + 1) % ck_size, 9, MPI_COMM_WORLD, &requests[1]);
  CHECK_OK(MPI_File_iwrite_at_all(fh, mine + kItems / 2, data + kItems / 2, kItems / 2, MPI_INT, &requests[2]));
  MPI_Isend(&token, 1, MPI_INT, (ck_rank + ck_size - 1) % ck_size, 9, MPI_COMM_WORLD, &requests[3]);
  CHECK_OK(MPI_Waitall(4, requests, statuses));
  CHECK_INT(got, (ck_rank + 1) % ck_size);
  CHECK_COUNT(statuses[0], MPI_INT, kItems / 2);
  CHECK_COUNT(statuses[2], MPI_INT, kItems / 2);
  for (int kind = 0; kind < kPlainKinds; kind++) {
    memset(back, 0, sizeof back);
    CHECK_OK(ck_read(kind, fh, mine, back, kItems, MPI_INT, &statuses[0]));
    CHECK(!memcmp(back, data, sizeof data));
  }
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 4 * mine, data, sizeof data);
}

static void mixed_while_others_compute(void) {
  pthread_t threads[kHelpers];
  stop = 0;
  for (long i = 0; i < kHelpers; i++) CHECK_INT(pthread_create(&threads[i], NULL, compute, (void *)i), 0);
  mixed();
  stop = 1;
  for (int i = 0; i < kHelpers; i++) pthread_join(threads[i], NULL);
}

static MPI_File common_file;
static int common_failures;

static void *take_turns(void *argument) {
  long which = (long)argument;
  for (int round = 0; round < 20; round++) {
    int value = (int)(ck_rank * 10000 + which * 1000 + round), back = -1;
    MPI_Offset at = ((MPI_Offset)ck_rank * kHelpers + which) * 20 + round;
    MPI_Request request;
    pthread_mutex_lock(&turn);
    int code = MPI_File_iwrite_at(common_file, at, &value, 1, MPI_INT, &request);
    pthread_mutex_unlock(&turn);
    for (int done = 0; !done && code == MPI_SUCCESS;) {
      pthread_mutex_lock(&turn);
      code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      pthread_mutex_unlock(&turn);
    }
    pthread_mutex_lock(&turn);
    if (code == MPI_SUCCESS) code = MPI_File_read_at(common_file, at, &back, 1, MPI_INT, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || back != value) common_failures++;
    pthread_mutex_unlock(&turn);
  }
  return NULL;
}

static void in_turns(void) {
  pthread_t threads[kHelpers];
  common_file = ck_create("f");
  common_failures = 0;
  CHECK_OK(MPI_File_set_view(common_file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (long i = 0; i < kHelpers; i++) CHECK_INT(pthread_create(&threads[i], NULL, take_turns, (void *)i), 0);
  for (int i = 0; i < kHelpers; i++) pthread_join(threads[i], NULL);
  CHECK_INT(common_failures, 0);
  CHECK_OK(MPI_File_close(&common_file));
}

int main(int argc, char **argv) {
  ck_init_level(&argc, &argv, LEVEL, &provided);
  RUN(level);
  RUN(mixed);
  if (LEVEL >= MPI_THREAD_FUNNELED) RUN(mixed_while_others_compute);
  if (LEVEL >= MPI_THREAD_SERIALIZED) RUN(in_turns);
  return ck_finish();
}
