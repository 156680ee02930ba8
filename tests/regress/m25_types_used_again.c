// M25: a type that holds the same type many times: pairs of pairs, 40 deep, which are 2^40 types, and a struct of 10,000 blocks. Views are set and told
// at once, as each type is looked at once. Open MPI gives a type of its own for each of a pair, and so each is looked at.
#include "check.h"

enum { kDepth = 40, kBlocks = 10000, kInts = 8 };

#ifndef OPEN_MPI
// A struct of two of `part`, which is freed.
static MPI_Datatype pair_of(MPI_Datatype part) {
  MPI_Aint lb, extent;
  MPI_Datatype pair, parts[] = {part, part};
  int lengths[] = {1, 1};
  MPI_Type_get_extent(part, &lb, &extent);
  MPI_Aint places[] = {0, extent};
  MPI_Type_create_struct(2, lengths, places, parts, &pair);
  MPI_Type_free(&part);
  return pair;
}
#endif

// An int and a hole of the same size.
static MPI_Datatype every_other(void) {
  MPI_Datatype type;
  MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &type);
  return type;
}

// With this filetype, the view's ints are every other one of the file.
static void view_through(MPI_Datatype filetype) {
  MPI_File fh = ck_create("f");
  MPI_Datatype etype, told;
  MPI_Offset displacement;
  int data[kInts], got[2 * kInts] = {0};
  char datarep[MPI_MAX_DATAREP_STRING];
  CHECK_OK(MPI_Type_commit(&filetype));
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, filetype, "native", MPI_INFO_NULL));
  for (int i = 0; i < kInts; i++) data[i] = 100 * ck_rank + i;
  CHECK_OK(MPI_File_write_at_all(fh, kInts * ck_rank, data, kInts, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_get_view(fh, &displacement, &etype, &told, datarep));
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, told, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_Type_free(&told));
  memset(data, 0, sizeof data);
  CHECK_OK(MPI_File_read_at_all(fh, kInts * ck_rank, data, kInts, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_read_at_all(fh, 2 * kInts * ck_rank, got, 2 * kInts - 1, MPI_INT, MPI_STATUS_IGNORE));
  for (int i = 0; i < kInts; i++) CHECK(data[i] == 100 * ck_rank + i && got[2 * i] == data[i]);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&filetype);
}

#ifndef OPEN_MPI
static void nested_pairs(void) {
  MPI_Datatype type = every_other();
  for (int depth = 0; depth < kDepth; depth++) type = pair_of(type);
  view_through(type);
}
#endif

static void many_blocks(void) {
  static int lengths[kBlocks];
  static MPI_Aint places[kBlocks];
  static MPI_Datatype parts[kBlocks];
  MPI_Datatype part = every_other(), type;
  for (int i = 0; i < kBlocks; i++) {
    lengths[i] = 1;
    places[i] = (MPI_Aint)(2 * sizeof(int)) * i;
    parts[i] = part;
  }
  MPI_Type_create_struct(kBlocks, lengths, places, parts, &type);
  MPI_Type_free(&part);
  view_through(type);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  if (ck_is_mercutio()) {
#ifndef OPEN_MPI
    RUN(nested_pairs);
#endif
    RUN(many_blocks);
  }
  return ck_finish();
}
