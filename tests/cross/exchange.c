// Writes a file in external32 through MPI, the same bytes on every processor, or reads it and compares: exchange write|read FILE. Each basic
// type has a section, in which the ranks' elements take turns. The first values of a section are the limits of the type in external32.
#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { kItems = 600, kSectionBytes = 1 << 18 };
static int rank, size, wrong;

static void check(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "rank %d: %s: %s\n", rank, what, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CHECK(call) check((call), #call)

// Element `i` of a section: bits that are the same everywhere.
static uint64_t bits(int section, int i) {
  uint64_t x = 0x9e3779b97f4a7c15u * (uint64_t)(section * 100003 + i + 1);
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static double real(int section, int i) {
  const double special[] = {0.0, -0.0, 1.0, -2.5, INFINITY, -INFINITY, 0x1p-140, 0x1.fffffep127};
  if (i < 8) return special[i];
  const uint64_t b = bits(section, i);
  return ldexp((double)(int32_t)(b & 0xffffff) - 0x800000, (int)(b >> 32) % 40);   // 24 bits: exact as a float, too
}

static long long whole(int section, int i, long long low, long long high) {
  const uint64_t span = (uint64_t)high - (uint64_t)low, b = bits(section, i);
  if (i < 2) return i == 0 ? low : high;
  return (long long)((uint64_t)low + (span == UINT64_MAX ? b : b % (span + 1)));
}

#define FILL(T, value)                                    \
  static void fill_##T(void* at, int section, int i) {    \
    const T v = (T)(value);                               \
    memcpy((char*)at, &v, sizeof v);                      \
  }
typedef signed char schar;
typedef unsigned short ushort_;
typedef unsigned uint_;
typedef unsigned long ulong_;
typedef long long llong;
typedef unsigned long long ullong;
typedef long double ldouble;
typedef struct { double value; int index; } double_int;
typedef struct { short value; int index; } short_int;
FILL(schar, whole(section, i, SCHAR_MIN, SCHAR_MAX))
FILL(short, whole(section, i, SHRT_MIN, SHRT_MAX))
FILL(ushort_, whole(section, i, 0, USHRT_MAX))
FILL(int, whole(section, i, INT_MIN, INT_MAX))
FILL(uint_, whole(section, i, 0, UINT_MAX))
FILL(long, whole(section, i, INT32_MIN, INT32_MAX))   // 4 bytes in the file
FILL(ulong_, whole(section, i, 0, UINT32_MAX))
FILL(llong, whole(section, i, LLONG_MIN, LLONG_MAX))
FILL(ullong, bits(section, i))
FILL(float, real(section, i))
FILL(double, real(section, i))
FILL(ldouble, real(section, i))
FILL(wchar_t, whole(section, i, 0, 0xffff))   // 2 bytes in the file
static void fill_double_int(void* at, int section, int i) {
  double_int v;
  memset(&v, 0, sizeof v);
  v.value = real(section, i), v.index = (int)whole(section, i, INT_MIN, INT_MAX);
  memcpy(at, &v, sizeof v);
}
static void fill_short_int(void* at, int section, int i) {
  short_int v;
  memset(&v, 0, sizeof v);
  v.value = (short)whole(section, i, SHRT_MIN, SHRT_MAX), v.index = (int)whole(section, i, INT_MIN, INT_MAX);
  memcpy(at, &v, sizeof v);
}

typedef struct {
  const char* name;
  MPI_Datatype type;
  size_t bytes;
  void (*fill)(void*, int, int);
} Kind;

// The same but for bits that no value has: padding, and those of an 80-bit long double.
static int same(const Kind* kind, const char* a, const char* b) {
  if (kind->fill == fill_ldouble) {
    ldouble x, y;
    memcpy(&x, a, sizeof x), memcpy(&y, b, sizeof y);
    return x == y && signbit(x) == signbit(y);
  }
  return !memcmp(a, b, kind->bytes);
}

static void section(MPI_File fh, const Kind* kind, int number, int reads) {
  char* wanted = calloc(kItems, kind->bytes);
  char* got = calloc(kItems, kind->bytes);
  MPI_Datatype filetype;
  MPI_Status status;
  int count;
  for (int i = 0; i < kItems; ++i) kind->fill(wanted + (size_t)i * kind->bytes, number, i * size + rank);
  CHECK(MPI_File_set_view(fh, (MPI_Offset)number * kSectionBytes, kind->type, kind->type, "external32", MPI_INFO_NULL));
  MPI_Aint extent;
  CHECK(MPI_File_get_type_extent(fh, kind->type, &extent));
  // Element by element in turns; the last third goes by blocks of ten and in the other order of ranks.
  int lengths[kItems];
  MPI_Aint places[kItems];
  for (int i = 0; i < kItems; ++i) {
    const int block = i / 10 * 10 * size + (size - 1 - rank) * 10 + i % 10;
    lengths[i] = 1, places[i] = extent * (i < kItems / 3 * 2 ? i * size + rank : block);
  }
  CHECK(MPI_Type_create_hindexed(kItems, lengths, places, kind->type, &filetype));
  CHECK(MPI_Type_commit(&filetype));
  CHECK(MPI_File_set_view(fh, (MPI_Offset)number * kSectionBytes, kind->type, filetype, "external32", MPI_INFO_NULL));
  const int half = kItems / 2;   // the first half collectively, the second half independently
  char* data = reads ? got : wanted;
  if (reads) {
    CHECK(MPI_File_read_at_all(fh, 0, data, half, kind->type, &status));
    CHECK(MPI_File_read_at(fh, half, data + (size_t)half * kind->bytes, kItems - half, kind->type, &status));
  } else {
    CHECK(MPI_File_write_at_all(fh, 0, data, half, kind->type, &status));
    CHECK(MPI_File_write_at(fh, half, data + (size_t)half * kind->bytes, kItems - half, kind->type, &status));
  }
  CHECK(MPI_Get_count(&status, kind->type, &count));
  if (count != kItems - half) wrong++, fprintf(stderr, "rank %d: %s: %d elements\n", rank, kind->name, count);
  for (int i = 0; reads && i < kItems; ++i) {
    if (same(kind, wanted + (size_t)i * kind->bytes, got + (size_t)i * kind->bytes)) continue;
    if (wrong++ < 5) fprintf(stderr, "rank %d: %s: element %d differs\n", rank, kind->name, i);
  }
  CHECK(MPI_Type_free(&filetype));
  free(wanted), free(got);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  const int reads = !strcmp(argv[1], "read");
  const Kind kinds[] = {
      {"signed char", MPI_SIGNED_CHAR, sizeof(schar), fill_schar}, {"short", MPI_SHORT, sizeof(short), fill_short},
      {"unsigned short", MPI_UNSIGNED_SHORT, sizeof(ushort_), fill_ushort_}, {"int", MPI_INT, sizeof(int), fill_int},
      {"unsigned", MPI_UNSIGNED, sizeof(uint_), fill_uint_}, {"long", MPI_LONG, sizeof(long), fill_long},
      {"unsigned long", MPI_UNSIGNED_LONG, sizeof(ulong_), fill_ulong_}, {"long long", MPI_LONG_LONG, sizeof(llong), fill_llong},
      {"unsigned long long", MPI_UNSIGNED_LONG_LONG, sizeof(ullong), fill_ullong}, {"float", MPI_FLOAT, sizeof(float), fill_float},
      {"double", MPI_DOUBLE, sizeof(double), fill_double}, {"long double", MPI_LONG_DOUBLE, sizeof(ldouble), fill_ldouble},
      {"wchar_t", MPI_WCHAR, sizeof(wchar_t), fill_wchar_t}, {"double and int", MPI_DOUBLE_INT, sizeof(double_int), fill_double_int},
      {"short and int", MPI_SHORT_INT, sizeof(short_int), fill_short_int}};
  MPI_File fh;
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  CHECK(MPI_File_open(MPI_COMM_WORLD, argv[2], reads ? MPI_MODE_RDONLY : MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &fh));
  for (int i = 0; i < (int)(sizeof kinds / sizeof *kinds); ++i) section(fh, &kinds[i], i, reads);
  CHECK(MPI_File_close(&fh));
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s %s: %d wrong\n", argv[1], argv[2], all);
  MPI_Finalize();
  return all != 0;
}
