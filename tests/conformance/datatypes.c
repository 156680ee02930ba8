// 14.3 and 14.4: every datatype as memory type and as filetype, in every kind of access. What must be in the file and in
// memory is computed by MPI_Pack and MPI_Unpack (which no I/O library touches), or by hand where an MPI packs only the
// significant bytes of a type (long double).
#include "access_kinds.h"
#include "datatype_rows.h"

enum { kTiles = 3, kOrigin = 4096, kBuffer = 16384 };

typedef unsigned char Byte;

typedef struct {
  MPI_Datatype type;
  int bytes;            // of data in one
  MPI_Aint lower, extent;
  int no_elements;
} Measured;

static Measured measured(MPI_Datatype type) {
  Measured m = {type, 0, 0, 0, 0};
  MPI_Type_size(type, &m.bytes);
  MPI_Type_get_extent(type, &m.lower, &m.extent);
  return m;
}

static void fill(Byte *to, int n, int seed) {
  for (int i = 0; i < n; i++) to[i] = (Byte)(i * 7 + (i >> 8) * 13 + seed * 29 + 1);
}

static void pack(const Byte *memory, int tiles, const Measured *m, Byte *packed) {
  int at = 0;
  MPI_Pack(memory + kOrigin, tiles, m->type, packed, kBuffer, &at, MPI_COMM_SELF);
  CHECK_INT(at, tiles * m->bytes);
}

static void unpack(const Byte *packed, int tiles, const Measured *m, Byte *memory) {
  int at = 0;
  MPI_Unpack(packed, tiles * m->bytes, &at, memory + kOrigin, tiles, m->type, MPI_COMM_SELF);
}

// Which kinds move one rank's data to wherever the shared pointer is: every rank then has the same data.
static int anybody(int kind) { return kind >= kShared && !ck_kind_is_collective(kind); }

static int context(int kind, int good) {
  if (!good && ck_failures < 5) fprintf(stderr, "    ... by %s\n", ck_kind_names[kind]);
  return good;
}

static void place_shared(int kind, MPI_File fh, MPI_Offset etypes) {
  if (kind < kShared) return;
  MPI_Barrier(MPI_COMM_WORLD);   // nobody still uses the pointer
  CHECK_OK(MPI_File_seek_shared(fh, etypes, MPI_SEEK_SET));
}

// The MPI's own idea of a status for `tiles` of the type.
static int elements_of(const Measured *m, int tiles, const Byte *memory) {
  static Byte sink[kBuffer];
  MPI_Status status;
  int elements = -1;
  MPI_Sendrecv(memory + kOrigin, tiles, m->type, 0, 5, sink + kOrigin, tiles, m->type, 0, 5, MPI_COMM_SELF, &status);
  MPI_Get_elements(&status, m->type, &elements);
  return elements;
}

// ---- as memory type, from and to a plain view ---------------------------------------------------------------------------

static void outgoing(int kind, Byte *memory) { fill(memory, kBuffer, anybody(kind) ? kind : kind + 40 * ck_rank); }

// Between all writes and all reads: what one rank wrote, another may read by the shared pointer.
static void sync_ranks(MPI_File fh) {
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_sync(fh));
}

static void write_memory_by(int kind, MPI_File fh, const Measured *m) {
  static Byte memory[kBuffer];
  MPI_Offset at = (MPI_Offset)(kind * ck_size + ck_rank) * kTiles * m->bytes;
  MPI_Status status;
  int elements = -1;
  outgoing(kind, memory);
  place_shared(kind, fh, (MPI_Offset)kind * ck_size * kTiles * m->bytes);
  context(kind, CHECK_OK(ck_write(kind, fh, at, memory + kOrigin, kTiles, m->type, &status)));
  context(kind, CHECK_COUNT(status, m->type, kTiles));
  context(kind, CHECK_COUNT(status, MPI_BYTE, kTiles * m->bytes));
  if (!m->no_elements) {
    CHECK_OK(MPI_Get_elements(&status, m->type, &elements));
    context(kind, CHECK_INT(elements, elements_of(m, kTiles, memory)));
  }
}

static void read_memory_by(int kind, MPI_File fh, const Measured *m) {
  static Byte memory[kBuffer], want[kBuffer], packed[kBuffer];
  MPI_Offset at = (MPI_Offset)(kind * ck_size + ck_rank) * kTiles * m->bytes;
  MPI_Status status;
  outgoing(kind, memory);
  pack(memory, kTiles, m, packed);
  memset(memory, 0xee, kBuffer);
  memset(want, 0xee, kBuffer);
  unpack(packed, kTiles, m, want);
  place_shared(kind, fh, (MPI_Offset)kind * ck_size * kTiles * m->bytes);
  context(kind, CHECK_OK(ck_read(kind, fh, at, memory + kOrigin, kTiles, m->type, &status)));
  context(kind, CHECK_COUNT(status, m->type, kTiles));
  context(kind, CHECK(!memcmp(memory, want, kBuffer)));
}

static void memory(int which) {
  static Byte memory_bytes[kBuffer], packed[kBuffer];
  const char *name = ck_fresh("f");
  Measured m = measured(ck_type_rows[which].make());
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  m.no_elements = ck_type_rows[which].no_elements;
  for (int kind = 0; kind < kAllKinds; kind++)
    if (ck_kind_exists(kind)) write_memory_by(kind, fh, &m);
  sync_ranks(fh);
  for (int kind = 0; kind < kAllKinds; kind++)
    if (ck_kind_exists(kind)) read_memory_by(kind, fh, &m);
  CHECK_OK(MPI_File_close(&fh));
  for (int kind = 0; kind < kAllKinds; kind++) {
    if (!ck_kind_exists(kind)) continue;
    outgoing(kind, memory_bytes);
    pack(memory_bytes, kTiles, &m, packed);
    long long at = (long long)(kind * ck_size + ck_rank) * kTiles * m.bytes;
    context(kind, CHECK_BYTES(name, at, packed, (size_t)(kTiles * m.bytes)));
  }
  MPI_Type_free(&m.type);
}

// ---- as filetype: the ranks' copies alternate in the file ---------------------------------------------------------------

// By the shared pointer all ranks look through the same view, and no rank's copies alternate with another's.
static MPI_Datatype alternating(int kind, const Measured *m) {
  MPI_Datatype type;
  MPI_Type_create_resized(m->type, m->lower, m->extent * (kind >= kShared ? 1 : ck_size), &type);
  return ck_commit(type);
}

static long long region(const Measured *m) { return (long long)(kTiles + 1) * ck_size * m->extent + 256; }

// What this kind leaves in its region of the file.
static void expect_in_file(int kind, const Measured *m, Byte *want) {
  static Byte data[kBuffer], tile[kBuffer];
  memset(want, 0, (size_t)region(m));
  for (int rank = 0; rank < ck_size; rank++) {
    fill(data, kTiles * m->bytes, anybody(kind) ? kind : kind + 40 * rank);
    for (int t = 0; t < kTiles; t++) {
      memset(tile, 0, kBuffer);
      unpack(data + t * m->bytes, 1, m, tile);
      long long copy = kind >= kShared ? rank * kTiles + t : t * ck_size + rank;
      for (long long i = 0; i < kBuffer - kOrigin; i++)
        if (tile[kOrigin + i]) want[copy * m->extent + i] = tile[kOrigin + i];
    }
  }
}

static void set_view_for(int kind, MPI_File fh, const Measured *m) {
  MPI_Datatype type = alternating(kind, m);
  MPI_Offset displacement = kind * region(m) + (kind >= kShared ? 0 : ck_rank * m->extent);
  MPI_Barrier(MPI_COMM_WORLD);   // nobody still uses the shared pointer
  CHECK_OK(MPI_File_set_view(fh, displacement, MPI_BYTE, type, "native", MPI_INFO_NULL));
  MPI_Type_free(&type);
}

static void write_filetype_by(int kind, MPI_File fh, const Measured *m) {
  Byte data[kTiles * 2048];
  int n = kTiles * m->bytes, cut = kind >= kShared ? n : n / 2 + 1;
  MPI_Status status;
  set_view_for(kind, fh, m);
  fill(data, n, anybody(kind) ? kind : kind + 40 * ck_rank);
  context(kind, CHECK_OK(ck_write(kind, fh, 0, data, cut, MPI_BYTE, &status)));
  context(kind, CHECK_COUNT(status, MPI_BYTE, cut));
  if (cut < n) {   // the second access begins inside a copy of the filetype
    context(kind, CHECK_OK(ck_write(kind, fh, cut, data + cut, n - cut, MPI_BYTE, &status)));
    context(kind, CHECK_COUNT(status, MPI_BYTE, n - cut));
  }
}

static void read_filetype_by(int kind, MPI_File fh, const Measured *m) {
  Byte data[kTiles * 2048], back[kTiles * 2048];
  int n = kTiles * m->bytes;
  MPI_Status status;
  set_view_for(kind, fh, m);
  fill(data, n, anybody(kind) ? kind : kind + 40 * ck_rank);
  memset(back, 0xee, sizeof back);
  context(kind, CHECK_OK(ck_read(kind, fh, 0, back, n, MPI_BYTE, &status)));
  context(kind, CHECK_COUNT(status, MPI_BYTE, n));
  context(kind, CHECK(!memcmp(back, data, (size_t)n)));
}

static void filetype(int which) {
  const char *name = ck_fresh("f");
  Measured m = measured(ck_type_rows[which].make());
  Byte *want = malloc((size_t)region(&m) + kBuffer);
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_set_size(fh, kAllKinds * region(&m)));
  for (int kind = 0; kind < kAllKinds; kind++)
    if (ck_kind_exists(kind)) write_filetype_by(kind, fh, &m);
  sync_ranks(fh);
  for (int kind = 0; kind < kAllKinds; kind++)
    if (ck_kind_exists(kind)) read_filetype_by(kind, fh, &m);
  CHECK_OK(MPI_File_close(&fh));
  for (int kind = 0; kind < kAllKinds; kind++) {
    if (!ck_kind_exists(kind) || ck_rank != kind % ck_size) continue;
    expect_in_file(kind, &m, want);
    context(kind, CHECK_BYTES(name, kind * region(&m), want, (size_t)region(&m)));
  }
  CHECK_INT(ck_disk_size(name), kAllKinds * region(&m));
  free(want);
  MPI_Type_free(&m.type);
}

// ---- both at once -------------------------------------------------------------------------------------------------------

static int next_filetype(int which) {
  int n = which;
  for (int steps = 0; steps < 11 || !ck_type_rows[n].file; steps++) n = (n + 1) % kTypeRows;
  return n;
}

static void both(int which) {
  static const int kinds[] = {kAt, kAtAll, kIpointer, kPointerAllSplit, kIatAll};
  static Byte memory_bytes[kBuffer], back[kBuffer], packed[kBuffer], want[kBuffer];
  const char *name = ck_fresh("f");
  Measured m = measured(ck_type_rows[which].make()), f = measured(ck_type_rows[next_filetype(which)].make());
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype type = alternating(kAt, &f);
  MPI_Status status;
  long long tiles = (kTiles * m.bytes + f.bytes - 1) / f.bytes, room = (tiles + 1) * ck_size * f.extent;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    CHECK_OK(MPI_File_set_view(fh, (long long)k * room + ck_rank * f.extent, MPI_BYTE, type, "native", MPI_INFO_NULL));
    fill(memory_bytes, kBuffer, (int)k + 9 * ck_rank);
    pack(memory_bytes, kTiles, &m, packed);
    context(kinds[k], CHECK_OK(ck_write(kinds[k], fh, 0, memory_bytes + kOrigin, kTiles, m.type, &status)));
    context(kinds[k], CHECK_COUNT(status, m.type, kTiles));
    memset(back, 0, sizeof back);
    context(kinds[k], CHECK_OK(ck_read(kinds[k], fh, 0, back, kTiles * m.bytes, MPI_BYTE, &status)));
    context(kinds[k], CHECK(!memcmp(back, packed, (size_t)(kTiles * m.bytes))));
    memset(back, 0xee, sizeof back);
    memset(want, 0xee, sizeof want);
    unpack(packed, kTiles, &m, want);
    context(kinds[k], CHECK_OK(ck_read(kinds[k], fh, 0, back + kOrigin, kTiles, m.type, &status)));
    context(kinds[k], CHECK(!memcmp(back, want, kBuffer)));
  }
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&type);
  MPI_Type_free(&m.type);
  MPI_Type_free(&f.type);
}

// ---- named types: in the native representation the file has the bytes of memory -----------------------------------------

static int is_long_double(MPI_Datatype type) {
  return type == MPI_LONG_DOUBLE || type == MPI_C_LONG_DOUBLE_COMPLEX || type == MPI_CXX_LONG_DOUBLE_COMPLEX;
}

static void named_by(int kind, MPI_File fh, MPI_Offset base, MPI_Datatype named) {
  enum { kBlocks = 4, kMost = 32 * 12 };
  Byte memory_bytes[kMost], back[kMost];
  int bytes;
  MPI_Status status;
  MPI_Datatype spread = ck_strided(named), filetype;   // 2 of every 3, 3 times
  MPI_Type_size(named, &bytes);
  MPI_Type_vector(6, 1, ck_size, named, &filetype);
  MPI_Type_commit(&filetype);
  fill(memory_bytes, kMost, kind + ck_rank);
  for (int i = 0; is_long_double(named) && i < kMost / 16; i++) {
    memset(memory_bytes + 16 * i, 0, 16);
    *(long double *)(void *)(memory_bytes + 16 * i) = (long double)(i + 0.5L + ck_rank);
  }
  CHECK_OK(MPI_File_set_view(fh, base + ck_rank * bytes, named, filetype, "native", MPI_INFO_NULL));
  context(kind, CHECK_OK(ck_write(kind, fh, 0, memory_bytes, 1, spread, &status)));
  context(kind, CHECK_COUNT(status, named, 6));
  memset(back, 0xee, sizeof back);
  context(kind, CHECK_OK(ck_read(kind, fh, 2, back, 4, named, &status)));
  context(kind, CHECK_COUNT(status, named, 4));
  for (int i = 0; i < 4; i++) {
    int element = 2 + i, at = (element / 2 * 3 + element % 2) * bytes;
    context(kind, CHECK(!memcmp(back + i * bytes, memory_bytes + at, (size_t)bytes)));
  }
  CHECK_INT(back[4 * bytes], 0xee);
  for (int i = 0; i < 6; i++) {
    long long place = base + (long long)(i * ck_size + ck_rank) * bytes;
    context(kind, CHECK_BYTES(ck_path("f"), place, memory_bytes + (i / 2 * 3 + i % 2) * bytes, (size_t)bytes));
  }
  MPI_Type_free(&spread);
  MPI_Type_free(&filetype);
}

static void named(MPI_Datatype type) {
  MPI_File fh = ck_create("f");
  int bytes;
  MPI_Type_size(type, &bytes);
  named_by(kAt, fh, 0, type);
  named_by(kAtAll, fh, 8 + 6LL * ck_size * bytes, type);
  named_by(kIpointerAll, fh, 16 + 12LL * ck_size * bytes, type);
  CHECK_OK(MPI_File_close(&fh));
}

// A pair of a long double and an int: 20 bytes of data every 32, by hand.
static void long_double_int(void) {
  struct Pair {
    long double value;
    int index;
  } out[5], in[5];
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Status status;
  memset(out, 0, sizeof out);
  for (int i = 0; i < 5; i++) out[i].value = i + 0.25L, out[i].index = 10 * ck_rank + i;
  CHECK_OK(MPI_File_set_view(fh, 100 * ck_rank, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_at_all(fh, 0, out, 5, MPI_LONG_DOUBLE_INT, &status));
  CHECK_COUNT(status, MPI_LONG_DOUBLE_INT, 5);
  CHECK_COUNT(status, MPI_BYTE, 100);
  memset(in, 0, sizeof in);
  CHECK_OK(MPI_File_read_at(fh, 0, in, 5, MPI_LONG_DOUBLE_INT, &status));
  for (int i = 0; i < 5; i++) CHECK(in[i].value == out[i].value && in[i].index == out[i].index);
  CHECK_OK(MPI_File_close(&fh));
  for (int i = 0; i < 5; i++) CHECK_BYTES(name, 100 * ck_rank + 20 * i + 16, &out[i].index, 4);
}

// ---- a global array, each element written by its owner, who is computed by hand -----------------------------------------

typedef struct {
  const char *name;
  int kinds[2], arguments[2];
  int whole[2];   // grid of this dimension is 1
} Distribution;
#define DFLT MPI_DISTRIBUTE_DFLT_DARG
static const Distribution distributions[] = {
    {"block_block", {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK}, {DFLT, DFLT}, {0, 0}},
    {"block_of", {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, {11, DFLT}, {0, 0}},
    {"cyclic_cyclic", {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC}, {DFLT, 3}, {0, 0}},
    {"cyclic_block", {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK}, {2, DFLT}, {0, 0}},
    {"none_cyclic", {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC}, {DFLT, 2}, {1, 0}},
    {"block_none", {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE}, {DFLT, DFLT}, {0, 1}}};
static const int kGlobal[] = {11, 10};

static int owned(const Distribution *d, int dimension, int index, int parts) {
  int argument = d->arguments[dimension];
  if (d->kinds[dimension] == MPI_DISTRIBUTE_NONE) return 0;
  if (d->kinds[dimension] == MPI_DISTRIBUTE_CYCLIC) return index / (argument == DFLT ? 1 : argument) % parts;
  return index / (argument == DFLT ? (kGlobal[dimension] + parts - 1) / parts : argument);
}

static void global_array(const Distribution *d, int order) {
  const char *name = ck_fresh("f");
  int grid[2] = {d->whole[0], d->whole[1]}, mine[110], all[110], back[110], n = 0, bytes;
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype type;
  MPI_Dims_create(ck_size, 2, grid);
  for (int i = 0; i < 110; i++) {   // in the order of the file
    int row = order == MPI_ORDER_C ? i / kGlobal[1] : i % kGlobal[0];
    int column = order == MPI_ORDER_C ? i % kGlobal[1] : i / kGlobal[0];
    all[i] = i + 1;
    if (owned(d, 0, row, grid[0]) * grid[1] + owned(d, 1, column, grid[1]) == ck_rank) mine[n++] = i + 1;
  }
  MPI_Type_create_darray(ck_size, ck_rank, 2, kGlobal, d->kinds, d->arguments, grid, order, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Type_size(type, &bytes);
  CHECK_INT(bytes, 4 * n);
  CHECK_OK(MPI_File_set_view(fh, 20, MPI_INT, type, "native", MPI_INFO_NULL));
  for (int month = 0; month < 2; month++) CHECK_OK(MPI_File_write_all(fh, mine, n, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at_all(fh, n, back, n, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(!memcmp(back, mine, (size_t)n * 4));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 20, all, sizeof all);
  CHECK_BYTES(name, 20 + sizeof all, all, sizeof all);
  MPI_Type_free(&type);
}
static void global_array_c(const Distribution *d) { global_array(d, MPI_ORDER_C); }
static void global_array_fortran(const Distribution *d) { global_array(d, MPI_ORDER_FORTRAN); }

// ---- odd ones -----------------------------------------------------------------------------------------------------------

// Copies of a filetype may interleave: here the second copy fills what the first left out.
static void interleaving_copies(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype type = ck_resized_column();   // 6 integers, every 5th; the next copy one further
  int data[30], back[30], want[30];
  for (int i = 0; i < 30; i++) data[i] = 100 * ck_rank + i;
  for (int i = 0; i < 30; i++) want[i % 6 * 5 + i / 6] = data[i];
  CHECK_OK(MPI_File_set_view(fh, 120 * ck_rank, MPI_INT, type, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_all(fh, data, 20, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_write(fh, data + 20, 10, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at(fh, 0, back, 30, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(!memcmp(back, data, sizeof data));
  CHECK_OK(MPI_File_read_at_all(fh, 0, back, 30, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(!memcmp(back, data, sizeof data));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 120 * ck_rank, want, sizeof want);
  MPI_Type_free(&type);
}

// What is written may lie on top of itself in memory.
static void overlapping_memory(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  const int data[] = {1, 2, 3, 4, 5}, want[] = {1, 2, 2, 3, 3, 4, 4, 5, 3, 3, 3, 3};
  MPI_Datatype windows, same;
  MPI_Type_vector(4, 2, 1, MPI_INT, &windows);
  MPI_Type_create_hvector(4, 1, 0, MPI_INT, &same);
  windows = ck_commit(windows);
  same = ck_commit(same);
  CHECK_OK(MPI_File_write_at_all(fh, 48 * ck_rank, data, 1, windows, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_write_at(fh, 48 * ck_rank + 32, data + 2, 1, same, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 48 * ck_rank, want, sizeof want);
  MPI_Type_free(&windows);
  MPI_Type_free(&same);
}

static void absolute_addresses(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  double first[2] = {ck_rank + 0.5, ck_rank + 0.25}, in[2] = {0, 0};
  int second = 1000 + ck_rank, got = 0;
  MPI_Datatype out_type, in_type, types[] = {MPI_INT, MPI_DOUBLE};
  MPI_Aint places[2];
  MPI_Get_address(&second, &places[0]);
  MPI_Get_address(first, &places[1]);
  MPI_Type_create_struct(2, (const int[]){1, 2}, places, types, &out_type);
  MPI_Get_address(&got, &places[0]);
  MPI_Get_address(in, &places[1]);
  MPI_Type_create_struct(2, (const int[]){1, 2}, places, types, &in_type);
  out_type = ck_commit(out_type);
  in_type = ck_commit(in_type);
  CHECK_OK(MPI_File_write_at_all(fh, 20 * ck_rank, MPI_BOTTOM, 1, out_type, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at(fh, 20 * ck_rank, MPI_BOTTOM, 1, in_type, MPI_STATUS_IGNORE));
  CHECK(got == second && in[0] == first[0] && in[1] == first[1]);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 20 * ck_rank, &second, 4);
  CHECK_BYTES(name, 20 * ck_rank + 4, first, 16);
  MPI_Type_free(&out_type);
  MPI_Type_free(&in_type);
}

static void nothing_to_move(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype empty, vector = ck_vector();
  MPI_Status status;
  int x = 5;
  MPI_Type_contiguous(0, MPI_INT, &empty);
  empty = ck_commit(empty);
  CHECK_OK(ck_write(kind, fh, 40, &x, 3, empty, &status));
  CHECK_COUNT(status, MPI_BYTE, 0);
  CHECK_OK(ck_write(kind, fh, 40, NULL, 0, vector, &status));
  CHECK_COUNT(status, vector, 0);
  CHECK_OK(ck_read(kind, fh, 0, &x, 2, empty, &status));
  CHECK_COUNT(status, MPI_BYTE, 0);
  CHECK_INT(x, 5);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), 0);
  MPI_Type_free(&empty);
  MPI_Type_free(&vector);
}

int main(int argc, char **argv) {
  const CkNamed *names;
  ck_init(&argc, &argv);
  for (int i = 0; i < kTypeRows; i++) RUN_FOR(memory, ck_type_rows[i].name, i);
  for (int i = 0; i < kTypeRows; i++)
    if (ck_type_rows[i].file) RUN_FOR(filetype, ck_type_rows[i].name, i);
  for (int i = 0; i < kTypeRows; i++) RUN_FOR(both, ck_type_rows[i].name, i);
  for (int i = 0, n = ck_named_types(&names); i < n; i++) RUN_FOR(named, names[i].name, names[i].type);
  RUN(long_double_int);
  for (size_t i = 0; i < sizeof distributions / sizeof *distributions; i++) {
    RUN_FOR(global_array_c, distributions[i].name, &distributions[i]);
    RUN_FOR(global_array_fortran, distributions[i].name, &distributions[i]);
  }
  RUN(interleaving_copies);
  RUN(overlapping_memory);
  RUN(absolute_addresses);
  RUN_FOR_KINDS(nothing_to_move, 0, kKinds);
  return ck_finish();
}
