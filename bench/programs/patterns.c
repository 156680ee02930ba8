// The regular patterns. Each builder writes down the same layout twice: as nested loops (to fill and check) and, for
// the own rank, as MPI datatypes (to be measured).
//
// Tile-IO, HPIO and BT-IO follow the benchmarks of these names; the LBMPI cases follow the lattice-Boltzmann code of
// Cronk, Fagg and Moore: a 4-D array whose first dimension interleaves four 3-D arrays, with one layer of ghost cells.
#include <math.h>
#include <string.h>

#include "bench.h"

enum { kHpioRegion = 512, kHpioSpace = 128, kSiteBytes = 576, kFieldSide = 512, kBtGhosts = 2, kBtSteps = 4 };

static i64 at_least(i64 value, i64 least) {
  return value < least ? least : value;
}

static void whole_memory(Layout* layout) {
  layout->memory = nested_side(1, layout->bytes);
  layout->memory.pieces = layout->memory.pieces_per_nest = 1;
  layout->memory_stride = layout->bytes;
  layout->memory_bytes = layout->bytes * layout->accesses;
}

static void commit(Layout* layout) {
  if (layout->filetype != MPI_DATATYPE_NULL) MPI_Type_commit(&layout->filetype);
  if (layout->memtype != MPI_DATATYPE_NULL) MPI_Type_commit(&layout->memtype);
}

static void whole_memtype(Layout* layout) {
  MPI_Type_contiguous((int)(layout->bytes / kWord), MPI_DOUBLE, &layout->memtype);
}

static void build_contiguous(const Case* self, const Shape* shape, Layout* layout) {
  layout->bytes = shape->bytes;
  layout->collective = self->variant;
  layout->position = kPlain;
  layout->file = nested_side(1, layout->bytes);
  layout->file.pieces = layout->file.pieces_per_nest = 1;
  layout->file.nests[0].base = shape->rank * layout->bytes;
  layout->file_bytes = shape->ranks * layout->bytes;
  whole_memory(layout);
  if (shape->types) whole_memtype(layout), commit(layout);
}

// What the CE-QUAL-ICM cases are compared with: as many accesses of as many bytes, each rank's share contiguous.
static void build_outputs(const Case* self, const Shape* shape, Layout* layout) {
  layout->accesses = (int)self->size;
  layout->position = kViewEach;
  layout->bytes = at_least(shape->bytes / layout->accesses / kWord, 1) * kWord;
  layout->file = nested_side(1, layout->bytes);
  layout->file.pieces = layout->file.pieces_per_nest = 1;
  layout->file.nests[0].base = shape->rank * layout->bytes;
  layout->file_stride = shape->ranks * layout->bytes;
  layout->file_bytes = layout->file_stride * layout->accesses;
  whole_memory(layout);
  if (!shape->types) return;
  int words = (int)(layout->bytes / kWord);
  int sizes[1] = {words * shape->ranks}, subsizes[1] = {words}, starts[1] = {words * shape->rank};
  MPI_Type_create_subarray(1, sizes, subsizes, starts, MPI_ORDER_C, MPI_DOUBLE, &layout->filetype);
  whole_memtype(layout);
  commit(layout);
}

static void build_vector(const Case* self, const Shape* shape, Layout* layout) {
  i64 blocks = at_least(shape->bytes / self->size, 1), stride = self->size * shape->ranks;
  layout->bytes = blocks * self->size;
  layout->file = nested_side(1, self->size);
  layout->file.pieces = layout->file.pieces_per_nest = blocks;
  layout->file.nests[0] = (Nest){shape->rank * self->size, {1, 1, 1, blocks}, {0, 0, 0, stride}};
  layout->file_bytes = blocks * stride;
  whole_memory(layout);
  if (!shape->types) return;
  MPI_Datatype vector, placed;
  int ints = (int)(self->size / 4), one = 1;
  MPI_Aint start = shape->rank * self->size;
  layout->etype = MPI_INT;
  MPI_Type_vector((int)blocks, ints, ints * shape->ranks, MPI_INT, &vector);
  MPI_Type_create_hindexed(1, &one, &start, vector, &placed);
  MPI_Type_create_resized(placed, 0, blocks * stride, &layout->filetype);
  MPI_Type_contiguous((int)(layout->bytes / 4), MPI_INT, &layout->memtype);
  MPI_Type_free(&vector);
  MPI_Type_free(&placed);
  commit(layout);
}

static void build_tile(const Case* self, const Shape* shape, Layout* layout) {
  int grid[2] = {0, 0}, n = (int)at_least((i64)sqrt((double)shape->bytes / (double)self->size), 1);
  MPI_Dims_create(shape->ranks, 2, grid);
  i64 row = self->size * n * grid[1];
  int y = shape->rank / grid[1], x = shape->rank % grid[1];
  layout->bytes = self->size * n * n;
  layout->file = nested_side(1, self->size * n);
  layout->file.pieces = layout->file.pieces_per_nest = n;
  layout->file.nests[0] = (Nest){y * n * row + x * n * self->size, {1, 1, 1, n}, {0, 0, 0, row}};
  layout->file_bytes = row * n * grid[0];
  whole_memory(layout);
  if (!shape->types) return;
  int sizes[2] = {n * grid[0], n * grid[1]}, subsizes[2] = {n, n}, starts[2] = {y * n, x * n};
  MPI_Datatype element;
  MPI_Type_contiguous((int)self->size, MPI_BYTE, &element);
  MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, element, &layout->filetype);
  MPI_Type_contiguous(n * n, element, &layout->memtype);
  MPI_Type_free(&element);
  layout->etype = MPI_BYTE;
  commit(layout);
}

// variant: bit 0 the file, bit 1 the memory is noncontiguous.
static void build_hpio(const Case* self, const Shape* shape, Layout* layout) {
  i64 regions = at_least(shape->bytes / kHpioRegion, 2), step = kHpioRegion + kHpioSpace;
  int apart = self->variant & 1, scattered = self->variant & 2;
  layout->bytes = regions * kHpioRegion;
  layout->gap = apart ? kHpioSpace : 0;
  i64 stride = apart ? step * shape->ranks : kHpioRegion;
  i64 base = apart ? step * shape->rank : shape->rank * layout->bytes;
  layout->file = nested_side(1, kHpioRegion);
  layout->file.pieces = layout->file.pieces_per_nest = regions;
  layout->file.nests[0] = (Nest){base, {1, 1, 1, regions}, {0, 0, 0, stride}};
  layout->file_bytes = apart ? regions * stride - kHpioSpace : shape->ranks * layout->bytes;
  whole_memory(layout);
  if (scattered) {
    layout->memory.block = kHpioRegion;
    layout->memory.pieces = layout->memory.pieces_per_nest = regions;
    layout->memory.nests[0] = (Nest){0, {1, 1, 1, regions}, {0, 0, 0, step}};
    layout->memory_bytes = layout->memory_stride = regions * step;
  }
  if (!shape->types) return;
  MPI_Datatype region, vector;
  MPI_Aint start = base;
  int one = 1;
  MPI_Type_contiguous(kHpioRegion, MPI_BYTE, &region);
  MPI_Type_create_hvector((int)regions, 1, stride, region, &vector);
  MPI_Type_create_hindexed(1, &one, &start, vector, &layout->filetype);
  MPI_Type_create_hvector((int)regions, 1, scattered ? step : kHpioRegion, region, &layout->memtype);
  MPI_Type_free(&region);
  MPI_Type_free(&vector);
  layout->etype = MPI_BYTE;
  commit(layout);
}

// 4-D blocks, dimension 0 outermost: `local` elements of `element` bytes in `global` at `start`. `block` joins the
// innermost.
typedef struct {
  i64 global[4], local[4], start[4], element;
} Box;

static Nest box_nest(const Box* box, i64* pieces) {
  Nest nest;
  i64 stride = box->element;
  memset(&nest, 0, sizeof nest);
  *pieces = 1;
  for (int d = 3; d >= 0; --d) {
    nest.base += box->start[d] * stride;
    nest.count[d] = d == 3 ? 1 : box->local[d];
    nest.stride[d] = stride;
    *pieces *= nest.count[d];
    stride *= box->global[d];
  }
  return nest;
}

static Side box_side(const Box* box) {
  Side side = nested_side(1, box->local[3] * box->element);
  side.nests[0] = box_nest(box, &side.pieces_per_nest);
  side.pieces = side.pieces_per_nest;
  return side;
}

static MPI_Datatype box_type(const Box* box) {
  int sizes[4], subsizes[4], starts[4];
  MPI_Datatype element, type;
  for (int d = 0; d < 4; ++d) {
    sizes[d] = (int)box->global[d], subsizes[d] = (int)box->local[d], starts[d] = (int)box->start[d];
  }
  MPI_Type_contiguous((int)(box->element / kWord), MPI_DOUBLE, &element);
  MPI_Type_create_subarray(4, sizes, subsizes, starts, MPI_ORDER_C, element, &type);
  MPI_Type_free(&element);
  return type;
}

static i64 box_bytes(const i64 n[4], i64 element) {
  return n[0] * n[1] * n[2] * n[3] * element;
}

// A field of doubles in three dimensions, blocks of up to 512 x 512 in the fastest two, or (variant) a lattice of 576-byte
// sites (four 3 x 3 complex matrices) in four, split in as many dimensions as the ranks allow, the fastest first.
static void build_blocks(const Case* self, const Shape* shape, Layout* layout) {
  int lattice = self->variant, dimensions = lattice ? 4 : 3;
  int grid[4] = {0, 0, 0, 1}, rest = shape->rank;
  MPI_Dims_create(shape->ranks, dimensions, grid);
  i64 element = lattice ? kSiteBytes : kWord;
  i64 elements = shape->bytes / element;
  i64 n = at_least((i64)(lattice ? pow((double)elements, 0.25) : sqrt((double)elements)), 1);
  if (!lattice && n > kFieldSide) n = kFieldSide;
  i64 slowest = lattice ? n : at_least(elements / (n * n), 1);
  Box box = {{0}, {slowest, n, n, n}, {0}, element};
  if (!lattice) box.local[0] = 1, box.local[1] = slowest;
  for (int d = 3; d >= 0; --d) {
    box.global[d] = box.local[d] * grid[3 - d];
    box.start[d] = box.local[d] * (rest % grid[3 - d]);
    rest /= grid[3 - d];
  }
  layout->bytes = box_bytes(box.local, element);
  layout->file = box_side(&box);
  layout->file_bytes = box_bytes(box.global, element);
  whole_memory(layout);
  if (!shape->types) return;
  layout->filetype = box_type(&box);
  whole_memtype(layout);
  commit(layout);
}

static MPI_Datatype struct_of(int count, MPI_Datatype* types) {
  int lengths[64] = {0};
  MPI_Aint displacements[64] = {0};
  MPI_Datatype type;
  for (int i = 0; i < count; ++i) lengths[i] = 1;
  MPI_Type_create_struct(count, lengths, displacements, types, &type);
  for (int i = 0; i < count; ++i) MPI_Type_free(&types[i]);
  return type;
}

// Each of q * q ranks owns q cells along a diagonal of the q * q * q cells, one in each slab of z, five doubles a
// point; in memory each cell has two layers of ghost points.
static void build_bt(const Case* self, const Shape* shape, Layout* layout) {
  (void)self;
  int q = (int)(sqrt((double)shape->ranks) + 0.5);
  const i64 element = 5 * kWord;
  if (q > 64) fail("bt", "too many ranks");
  layout->accesses = kBtSteps;
  i64 n = at_least((i64)cbrt((double)shape->bytes / (double)(element * kBtSteps * q)), 1);
  i64 padded = n + 2 * kBtGhosts, cell_bytes = padded * padded * padded * element;
  MPI_Datatype file_types[64], memory_types[64];
  layout->bytes = n * n * n * element * q;
  layout->file = nested_side(q, n * element);
  layout->memory = nested_side(q, n * element);
  for (int c = 0; c < q; ++c) {
    i64 x = (shape->rank % q + c) % q, y = (shape->rank / q + q - c) % q;
    Box file = {{1, n * q, n * q, n * q}, {1, n, n, n}, {0, c * n, y * n, x * n}, element};
    Box memory = {{q, padded, padded, padded}, {1, n, n, n}, {c, kBtGhosts, kBtGhosts, kBtGhosts}, element};
    layout->file.nests[c] = box_nest(&file, &layout->file.pieces_per_nest);
    layout->memory.nests[c] = box_nest(&memory, &layout->memory.pieces_per_nest);
    if (shape->types) file_types[c] = box_type(&file), memory_types[c] = box_type(&memory);
  }
  layout->file.pieces = q * layout->file.pieces_per_nest;
  layout->memory.pieces = q * layout->memory.pieces_per_nest;
  layout->memory_stride = cell_bytes * q;
  layout->memory_bytes = layout->memory_stride * kBtSteps;
  layout->file_stride = n * n * n * q * q * q * element;
  layout->file_bytes = layout->file_stride * kBtSteps;
  if (!shape->types) return;
  layout->filetype = struct_of(q, file_types);
  layout->memtype = struct_of(q, memory_types);
  commit(layout);
}

enum { kLbOneFile = 1, kLbCollective = 2, kLbOriginal = 4 };

static void build_lbmpi(const Case* self, const Shape* shape, Layout* layout) {
  int grid[2] = {0, 0}, one_file = self->variant & kLbOneFile;
  MPI_Dims_create(shape->ranks, 2, grid);
  i64 n = at_least((i64)cbrt((double)shape->bytes / (4 * kWord)), 2), fields = one_file ? 4 : 1;
  i64 x = shape->rank % grid[0], y = shape->rank / grid[0], padded = n + 2;
  // Fortran's first dimension is the last one here; the fields are the elements of the boxes.
  Box file = {{1, n, n * grid[1], n * grid[0]}, {1, n, n, n}, {0, 0, y * n, x * n}, fields * kWord};
  Box memory = {{padded, padded, padded, 4}, {n, n, n, fields}, {1, 1, 1, 0}, kWord};
  layout->accesses = one_file ? 1 : 4;
  layout->collective = self->variant & kLbCollective;
  layout->position = self->variant & kLbOriginal ? kElements : one_file ? kView : kFiles;
  layout->bytes = box_bytes(file.local, file.element);
  layout->file = box_side(&file);
  layout->memory = box_side(&memory);
  layout->memory_stride = kWord;
  layout->memory_bytes = box_bytes(memory.global, kWord);
  layout->file_bytes = box_bytes(file.global, file.element);
  if (!shape->types) return;
  layout->filetype = box_type(&file);
  layout->memtype = box_type(&memory);
  commit(layout);
}

const Case kCases[] = {
    {"contiguous", build_contiguous, 0, 1, 1, 0},
    {"contiguous-independent", build_contiguous, 0, 0, 1, 0},
    {"tile-64", build_tile, 64, 0, 1, 0},
    {"tile-1KiB", build_tile, 1024, 0, 1, 0},
    {"tile-1MiB", build_tile, 1 << 20, 0, 1, 0},
    {"vector-8", build_vector, 8, 0, 4, 0},
    {"vector-64", build_vector, 64, 0, 1, 0},
    {"vector-1KiB", build_vector, 1024, 0, 1, 0},
    {"vector-4KiB", build_vector, 4096, 0, 1, 0},
    {"vector-64KiB", build_vector, 65536, 0, 1, 0},
    {"vector-1MiB", build_vector, 1 << 20, 0, 1, 0},
    {"hpio-c-c", build_hpio, 0, 0, 1, 0},
    {"hpio-nc-c", build_hpio, 0, 2, 1, 0},
    {"hpio-c-nc", build_hpio, 0, 1, 1, 0},
    {"hpio-nc-nc", build_hpio, 0, 3, 1, 0},
    {"bt-io", build_bt, 0, 0, 1, 1},
    {"lbmpi-original", build_lbmpi, 0, kLbOriginal, 64, 0},
    {"lbmpi-4-independent", build_lbmpi, 0, 0, 8, 0},
    {"lbmpi-1-independent", build_lbmpi, 0, kLbOneFile, 4, 0},
    {"lbmpi-4-collective", build_lbmpi, 0, kLbCollective, 1, 0},
    {"lbmpi-1-collective", build_lbmpi, 0, kLbOneFile | kLbCollective, 1, 0},
    {"icm-random", build_icm, 0, 0, 2, 0},
    {"icm-blocks", build_icm, 0, 1, 2, 0},
    {"icm-contiguous", build_outputs, kIcmArrays* kIcmOutputs, 0, 2, 0},
    {"e3sm", build_e3sm, 0, 0, 1, 0},
    {"field-3d", build_blocks, 0, 0, 1, 0},
    {"lattice-4d", build_blocks, 0, 1, 1, 0},
    {NULL, NULL, 0, 0, 0, 0},
};
