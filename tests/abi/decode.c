// Random nested datatypes through every constructor, from a seed: what the library makes of a type against what the MPI
// itself makes of it. The oracle is MPI_Sendrecv of the type to MPI_BYTE: run on a buffer of known bytes it yields the bytes,
// and on two buffers that spell out each byte's own index it yields the type map, byte by byte. A type whose map ascends also
// serves as a file type.
#include <stdint.h>

#include "check.h"

enum { kBuffer = 1 << 16, kOrigin = 24 << 10, kMaxBytes = 8 << 10, kTypes = 300, kText = 4096, kTiles = 3 };

typedef unsigned char Byte;

static uint64_t seed;
static int orderly;               // only ascending, disjoint pieces
static char text[kText];          // how the type was made, innermost first
static Byte plain[kBuffer], low[kBuffer], high[kBuffer];
static MPI_File file;

static int draw(int from, int to) {
  seed += 0x9e3779b97f4a7c15u;
  uint64_t z = seed;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  z ^= z >> 31;
  return from + (int)(z % (uint64_t)(to - from + 1));
}

static void say(const char* format, int a, int b, int c) {
  size_t used = strlen(text);
  snprintf(text + used, sizeof text - used, format, a, b, c);
}

static void bounds(MPI_Datatype type, int* lb, int* extent) {
  MPI_Aint l, e;
  MPI_Type_get_extent(type, &l, &e);
  *lb = (int)l;
  *extent = (int)e;
}

static int is_named(MPI_Datatype type) {
  int ints, addresses, types, combiner;
  MPI_Type_get_envelope(type, &ints, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

// No long double: MPICH copies it through a register, without its padding.
static MPI_Datatype leaf(void) {
  MPI_Datatype named[] = {MPI_BYTE,   MPI_CHAR,       MPI_SHORT,     MPI_INT,     MPI_LONG,     MPI_FLOAT, MPI_DOUBLE,
                          MPI_C_BOOL, MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_INTEGER, MPI_REAL8,    MPI_2INT,  MPI_UINT64_T,
                          MPI_AINT,   MPI_C_DOUBLE_COMPLEX};
  int which = draw(0, (int)(sizeof named / sizeof *named) + 2);
  MPI_Datatype type;
  say(" leaf%d", which, 0, 0);
  if (which < (int)(sizeof named / sizeof *named)) return named[which];
  if (which % 3 == 0) MPI_Type_create_f90_integer(draw(1, 18), &type);
  if (which % 3 == 1) MPI_Type_create_f90_real(draw(0, 1) ? 6 : 15, 30, &type);
  if (which % 3 == 2) MPI_Type_create_f90_complex(draw(0, 1) ? 6 : 15, 30, &type);
  return type;
}

static MPI_Datatype make(int depth);

// Never an empty type: Open MPI refuses some as a child, and MPICH 4.0 divides by their size.
static MPI_Datatype make_child(int depth) {
  int bytes;
  MPI_Datatype type = make(draw(0, depth - 1));
  MPI_Type_size(type, &bytes);
  if (bytes > 0) return type;
  if (!is_named(type)) MPI_Type_free(&type);
  return leaf();
}

static MPI_Datatype make_vectors(MPI_Datatype child, int in_bytes) {
  MPI_Datatype type;
  int lb, extent, count = draw(0, 4), length = draw(0, 3);
  bounds(child, &lb, &extent);
  if (in_bytes) {
    int stride = orderly ? length * extent + draw(0, 20) : draw(-60, 90);
    MPI_Type_create_hvector(count, length, stride, child, &type);
    say(" hvector(%d,%d,%d)", count, length, stride);
  } else {
    int stride = orderly ? length + draw(0, 3) : draw(-4, 7);
    MPI_Type_vector(count, length, stride, child, &type);
    say(" vector(%d,%d,%d)", count, length, stride);
  }
  return type;
}

// The four constructors with lists of blocks.
static MPI_Datatype make_lists(MPI_Datatype child, int kind) {
  MPI_Datatype type;
  int lb, extent, count = draw(0, 4), lengths[4], steps[4], same = draw(0, 3), at = draw(0, 2);
  MPI_Aint bytes[4];
  bounds(child, &lb, &extent);
  for (int i = 0; i < count; ++i) {
    lengths[i] = kind >= 2 ? same : draw(0, 3);
    steps[i] = orderly ? at : draw(-4, 9);
    bytes[i] = orderly ? (MPI_Aint)at * extent + draw(0, 1) * i * 3 : draw(-90, 200);
    if (orderly && i > 0 && bytes[i] < bytes[i - 1] + (MPI_Aint)lengths[i - 1] * extent)
      bytes[i] = bytes[i - 1] + (MPI_Aint)lengths[i - 1] * extent;
    at += lengths[i] + draw(0, 2);
  }
  say(" list%d(n=%d,first %d)", kind, count, count ? steps[0] : 0);
  if (kind == 0) MPI_Type_indexed(count, lengths, steps, child, &type);
  if (kind == 1) MPI_Type_create_hindexed(count, lengths, bytes, child, &type);
  if (kind == 2) MPI_Type_create_indexed_block(count, same, steps, child, &type);
  if (kind == 3) MPI_Type_create_hindexed_block(count, same, bytes, child, &type);
  return type;
}

static MPI_Datatype make_struct(int depth) {
  MPI_Datatype type, children[4];
  int count = draw(1, 4), lengths[4];
  MPI_Aint bytes[4], end = draw(0, 8);
  for (int i = 0; i < count; ++i) {
    MPI_Aint true_lb, true_extent;
    int lb, extent;
    children[i] = make_child(depth);
    lengths[i] = draw(0, 3);
    bounds(children[i], &lb, &extent);
    MPI_Type_get_true_extent(children[i], &true_lb, &true_extent);
    bytes[i] = orderly ? end - (true_lb < lb ? true_lb : lb) : draw(-100, 300);
    end = bytes[i] + lb + (MPI_Aint)lengths[i] * extent + true_extent + draw(0, 9);
  }
  MPI_Type_create_struct(count, lengths, bytes, children, &type);
  say(" struct(%d,first %d)", count, (int)bytes[0], 0);
  for (int i = 0; i < count; ++i)
    if (!is_named(children[i])) MPI_Type_free(&children[i]);
  return type;
}

static MPI_Datatype make_subarray(MPI_Datatype child) {
  MPI_Datatype type;
  int dims = draw(1, 3), sizes[3], parts[3], starts[3], order = draw(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  for (int d = 0; d < dims; ++d) {
    sizes[d] = draw(1, 5);
    parts[d] = draw(1, sizes[d]);
    starts[d] = draw(0, sizes[d] - parts[d]);
  }
  MPI_Type_create_subarray(dims, sizes, parts, starts, order, child, &type);
  say(" subarray(%d,%d of %d)", dims, parts[0], sizes[0]);
  return type;
}

static MPI_Datatype make_darray(MPI_Datatype child) {
  MPI_Datatype type;
  int dims = draw(1, 3), sizes[3], distributions[3], arguments[3], processes[3], total = 1;
  int order = draw(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  for (int d = 0; d < dims; ++d) {
    int kind = draw(0, 2);
    sizes[d] = draw(1, 7);
    processes[d] = kind == 0 ? 1 : draw(1, 3);
    distributions[d] = kind == 0 ? MPI_DISTRIBUTE_NONE : kind == 1 ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
    arguments[d] = MPI_DISTRIBUTE_DFLT_DARG;
    if (kind == 1 && draw(0, 1)) arguments[d] = (sizes[d] + processes[d] - 1) / processes[d] + draw(0, 2);
    if (kind == 2 && draw(0, 1)) arguments[d] = draw(1, 3);
    total *= processes[d];
    say(" darray[%d over %d, arg %d]", sizes[d], processes[d], arguments[d] == MPI_DISTRIBUTE_DFLT_DARG ? -1 : arguments[d]);
  }
  int rank = draw(0, total - 1);
  MPI_Type_create_darray(total, rank, dims, sizes, distributions, arguments, processes, order, child, &type);
  say("(%d dims, rank %d, order %d)", dims, rank, order == MPI_ORDER_C);
  return type;
}

static MPI_Datatype make_resized(MPI_Datatype child) {
  MPI_Datatype type;
  MPI_Aint true_lb, true_extent;
  MPI_Type_get_true_extent(child, &true_lb, &true_extent);
  int lb = orderly ? (int)true_lb - draw(0, 5) : draw(-20, 20);
  int extent = orderly ? (int)(true_lb + true_extent) - lb + draw(0, 9) : draw(0, 60);
  MPI_Type_create_resized(child, lb, extent, &type);
  say(" resized(%d,%d)", lb, extent, 0);
  return type;
}

static MPI_Datatype make(int depth) {
  if (depth == 0) return leaf();
  int kind = draw(0, 11);
  if (kind == 0) return make_struct(depth);
  MPI_Datatype type = MPI_DATATYPE_NULL, child = make_child(depth);
  int count = draw(0, 4);
  if (kind == 1) MPI_Type_contiguous(count, child, &type), say(" contiguous(%d)", count, 0, 0);
  if (kind == 2 || kind == 3) type = make_vectors(child, kind == 3);
  if (kind >= 4 && kind <= 7) type = make_lists(child, kind - 4);
  if (kind == 8) type = make_subarray(child);
  if (kind == 9) type = make_darray(child);
  if (kind == 10) type = make_resized(child);
  if (kind == 11) MPI_Type_dup(child, &type), say(" dup", 0, 0, 0);
  if (!is_named(child)) MPI_Type_free(&child);
  return type;
}

// A committed type whose kTiles copies lie in the buffer around the origin.
static MPI_Datatype draw_type(int* bytes) {
  for (;;) {
    MPI_Aint lb, extent, true_lb, true_extent;
    text[0] = '\0';
    MPI_Datatype type = make(draw(1, 4));
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    MPI_Type_size(type, bytes);
    MPI_Aint first = kOrigin + true_lb, last = first + true_extent, shift = (kTiles - 1) * extent;
    if (shift < 0) first += shift;
    if (shift > 0) last += shift;
    if (*bytes > 0 && *bytes * kTiles <= kMaxBytes && first >= 0 && last <= kBuffer && !is_named(type)) {
      MPI_Type_commit(&type);
      return type;
    }
    if (!is_named(type)) MPI_Type_free(&type);
  }
}

static void pack(const Byte* buffer, int count, MPI_Datatype type, Byte* out, int bytes) {
  MPI_Sendrecv(buffer + kOrigin, count, type, 0, 1, out, bytes, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void same(const Byte* got, const Byte* want, int bytes, const char* what) {
  char message[kText + 200];
  for (int i = 0; i < bytes; ++i)
    if (got[i] != want[i]) {
      snprintf(message, sizeof message, "%s: byte %d of %d is %d, want %d, type:%.4000s", what, i, bytes, got[i], want[i], text);
      ck_report(0, __FILE__, __LINE__, message);
      return;
    }
}

static void as_memory_type(MPI_Datatype type, int count, int bytes, int disjoint) {
  static Byte got[kBuffer], want[kBuffer], received[kBuffer];
  MPI_Status status;
  int offset = draw(0, 40);
  pack(plain, count, type, want, bytes);
  CHECK_OK(MPI_File_write_at(file, offset, plain + kOrigin, count, type, &status));
  CHECK_COUNT(status, type, count);
  CHECK_OK(MPI_File_read_at(file, offset, got, bytes, MPI_BYTE, &status));
  same(got, want, bytes, "written with the memory type");
  if (!disjoint) return;
  memset(got, 0xA5, sizeof got);
  memset(received, 0xA5, sizeof received);
  MPI_Sendrecv(want, bytes, MPI_BYTE, 0, 2, received + kOrigin, count, type, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  CHECK_OK(MPI_File_read_at(file, offset, got + kOrigin, count, type, &status));
  CHECK_COUNT(status, type, count);
  same(got, received, kBuffer, "read into the memory type");
}

static void as_file_type(MPI_Datatype type, const int* map, int bytes, int extent) {
  static Byte got[kBuffer], want[kBuffer];
  int disp = draw(0, 100), first = draw(0, bytes), length = draw(1, bytes * (kTiles - 1)), written = draw(1, bytes);
  MPI_Status status;
  CHECK_OK(MPI_File_write_at(file, 0, plain, kBuffer, MPI_BYTE, &status));
  CHECK_OK(MPI_File_set_view(file, disp, MPI_BYTE, type, "native", MPI_INFO_NULL));
  for (int i = 0; i < length; ++i) want[i] = plain[disp + (first + i) / bytes * extent + map[(first + i) % bytes]];
  CHECK_OK(MPI_File_read_at(file, first, got, length, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, length);
  same(got, want, length, "read through the file type");
  memset(got, 0x5A, (size_t)written);
  CHECK_OK(MPI_File_write_at(file, first, got, written, MPI_BYTE, &status));
  CHECK_OK(MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  memcpy(want, plain, kBuffer);
  for (int i = 0; i < written; ++i) want[disp + (first + i) / bytes * extent + map[(first + i) % bytes]] = 0x5A;
  CHECK_OK(MPI_File_read_at(file, 0, got, kBuffer, MPI_BYTE, &status));
  same(got, want, kBuffer, "written through the file type");
}

// Ascending and disjoint, also from one tile to the next, and within the file when it lies behind displacement 100.
static int is_file_type(const int* map, int bytes, int extent) {
  if (map[0] < 0 || map[0] + extent <= map[bytes - 1] || 100 + kTiles * extent + map[bytes - 1] >= kBuffer) return 0;
  for (int i = 1; i < bytes; ++i)
    if (map[i] <= map[i - 1]) return 0;
  return 1;
}

static int is_disjoint(MPI_Datatype type, int count, int bytes) {
  static Byte lows[kBuffer], highs[kBuffer], taken[kBuffer];
  pack(low, count, type, lows, bytes);
  pack(high, count, type, highs, bytes);
  memset(taken, 0, sizeof taken);
  for (int i = 0; i < bytes; ++i)
    if (taken[lows[i] + 256 * highs[i]]++) return 0;
  return 1;
}

static int file_types;

static void one_type(void) {
  static Byte lows[kBuffer], highs[kBuffer];
  static int map[kBuffer];
  int bytes, lb, extent, count = draw(1, kTiles);
  orderly = draw(0, 2) > 0;
  MPI_Datatype type = draw_type(&bytes);
  bounds(type, &lb, &extent);
  pack(low, 1, type, lows, bytes);
  pack(high, 1, type, highs, bytes);
  for (int i = 0; i < bytes; ++i) map[i] = lows[i] + 256 * highs[i] - kOrigin;
  as_memory_type(type, count, count * bytes, is_disjoint(type, count, count * bytes));
  if (is_file_type(map, bytes, extent)) {
    as_file_type(type, map, bytes, extent);
    file_types++;
  }
  MPI_Type_free(&type);
}

static void random_types(int block) {
  seed = (uint64_t)block;
  file_types = 0;
  CHECK_OK(MPI_File_open(MPI_COMM_SELF, ck_fresh("types"), MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
  for (int i = 0; i < kTypes && ck_failures < 5; ++i) one_type();
  CHECK(file_types > kTypes / 10);   // the draw must not starve the file types
  CHECK_OK(MPI_File_close(&file));
}

int main(int argc, char** argv) {
  ck_init(&argc, &argv);
  for (int i = 0; i < kBuffer; ++i) {
    plain[i] = ck_byte_at(i);
    low[i] = (Byte)(i & 255);
    high[i] = (Byte)(i >> 8);
  }
  RUN_FOR(random_types, "one", 1);
  RUN_FOR(random_types, "two", 2);
  RUN_FOR(random_types, "three", 3);
  return ck_finish();
}
