// Outlive ranks: all ranks do the same random file calls until one of them is killed inside a call. Every other rank must be told
// within kPatience seconds by an error of class MPI_ERR_PROC_FAILED, must get through MPI_File_close, and the rest goes on, on a
// shrunken communicator, with a file opened again, until one rank is left. What a call has reported as written must be in the file.
//   outlive --dir D --seed S [--verbose 1]
// On stderr a line for what is wrong (WRONG, HANG; OWN: a call of the MPI's that has nothing to do with files hung); at the end the rank that
// is left writes "done KILLS SLOWEST_MS" to stdout.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <mpi-ext.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kMostWrites = 4096, kMostRounds = 64, kMostBlocks = 48, kMostBlockBytes = 2500, kRecordBytes = 64, kSizeBytes = 1 << 30, kReservedBytes = 1 << 20 };
static const double kPatience = 5, kHang = 10;

// What a successful call has promised: `blocks` blocks of `block_bytes`, one of every rank's in turn.
typedef struct { MPI_Offset base; int blocks, block_bytes, step; } Promise;

typedef struct {
  MPI_Comm comm;
  int rank, ranks, round, step, in_order;
  MPI_File file, shared;
  MPI_Offset next;
  char path[512], shared_path[520], other_path[520];
  Promise promises[kMostWrites];
  int writes, records[kMostWrites], recorded;
} Round;

static uint64_t seed;
static const char *directory = ".", *doing = "start";
static int world_rank, verbose, failures, slowest_ms;
static volatile double *death;   // of each round, shared by all ranks
static char *buffer, *second;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// The same on all ranks for the same `what`.
static int draw(const Round *r, int what, int below) {
  return (int)(mix(seed * 1000003 + (uint64_t)r->round * 7919 + (uint64_t)r->step * 104729 + (uint64_t)what) % (uint64_t)below);
}

__attribute__((format(printf, 2, 3))) static void wrong(const Round *r, const char *format, ...) {
  char text[400];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  failures++;
  fprintf(stderr, "WRONG seed %llu round %d rank %d (world %d) of %d, step %d, %s: %s\n", (unsigned long long)seed, r ? r->round : -1,
          r ? r->rank : -1, world_rank, r ? r->ranks : 0, r ? r->step : -1, doing, text);
}

static void on_alarm(int number) {
  char line[200];
  (void)number;
  const char *word = strstr(doing, "the MPI's own") ? "OWN" : "HANG";
  const int n = snprintf(line, sizeof line, "%s seed %llu world rank %d in %s\n", word, (unsigned long long)seed, world_rank, doing);
  if (write(2, line, (size_t)n) < 0) _exit(125);
  raise(SIGABRT);
}

// MPI_Finalize deletes what was set first last: the files' part of it is over. The rest waits for other processes, and Open MPI 5.0.11
// often does so for ever where ranks have died, without any file.
static int files_are_finalized(MPI_Comm comm, int keyval, void *value, void *extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  _exit(failures > 0);
}

// Every call of MPI in a round stands in one of these.
static void enter(const char *call) {
  doing = call;
  alarm((unsigned)kHang + 2);
}

static int class_of(int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  return class;
}

static char value(const Round *r, int step, int rank, int i) {
  return (char)(1 + mix(seed + (uint64_t)r->round * 31 + (uint64_t)step * 1009 + (uint64_t)rank * 65537 + (uint64_t)i * 271) % 255);
}

// ---- death ----

typedef struct { int round, microseconds; } Sentence;

static void *execute(void *argument) {
  const Sentence *sentence = argument;
  usleep((useconds_t)sentence->microseconds);
  death[sentence->round] = now();
  kill(getpid(), SIGKILL);
  return NULL;
}

static void condemn(const Round *r) {
  static Sentence sentence;
  pthread_t thread;
  static const int longest[] = {300, 3000, 20000, 80000, 400000};
  sentence.round = r->round;
  sentence.microseconds = draw(r, 2, longest[draw(r, 3, 5)]);
  pthread_create(&thread, NULL, execute, &sentence);
}

// ---- what is checked ----

static void check_promises(Round *r) {
  const int fd = open(r->path, O_RDONLY);
  char *found = malloc((size_t)kMostBlocks * kMostBlockBytes);
  for (int p = 0; p < r->writes; p++) {
    const Promise *one = &r->promises[p];
    for (int b = 0; b < one->blocks; b++) {
      const MPI_Offset at = one->base + ((MPI_Offset)b * r->ranks + r->rank) * one->block_bytes;
      if (pread(fd, found, (size_t)one->block_bytes, at) != one->block_bytes) memset(found, 0, (size_t)one->block_bytes);
      for (int i = 0; i < one->block_bytes; i++) {
        if (found[i] == value(r, one->step, r->rank, b * one->block_bytes + i)) continue;
        wrong(r, "FALSE SUCCESS: step %d, block %d of %d, byte %d of %d, at %lld, is %d", one->step, b, one->blocks, i, one->block_bytes,
              (long long)at, found[i]);
        b = one->blocks;
        break;
      }
    }
  }
  free(found);
  close(fd);
}

static void check_records(Round *r) {
  char record[kRecordBytes + 1] = "", wanted[kRecordBytes + 1];
  const int fd = open(r->shared_path, O_RDONLY);
  for (int k = 0; k < r->recorded; k++) {
    int there = 0;
    memset(wanted, '.', sizeof wanted);
    snprintf(wanted, sizeof wanted, "rank %d step %d", r->rank, r->records[k]);
    for (MPI_Offset at = 0; !there && pread(fd, record, kRecordBytes, at) == kRecordBytes; at += kRecordBytes) there = !memcmp(record, wanted, kRecordBytes);
    if (!there) wrong(r, "FALSE SUCCESS: the record of step %d is not in the file of the shared pointer", r->records[k]);
  }
  close(fd);
}

// ---- calls; each returns the code of the first one that failed ----

#define TRY(name, call)                \
  do {                                 \
    enter(name);                       \
    const int try_code = (call);       \
    if (try_code != MPI_SUCCESS) return try_code; \
  } while (0)

static int wait_one(MPI_Request *request) {
  enter("MPI_Wait");
  return MPI_Wait(request, MPI_STATUS_IGNORE);
}

// A request may be waited for by tests.
static int finish(const Round *r, MPI_Request *request) {
  if (draw(r, 9, 2)) return wait_one(request);
  int done = 0, code = MPI_SUCCESS;
  enter("MPI_Test");
  while (!done && code == MPI_SUCCESS) code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
  return code;
}

static MPI_Info hints(const Round *r) {
  static const char *const choices[][2] = {{"romio_cb_write", "enable"}, {"mercutio_exchange", "messages"}, {"cb_nodes", "1"}, {"cb_nodes", "2"},
                                           {"cb_buffer_size", "4096"}, {"romio_cb_write", "disable"}, {"mercutio_write_behind", "disable"},
                                           {"mercutio_throttle", "1"}, {"romio_cb_read", "enable"}};
  MPI_Info info;
  MPI_Info_create(&info);
  for (int i = 0; i < (int)(sizeof choices / sizeof *choices); i++)
    if (draw(r, 40 + i, 3) == 0) MPI_Info_set(info, choices[i][0], choices[i][1]);
  return info;
}

static int open_one(const Round *r, MPI_Comm comm, const char *path, MPI_File *file) {
  MPI_Info info = hints(r);
  const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
  enter("MPI_File_open");
  const int code = MPI_File_open(comm, path, mode, info, file);
  MPI_Info_free(&info);
  return code;
}

// Collective writes through a view in which the ranks' blocks take turns.
static int write_blocks(Round *r) {
  const int blocks = 1 + draw(r, 4, kMostBlocks), block_bytes = 1 + draw(r, 5, kMostBlockBytes), bytes = blocks * block_bytes, half = bytes / 2;
  const MPI_Offset base = r->next;
  MPI_Datatype block, filetype;
  MPI_Request request[2];
  int code = MPI_SUCCESS;
  r->next += (MPI_Offset)bytes * r->ranks;
  for (int i = 0; i < bytes; i++) buffer[i] = value(r, r->step, r->rank, i);
  MPI_Type_contiguous(block_bytes, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)block_bytes * r->ranks, &filetype);
  MPI_Type_commit(&filetype);
  enter("MPI_File_set_view");
  code = MPI_File_set_view(r->file, base + (MPI_Offset)r->rank * block_bytes, MPI_BYTE, filetype, "native", MPI_INFO_NULL);
  MPI_Type_free(&filetype);
  MPI_Type_free(&block);
  if (code != MPI_SUCCESS) return code;
  switch (draw(r, 6, 5)) {
    case 0: TRY("MPI_File_write_at_all", MPI_File_write_at_all(r->file, 0, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE)); break;
    case 1: TRY("MPI_File_write_all", MPI_File_write_all(r->file, buffer, bytes, MPI_BYTE, MPI_STATUS_IGNORE)); break;
    case 2:
      TRY("MPI_File_iwrite_at_all", MPI_File_iwrite_at_all(r->file, 0, buffer, bytes, MPI_BYTE, &request[0]));
      if ((code = finish(r, &request[0])) != MPI_SUCCESS) return code;
      break;
    case 3:
      TRY("MPI_File_iwrite_all", MPI_File_iwrite_all(r->file, buffer, half, MPI_BYTE, &request[0]));
      enter("MPI_File_iwrite_all, the second");
      code = MPI_File_iwrite_all(r->file, buffer + half, bytes - half, MPI_BYTE, &request[1]);
      const int first = wait_one(&request[0]), last = code == MPI_SUCCESS ? wait_one(&request[1]) : code;
      if (first != MPI_SUCCESS || last != MPI_SUCCESS) return first != MPI_SUCCESS ? first : last;
      break;
    default:
      TRY("MPI_File_write_all_begin", MPI_File_write_all_begin(r->file, buffer, bytes, MPI_BYTE));
      TRY("MPI_File_write_all_end", MPI_File_write_all_end(r->file, buffer, MPI_STATUS_IGNORE));
  }
  if (r->writes < kMostWrites) r->promises[r->writes++] = (Promise){base, blocks, block_bytes, r->step};
  return MPI_SUCCESS;
}

// What this rank has written last.
static int read_blocks(Round *r) {
  if (r->writes == 0) return MPI_SUCCESS;
  const Promise *last = &r->promises[r->writes - 1];
  const MPI_Offset at = last->base + (MPI_Offset)r->rank * last->block_bytes;
  MPI_Request request;
  int code;
  TRY("MPI_File_set_view", MPI_File_set_view(r->file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  memset(second, 0, (size_t)last->block_bytes);
  switch (draw(r, 6, 3)) {
    case 0: TRY("MPI_File_read_at_all", MPI_File_read_at_all(r->file, at, second, last->block_bytes, MPI_BYTE, MPI_STATUS_IGNORE)); break;
    case 1:
      TRY("MPI_File_iread_at_all", MPI_File_iread_at_all(r->file, at, second, last->block_bytes, MPI_BYTE, &request));
      if ((code = finish(r, &request)) != MPI_SUCCESS) return code;
      break;
    default:
      TRY("MPI_File_read_at_all_begin", MPI_File_read_at_all_begin(r->file, at, second, last->block_bytes, MPI_BYTE));
      TRY("MPI_File_read_at_all_end", MPI_File_read_at_all_end(r->file, second, MPI_STATUS_IGNORE));
  }
  for (int i = 0; i < last->block_bytes; i++)
    if (second[i] != value(r, last->step, r->rank, i)) {
      wrong(r, "what was read differs from what was written, byte %d of %d", i, last->block_bytes);
      break;
    }
  return MPI_SUCCESS;
}

static int write_record(Round *r) {
  char record[kRecordBytes + 1];
  MPI_Request request;
  int code;
  memset(record, '.', sizeof record);
  snprintf(record, sizeof record, "rank %d step %d", r->rank, r->step);
  switch (draw(r, 6, 4)) {
    case 0: TRY("MPI_File_write_ordered", MPI_File_write_ordered(r->shared, record, kRecordBytes, MPI_BYTE, MPI_STATUS_IGNORE)); break;
    case 1: TRY("MPI_File_write_shared", MPI_File_write_shared(r->shared, record, kRecordBytes, MPI_BYTE, MPI_STATUS_IGNORE)); break;
    case 2:
      TRY("MPI_File_iwrite_shared", MPI_File_iwrite_shared(r->shared, record, kRecordBytes, MPI_BYTE, &request));
      if ((code = finish(r, &request)) != MPI_SUCCESS) return code;
      break;
    default:
      TRY("MPI_File_write_ordered_begin", MPI_File_write_ordered_begin(r->shared, record, kRecordBytes, MPI_BYTE));
      TRY("MPI_File_write_ordered_end", MPI_File_write_ordered_end(r->shared, record, MPI_STATUS_IGNORE));
  }
  if (r->recorded < kMostWrites) r->records[r->recorded++] = r->step;
  return MPI_SUCCESS;
}

// Opens and closes another file, at times on a communicator of its own.
static int open_another(Round *r) {
  MPI_Comm comm = r->comm;
  MPI_File file = MPI_FILE_NULL;
  const int own = draw(r, 6, 2);
  if (own) TRY("MPI_Comm_dup (the MPI's own)", MPI_Comm_dup(r->comm, &comm));
  int code = open_one(r, comm, r->other_path, &file);
  if (code == MPI_SUCCESS) {
    enter("MPI_File_write_at");
    code = MPI_File_write_at(file, r->rank, "x", 1, MPI_BYTE, MPI_STATUS_IGNORE);
    enter("MPI_File_close, of another file");
    const int closed = MPI_File_close(&file);
    if (code == MPI_SUCCESS) code = closed;
  }
  if (own) {
    enter("MPI_Comm_free (the MPI's own)");
    MPI_Comm_free(&comm);
  }
  return code;
}

static int one_call(Round *r) {
  MPI_Info info;
  int code;
  switch (draw(r, 1, 16)) {
    case 0: TRY("MPI_File_sync", MPI_File_sync(r->file)); return MPI_SUCCESS;
    case 1: TRY("MPI_File_set_size", MPI_File_set_size(r->file, kSizeBytes)); return MPI_SUCCESS;
    case 2: TRY("MPI_File_preallocate", MPI_File_preallocate(r->file, kReservedBytes)); return MPI_SUCCESS;
    case 3: TRY("MPI_File_set_atomicity", MPI_File_set_atomicity(r->file, draw(r, 7, 2))); return MPI_SUCCESS;
    case 4:
      info = hints(r);
      enter("MPI_File_set_info");
      code = MPI_File_set_info(r->file, info);
      MPI_Info_free(&info);
      return code;
    case 5:
    case 6: return open_another(r);
    case 7: TRY("MPI_File_seek_shared", MPI_File_seek_shared(r->shared, 0, MPI_SEEK_END)); return MPI_SUCCESS;
    case 8:
    case 9: return write_record(r);
    case 10:
    case 11: return read_blocks(r);
    default: return write_blocks(r);
  }
}

// ---- a round ----

static void names(Round *r) {
  snprintf(r->path, sizeof r->path, "%s/%llu_%d", directory, (unsigned long long)seed, r->round);
  snprintf(r->shared_path, sizeof r->shared_path, "%s.shared", r->path);
  snprintf(r->other_path, sizeof r->other_path, "%s.other", r->path);
}

static void expect_failure(const Round *r, int code) {
  const double after = death[r->round] > 0 ? now() - death[r->round] : -1;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  if (verbose) fprintf(stderr, "rank %d, round %d, step %d: %s after %.3f s: %s\n", world_rank, r->round, r->step, doing, after, text);
  if (class_of(code) != MPIX_ERR_PROC_FAILED && !strstr(doing, "the MPI's own")) wrong(r, "class %d: %s", class_of(code), text);
  if (after < 0) wrong(r, "an error, and all ranks live: %s", text);
  if (after > kPatience) wrong(r, "the error came after %.1f s", after);
  if (after * 1000 > slowest_ms) slowest_ms = (int)(after * 1000);
}

static void close_both(Round *r) {
  MPI_File *files[] = {&r->file, &r->shared};
  for (int i = 0; i < 2; i++) {
    if (*files[i] == MPI_FILE_NULL) continue;
    const double begin = now();
    enter("MPI_File_close");
    const int code = MPI_File_close(files[i]);
    if (*files[i] != MPI_FILE_NULL) wrong(r, "the handle is still there");
    if (code != MPI_SUCCESS && class_of(code) != MPIX_ERR_PROC_FAILED) wrong(r, "class %d", class_of(code));
    if (now() - begin > kPatience) wrong(r, "it took %.1f s", now() - begin);
  }
}

// The file once more, by those that are left: new bytes behind the old ones.
static void go_on(Round *r, MPI_Comm comm) {
  enum { kBytes = 10000 };
  MPI_File file;
  int rank;
  MPI_Comm_rank(comm, &rank);
  const MPI_Offset at = kSizeBytes + (MPI_Offset)rank * kBytes;
  for (int i = 0; i < kBytes; i++) buffer[i] = value(r, -1, rank, i);
  int code = open_one(r, comm, r->path, &file);
  if (code != MPI_SUCCESS) return wrong(r, "class %d on the shrunken communicator", class_of(code));
  enter("MPI_File_write_at_all, on the shrunken communicator");
  if (MPI_File_write_at_all(file, at, buffer, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS) wrong(r, "failed");
  enter("MPI_File_close, on the shrunken communicator");
  if (MPI_File_close(&file) != MPI_SUCCESS) wrong(r, "failed");
  const int fd = open(r->path, O_RDONLY);
  if (pread(fd, second, kBytes, at) != kBytes || memcmp(buffer, second, kBytes) != 0) wrong(r, "the bytes written by those that are left differ");
  close(fd);
}

static MPI_Comm play(Round *r, MPI_Comm comm) {
  r->comm = comm;
  MPI_Comm_rank(comm, &r->rank);
  MPI_Comm_size(comm, &r->ranks);
  names(r);
  r->file = r->shared = MPI_FILE_NULL;
  const int victim = draw(r, 8, r->ranks);
  enter("MPI_Barrier (the MPI's own)");
  MPI_Barrier(comm);
  if (r->rank == victim) condemn(r);
  int code = open_one(r, comm, r->path, &r->file);
  if (code == MPI_SUCCESS) code = open_one(r, comm, r->shared_path, &r->shared);
  while (code == MPI_SUCCESS) {
    r->step++;
    code = one_call(r);
  }
  if (r->rank == victim) pause();
  expect_failure(r, code);
  if (r->file != MPI_FILE_NULL) {
    const double begin = now();
    enter("MPI_File_write_at_all, once more");
    code = MPI_File_write_at_all(r->file, 0, buffer, 1, MPI_BYTE, MPI_STATUS_IGNORE);
    if (class_of(code) != MPIX_ERR_PROC_FAILED) wrong(r, "class %d", class_of(code));
    if (now() - begin > 1) wrong(r, "it took %.1f s", now() - begin);
  }
  close_both(r);
  MPI_Comm left = MPI_COMM_NULL;
  enter("MPIX_Comm_shrink (the MPI's own)");
  MPIX_Comm_shrink(comm, &left);
  MPI_Comm_set_errhandler(left, MPI_ERRORS_RETURN);
  if (comm != MPI_COMM_WORLD) {
    enter("MPI_Comm_free");
    MPI_Comm_free(&comm);
  }
  check_promises(r);
  check_records(r);
  go_on(r, left);
  enter("MPI_Barrier (the MPI's own)");
  MPI_Barrier(left);
  return left;
}

static void share_clock(void) {
  char path[512];
  snprintf(path, sizeof path, "%s/clock_%llu", directory, (unsigned long long)seed);
  const int fd = open(path, O_RDWR | O_CREAT, 0600);
  if (ftruncate(fd, kMostRounds * sizeof(double)) != 0) exit(3);
  death = mmap(NULL, kMostRounds * sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
}

int main(int argc, char **argv) {
  int level = MPI_THREAD_SINGLE, ranks = 0, kills = 0, last = MPI_KEYVAL_INVALID;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (!strcmp(argv[i], "--dir")) directory = argv[i + 1];
    if (!strcmp(argv[i], "--seed")) seed = strtoull(argv[i + 1], NULL, 10);
    if (!strcmp(argv[i], "--verbose")) verbose = atoi(argv[i + 1]);
  }
  signal(SIGALRM, on_alarm);
  alarm(60);
  MPI_Init_thread(&argc, &argv, seed % 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, files_are_finalized, &last, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, last, NULL);
  share_clock();
  buffer = malloc((size_t)kMostBlocks * kMostBlockBytes + 10000);
  second = malloc((size_t)kMostBlocks * kMostBlockBytes + 10000);
  Round *r = malloc(sizeof *r);
  MPI_Comm comm = MPI_COMM_WORLD;
  for (int round = 0; MPI_Comm_size(comm, &ranks), ranks > 1; round++, kills++) {
    memset(r, 0, sizeof *r);
    r->round = round;
    comm = play(r, comm);
  }
  printf("done %d %d\n", kills, slowest_ms);
  fflush(stdout);
  enter("MPI_Finalize");
  MPI_Finalize();
  return failures ? 1 : 0;
}
