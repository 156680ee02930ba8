// 14.3: file views. Every type constructor as a filetype and as a memory type, checked against a list of bytes written out
// by hand; displacements, nesting, get_view, and the views that must be refused.
#include "check.h"

typedef MPI_Datatype (*Maker)(void);

static MPI_Datatype committed(MPI_Datatype t) {
  MPI_Type_commit(&t);
  return t;
}
static MPI_Datatype make_contiguous(void) {
  MPI_Datatype t;
  MPI_Type_contiguous(5, MPI_INT, &t);
  return committed(t);
}
static MPI_Datatype make_vector(void) {
  MPI_Datatype t;
  MPI_Type_vector(4, 2, 3, MPI_INT, &t);
  return committed(t);
}
static MPI_Datatype make_hvector(void) {
  MPI_Datatype t;
  MPI_Type_create_hvector(4, 2, 20, MPI_INT, &t);
  return committed(t);
}
static const int kLengths[] = {2, 1, 0, 3}, kPlaces[] = {0, 4, 5, 7};
static MPI_Datatype make_indexed(void) {
  MPI_Datatype t;
  MPI_Type_indexed(4, kLengths, kPlaces, MPI_INT, &t);
  return committed(t);
}
static MPI_Datatype make_hindexed(void) {
  MPI_Datatype t;
  const MPI_Aint places[] = {4, 20, 24, 36};
  MPI_Type_create_hindexed(4, kLengths, places, MPI_INT, &t);
  return committed(t);
}
static MPI_Datatype make_indexed_block(void) {
  MPI_Datatype t;
  const int places[] = {1, 3, 7, 9};
  MPI_Type_create_indexed_block(4, 2, places, MPI_INT, &t);
  return committed(t);
}
static MPI_Datatype make_hindexed_block(void) {
  MPI_Datatype t;
  const MPI_Aint places[] = {0, 12, 28};
  MPI_Type_create_hindexed_block(3, 2, places, MPI_INT, &t);
  return committed(t);
}
static MPI_Datatype make_struct(void) {
  MPI_Datatype t, pair;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Datatype types[] = {MPI_INT, pair, MPI_INT};
  const int lengths[] = {1, 2, 2};
  const MPI_Aint places[] = {0, 8, 40};
  MPI_Type_create_struct(3, lengths, places, types, &t);
  MPI_Type_free(&pair);
  return committed(t);
}
static MPI_Datatype make_subarray_c(void) {
  MPI_Datatype t;
  const int sizes[] = {4, 5, 3}, part[] = {2, 3, 2}, start[] = {1, 0, 1};
  MPI_Type_create_subarray(3, sizes, part, start, MPI_ORDER_C, MPI_INT, &t);
  return committed(t);
}
static MPI_Datatype make_subarray_fortran(void) {
  MPI_Datatype t;
  const int sizes[] = {4, 5, 3}, part[] = {2, 3, 2}, start[] = {1, 0, 1};
  MPI_Type_create_subarray(3, sizes, part, start, MPI_ORDER_FORTRAN, MPI_INT, &t);
  return committed(t);
}
static MPI_Datatype make_darray(void) {
  MPI_Datatype t;
  const int sizes[] = {7, 6}, distributions[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK};
  const int arguments[] = {2, MPI_DISTRIBUTE_DFLT_DARG}, grid[] = {2, 2};
  MPI_Type_create_darray(4, 2, 2, sizes, distributions, arguments, grid, MPI_ORDER_C, MPI_INT, &t);
  return committed(t);
}
static MPI_Datatype make_resized(void) {
  MPI_Datatype t;
  MPI_Type_create_resized(MPI_INT, 0, 12, &t);
  return committed(t);
}
static MPI_Datatype make_resized_lb(void) {
  MPI_Datatype t, v;
  MPI_Type_vector(2, 1, 2, MPI_INT, &v);
  MPI_Type_create_resized(v, -4, 24, &t);
  MPI_Type_free(&v);
  return committed(t);
}
static MPI_Datatype make_dup(void) {
  MPI_Datatype t, v = make_vector();
  MPI_Type_dup(v, &t);
  MPI_Type_free(&v);
  return committed(t);
}
static MPI_Datatype make_nested(void) {
  MPI_Datatype t, v = make_indexed(), r;
  MPI_Type_create_resized(v, 0, 48, &r);
  MPI_Type_create_hvector(3, 1, 100, r, &t);
  MPI_Type_free(&v);
  MPI_Type_free(&r);
  return committed(t);
}

static const struct {
  const char *name;
  Maker make;
} kMakers[] = {{"contiguous", make_contiguous}, {"vector", make_vector}, {"hvector", make_hvector},
               {"indexed", make_indexed}, {"hindexed", make_hindexed}, {"indexed_block", make_indexed_block},
               {"hindexed_block", make_hindexed_block}, {"struct", make_struct}, {"subarray_c", make_subarray_c},
               {"subarray_fortran", make_subarray_fortran}, {"darray", make_darray}, {"resized", make_resized},
               {"resized_lb", make_resized_lb}, {"dup", make_dup}, {"nested", make_nested}};
enum { kMakerCount = sizeof kMakers / sizeof *kMakers, kFileInts = 600 };

// Whether the MPI itself sends what a type is by the standard. Intel MPI 2021 and Debian's MPICH for s390x don't where cyclic rows of a darray hold
// blocks: the fourth integer is the first of row 3, of 6.
static int is_understood(int which) {
  int map[42] = {0}, numbers[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, at = 0;
  if (kMakers[which].make != make_darray) return 1;
  MPI_Datatype type = make_darray();
  MPI_Unpack(numbers, sizeof numbers, &at, map, 1, type, MPI_COMM_SELF);
  MPI_Type_free(&type);
  return map[18] == 4;
}

// Which integers of a file the type selects, tiled, in order: by receiving the numbers 1, 2, 3... into zeros, which is
// the type's map as MPI itself understands it.
static int selected(MPI_Datatype type, int *map, int ints) {
  MPI_Aint low, extent;
  int size, n = 0;
  MPI_Type_get_extent(type, &low, &extent);
  MPI_Type_size(type, &size);
  memset(map, 0, (size_t)ints * 4);
  for (int tile = 0; (tile + 2) * extent <= 4L * ints; tile++) {
    int *numbers = malloc((size_t)size), *base = map + tile * (extent / 4);
    for (int i = 0; i < size / 4; i++) numbers[i] = ++n;
    MPI_Sendrecv(numbers, size / 4, MPI_INT, 0, 3, base, 1, type, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    free(numbers);
  }
  return n;
}

// Rank 0's share is in the first kFileInts integers, and so on. Write through the view, look at the bytes, read back.
static void filetype_with(int which, int collective) {
  const char *name = ck_fresh("f");
  MPI_Datatype type = kMakers[which].make();
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  int map[kFileInts], data[kFileInts], back[kFileInts], n = selected(type, map, kFileInts), last = 0;
  MPI_Status status;
  for (int i = 0; i < n; i++) data[i] = i + 1 + 1000 * ck_rank;
  CHECK_OK(MPI_File_set_size(fh, 4LL * kFileInts * ck_size));
  CHECK_OK(MPI_File_set_view(fh, 4LL * kFileInts * ck_rank, MPI_INT, type, "native", MPI_INFO_NULL));
  CHECK_OK(collective ? MPI_File_write_all(fh, data, n, MPI_INT, &status) : MPI_File_write(fh, data, n, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, n);
  memset(back, 0, sizeof back);
  CHECK_OK(collective ? MPI_File_read_at_all(fh, 0, back, n, MPI_INT, &status)
                      : MPI_File_read_at(fh, 0, back, n, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, n);
  CHECK(!memcmp(data, back, (size_t)n * 4));
  CHECK_OK(MPI_File_read_at_all(fh, n / 3, back, n / 3, MPI_INT, &status));
  CHECK(!memcmp(data + n / 3, back, (size_t)(n / 3) * 4));
  for (int i = 0; i < kFileInts; i++)
    if (map[i]) {
      MPI_Offset place = -1;
      CHECK_OK(MPI_File_get_byte_offset(fh, map[i] - 1, &place));
      CHECK_INT(place, 4LL * kFileInts * ck_rank + 4 * i);
      map[i] += 1000 * ck_rank;
      last = i;
    }
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 4LL * kFileInts * ck_rank, map, (size_t)(last + 1) * 4);
  MPI_Type_free(&type);
}
static void filetype(int which) { filetype_with(which, 0); }
static void filetype_all(int which) { filetype_with(which, 1); }

static void memory_type(int which) {
  const char *name = ck_fresh("f");
  MPI_Datatype type = kMakers[which].make(), filetype;
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  int map[kFileInts], back[kFileInts], *packed = malloc(4 * kFileInts), n = 0, size;
  MPI_Aint low, extent;
  MPI_Status status;
  MPI_Type_get_extent(type, &low, &extent);
  MPI_Type_size(type, &size);
  n = selected(type, map, kFileInts);
  int tiles = n / (size / 4);
  for (int i = 0; i < n; i++) packed[i] = i + 1;
  MPI_Type_vector(n, 1, ck_size, MPI_INT, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_OK(MPI_File_set_view(fh, 4 * ck_rank, MPI_INT, filetype, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_all(fh, map, tiles, type, &status));
  CHECK_COUNT(status, type, tiles);
  memset(back, 0, sizeof back);
  CHECK_OK(MPI_File_read_at_all(fh, 0, back, tiles, type, &status));
  CHECK_COUNT(status, MPI_INT, n);
  CHECK(!memcmp(map, back, sizeof back));
  CHECK_OK(MPI_File_close(&fh));
  for (int i = 0; i < n; i += 7) CHECK_BYTES(name, 4LL * (i * ck_size + ck_rank), packed + i, 4);
  free(packed);
  MPI_Type_free(&filetype);
  MPI_Type_free(&type);
}

static void global_subarray(void) {
  const char *name = ck_fresh("f");
  enum { kRows = 12, kColumns = 14 };
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype type;
  const int sizes[] = {kRows, kColumns * ck_size}, part[] = {kRows, kColumns}, start[] = {0, kColumns * ck_rank};
  double data[kRows * kColumns], *want;
  for (int i = 0; i < kRows * kColumns; i++)
    data[i] = (double)(i / kColumns * kColumns * ck_size + kColumns * ck_rank + i % kColumns);
  MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  CHECK_OK(MPI_File_set_view(fh, 24, MPI_DOUBLE, type, "native", MPI_INFO_NULL));
  for (int month = 0; month < 3; month++)
    CHECK_OK(MPI_File_write_all(fh, data, kRows * kColumns, MPI_DOUBLE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  int n = kRows * kColumns * ck_size;
  want = malloc((size_t)n * 8);
  for (int i = 0; i < n; i++) want[i] = i;
  for (int month = 0; month < 3; month++) CHECK_BYTES(name, 24 + month * n * 8LL, want, (size_t)n * 8);
  free(want);
  MPI_Type_free(&type);
}

// A darray over all ranks: every element written once, by its owner.
static void global_darray(int distribution) {
  const char *name = ck_fresh("f");
  enum { kSide = 13 };
  int grid[2] = {0, 0};
  const int sizes[] = {kSide, kSide}, kinds[] = {distribution, MPI_DISTRIBUTE_CYCLIC};
  const int arguments[] = {distribution == MPI_DISTRIBUTE_CYCLIC ? 3 : MPI_DISTRIBUTE_DFLT_DARG, 2};
  MPI_Datatype type;
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  int bytes, owned[kSide * kSide], back[kSide * kSide], sum = 0;
  MPI_Dims_create(ck_size, 2, grid);
  MPI_Type_create_darray(ck_size, ck_rank, 2, sizes, kinds, arguments, grid, MPI_ORDER_FORTRAN, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Type_size(type, &bytes);
  for (int i = 0; i < bytes / 4; i++) owned[i] = ck_rank * 1000 + i + 1;
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, type, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_all(fh, owned, bytes / 4, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at_all(fh, 0, back, bytes / 4, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(!memcmp(owned, back, (size_t)bytes));
  MPI_Allreduce(&bytes, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_INT(sum, 4 * kSide * kSide);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), 4 * kSide * kSide);
  MPI_Type_free(&type);
}

static void default_and_get_view(void) {
  MPI_File fh = ck_create("f");
  MPI_Offset displacement = -1;
  MPI_Datatype etype, filetype, vector = make_vector();
  char datarep[MPI_MAX_DATAREP_STRING];
  CHECK_OK(MPI_File_get_view(fh, &displacement, &etype, &filetype, datarep));
  CHECK_INT(displacement, 0);
  CHECK(etype == MPI_BYTE && filetype == MPI_BYTE && !strcmp(datarep, "native"));
  CHECK_OK(MPI_File_set_view(fh, 44, MPI_INT, vector, "native", MPI_INFO_NULL));
  MPI_Type_free(&vector);   // the file keeps its own reference
  CHECK_OK(MPI_File_get_view(fh, &displacement, &etype, &filetype, datarep));
  CHECK_INT(displacement, 44);
  CHECK(etype == MPI_INT);
  int integers, addresses, types, combiner, bytes;
  CHECK_OK(MPI_Type_get_envelope(filetype, &integers, &addresses, &types, &combiner));
  CHECK_OK(MPI_Type_size(filetype, &bytes));
  CHECK_INT(bytes, 32);
  if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&filetype);
  CHECK_OK(MPI_File_close(&fh));
}

// The predefined type that a type is made of, by its first members.
static MPI_Datatype leaf_of(MPI_Datatype type) {
  int integers, addresses, types, combiner;
  MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (types == 0) return type;
  int numbers[integers + 1];
  MPI_Aint places[addresses + 1];
  MPI_Datatype inner[types], leaf;
  MPI_Type_get_contents(type, integers, addresses, types, numbers, places, inner);
  leaf = leaf_of(inner[0]);
  if (leaf != inner[0]) MPI_Type_free(&inner[0]);
  return leaf;
}

// Types of get_view are portable if those of the view are: pairs and parametrised types are themselves in them.
static void get_view_gives_predefined_types(void) {
  MPI_Datatype types[] = {MPI_INT, MPI_2INT, MPI_DOUBLE_INT, MPI_LONG_DOUBLE_INT, MPI_C_BOOL, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
  const int count = sizeof types / sizeof *types;
  MPI_Type_create_f90_real(15, 307, &types[count - 2]);
  MPI_Type_create_f90_integer(9, &types[count - 1]);
  MPI_File fh = ck_create("f");
  for (int i = 0; i < count; i++) {
    MPI_Offset displacement = -1;
    MPI_Datatype three, etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING];
    if (types[i] == MPI_DATATYPE_NULL) continue;   // an MPI without Fortran
    MPI_Type_contiguous(3, types[i], &three);
    MPI_Type_commit(&three);
    CHECK_OK(MPI_File_set_view(fh, 0, types[i], three, "native", MPI_INFO_NULL));
    MPI_Type_free(&three);
    CHECK_OK(MPI_File_get_view(fh, &displacement, &etype, &filetype, datarep));
    CHECK(etype == types[i]);
    CHECK(leaf_of(filetype) == types[i]);
    MPI_Type_free(&filetype);
  }
  CHECK_OK(MPI_File_close(&fh));
}

static void resets_both_pointers(void) {
  MPI_File fh = ck_create("f");
  MPI_Offset at = -1;
  CHECK_OK(MPI_File_seek(fh, 10, MPI_SEEK_SET));
  CHECK_OK(MPI_File_seek_shared(fh, 20, MPI_SEEK_SET));
  CHECK_OK(MPI_File_set_view(fh, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_get_position(fh, &at));
  CHECK_INT(at, 0);
  CHECK_OK(MPI_File_get_position_shared(fh, &at));
  CHECK_INT(at, 0);
  CHECK_OK(MPI_File_close(&fh));
}

static int refused(MPI_File fh, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep) {
  int rc = MPI_File_set_view(fh, displacement, etype, filetype, (char *)datarep, MPI_INFO_NULL);
  CHECK_ERROR(rc);
  CHECK_SAME(rc);
  return rc;
}

static void refuses_arguments(void) {
  MPI_File fh = ck_create("f");
  MPI_Offset displacement = -1;
  MPI_Datatype etype, filetype;
  char datarep[MPI_MAX_DATAREP_STRING];
  CHECK_OK(MPI_File_set_view(fh, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_CLASS(refused(fh, -7, MPI_INT, MPI_INT, "native"), MPI_ERR_ARG);
  CHECK_CLASS(refused(fh, 0, MPI_INT, MPI_INT, "no_such_datarep"), MPI_ERR_UNSUPPORTED_DATAREP);
  refused(fh, 0, MPI_DATATYPE_NULL, MPI_INT, "native");
  refused(fh, 0, MPI_INT, MPI_DATATYPE_NULL, "native");
  refused(fh, 0, MPI_INT, MPI_CHAR, "native");   // not made of the etype
  refused(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native");   // only with MPI_MODE_SEQUENTIAL
  CHECK_OK(MPI_File_get_view(fh, &displacement, &etype, &filetype, datarep));
  CHECK_INT(displacement, 8);   // the old view still stands
  CHECK(etype == MPI_INT);
  CHECK_OK(MPI_File_write_at(fh, ck_rank, &ck_rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
}

static void refuses_uncommitted(void) {
  MPI_File fh = ck_create("f");
  MPI_Datatype t;
  MPI_Type_vector(2, 1, 2, MPI_INT, &t);
  CHECK_CLASS(refused(fh, 0, MPI_INT, t, "native"), MPI_ERR_TYPE);
  MPI_Type_free(&t);
  CHECK_OK(MPI_File_close(&fh));
}

static void refuses_going_back(void) {
  MPI_File fh = ck_create("f");
  MPI_Datatype t;
  const int lengths[] = {1, 1}, places[] = {5, 0};
  MPI_Type_indexed(2, lengths, places, MPI_INT, &t);
  MPI_Type_commit(&t);
  refused(fh, 0, MPI_INT, t, "native");
  MPI_Type_free(&t);
  CHECK_OK(MPI_File_close(&fh));
}

static void refuses_negative(void) {
  MPI_File fh = ck_create("f");
  MPI_Datatype t;
  const int lengths[] = {1, 1}, places[] = {-2, 3};
  MPI_Type_indexed(2, lengths, places, MPI_INT, &t);
  MPI_Type_commit(&t);
  refused(fh, 0, MPI_INT, t, "native");
  MPI_Type_free(&t);
  CHECK_OK(MPI_File_close(&fh));
}

// Overlap: an error for a file that can be written, allowed for reading.
static void overlap(void) {
  const char *name = ck_filled("f", 400);
  MPI_File fh = ck_open(name, MPI_MODE_RDWR);
  MPI_Datatype t;
  const int lengths[] = {3, 3}, places[] = {0, 2};
  unsigned char in[6];
  MPI_Type_indexed(2, lengths, places, MPI_BYTE, &t);
  MPI_Type_commit(&t);
  int rc = MPI_File_set_view(fh, 0, MPI_BYTE, t, "native", MPI_INFO_NULL);
  CHECK_ERROR(rc);
  CHECK_SAME(rc);
  CHECK_OK(MPI_File_close(&fh));
  fh = ck_open(name, MPI_MODE_RDONLY);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, t, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_read_all(fh, in, 6, MPI_BYTE, MPI_STATUS_IGNORE));
  const int want[] = {0, 1, 2, 2, 3, 4};
  for (int i = 0; i < 6; i++) CHECK_INT(in[i], ck_byte_at(want[i]));
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&t);
}

static void one_rank_is_wrong(void) {
  MPI_File fh = ck_create("f");
  if (ck_size > 1) {
    int rc = MPI_File_set_view(fh, ck_rank == ck_size - 1 ? -1 : 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    CHECK_ERROR(rc);
    CHECK_SAME(rc);
  }
  CHECK_OK(MPI_File_close(&fh));
}

static void etype_extent_differs(void) {
  MPI_File fh = ck_create("f");
  if (ck_size > 1) {
    MPI_Datatype t = ck_rank ? MPI_INT : MPI_DOUBLE;
    int rc = MPI_File_set_view(fh, 0, t, t, "native", MPI_INFO_NULL);
    CHECK_ERROR(rc);
    CHECK_SAME(rc);
  }
  CHECK_OK(MPI_File_close(&fh));
}

// Different views on the ranks, one of them with an empty share.
static void views_differ(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype types[3], type;
  int data[64], back[64];
  types[0] = make_contiguous();
  types[1] = make_resized();
  types[2] = make_nested();
  type = types[ck_rank % 3];
  for (int i = 0; i < 64; i++) data[i] = ck_rank * 100 + i;
  CHECK_OK(MPI_File_set_view(fh, 10000 * ck_rank, MPI_INT, type, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_all(fh, data, ck_rank % 4 == 1 ? 0 : 64, MPI_INT, MPI_STATUS_IGNORE));
  if (ck_rank % 4 != 1) {
    CHECK_OK(MPI_File_read_at(fh, 0, back, 64, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(!memcmp(data, back, sizeof data));
  }
  CHECK_OK(MPI_File_close(&fh));
  for (int i = 0; i < 3; i++) MPI_Type_free(&types[i]);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  for (int i = 0; i < kMakerCount; i++)
    if (is_understood(i)) RUN_FOR(filetype, kMakers[i].name, i);
  for (int i = 0; i < kMakerCount; i++)
    if (is_understood(i)) RUN_FOR(filetype_all, kMakers[i].name, i);
  for (int i = 0; i < kMakerCount; i++)
    if (is_understood(i)) RUN_FOR(memory_type, kMakers[i].name, i);
  RUN(global_subarray);
  RUN_FOR(global_darray, "block", MPI_DISTRIBUTE_BLOCK);
  RUN_FOR(global_darray, "cyclic", MPI_DISTRIBUTE_CYCLIC);
  RUN(default_and_get_view);
  RUN(get_view_gives_predefined_types);
  RUN(resets_both_pointers);
  RUN(refuses_arguments);
  RUN(refuses_uncommitted);
  RUN(refuses_going_back);
  RUN(refuses_negative);
  RUN(overlap);
  RUN(one_rank_is_wrong);
  RUN(etype_extent_differs);
  RUN(views_differ);
  return ck_finish();
}
