// Irregular maps. CE-QUAL-ICM: cells of a mesh belong to ranks by a map; the local arrays hold ghost cells between the
// resident ones; the same map is used for every array and every output, appended with a new displacement. E3SM: many
// variables decomposed by one map of short runs of columns, all of them written by one call.
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum {
  kVariables = 4,
  kLevels = 8,
  kGhostPercent = 27,
  kBlockLeast = 16,
  kBlockRange = 96
};

typedef struct {
  u64 state;
} Random;

static u64 draw(Random* random) {
  random->state += 0x9e3779b97f4a7c15u;
  return mix(random->state);
}

// The cells of `rank`: run after run of random length is dealt to a random rank; every rank gets at least one cell.
typedef struct {
  i64 *first, *length, runs, cells;
} Runs;

static Runs deal(i64 global, const Shape* shape, i64 least, i64 range) {
  Random random = {12345};
  Runs mine = {NULL, NULL, 0, 0};
  i64 room = 0, turn = 0;
  for (i64 at = 0; at < global; ++turn) {
    i64 length = least + (i64)(draw(&random) % (u64)range);
    u64 owner = draw(&random) % (u64)shape->ranks;
    if (turn < shape->ranks) owner = (u64)turn, length = 1;
    if (length > global - at) length = global - at;
    if ((int)owner == shape->rank) {
      if (mine.runs == room) {
        room = room ? 2 * room : 1024;
        mine.first = realloc(mine.first, (size_t)room * sizeof(i64));
        mine.length = realloc(mine.length, (size_t)room * sizeof(i64));
        if (!mine.first || !mine.length) fail("realloc", "no memory");
      }
      mine.first[mine.runs] = at;
      mine.length[mine.runs++] = length;
      mine.cells += length;
    }
    at += length;
  }
  return mine;
}

static void shuffle(i64* values, i64 count, Random* random) {
  for (i64 i = count - 1; i > 0; --i) {
    i64 other = (i64)(draw(random) % (u64)(i + 1)), kept = values[i];
    values[i] = values[other];
    values[other] = kept;
  }
}

// Local slots of the resident cells, in the order of the sorted file map: ghost cells are spread between them. Returns
// the number of slots.
static i64 resident_slots(i64* slots, i64 cells, int random_order, int rank) {
  Random random = {(u64)rank + 99};
  i64 slot = 0;
  for (i64 i = 0; i < cells; ++i) {
    while (draw(&random) % 100 < kGhostPercent) ++slot;
    slots[i] = slot++;
  }
  if (random_order) shuffle(slots, cells, &random);
  return slot;
}

static MPI_Datatype indexed_block(const i64* offsets, i64 count) {
  int* displacements = (int*)must_alloc(count * (i64)sizeof(int));
  MPI_Datatype type;
  for (i64 i = 0; i < count; ++i) displacements[i] = (int)(offsets[i] / kWord);
  MPI_Type_create_indexed_block((int)count, 1, displacements, MPI_DOUBLE, &type);
  free(displacements);
  return type;
}

void build_icm(const Case* self, const Shape* shape, Layout* layout) {
  int blocks = self->variant;
  layout->accesses = kIcmArrays * kIcmOutputs;
  layout->position = kViewEach;
  i64 global = shape->bytes * shape->ranks / (kWord * layout->accesses);
  if (global < 2 * shape->ranks) global = 2 * shape->ranks;
  Runs runs = deal(global, shape, blocks ? kBlockLeast : 1, blocks ? kBlockRange : 1);
  layout->bytes = runs.cells * kWord;
  layout->file_bytes = global * kWord * layout->accesses;
  layout->file_stride = global * kWord;
  Side *file = &layout->file, *memory = &layout->memory;
  file->pieces = memory->pieces = runs.cells;
  file->block = memory->block = kWord;
  file->offsets = (i64*)must_alloc(runs.cells * (i64)sizeof(i64));
  memory->offsets = (i64*)must_alloc(runs.cells * (i64)sizeof(i64));
  for (i64 run = 0, at = 0; run < runs.runs; ++run) {
    for (i64 k = 0; k < runs.length[run]; ++k) file->offsets[at++] = (runs.first[run] + k) * kWord;
  }
  layout->memory_stride = resident_slots(memory->offsets, runs.cells, !blocks, shape->rank) * kWord;
  layout->memory_bytes = layout->memory_stride * layout->accesses;
  for (i64 i = 0; i < runs.cells; ++i) memory->offsets[i] *= kWord;
  free(runs.first);
  free(runs.length);
  if (!shape->types) return;
  layout->filetype = indexed_block(file->offsets, runs.cells);
  layout->memtype = indexed_block(memory->offsets, runs.cells);
  MPI_Type_commit(&layout->filetype);
  MPI_Type_commit(&layout->memtype);
}

void build_e3sm(const Case* self, const Shape* shape, Layout* layout) {
  (void)self;
  const i64 rows = kVariables * kLevels;
  i64 columns = shape->bytes * shape->ranks / (kWord * rows), at = 0;
  if (columns < 2 * shape->ranks) columns = 2 * shape->ranks;
  Runs runs = deal(columns, shape, 1, 8);
  Side* file = &layout->file;
  layout->bytes = runs.cells * kWord * rows;
  layout->file_bytes = columns * kWord * rows;
  file->pieces = runs.runs * rows;
  file->offsets = (i64*)must_alloc(file->pieces * (i64)sizeof(i64));
  file->lengths = (i64*)must_alloc(file->pieces * (i64)sizeof(i64));
  for (i64 row = 0; row < rows; ++row) {
    for (i64 run = 0; run < runs.runs; ++run, ++at) {
      file->offsets[at] = (row * columns + runs.first[run]) * kWord;
      file->lengths[at] = runs.length[run] * kWord;
    }
  }
  free(runs.first);
  free(runs.length);
  layout->memory = nested_side(1, layout->bytes);
  layout->memory.pieces = layout->memory.pieces_per_nest = 1;
  layout->memory_bytes = layout->memory_stride = layout->bytes;
  if (!shape->types) return;
  int* lengths = (int*)must_alloc(file->pieces * (i64)sizeof(int));
  MPI_Aint* offsets = (MPI_Aint*)must_alloc(file->pieces * (i64)sizeof(MPI_Aint));
  for (i64 i = 0; i < file->pieces; ++i)
    lengths[i] = (int)(file->lengths[i] / kWord), offsets[i] = (MPI_Aint)file->offsets[i];
  MPI_Type_create_hindexed((int)file->pieces, lengths, offsets, MPI_DOUBLE, &layout->filetype);
  MPI_Type_contiguous((int)(layout->bytes / kWord), MPI_DOUBLE, &layout->memtype);
  MPI_Type_commit(&layout->filetype);
  MPI_Type_commit(&layout->memtype);
  free(lengths);
  free(offsets);
}
