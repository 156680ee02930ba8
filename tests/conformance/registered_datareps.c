// 14.5.3: representations the program defines. Each element of 4 bytes takes 8 in the file: its bytes turned round, then
// their complement. The conversion functions check what they are handed: the datatype of the access, consecutive positions,
// counts, extra_state.
#include <arpa/inet.h>

#include "access_kinds.h"

typedef unsigned char Byte;

enum { kRounds = 5000 };

static struct State {
  int magic;
  int reads, writes, extents, wrong;
  int fail_reads, fail_writes;   // this call fails (counted from 1)
  long long next;                // the position the next call must have
  int several;                   // calls that began behind the first element
  MPI_Datatype expected;         // the datatype of the access
} state = {4711, 0, 0, 0, 0, 0, 0, 0, 0, 0};

static void reset_state(MPI_Datatype expected) {
  struct State fresh = {4711, 0, 0, 0, 0, 0, 0, 0, 0, expected};
  state = fresh;
}

// Where element `index` of the tiled datatype is, in elements: a plain type, or 2 of every 3 four times.
static long long place_of(MPI_Datatype type, long long index) {
  int bytes;
  MPI_Type_size(type, &bytes);
  if (bytes == 4) return index;
  return index / 8 * 11 + index % 8 / 2 * 3 + index % 2;
}

static void look_at(MPI_Datatype type, long long count, MPI_Offset position, void *extra_state) {
  int bytes = 0, want = 0;
  if (extra_state != &state || count <= 0) state.wrong++;
  if (position != state.next) state.wrong++;
  if (position > 0) state.several++;
  state.next = position + count;
  if (MPI_Type_size(type, &bytes) != MPI_SUCCESS || MPI_Type_size(state.expected, &want) != MPI_SUCCESS) state.wrong++;
  if (bytes != want) state.wrong++;
}

// The place in an integer of its b-th byte, from the highest on.
static int byte_of(int b) { return htonl(1) == 1 ? b : 3 - b; }

static int to_file(const Byte *user, MPI_Datatype type, long long count, Byte *file, MPI_Offset position, void *extra) {
  look_at(type, count, position, extra);
  if (++state.writes == state.fail_writes) return MPI_ERR_OTHER;
  for (long long i = 0; i < count; i++) {
    const Byte *from = user + 4 * place_of(type, position + i);
    for (int b = 0; b < 4; b++) file[8 * i + b] = from[byte_of(b)], file[8 * i + 4 + b] = (Byte)~from[byte_of(b)];
  }
  return MPI_SUCCESS;
}

static int from_file(Byte *user, MPI_Datatype type, long long count, const Byte *file, MPI_Offset position, void *extra) {
  look_at(type, count, position, extra);
  if (++state.reads == state.fail_reads) return MPI_ERR_OTHER;
  for (long long i = 0; i < count; i++) {
    Byte *to = user + 4 * place_of(type, position + i);
    for (int b = 0; b < 4; b++) {
      to[byte_of(b)] = file[8 * i + b];
      if ((file[8 * i + 4 + b] ^ file[8 * i + b]) != 0xff) state.wrong++;
    }
  }
  return MPI_SUCCESS;
}

static int read_fn(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra) {
  return from_file(user, type, count, file, position, extra);
}
static int write_fn(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra) {
  return to_file(user, type, count, file, position, extra);
}
static int read_fn_c(void *user, MPI_Datatype type, MPI_Count count, void *file, MPI_Offset position, void *extra) {
  return from_file(user, type, count, file, position, extra);
}
static int write_fn_c(void *user, MPI_Datatype type, MPI_Count count, void *file, MPI_Offset position, void *extra) {
  return to_file(user, type, count, file, position, extra);
}

static int extent_fn(MPI_Datatype type, MPI_Aint *extent, void *extra_state) {
  int bytes = 0;
  if (extra_state != &state) state.wrong++;
  MPI_Type_size(type, &bytes);
  state.extents++;
  *extent = bytes == 4 ? 8 : bytes;
  return MPI_SUCCESS;
}
static int native_extent_fn(MPI_Datatype type, MPI_Aint *extent, void *extra_state) {
  MPI_Aint lower;
  (void)extra_state;
  return MPI_Type_get_extent(type, &lower, extent);
}
static int failing_extent_fn(MPI_Datatype type, MPI_Aint *extent, void *extra_state) {
  (void)type;
  (void)extent;
  (void)extra_state;
  return MPI_ERR_OTHER;
}

typedef int (*RegisterC)(const char *, int (*)(void *, MPI_Datatype, MPI_Count, void *, MPI_Offset, void *),
                         int (*)(void *, MPI_Datatype, MPI_Count, void *, MPI_Offset, void *), MPI_Datarep_extent_function *, void *);
static RegisterC register_c;

static void registering(void) {
  CHECK_OK(MPI_Register_datarep("turned", read_fn, write_fn, extent_fn, &state));
  CHECK_CLASS(MPI_Register_datarep("turned", read_fn, write_fn, extent_fn, &state), MPI_ERR_DUP_DATAREP);
  CHECK_CLASS(MPI_Register_datarep("native", read_fn, write_fn, extent_fn, &state), MPI_ERR_DUP_DATAREP);
  CHECK_CLASS(MPI_Register_datarep("internal", read_fn, write_fn, extent_fn, &state), MPI_ERR_DUP_DATAREP);
  CHECK_CLASS(MPI_Register_datarep("external32", read_fn, write_fn, extent_fn, &state), MPI_ERR_DUP_DATAREP);
  CHECK_OK(MPI_Register_datarep("no functions", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, native_extent_fn, NULL));
  CHECK_OK(MPI_Register_datarep("extents only", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent_fn, &state));
  CHECK_OK(MPI_Register_datarep("write only", MPI_CONVERSION_FN_NULL, write_fn, extent_fn, &state));
  CHECK_OK(MPI_Register_datarep("no extents", read_fn, write_fn, failing_extent_fn, &state));
  if (register_c) {
    CHECK_OK(register_c("turned_c", read_fn_c, write_fn_c, extent_fn, &state));
    CHECK_CLASS(register_c("turned", read_fn_c, write_fn_c, extent_fn, &state), MPI_ERR_DUP_DATAREP);
  }
}

static void long_name(void) {
  char name[MPI_MAX_DATAREP_STRING + 10];
  memset(name, 'n', sizeof name);
  name[sizeof name - 1] = 0;
  CHECK_CLASS(MPI_Register_datarep(name, read_fn, write_fn, native_extent_fn, NULL), MPI_ERR_ARG);
}

static MPI_File open_with_small_buffers(const char *name) {
  MPI_Info info;
  MPI_File fh = MPI_FILE_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "4096");
  if (!CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh))) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Info_free(&info);
  return fh;
}

static void check_turned(const char *name, long long at, const int *values, int n) {
  Byte *want = malloc(8 * (size_t)n);
  for (int i = 0; i < n; i++)
    for (int b = 0; b < 4; b++) {
      want[8 * i + b] = (Byte)((unsigned)values[i] >> (8 * (3 - b)));
      want[8 * i + 4 + b] = (Byte)~want[8 * i + b];
    }
  CHECK_BYTES(name, at, want, 8 * (size_t)n);
  free(want);
}

// More than the buffers hold, so that the functions are called several times, with positions that go on.
static void converts_as(int kind, const char *datarep) {
  const char *name = ck_fresh("f");
  MPI_File fh = open_with_small_buffers(name);
  MPI_Status status;
  int *data = malloc(4 * kRounds), *back = calloc(kRounds, 4), ordered = kind >= kShared;
  int anybody = ordered && !ck_kind_is_collective(kind);
  for (int i = 0; i < kRounds; i++) data[i] = i * 77 + (anybody ? 0 : ck_rank * 1000003);
  reset_state(MPI_INT);
  CHECK_OK(MPI_File_set_view(fh, 16, MPI_INT, MPI_INT, datarep, MPI_INFO_NULL));
  CHECK_OK(ck_write(kind, fh, (MPI_Offset)ck_rank * kRounds, data, kRounds, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, kRounds);
  CHECK_INT(state.wrong, 0);
  CHECK_INT(state.next, kRounds);
  CHECK(state.writes > 1 && state.several == state.writes - 1);
  MPI_Barrier(MPI_COMM_WORLD);
  reset_state(MPI_INT);
  if (ordered) CHECK_OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
  CHECK_OK(ck_read(kind, fh, (MPI_Offset)ck_rank * kRounds, back, kRounds, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, kRounds);
  CHECK_INT(state.wrong, 0);
  CHECK_INT(state.next, kRounds);
  CHECK(state.reads > 1 && state.writes == 0);
  CHECK(!memcmp(data, back, 4 * kRounds));
  CHECK_OK(MPI_File_close(&fh));
  check_turned(name, 16 + 8LL * kRounds * ck_rank, data, kRounds);
  CHECK_INT(ck_disk_size(name), 16 + 8LL * kRounds * ck_size);
  free(data);
  free(back);
}
static void converts(int kind) { converts_as(kind, "turned"); }
static void converts_c(int kind) { converts_as(kind, "turned_c"); }

// A memory type with holes: the functions get it and the plain address, and find the elements themselves.
static void converts_datatype(int kind) {
  enum { kTiles = 30 };
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype memtype, filetype;
  MPI_Status status;
  int data[11 * kTiles], back[11 * kTiles];
  MPI_Type_vector(4, 2, 3, MPI_INT, &memtype);
  MPI_Type_commit(&memtype);
  MPI_Type_vector(2, 1, ck_size, MPI_INT, &filetype);
  MPI_Type_commit(&filetype);
  for (int i = 0; i < 11 * kTiles; i++) data[i] = i + 1000 * ck_rank, back[i] = -1;
  reset_state(memtype);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "turned", MPI_INFO_NULL));
  CHECK_OK(ck_write(kind, fh, 8LL * kTiles * ck_rank, data, kTiles, memtype, &status));
  CHECK_COUNT(status, memtype, kTiles);
  state.next = 0;
  CHECK_OK(ck_read(kind, fh, 8LL * kTiles * ck_rank, back, kTiles, memtype, &status));
  CHECK_INT(state.wrong, 0);
  for (int i = 0; i < kTiles * 8; i++) CHECK_INT(back[place_of(memtype, i)], data[place_of(memtype, i)]);
  for (int t = 0; t < kTiles; t++) CHECK_INT(back[11 * t + 2], -1);
  // and a filetype with holes, whose places count 8 bytes an element
  reset_state(MPI_INT);
  CHECK_OK(MPI_File_set_view(fh, 8 * ck_rank, MPI_INT, filetype, "turned", MPI_INFO_NULL));
  CHECK_OK(ck_write(kind, fh, 0, data, 2, MPI_INT, &status));
  CHECK_OK(MPI_File_close(&fh));
  check_turned(name, 8 * ck_rank, data, 1);
  check_turned(name, 8 * (ck_size + ck_rank), data + 1, 1);
  MPI_Type_free(&memtype);
  MPI_Type_free(&filetype);
}

static void failing_function(int kind) {
  MPI_File fh = open_with_small_buffers(ck_fresh("f"));
  MPI_Status status;
  int *data = calloc(kRounds, 4), wrong = ck_rank == ck_size - 1;
  for (int at = 1; at < 4; at += 2) {   // the first call, and one in the middle
    reset_state(MPI_INT);
    CHECK_OK(MPI_File_set_view(fh, 8LL * kRounds * ck_rank, MPI_INT, MPI_INT, "turned", MPI_INFO_NULL));
    CHECK_OK(ck_write(kind, fh, 0, data, kRounds, MPI_INT, &status));
    state.next = 0;
    if (wrong) state.fail_writes = state.writes + at;
    int code = ck_write(kind, fh, 0, data, kRounds, MPI_INT, &status), told = wrong || ck_kind_is_collective(kind);
    CHECK_CLASS(code, told ? MPI_ERR_CONVERSION : MPI_SUCCESS);
    state.next = 0;
    if (wrong) state.fail_reads = at;
    code = ck_read(kind, fh, 0, data, kRounds, MPI_INT, &status);
    CHECK_CLASS(code, told ? MPI_ERR_CONVERSION : MPI_SUCCESS);
  }
  CHECK_OK(MPI_File_close(&fh));
  free(data);
}

static void no_functions(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  int data[3] = {1, 2, ck_rank}, back[3];
  char datarep[MPI_MAX_DATAREP_STRING];
  MPI_Offset displacement;
  MPI_Datatype etype, filetype;
  CHECK_OK(MPI_File_set_view(fh, 12 * ck_rank, MPI_INT, MPI_INT, "no functions", MPI_INFO_NULL));
  CHECK_OK(MPI_File_get_view(fh, &displacement, &etype, &filetype, datarep));
  CHECK(!strcmp(datarep, "no functions"));
  CHECK_OK(MPI_File_write_all(fh, data, 3, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at(fh, 0, back, 3, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(!memcmp(back, data, sizeof data));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 12 * ck_rank, data, sizeof data);
}

// Without functions the access is native, also where the extents say that elements are larger in the file.
static void extents_only(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  int data[3] = {1, 2, ck_rank}, back[3];
  MPI_Offset place = -1;
  CHECK_OK(MPI_File_set_view(fh, 12 * ck_rank, MPI_INT, MPI_INT, "extents only", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_all(fh, data, 3, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_get_position(fh, &place));
  CHECK_INT(place, 3);
  CHECK_OK(MPI_File_read_at(fh, 0, back, 3, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(!memcmp(back, data, sizeof data));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 12 * ck_rank, data, sizeof data);
}

// One of them only: where sizes differ, there is no place for native data.
static void write_only(void) {
  MPI_File fh = ck_create("f");
  int data[3] = {1, 2, ck_rank}, back[3] = {-1, -1, -1};
  double exact[2] = {1.5, ck_rank}, same[2];
  reset_state(MPI_INT);
  CHECK_OK(MPI_File_set_view(fh, 24 * ck_rank, MPI_INT, MPI_INT, "write only", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_at(fh, 0, data, 3, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_CLASS(MPI_File_read_at(fh, 0, back, 3, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
  CHECK_OK(MPI_File_set_view(fh, 16 * ck_rank, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_at_all(fh, 0, exact, 2, MPI_DOUBLE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_set_view(fh, 16 * ck_rank, MPI_DOUBLE, MPI_DOUBLE, "write only", MPI_INFO_NULL));
  CHECK_OK(MPI_File_read_at_all(fh, 0, same, 2, MPI_DOUBLE, MPI_STATUS_IGNORE));
  CHECK(!memcmp(exact, same, sizeof same));
  CHECK_OK(MPI_File_close(&fh));
}

static void extents(void) {
  MPI_File fh = ck_create("f");
  MPI_Aint extent = -1;
  MPI_Offset place = -1;
  MPI_Datatype vector;
  MPI_Type_vector(2, 1, 3, MPI_INT, &vector);
  MPI_Type_commit(&vector);
  reset_state(MPI_INT);
  CHECK_OK(MPI_File_set_view(fh, 4, MPI_INT, vector, "turned", MPI_INFO_NULL));
  CHECK_OK(MPI_File_get_type_extent(fh, MPI_INT, &extent));
  CHECK_INT(extent, 8);
  CHECK_OK(MPI_File_get_type_extent(fh, vector, &extent));
  CHECK_INT(extent, 32);
  CHECK_OK(MPI_File_get_type_extent(fh, MPI_DOUBLE, &extent));
  CHECK_INT(extent, 8);
  CHECK_OK(MPI_File_get_byte_offset(fh, 1, &place));
  CHECK_INT(place, 4 + 24);
  CHECK(state.extents > 0 && state.wrong == 0);
  CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "no extents", MPI_INFO_NULL));
  CHECK_CLASS(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "never registered", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&vector);
}

// A pair with a double of 16 bytes: in the file, 20 bytes from one to the next.
typedef struct {
  double value;
  int index;
} Pair;
static int pair_extent_fn(MPI_Datatype type, MPI_Aint *extent, void *extra) {
  (void)extra;
  *extent = type == MPI_DOUBLE ? 16 : 4;
  return MPI_SUCCESS;
}
static int move_pairs(Pair *user, int count, Byte *file, MPI_Offset position, int out) {
  for (MPI_Offset i = position; i < position + count; i++) {
    void *part = i % 2 ? (void *)&user[i / 2].index : &user[i / 2].value;
    const size_t bytes = i % 2 ? sizeof(int) : sizeof(double);
    memcpy(out ? (void *)file : part, out ? part : (void *)file, bytes);
    if (out && i % 2 == 0) memset(file + 8, 0xee, 8);
    file += i % 2 ? 4 : 16;
  }
  return MPI_SUCCESS;
}
static int pair_read_fn(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra) {
  (void)extra;
  return type == MPI_DOUBLE_INT ? move_pairs(user, count, file, position, 0) : MPI_ERR_TYPE;
}
static int pair_write_fn(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra) {
  (void)extra;
  return type == MPI_DOUBLE_INT ? move_pairs(user, count, file, position, 1) : MPI_ERR_TYPE;
}
static void pairs(int kind) {
  enum { kPairs = 3 };
  const char *name = ck_fresh("f");
  static int registered;
  Pair data[kPairs], back[kPairs];
  MPI_Datatype mine;
  MPI_Aint extent = -1;
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  if (!registered++) CHECK_OK(MPI_Register_datarep("pairs", pair_read_fn, pair_write_fn, pair_extent_fn, NULL));
  MPI_Type_vector(kPairs, 1, ck_size, MPI_DOUBLE_INT, &mine);
  MPI_Type_commit(&mine);
  memset(back, 0, sizeof back);
  for (int i = 0; i < kPairs; i++) data[i].value = i + 0.5, data[i].index = 100 * ck_rank + i;
  CHECK_OK(MPI_File_set_view(fh, 20 * ck_rank, MPI_DOUBLE_INT, mine, "pairs", MPI_INFO_NULL));
  CHECK_OK(MPI_File_get_type_extent(fh, MPI_DOUBLE_INT, &extent));
  CHECK_INT(extent, 20);
  CHECK_OK(ck_write(kind, fh, 0, data, kPairs, MPI_DOUBLE_INT, MPI_STATUS_IGNORE));
  CHECK_OK(ck_read(kind, fh, 0, back, kPairs, MPI_DOUBLE_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), 20 * kPairs * ck_size);
  for (int i = 0; i < kPairs; i++) {
    CHECK(back[i].value == data[i].value && back[i].index == data[i].index);
    CHECK_BYTES(name, 20 * (i * ck_size + ck_rank), &data[i].value, sizeof(double));
    CHECK_BYTES(name, 20 * (i * ck_size + ck_rank) + 16, &data[i].index, sizeof(int));
  }
  MPI_Type_free(&mine);
}

// Elements of any size in the file, also larger than the buffers.
static const int kLargeBytes[] = {257, 5000, 100000};
static int large_extent_fn(MPI_Datatype type, MPI_Aint *extent, void *bytes) {
  (void)type;
  *extent = *(const int *)bytes;
  return MPI_SUCCESS;
}
static int large_read_fn(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *bytes) {
  (void)type;
  for (int i = 0; i < count; i++) memcpy((int *)user + position + i, (Byte *)file + (MPI_Aint)i * *(const int *)bytes, sizeof(int));
  return MPI_SUCCESS;
}
static int large_write_fn(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *bytes) {
  (void)type;
  memset(file, 0xee, (size_t)count * (size_t)*(const int *)bytes);
  for (int i = 0; i < count; i++) memcpy((Byte *)file + (MPI_Aint)i * *(const int *)bytes, (int *)user + position + i, sizeof(int));
  return MPI_SUCCESS;
}
static void large_elements(int kind) {
  enum { kItems = 20 };
  static int registered;
  for (int k = 0; k < 3; k++) {
    const char *name = ck_fresh("f");
    char datarep[16];
    int data[kItems], back[kItems] = {0};
    MPI_Status status;
    MPI_File fh = open_with_small_buffers(name);
    snprintf(datarep, sizeof datarep, "large %d", kLargeBytes[k]);
    if (registered == k) {
      CHECK_OK(MPI_Register_datarep(datarep, large_read_fn, large_write_fn, large_extent_fn, (void *)&kLargeBytes[k]));
      registered++;
    }
    for (int i = 0; i < kItems; i++) data[i] = 1000 * ck_rank + i;
    CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, datarep, MPI_INFO_NULL));
    CHECK_OK(ck_write(kind, fh, kItems * ck_rank, data, kItems, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, kItems);
    CHECK_OK(ck_read(kind, fh, kItems * ck_rank, back, kItems, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, kItems);
    CHECK(!memcmp(data, back, sizeof back));
    CHECK_OK(MPI_File_close(&fh));
    CHECK_INT(ck_disk_size(name), (long long)kLargeBytes[k] * kItems * ck_size);
    for (int i = 0; i < kItems; i++) CHECK_BYTES(name, (long long)kLargeBytes[k] * (kItems * ck_rank + i), &data[i], sizeof(int));
  }
}

// The functions see the very datatype of the call, not one of the same size.
static MPI_Datatype seen;
static int seeing_fn(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position, void *extra) {
  seen = type;
  return to_file(user, type, count, file, position, extra);
}
static void named_type_is_itself(void) {
  static int registered;
  const MPI_Datatype types[] = {MPI_INT, MPI_FLOAT, MPI_UNSIGNED, MPI_INT32_T, MPI_INTEGER, MPI_REAL};
  MPI_File fh = ck_create("f");
  int data[2] = {1, 2};
  if (!registered++) CHECK_OK(MPI_Register_datarep("seen", read_fn, seeing_fn, extent_fn, &state));
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    reset_state(types[i]);
    CHECK_OK(MPI_File_set_view(fh, 16 * ck_rank, types[i], types[i], "seen", MPI_INFO_NULL));
    CHECK_OK(MPI_File_write_at_all(fh, 0, data, 2, types[i], MPI_STATUS_IGNORE));
    CHECK(seen == types[i]);
    CHECK_INT(state.wrong, 0);
  }
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  // An error of a request is told to the communicator's handler by some MPIs.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  register_c = (RegisterC)dlsym(RTLD_DEFAULT, "MPI_Register_datarep_c");
  if (ck_only || ck_after) {   // the later cases need what this one registers
    ck_case = "registering";
    registering();
    ck_failures = 0;
  }
  RUN(registering);
  RUN(long_name);
  RUN_FOR_KINDS(converts, 0, kAllKinds);
  if (register_c) RUN_FOR_KINDS(converts_c, 0, kPlainKinds);
  RUN_FOR_KINDS(converts_datatype, 0, kKinds);
  RUN_FOR_KINDS(failing_function, 0, kKinds);
  RUN(no_functions);
  RUN(extents_only);
  RUN(write_only);
  RUN(extents);
  RUN(named_type_is_itself);
  RUN_FOR_KINDS(pairs, 0, kPlainKinds);
  RUN_FOR_KINDS(large_elements, 0, kPlainKinds);
  return ck_finish();
}
