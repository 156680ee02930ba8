// Datatypes by name, for cases that run over all of them: every constructor, nested ones, games with bounds, Fortran's and
// the named types. All ranks make the same type. `file` says that it may be a filetype: its pieces ascend, and copies laid
// side by side don't overlap.
#ifndef MERCUTIO_TESTS_DATATYPE_ROWS_H
#define MERCUTIO_TESTS_DATATYPE_ROWS_H

#include "check.h"

typedef MPI_Datatype (*CkMaker)(void);
typedef struct {
  const char *name;
  CkMaker make;
  int file;
  int no_elements;   // MPICH 4.0 divides by zero in MPI_Get_elements of some pair types
} CkTypeRow;

static MPI_Datatype ck_commit(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

static MPI_Datatype ck_resize(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent) {
  MPI_Datatype made;
  MPI_Type_create_resized(type, lower, extent, &made);
  MPI_Type_free(&type);
  return ck_commit(made);
}

static MPI_Datatype ck_contiguous(void) {
  MPI_Datatype t;
  MPI_Type_contiguous(7, MPI_DOUBLE, &t);
  return ck_commit(t);
}
static MPI_Datatype ck_vector(void) {
  MPI_Datatype t;
  MPI_Type_vector(5, 2, 4, MPI_SHORT, &t);
  return ck_commit(t);
}
static MPI_Datatype ck_vector_backwards(void) {
  MPI_Datatype t;
  MPI_Type_vector(5, 2, -4, MPI_INT, &t);
  return ck_commit(t);
}
static MPI_Datatype ck_hvector(void) {
  MPI_Datatype t;
  MPI_Type_create_hvector(6, 3, 29, MPI_FLOAT, &t);
  return ck_commit(t);
}
static const int ck_lengths[] = {2, 0, 1, 4, 3}, ck_places[] = {1, 4, 5, 6, 13}, ck_mixed_places[] = {9, 40, 0, 2, 20};
static MPI_Datatype ck_indexed(void) {
  MPI_Datatype t;
  MPI_Type_indexed(5, ck_lengths, ck_places, MPI_INT, &t);
  return ck_commit(t);
}
static MPI_Datatype ck_indexed_mixed(void) {
  MPI_Datatype t;
  MPI_Type_indexed(5, ck_lengths, ck_mixed_places, MPI_LONG, &t);
  return ck_commit(t);
}
static MPI_Datatype ck_hindexed(void) {
  MPI_Datatype t;
  const MPI_Aint places[] = {3, 20, 21, 26, 60};
  MPI_Type_create_hindexed(5, ck_lengths, places, MPI_INT, &t);
  return ck_commit(t);
}
static MPI_Datatype ck_indexed_block(void) {
  MPI_Datatype t;
  MPI_Type_create_indexed_block(5, 2, (const int[]){0, 2, 7, 11, 30}, MPI_DOUBLE, &t);
  return ck_commit(t);
}
static MPI_Datatype ck_hindexed_block(void) {
  MPI_Datatype t;
  MPI_Type_create_hindexed_block(4, 3, (const MPI_Aint[]){1, 13, 40, 77}, MPI_INT, &t);
  return ck_commit(t);
}
static MPI_Datatype ck_struct(void) {
  MPI_Datatype t, pair;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Datatype types[] = {MPI_CHAR, pair, MPI_DOUBLE, MPI_SHORT};
  MPI_Type_create_struct(4, (const int[]){3, 2, 1, 0}, (const MPI_Aint[]){0, 4, 40, 48}, types, &t);
  MPI_Type_free(&pair);
  return ck_commit(t);
}
static MPI_Datatype ck_subarray(int order) {
  MPI_Datatype t;
  const int sizes[] = {4, 5, 6}, part[] = {2, 3, 4}, start[] = {1, 0, 2};
  MPI_Type_create_subarray(3, sizes, part, start, order, MPI_INT, &t);
  return ck_commit(t);
}
static MPI_Datatype ck_subarray_c(void) { return ck_subarray(MPI_ORDER_C); }
static MPI_Datatype ck_subarray_fortran(void) { return ck_subarray(MPI_ORDER_FORTRAN); }

static MPI_Datatype ck_darray(int rank, const int *grid, const int *kinds, int argument, int order) {
  MPI_Datatype t;
  const int sizes[] = {9, 7}, arguments[] = {argument, MPI_DISTRIBUTE_DFLT_DARG};
  MPI_Type_create_darray(6, rank, 2, sizes, kinds, arguments, grid, order, MPI_INT, &t);
  return ck_commit(t);
}
static const int ck_block_cyclic[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
static const int ck_cyclic_cyclic[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
static const int ck_cyclic_none[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
static const int ck_none_block[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK};
static const int ck_grid_32[] = {3, 2}, ck_grid_23[] = {2, 3}, ck_grid_61[] = {6, 1}, ck_grid_16[] = {1, 6};
static MPI_Datatype ck_darray_block_cyclic(void) {
  return ck_darray(4, ck_grid_32, ck_block_cyclic, MPI_DISTRIBUTE_DFLT_DARG, MPI_ORDER_C);
}
static MPI_Datatype ck_darray_block_of(void) { return ck_darray(1, ck_grid_23, ck_block_cyclic, 6, MPI_ORDER_C); }
static MPI_Datatype ck_darray_cyclic(void) { return ck_darray(3, ck_grid_32, ck_cyclic_cyclic, 2, MPI_ORDER_FORTRAN); }
static MPI_Datatype ck_darray_cyclic_none(void) { return ck_darray(2, ck_grid_61, ck_cyclic_none, 1, MPI_ORDER_FORTRAN); }
static MPI_Datatype ck_darray_none(void) {
  return ck_darray(3, ck_grid_16, ck_none_block, MPI_DISTRIBUTE_DFLT_DARG, MPI_ORDER_C);
}

static MPI_Datatype ck_resized_pad(void) { return ck_resize(ck_vector(), 0, 100); }
static MPI_Datatype ck_resized_column(void) {   // copies interleave: the columns of a matrix
  MPI_Datatype t;
  MPI_Type_vector(6, 1, 5, MPI_INT, &t);
  return ck_resize(t, 0, 4);
}
static MPI_Datatype ck_resized_below(void) { return ck_resize(ck_indexed(), -12, 96); }
static MPI_Datatype ck_resized_above(void) { return ck_resize(ck_hindexed(), 2, 90); }
static MPI_Datatype ck_negative_places(void) {
  MPI_Datatype t;
  MPI_Type_create_hindexed(3, (const int[]){1, 2, 1}, (const MPI_Aint[]){-21, -9, 4}, MPI_INT, &t);
  return ck_commit(t);
}
static MPI_Datatype ck_backwards_extent(void) {   // copies lie one before the other
  MPI_Datatype t;
  MPI_Type_contiguous(3, MPI_INT, &t);
  return ck_resize(t, 0, -20);
}
static MPI_Datatype ck_dup(void) {
  MPI_Datatype t, from = ck_hvector();
  MPI_Type_dup(from, &t);
  MPI_Type_free(&from);
  return t;   // a duplicate is committed as its original was
}
static MPI_Datatype ck_nested(void) {
  MPI_Datatype inner = ck_resize(ck_vector(), 0, 44), rows, t;
  MPI_Type_create_indexed_block(3, 2, (const int[]){0, 3, 5}, inner, &rows);
  MPI_Type_vector(2, 1, 2, rows, &t);
  MPI_Type_free(&inner);
  MPI_Type_free(&rows);
  return ck_commit(t);
}
static MPI_Datatype ck_nested_struct(void) {
  MPI_Datatype array = ck_subarray_c(), record = ck_struct(), t;
  MPI_Datatype types[] = {record, array, MPI_FLOAT_INT};
  MPI_Type_create_struct(3, (const int[]){2, 1, 3}, (const MPI_Aint[]){5, 120, 700}, types, &t);
  MPI_Type_free(&array);
  MPI_Type_free(&record);
  return ck_commit(t);
}
static MPI_Datatype ck_deep(void) {
  MPI_Datatype t = ck_vector(), next;
  for (int level = 0; level < 12; level++) {
    if (level % 3 == 0) MPI_Type_dup(t, &next);
    if (level % 3 == 1) MPI_Type_contiguous(1, t, &next);
    if (level % 3 == 2) MPI_Type_create_hindexed(1, (const int[]){1}, (const MPI_Aint[]){level}, t, &next);
    MPI_Type_free(&t);
    t = next;
  }
  return ck_commit(t);
}
static MPI_Datatype ck_strided(MPI_Datatype base) {
  MPI_Datatype t;
  MPI_Type_vector(3, 2, 3, base, &t);
  return ck_commit(t);
}
static MPI_Datatype ck_f90_integer(void) {
  MPI_Datatype t;
  MPI_Type_create_f90_integer(9, &t);
  return ck_strided(t);
}
static MPI_Datatype ck_f90_real(void) {
  MPI_Datatype t;
  MPI_Type_create_f90_real(14, 200, &t);
  return ck_strided(t);
}
static MPI_Datatype ck_f90_complex(void) {
  MPI_Datatype t;
  MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &t);
  return ck_strided(t);
}
static MPI_Datatype ck_float_int(void) { return ck_strided(MPI_FLOAT_INT); }
static MPI_Datatype ck_double_int(void) { return ck_strided(MPI_DOUBLE_INT); }
static MPI_Datatype ck_long_int(void) { return ck_strided(MPI_LONG_INT); }
static MPI_Datatype ck_short_int(void) { return ck_strided(MPI_SHORT_INT); }
static MPI_Datatype ck_two_int(void) { return ck_strided(MPI_2INT); }
static MPI_Datatype ck_complex(void) { return ck_strided(MPI_C_DOUBLE_COMPLEX); }
static MPI_Datatype ck_single_bytes(void) { return ck_strided(MPI_BYTE); }

#define CK_ROW(name, file) {#name, ck_##name, file, 0}
#define CK_PAIR_ROW(name) {#name, ck_##name, 1, 1}
static const CkTypeRow ck_type_rows[] = {
    CK_ROW(contiguous, 1), CK_ROW(vector, 1), CK_ROW(vector_backwards, 0), CK_ROW(hvector, 1), CK_ROW(indexed, 1),
    CK_ROW(indexed_mixed, 0), CK_ROW(hindexed, 1), CK_ROW(indexed_block, 1), CK_ROW(hindexed_block, 1), CK_ROW(struct, 1),
    CK_ROW(subarray_c, 1), CK_ROW(subarray_fortran, 1), CK_ROW(darray_block_cyclic, 1), CK_ROW(darray_block_of, 1),
    CK_ROW(darray_cyclic, 1), CK_ROW(darray_cyclic_none, 1), CK_ROW(darray_none, 1), CK_ROW(resized_pad, 1),
    CK_ROW(resized_column, 0), CK_ROW(resized_below, 1), CK_ROW(resized_above, 1), CK_ROW(negative_places, 0),
    CK_ROW(backwards_extent, 0), CK_ROW(dup, 1), CK_ROW(nested, 1), CK_ROW(nested_struct, 1), CK_ROW(deep, 1),
    CK_ROW(f90_integer, 1), CK_ROW(f90_real, 1), CK_ROW(f90_complex, 1), CK_PAIR_ROW(float_int), CK_PAIR_ROW(double_int),
    CK_PAIR_ROW(long_int), CK_PAIR_ROW(short_int), CK_PAIR_ROW(two_int), CK_ROW(complex, 1), CK_ROW(single_bytes, 1)};
enum { kTypeRows = sizeof ck_type_rows / sizeof *ck_type_rows };

// Whether the library behind the header knows the type, too. An error of a datatype is raised on MPI_COMM_WORLD or MPI_COMM_SELF.
static int ck_is_known(MPI_Datatype type) {
  const MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  MPI_Errhandler handlers[2];
  int bytes = 0, known = 0;
  for (int i = 0; i < 2; i++) MPI_Comm_get_errhandler(comms[i], &handlers[i]), MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
  known = type != MPI_DATATYPE_NULL && MPI_Type_size(type, &bytes) == MPI_SUCCESS && bytes > 0;
  for (int i = 0; i < 2; i++) MPI_Comm_set_errhandler(comms[i], handlers[i]), MPI_Errhandler_free(&handlers[i]);
  return known;
}

// Named types, with what one element takes in memory.
typedef struct {
  const char *name;
  MPI_Datatype type;
} CkNamed;
#define CK_NAMED(name) {#name, name}
// Handles are not constants in every MPI: filled at the first call. Returns how many there are.
static int ck_named_types(const CkNamed **list) {
  static CkNamed named[80];
  const CkNamed all[] = {
      CK_NAMED(MPI_BYTE), CK_NAMED(MPI_PACKED), CK_NAMED(MPI_CHAR), CK_NAMED(MPI_SIGNED_CHAR), CK_NAMED(MPI_UNSIGNED_CHAR),
      CK_NAMED(MPI_SHORT), CK_NAMED(MPI_UNSIGNED_SHORT), CK_NAMED(MPI_INT), CK_NAMED(MPI_UNSIGNED), CK_NAMED(MPI_LONG),
      CK_NAMED(MPI_UNSIGNED_LONG), CK_NAMED(MPI_LONG_LONG), CK_NAMED(MPI_UNSIGNED_LONG_LONG), CK_NAMED(MPI_FLOAT),
      CK_NAMED(MPI_DOUBLE), CK_NAMED(MPI_LONG_DOUBLE), CK_NAMED(MPI_WCHAR), CK_NAMED(MPI_C_BOOL), CK_NAMED(MPI_INT8_T),
      CK_NAMED(MPI_INT16_T), CK_NAMED(MPI_INT32_T), CK_NAMED(MPI_INT64_T), CK_NAMED(MPI_UINT8_T), CK_NAMED(MPI_UINT16_T),
      CK_NAMED(MPI_UINT32_T), CK_NAMED(MPI_UINT64_T), CK_NAMED(MPI_AINT), CK_NAMED(MPI_COUNT), CK_NAMED(MPI_OFFSET),
      CK_NAMED(MPI_C_FLOAT_COMPLEX), CK_NAMED(MPI_C_DOUBLE_COMPLEX), CK_NAMED(MPI_C_LONG_DOUBLE_COMPLEX),
      CK_NAMED(MPI_CHARACTER), CK_NAMED(MPI_INTEGER), CK_NAMED(MPI_LOGICAL), CK_NAMED(MPI_REAL),
      CK_NAMED(MPI_DOUBLE_PRECISION), CK_NAMED(MPI_COMPLEX), CK_NAMED(MPI_DOUBLE_COMPLEX), CK_NAMED(MPI_2INTEGER),
      CK_NAMED(MPI_2REAL), CK_NAMED(MPI_2DOUBLE_PRECISION), CK_NAMED(MPI_INTEGER1), CK_NAMED(MPI_INTEGER2),
      CK_NAMED(MPI_INTEGER4), CK_NAMED(MPI_INTEGER8), CK_NAMED(MPI_REAL4), CK_NAMED(MPI_REAL8), CK_NAMED(MPI_REAL16),
      CK_NAMED(MPI_COMPLEX8), CK_NAMED(MPI_COMPLEX16), CK_NAMED(MPI_COMPLEX32), CK_NAMED(MPI_CXX_BOOL),
      CK_NAMED(MPI_CXX_FLOAT_COMPLEX), CK_NAMED(MPI_CXX_DOUBLE_COMPLEX), CK_NAMED(MPI_CXX_LONG_DOUBLE_COMPLEX),
#ifdef MPI_LOGICAL1
      CK_NAMED(MPI_LOGICAL1),
#endif
#ifdef MPI_LOGICAL2
      CK_NAMED(MPI_LOGICAL2),
#endif
#ifdef MPI_LOGICAL4
      CK_NAMED(MPI_LOGICAL4),
#endif
#ifdef MPI_LOGICAL8
      CK_NAMED(MPI_LOGICAL8),
#endif
#ifdef MPI_LOGICAL16
      CK_NAMED(MPI_LOGICAL16),
#endif
#ifdef MPI_INTEGER16
      CK_NAMED(MPI_INTEGER16),
#endif
#ifdef MPI_REAL2
      CK_NAMED(MPI_REAL2),
#endif
#ifdef MPI_COMPLEX4
      CK_NAMED(MPI_COMPLEX4),
#endif
#ifdef MPI_2COMPLEX
      CK_NAMED(MPI_2COMPLEX),
#endif
#ifdef MPI_2DOUBLE_COMPLEX
      CK_NAMED(MPI_2DOUBLE_COMPLEX),
#endif
#if defined MPIX_C_FLOAT16 && !defined MPI_ABI
      CK_NAMED(MPIX_C_FLOAT16),
#endif
  };
  int n = 0;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (ck_is_known(all[i].type)) named[n++] = all[i];
  *list = named;
  return n;
}

#endif
