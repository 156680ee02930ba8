// What a rank spends beyond the user's buffers: the peak of its resident memory during an access, less what was resident
// before the program opened its first file and less the case's own buffers and datatypes. Counts everything: the library,
// what it keeps from one access to the next, shared memory that was touched, and what the MPI library allocates meanwhile.
// Prints MiB a case for the rank that spent most. MERCUTIO_MEMORY_SCALE multiplies the sizes (10: vectors of 10^8 pieces).
#include "check.h"

#include <malloc.h>
#include <stdint.h>

#define MIB (1024 * 1024.0)
#define BOUND_MIB 24.0

static long long resident_at_start;
static int scale = 1;

static long long status_bytes(const char *key) {
  char line[256];
  long long kib = -1;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    if (!strncmp(line, key, strlen(key))) kib = atoll(line + strlen(key));
  if (f) fclose(f);
  return kib * 1024;
}

static void reset_peak(void) {
  FILE *f = fopen("/proc/self/clear_refs", "w");
  if (CHECK(f != NULL)) {
    fputs("5", f);
    fclose(f);
  }
}

static long long resident_now(void) {
  malloc_trim(0);
  return status_bytes("VmRSS:");
}

// The case's own memory, resident before it counts.
static long long before_own, own;
static void own_begin(void) { before_own = resident_now(); }
static void *own_buffer(size_t bytes) {
  void *p = malloc(bytes);
  memset(p, ck_rank + 1, bytes);
  return p;
}
static void own_end(void) {
  own = resident_now() - before_own;
  MPI_Barrier(MPI_COMM_WORLD);
  reset_peak();
}

static void check_spent(void) {
  double mine = (double)(status_bytes("VmHWM:") - resident_at_start - own) / MIB, most = 0;
  MPI_Reduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (ck_rank == 0) fprintf(stderr, "memory %-44s %7.1f MiB of %.0f\n", ck_case, most, BOUND_MIB);
  CHECK(mine <= BOUND_MIB);
}

enum { kCollective = 1, kIndependent = 2, kNonblocking = 4, kAtomic = 8, kScattered = 16, kSplit = 32 };

struct Shape {
  int how;
  const char *datarep;
  MPI_Datatype element;
  int block;            // elements of a piece; the ranks' pieces take turns
  long long elements;   // of a rank
};

static void move_all(MPI_File fh, const struct Shape *s, void *data, MPI_Datatype type, int count, int writing) {
  MPI_Request request;
  int code = 0;
  if (s->how & kSplit) {
    CHECK_OK(writing ? MPI_File_write_at_all_begin(fh, 0, data, count, type) : MPI_File_read_at_all_begin(fh, 0, data, count, type));
    CHECK_OK(writing ? MPI_File_write_at_all_end(fh, data, MPI_STATUS_IGNORE) : MPI_File_read_at_all_end(fh, data, MPI_STATUS_IGNORE));
  } else if (s->how & kNonblocking) {
    if (s->how & kCollective)
      code = writing ? MPI_File_iwrite_at_all(fh, 0, data, count, type, &request) : MPI_File_iread_at_all(fh, 0, data, count, type, &request);
    else
      code = writing ? MPI_File_iwrite_at(fh, 0, data, count, type, &request) : MPI_File_iread_at(fh, 0, data, count, type, &request);
    if (CHECK_OK(code)) MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (s->how & kCollective) {
    CHECK_OK(writing ? MPI_File_write_at_all(fh, 0, data, count, type, MPI_STATUS_IGNORE) : MPI_File_read_at_all(fh, 0, data, count, type, MPI_STATUS_IGNORE));
  } else {
    CHECK_OK(writing ? MPI_File_write_at(fh, 0, data, count, type, MPI_STATUS_IGNORE) : MPI_File_read_at(fh, 0, data, count, type, MPI_STATUS_IGNORE));
  }
}

// Opens, sets the view, writes, reads back, compares.
static void write_and_read(const struct Shape *s, MPI_Offset displacement, MPI_Datatype filetype, MPI_Datatype memory, char *data, size_t bytes) {
  MPI_File fh = ck_create("file");
  if (s->how & kAtomic) CHECK_OK(MPI_File_set_atomicity(fh, 1));
  CHECK_OK(MPI_File_set_view(fh, displacement, s->element, filetype, (char *)s->datarep, MPI_INFO_NULL));
  const int count = memory == s->element ? (int)s->elements : 1;
  move_all(fh, s, data, memory, count, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  const char expected = data[0];
  data[0] = data[bytes - 1] = (char)~expected;
  move_all(fh, s, data, memory, count, 0);
  CHECK_INT(data[0], expected);
  CHECK_INT(data[bytes - 1], expected);
  check_spent();
  CHECK_OK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) unlink(ck_path("file"));
}

static void regular(const struct Shape *shape) {
  struct Shape s = *shape;
  s.elements = s.elements * scale / s.block * s.block;
  int size = 0, in_file = 0;
  MPI_Datatype block, filetype, memory = s.element;
  MPI_Type_size(s.element, &size);
  in_file = size;
  own_begin();
  const int stride = (s.how & kScattered) ? 2 : 1;   // in memory, in pieces
  const size_t bytes = (size_t)s.elements * (size_t)size * (size_t)stride;
  char *data = own_buffer(bytes);
  MPI_Type_contiguous(s.block, s.element, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)s.block * in_file * ck_size, &filetype);
  MPI_Type_commit(&filetype);
  if (stride > 1) {
    MPI_Type_vector((int)(s.elements / s.block), s.block, s.block * stride, s.element, &memory);
    MPI_Type_commit(&memory);
  }
  own_end();
  const size_t last = bytes - (size_t)(stride - 1) * (size_t)s.block * (size_t)size;
  write_and_read(&s, (MPI_Offset)ck_rank * s.block * in_file, filetype, memory, data, last);
  if (memory != s.element) MPI_Type_free(&memory);
  MPI_Type_free(&filetype);
  MPI_Type_free(&block);
  free(data);
}

// Each rank has every P-th element of a shuffled-looking, sorted list, by way of an indexed_block map of `elements` entries.
static void irregular(const struct Shape *shape) {
  const struct Shape s = *shape;
  const int n = (int)(s.elements * scale);
  uint64_t x = 88172645463325252ull + (uint64_t)ck_rank;
  own_begin();
  int *map = malloc((size_t)n * sizeof *map);
  double *data = own_buffer((size_t)n * sizeof *data);
  for (int i = 0; i < n; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    map[i] = (i * 3 + (int)(x % 3)) * ck_size + ck_rank;   // ascending, never twice, nowhere regular
  }
  MPI_Datatype filetype, memory = s.element;
  MPI_Type_create_indexed_block(n, 1, map, s.element, &filetype);
  MPI_Type_commit(&filetype);
  if (s.how & kScattered) {
    for (int i = 0; i < n; i++) map[i] = n - 1 - i;
    MPI_Type_create_indexed_block(n, 1, map, s.element, &memory);
    MPI_Type_commit(&memory);
  }
  own_end();
  struct Shape one = s;
  one.elements = n;
  write_and_read(&one, 0, filetype, memory, (char *)data, (size_t)n * sizeof *data);
  if (memory != s.element) MPI_Type_free(&memory);
  MPI_Type_free(&filetype);
  free(map);
  free(data);
}

static void warm_up(void) {
  const int bytes = 1 << 20;
  char *out = calloc((size_t)ck_size, (size_t)bytes), *in = calloc((size_t)ck_size, (size_t)bytes);
  for (int i = 0; i < 3; i++) MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
  free(out);
  free(in);
}

int main(int argc, char **argv) {
  int provided = 0;
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);   // what is freed leaves the process, so that nothing hides in the heap
  ck_init_level(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (getenv("MERCUTIO_MEMORY_SCALE")) scale = atoi(getenv("MERCUTIO_MEMORY_SCALE"));
  warm_up();
  resident_at_start = resident_now();
  const long long mi = 1 << 20;
  RUN_FOR(regular, "collective_pages", (&(struct Shape){kCollective, "native", MPI_BYTE, 4096, 48 * mi}));
  RUN_FOR(regular, "collective_pieces_of_8", (&(struct Shape){kCollective, "native", MPI_DOUBLE, 1, 2 * mi}));
  RUN_FOR(regular, "collective_both_scattered", (&(struct Shape){kCollective | kScattered, "native", MPI_INT, 5, 4 * mi}));
  RUN_FOR(regular, "collective_single_bytes", (&(struct Shape){kCollective, "native", MPI_BYTE, 1, 10000000}));
  RUN_FOR(regular, "collective_nonblocking", (&(struct Shape){kCollective | kNonblocking, "native", MPI_BYTE, 4096, 48 * mi}));
  RUN_FOR(regular, "collective_split", (&(struct Shape){kCollective | kSplit, "native", MPI_BYTE, 4096, 48 * mi}));
  RUN_FOR(regular, "collective_atomic", (&(struct Shape){kCollective | kAtomic, "native", MPI_BYTE, 65536, 48 * mi}));
  RUN_FOR(regular, "collective_external32", (&(struct Shape){kCollective, "external32", MPI_DOUBLE, 512, 6 * mi}));
  RUN_FOR(regular, "collective_external32_nonblocking", (&(struct Shape){kCollective | kNonblocking, "external32", MPI_DOUBLE, 512, 6 * mi}));
  RUN_FOR(regular, "collective_external32_atomic", (&(struct Shape){kCollective | kAtomic, "external32", MPI_DOUBLE, 8192, 6 * mi}));
  RUN_FOR(regular, "independent_pages", (&(struct Shape){kIndependent, "native", MPI_BYTE, 4096, 48 * mi}));
  RUN_FOR(regular, "independent_sieved", (&(struct Shape){kIndependent, "native", MPI_BYTE, 64, 8 * mi}));
  RUN_FOR(regular, "independent_both_scattered", (&(struct Shape){kIndependent | kScattered, "native", MPI_INT, 5, 2 * mi}));
  RUN_FOR(regular, "independent_nonblocking", (&(struct Shape){kIndependent | kNonblocking, "native", MPI_BYTE, 4096, 48 * mi}));
  RUN_FOR(regular, "independent_atomic", (&(struct Shape){kIndependent | kAtomic, "native", MPI_BYTE, 65536, 48 * mi}));
  RUN_FOR(regular, "independent_external32", (&(struct Shape){kIndependent, "external32", MPI_DOUBLE, 4096, 6 * mi}));
  RUN_FOR(regular, "independent_external32_atomic", (&(struct Shape){kIndependent | kAtomic, "external32", MPI_DOUBLE, 8192, 6 * mi}));
  RUN_FOR(irregular, "collective_map", (&(struct Shape){kCollective, "native", MPI_DOUBLE, 1, 500000}));
  RUN_FOR(irregular, "collective_map_both", (&(struct Shape){kCollective | kScattered, "native", MPI_DOUBLE, 1, 250000}));
  RUN_FOR(irregular, "independent_map", (&(struct Shape){kIndependent, "native", MPI_DOUBLE, 1, 500000}));
  RUN_FOR(irregular, "collective_map_external32", (&(struct Shape){kCollective, "external32", MPI_DOUBLE, 1, 250000}));
  return ck_finish();
}
