// 14.5: data representations. external32 against byte images written out by hand, for every basic type and every kind of
// access; registered representations with real conversion functions, whose calls are checked (position, count, datatype,
// extra_state); extents by representation.
#include <arpa/inet.h>
#include <strings.h>

#include "access_kinds.h"
#include "datatype_rows.h"

typedef unsigned char Byte;

// ---- external32 ---------------------------------------------------------------------------------------------------------

// Two elements of a type in memory, and what external32 makes of them.
typedef struct {
  const char *name;
  MPI_Datatype type;
  const void *memory;
  size_t memory_bytes;
  Byte file[64];
  int file_bytes;
} Image;

static const signed char kChars[] = {'a', -2};
static const short kShorts[] = {0x0102, -2};
static const unsigned short kUshorts[] = {0x0102, 0xfffe};
static const int kInts[] = {0x01020304, -2};
static const unsigned kUnsigneds[] = {0x01020304, 0xfffffffe};
static const long kLongs[] = {0x01020304, -2};
static const unsigned long kUlongs[] = {0x01020304, 0xfffffffe};
static const long long kLongLongs[] = {0x0102030405060708, -2};
static const float kFloats[] = {1.0f, -2.5f};
static const double kDoubles[] = {1.0, -2.5};
static const long double kLongDoubles[] = {1.0L, -2.5L};
static const float kFloatPairs[] = {1.0f, -2.5f, 0.5f, 2.0f};
static const double kDoublePairs[] = {1.0, -2.5, 0.5, 2.0};
static const long double kLongDoublePairs[] = {1.0L, -2.5L, 0.5L, 2.0L};
static const wchar_t kWides[] = {L'a', 0x20ac};
static const Byte kBools[] = {1, 0};
static const int kLogicals[] = {1, 0};
static const int kTwoInts[] = {1, 2, 3, -4};
static const struct {
  double value;
  int index;
} kDoubleInts[] = {{1.0, 7}, {-2.5, -1}};

#define ROW(name, type, memory, ...) {name, type, memory, sizeof memory, {__VA_ARGS__}, (int)sizeof((const Byte[]){__VA_ARGS__})}
#define F_ONE 0x3f, 0x80, 0, 0
#define F_MINUS 0xc0, 0x20, 0, 0
#define F_HALF 0x3f, 0, 0, 0
#define F_TWO 0x40, 0, 0, 0
#define D_ONE 0x3f, 0xf0, 0, 0, 0, 0, 0, 0
#define D_MINUS 0xc0, 4, 0, 0, 0, 0, 0, 0
#define D_HALF 0x3f, 0xe0, 0, 0, 0, 0, 0, 0
#define D_TWO 0x40, 0, 0, 0, 0, 0, 0, 0
#define ZEROS12 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
#define Q_ONE 0x3f, 0xff, 0, 0, ZEROS12
#define Q_MINUS 0xc0, 0, 0x40, 0, ZEROS12
#define Q_HALF 0x3f, 0xfe, 0, 0, ZEROS12
#define Q_TWO 0x40, 0, 0, 0, ZEROS12
#define FOUR 1, 2, 3, 4, 0xff, 0xff, 0xff, 0xfe
#define EIGHT 1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe

enum { kMostImages = 64 };
static Image images[kMostImages];
static int image_count;

static void list_images(void) {
  const Image all[] = {
      ROW("BYTE", MPI_BYTE, kChars, 'a', 0xfe), ROW("CHAR", MPI_CHAR, kChars, 'a', 0xfe),
      ROW("SIGNED_CHAR", MPI_SIGNED_CHAR, kChars, 'a', 0xfe), ROW("UNSIGNED_CHAR", MPI_UNSIGNED_CHAR, kChars, 'a', 0xfe),
      ROW("SHORT", MPI_SHORT, kShorts, 1, 2, 0xff, 0xfe), ROW("UNSIGNED_SHORT", MPI_UNSIGNED_SHORT, kUshorts, 1, 2, 0xff, 0xfe),
      ROW("INT", MPI_INT, kInts, FOUR), ROW("UNSIGNED", MPI_UNSIGNED, kUnsigneds, FOUR), ROW("LONG", MPI_LONG, kLongs, FOUR),
      ROW("UNSIGNED_LONG", MPI_UNSIGNED_LONG, kUlongs, FOUR), ROW("LONG_LONG", MPI_LONG_LONG, kLongLongs, EIGHT),
      ROW("UNSIGNED_LONG_LONG", MPI_UNSIGNED_LONG_LONG, kLongLongs, EIGHT), ROW("FLOAT", MPI_FLOAT, kFloats, F_ONE, F_MINUS),
      ROW("DOUBLE", MPI_DOUBLE, kDoubles, D_ONE, D_MINUS), ROW("LONG_DOUBLE", MPI_LONG_DOUBLE, kLongDoubles, Q_ONE, Q_MINUS),
      ROW("WCHAR", MPI_WCHAR, kWides, 0, 'a', 0x20, 0xac), ROW("C_BOOL", MPI_C_BOOL, kBools, 1, 0),
      ROW("INT8_T", MPI_INT8_T, kChars, 'a', 0xfe), ROW("INT16_T", MPI_INT16_T, kShorts, 1, 2, 0xff, 0xfe),
      ROW("INT32_T", MPI_INT32_T, kInts, FOUR), ROW("INT64_T", MPI_INT64_T, kLongLongs, EIGHT),
      ROW("UINT8_T", MPI_UINT8_T, kChars, 'a', 0xfe), ROW("UINT16_T", MPI_UINT16_T, kUshorts, 1, 2, 0xff, 0xfe),
      ROW("UINT32_T", MPI_UINT32_T, kUnsigneds, FOUR), ROW("UINT64_T", MPI_UINT64_T, kLongLongs, EIGHT),
      ROW("AINT", MPI_AINT, kLongLongs, EIGHT), ROW("COUNT", MPI_COUNT, kLongLongs, EIGHT),
      ROW("OFFSET", MPI_OFFSET, kLongLongs, EIGHT),
      ROW("C_FLOAT_COMPLEX", MPI_C_FLOAT_COMPLEX, kFloatPairs, F_ONE, F_MINUS, F_HALF, F_TWO),
      ROW("C_DOUBLE_COMPLEX", MPI_C_DOUBLE_COMPLEX, kDoublePairs, D_ONE, D_MINUS, D_HALF, D_TWO),
      ROW("C_LONG_DOUBLE_COMPLEX", MPI_C_LONG_DOUBLE_COMPLEX, kLongDoublePairs, Q_ONE, Q_MINUS, Q_HALF, Q_TWO),
      ROW("CHARACTER", MPI_CHARACTER, kChars, 'a', 0xfe), ROW("INTEGER", MPI_INTEGER, kInts, FOUR),
      ROW("LOGICAL", MPI_LOGICAL, kLogicals, 0, 0, 0, 1, 0, 0, 0, 0),
      ROW("REAL", MPI_REAL, kFloats, F_ONE, F_MINUS), ROW("DOUBLE_PRECISION", MPI_DOUBLE_PRECISION, kDoubles, D_ONE, D_MINUS),
      ROW("COMPLEX", MPI_COMPLEX, kFloatPairs, F_ONE, F_MINUS, F_HALF, F_TWO),
      ROW("DOUBLE_COMPLEX", MPI_DOUBLE_COMPLEX, kDoublePairs, D_ONE, D_MINUS, D_HALF, D_TWO),
      ROW("INTEGER2", MPI_INTEGER2, kShorts, 1, 2, 0xff, 0xfe), ROW("INTEGER8", MPI_INTEGER8, kLongLongs, EIGHT),
      ROW("REAL8", MPI_REAL8, kDoubles, D_ONE, D_MINUS), ROW("COMPLEX16", MPI_COMPLEX16, kDoublePairs, D_ONE, D_MINUS, D_HALF, D_TWO),
      ROW("2INT", MPI_2INT, kTwoInts, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0xff, 0xff, 0xff, 0xfc),
      ROW("DOUBLE_INT", MPI_DOUBLE_INT, kDoubleInts, D_ONE, 0, 0, 0, 7, D_MINUS, 0xff, 0xff, 0xff, 0xff)};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (all[i].type != MPI_DATATYPE_NULL) images[image_count++] = all[i];
}

static void external32(const Image *image) {
  static const int kinds[] = {kAt, kAtAll, kIat, kIpointerAll, kAtAllSplit, kOrdered};
  const char *name = ck_fresh("f");
  Byte back[64] __attribute__((aligned(16)));
  MPI_Status status;
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    MPI_Offset at = (MPI_Offset)k * ck_size * image->file_bytes + ck_rank * image->file_bytes * (kinds[k] != kOrdered);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_File_set_view(fh, at, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
    CHECK_OK(ck_write(kinds[k], fh, 0, image->memory, 2, image->type, &status));
    CHECK_COUNT(status, image->type, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_File_set_view(fh, at, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
    memset(back, 0, sizeof back);
    CHECK_OK(ck_read(kinds[k], fh, 0, back, 2, image->type, &status));
    CHECK_COUNT(status, image->type, 2);
    if (image->type == MPI_LONG_DOUBLE || image->type == MPI_C_LONG_DOUBLE_COMPLEX) {
      const long double *got = (const void *)back, *want = image->memory;
      for (size_t i = 0; i < image->memory_bytes / 16; i++) CHECK(got[i] == want[i]);
    } else if (image->type == MPI_DOUBLE_INT) {
      for (int i = 0; i < 2; i++) CHECK(!memcmp(back + 16 * i, (const Byte *)image->memory + 16 * i, 12));
    } else {
      CHECK(!memcmp(back, image->memory, image->memory_bytes));
    }
  }
  CHECK_OK(MPI_File_close(&fh));
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    CHECK_BYTES(name, (long long)(k * (size_t)ck_size + (size_t)ck_rank) * image->file_bytes, image->file,
                (size_t)image->file_bytes);
}

// Those with other sizes or other bits in files have their images above.
static int has_other_form(MPI_Datatype type) {
  return type == MPI_LONG || type == MPI_UNSIGNED_LONG || type == MPI_WCHAR || type == MPI_LONG_DOUBLE || type == MPI_C_LONG_DOUBLE_COMPLEX ||
         type == MPI_CXX_LONG_DOUBLE_COMPLEX;
}

static int is_logical(const char *name) { return strstr(name, "LOGICAL") || strstr(name, "BOOL"); }

// Every other named type that this MPI has: its numbers, most significant byte first. MPI_Pack_external is no help: some of MPICH's and
// Intel MPI's end the program.
static void external32_named(void) {
  const CkNamed *names;
  int checked = 0;
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_set_view(fh, 64 * ck_rank, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
  for (int i = 0, n = ck_named_types(&names); i < n; i++) {
    const MPI_Datatype type = names[i].type;
    Byte memory[32] __attribute__((aligned(16))), want[32], back[32] __attribute__((aligned(16))) = {0};
    MPI_Aint in_file = -1;
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    if (has_other_form(type) || is_logical(names[i].name)) continue;
    const int number = bytes / (strstr(names[i].name, "COMPLEX") ? 2 : 1) / (strstr(names[i].name, "_2") ? 2 : 1);
    for (int b = 0; b < bytes; b++) {
      memory[b] = (Byte)(b + 1);
      want[b] = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? memory[b] : (Byte)(b / number * number + number - b % number);
    }
    CHECK_OK(MPI_File_get_type_extent(fh, type, &in_file));
    if (!CHECK_OK(MPI_File_write_at(fh, 0, memory, 1, type, MPI_STATUS_IGNORE)) | !CHECK_INT(in_file, bytes) |
        !CHECK_BYTES(name, 64 * ck_rank, want, (size_t)bytes))
      fprintf(stderr, "%s of %d bytes\n", names[i].name, bytes);
    CHECK_OK(MPI_File_read_at(fh, 0, back, 1, type, MPI_STATUS_IGNORE));
    CHECK(!memcmp(memory, back, (size_t)bytes));
    checked++;
  }
  CHECK(checked >= 40);
  CHECK_OK(MPI_File_close(&fh));
}

// A logical is true if any of its bytes isn't zero. The one that is converted is 1.
static void external32_logicals(void) {
  const CkNamed *names;
  int checked = 0;
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  for (int i = 0, n = ck_named_types(&names); i < n; i++) {
    const MPI_Datatype type = names[i].type;
    int bytes = 0;
    if (!is_logical(names[i].name)) continue;
    MPI_Type_size(type, &bytes);
    for (int place = 0; place < bytes; place++) {
      Byte odd[32] __attribute__((aligned(16))) = {0}, want[32] = {0}, back[32] __attribute__((aligned(16))), one[32] = {0};
      odd[place] = 2;   // true, and false behind it
      want[bytes - 1] = 1;
      one[__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? bytes - 1 : 0] = 1;
      CHECK_OK(MPI_File_set_view(fh, 64 * ck_rank, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
      CHECK_OK(MPI_File_write_at(fh, 0, odd, 2, type, MPI_STATUS_IGNORE));
      CHECK_BYTES(name, 64 * ck_rank, want, 2 * (size_t)bytes);
      CHECK_OK(MPI_File_write_at(fh, 0, odd, 2 * bytes, MPI_BYTE, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_File_read_at(fh, 0, back, 2, type, MPI_STATUS_IGNORE));
      if (!CHECK(!memcmp(one, back, 2 * (size_t)bytes))) fprintf(stderr, "%s of %d bytes\n", names[i].name, bytes);
    }
    checked++;
  }
  CHECK(checked >= 2);
  CHECK_OK(MPI_File_close(&fh));
}

static void check_extent(MPI_File fh, MPI_Datatype type, MPI_Aint want) {
  MPI_Aint extent = -1;
  CHECK_OK(MPI_File_get_type_extent(fh, type, &extent));
  CHECK_INT(extent, want);
}

// A pair takes its two parts in the file, whatever memory has between and behind them.
static void external32_pairs(void) {
  enum { kPairs = 4, kMost = 32 };
  const struct {
    MPI_Datatype type;
    size_t second, in_file;   // bytes before the second part in memory, and of a pair in the file
  } rows[] = {{MPI_FLOAT_INT, sizeof(float), 8}, {MPI_DOUBLE_INT, sizeof(double), 12},           {MPI_LONG_INT, sizeof(long), 8},
              {MPI_SHORT_INT, sizeof(int), 6},   {MPI_LONG_DOUBLE_INT, sizeof(long double), 20}, {MPI_2INT, sizeof(int), 8}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *name = ck_fresh("f");
    Byte memory[kPairs * kMost] __attribute__((aligned(16))) = {0}, back[kPairs * kMost] __attribute__((aligned(16))) = {0};
    MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
    MPI_Datatype mine;
    MPI_Aint lower, extent;
    MPI_Type_get_extent(rows[i].type, &lower, &extent);
    MPI_Type_vector(kPairs, 1, ck_size, rows[i].type, &mine);
    MPI_Type_commit(&mine);
    for (int k = 0; k < kPairs; k++) memory[k * extent + (MPI_Aint)rows[i].second + (htonl(1) == 1 ? 3 : 0)] = (Byte)(10 * ck_rank + k + 1);
    CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)rows[i].in_file * ck_rank, rows[i].type, mine, "external32", MPI_INFO_NULL));
    check_extent(fh, rows[i].type, (MPI_Aint)rows[i].in_file);
    CHECK_OK(MPI_File_write_at_all(fh, 0, memory, kPairs, rows[i].type, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_read_at_all(fh, 0, back, kPairs, rows[i].type, MPI_STATUS_IGNORE));
    CHECK(!memcmp(memory, back, sizeof back));
    CHECK_OK(MPI_File_close(&fh));
    CHECK_INT(ck_disk_size(name), (long long)rows[i].in_file * kPairs * ck_size);
    for (int k = 0; k < kPairs; k++) {
      Byte want[kMost] = {0};
      want[rows[i].in_file - 1] = (Byte)(10 * ck_rank + k + 1);
      CHECK_BYTES(name, (long long)rows[i].in_file * (k * ck_size + ck_rank), want, rows[i].in_file);
    }
    MPI_Type_free(&mine);
  }
}

// A type of which nobody knows how external32 represents it: moved unless the view converts.
static void external32_unknown(void) {
#ifdef MPIX_BFLOAT16   // of MPICH 5
  const MPI_Datatype type = MPIX_BFLOAT16;
#else
  const MPI_Datatype type = MPI_DATATYPE_NULL;
#endif
  int bytes = 0;
  const char *name = ck_fresh("f");
  Byte data[4] = {1, 2, 3, 4}, back[4] = {0};
  if (type == MPI_DATATYPE_NULL || MPI_Type_size(type, &bytes) != MPI_SUCCESS || bytes != 2) return;
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_write_at(fh, 4 * ck_rank, data, 2, type, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at(fh, 4 * ck_rank, back, 2, type, MPI_STATUS_IGNORE));
  CHECK(!memcmp(data, back, 4));
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
  CHECK_CLASS(MPI_File_write_at(fh, 4 * ck_rank, back, 2, type, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
  CHECK_CLASS(MPI_File_read_at(fh, 4 * ck_rank, back, 2, type, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 4 * ck_rank, data, 4);
}

// The widest kind of Fortran's that C's long double is.
static void external32_f90_real(void) {
  static const Byte real[] = {Q_ONE, Q_MINUS}, complex_one[] = {Q_ONE, Q_MINUS, Q_HALF, Q_TWO};
  const char *name = ck_fresh("f");
  MPI_Datatype type = MPI_DATATYPE_NULL, complex = MPI_DATATYPE_NULL;
  long double back[4] = {0, 0, 0, 0};
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_set_view(fh, 128 * ck_rank, MPI_BYTE, MPI_BYTE, "external32", MPI_INFO_NULL));
  if (MPI_Type_create_f90_real(18, 4931, &type) == MPI_SUCCESS && type != MPI_DATATYPE_NULL) {
    CHECK_OK(MPI_File_write_at(fh, 0, kLongDoubles, 2, type, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_read_at(fh, 0, back, 2, type, MPI_STATUS_IGNORE));
    CHECK(back[0] == kLongDoubles[0] && back[1] == kLongDoubles[1]);
    CHECK_BYTES(name, 128 * ck_rank, real, sizeof real);
  }
  if (MPI_Type_create_f90_complex(18, 4931, &complex) == MPI_SUCCESS && complex != MPI_DATATYPE_NULL) {
    CHECK_OK(MPI_File_write_at(fh, 64, kLongDoublePairs, 2, complex, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_read_at(fh, 64, back, 2, complex, MPI_STATUS_IGNORE));
    for (int i = 0; i < 4; i++) CHECK(back[i] == kLongDoublePairs[i]);
    CHECK_BYTES(name, 128 * ck_rank + 64, complex_one, sizeof complex_one);
  }
  CHECK_OK(MPI_File_close(&fh));
}

// A view in external32: places are counted with the sizes of the file, here 4 bytes for a long.
static void external32_view(int kind) {
  enum { kItems = 40 };
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype filetype, memtype;
  MPI_Offset place = -1;
  MPI_Status status;
  long data[2 * kItems], back[2 * kItems];
  MPI_Type_vector(kItems, 1, ck_size, MPI_LONG, &filetype);
  MPI_Type_commit(&filetype);
  MPI_Type_vector(kItems, 1, 2, MPI_LONG, &memtype);
  MPI_Type_commit(&memtype);
  for (int i = 0; i < 2 * kItems; i++) data[i] = i - 1000 * ck_rank, back[i] = 77;
  CHECK_OK(MPI_File_set_view(fh, 8 + 4 * ck_rank, MPI_LONG, filetype, "external32", MPI_INFO_NULL));
  CHECK_OK(MPI_File_get_byte_offset(fh, 3, &place));
  CHECK_INT(place, 8 + 4 * ck_rank + 12 * ck_size);
  CHECK_OK(ck_write(kind, fh, 0, data, 1, memtype, &status));
  CHECK_COUNT(status, MPI_LONG, kItems);
  CHECK_COUNT(status, memtype, 1);
  CHECK_OK(ck_read(kind, fh, 0, back, 1, memtype, &status));
  CHECK_COUNT(status, MPI_LONG, kItems);
  for (int i = 0; i < 2 * kItems; i++) CHECK_INT(back[i], i % 2 ? 77 : data[i]);
  if (kind < kShared && !ck_kind_is_explicit(kind)) {
    CHECK_OK(MPI_File_get_position(fh, &place));
    CHECK_INT(place, kItems);
  }
  CHECK_OK(MPI_File_close(&fh));
  for (int i = 0; i < kItems; i++) {
    unsigned v = (unsigned)(int)data[2 * i];
    const Byte want[] = {(Byte)(v >> 24), (Byte)(v >> 16), (Byte)(v >> 8), (Byte)v};
    CHECK_BYTES(name, 8 + 4LL * (i * ck_size + ck_rank), want, 4);
  }
  MPI_Type_free(&filetype);
  MPI_Type_free(&memtype);
}

static void external32_end_of_file(int kind) {
  const char *name = ck_filled("f", 402);   // 100 longs and a half
  MPI_File fh = ck_open(name, MPI_MODE_RDONLY);
  MPI_Status status;
  long in[200];
  memset(in, 0xee, sizeof in);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
  CHECK_OK(ck_read(kind, fh, 60, in, 200, MPI_LONG, &status));
  CHECK_COUNT(status, MPI_LONG, 40);
  CHECK_INT((unsigned char)in[39], ck_byte_at(399));
  CHECK_OK(ck_read(kind, fh, 100, in, 200, MPI_LONG, &status));
  CHECK_COUNT(status, MPI_LONG, 0);
  CHECK_OK(MPI_File_close(&fh));
}

// More than any buffer between memory and file.
static void external32_long(int kind) {
  enum { kItems = 30000 };
  const char *name = ck_fresh("f");
  MPI_Info info;
  MPI_File fh;
  MPI_Status status;
  int *data = malloc(4 * kItems), *back = calloc(kItems, 4);
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "16384");
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
  MPI_Info_free(&info);
  int n = ck_rank % 2 ? kItems / 3 : kItems;
  for (int i = 0; i < kItems; i++) data[i] = i * 31 + ck_rank;
  CHECK_OK(MPI_File_set_view(fh, 4LL * kItems * ck_rank, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
  CHECK_OK(ck_write(kind, fh, 0, data, n, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, n);
  CHECK_OK(ck_read(kind, fh, 0, back, n, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, n);
  CHECK(!memcmp(data, back, 4 * (size_t)n));
  CHECK_OK(MPI_File_close(&fh));
  for (int i = 0; i < n; i++) data[i] = (int)htonl((unsigned)data[i]);
  CHECK_BYTES(name, 4LL * kItems * ck_rank, data, 4 * (size_t)n);
  free(data);
  free(back);
}

// A value that doesn't fit into the file's type.
static void external32_conversion_error(int kind) {
  MPI_File fh = ck_create("f");
  MPI_Status status;
  long data[3] = {1, 2, 3};
  CHECK_OK(MPI_File_set_view(fh, 12 * ck_rank, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
  int wrong = ck_rank == ck_size - 1;
  if (wrong) data[1] = 1L << 40;
  int code = ck_write(kind, fh, 0, data, 3, MPI_LONG, &status);
  CHECK_CLASS(code, wrong || ck_kind_is_collective(kind) ? MPI_ERR_CONVERSION : MPI_SUCCESS);
  CHECK_OK(MPI_File_close(&fh));
}

static void internal(void) {
  const char *name = ck_fresh("f");
  char datarep[MPI_MAX_DATAREP_STRING];
  MPI_Offset displacement;
  MPI_Datatype etype, filetype;
  double data = ck_rank + 0.5, back = 0;
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_DOUBLE, MPI_DOUBLE, "internal", MPI_INFO_NULL));
  CHECK_OK(MPI_File_get_view(fh, &displacement, &etype, &filetype, datarep));
  CHECK(!strcmp(datarep, "internal"));
  CHECK_OK(MPI_File_write_at_all(fh, ck_rank, &data, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at(fh, ck_rank, &back, 1, MPI_DOUBLE, MPI_STATUS_IGNORE));
  CHECK(back == data);
  CHECK_OK(MPI_File_close(&fh));
}

// ROMIO and OMPIO take the standard's names in capitals, too.
static void capitals(void) {
  static const char *const names[] = {"NATIVE", "EXTERNAL32", "native"};
  MPI_File fh = ck_create("f");
  for (int i = 0; i < 3; ++i) {
    char datarep[MPI_MAX_DATAREP_STRING];
    MPI_Offset displacement;
    MPI_Datatype etype, filetype;
    MPI_Aint extent = -1;
    CHECK_OK(MPI_File_set_view(fh, 0, MPI_LONG, MPI_LONG, names[i], MPI_INFO_NULL));
    CHECK_OK(MPI_File_get_view(fh, &displacement, &etype, &filetype, datarep));
    CHECK(!strcasecmp(datarep, names[i]));
    CHECK_OK(MPI_File_get_type_extent(fh, MPI_LONG, &extent));
    if (ck_is_mercutio()) CHECK_INT(extent, i == 1 ? 4 : 8);
  }
  CHECK_OK(MPI_File_close(&fh));
}

static void extents(void) {
  MPI_Datatype vector;
  MPI_File fh = ck_create("f");
  MPI_Type_vector(2, 1, 3, MPI_LONG, &vector);
  MPI_Type_commit(&vector);
  check_extent(fh, MPI_LONG, 8);
  check_extent(fh, vector, 32);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
  check_extent(fh, MPI_LONG, 4);
  check_extent(fh, vector, 16);
  check_extent(fh, MPI_INT, 4);
  check_extent(fh, MPI_LONG_DOUBLE, 16);
  check_extent(fh, MPI_WCHAR, 2);
  check_extent(fh, MPI_INT64_T, 8);
  check_extent(fh, MPI_C_DOUBLE_COMPLEX, 16);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_LONG, MPI_LONG, "native", MPI_INFO_NULL));
  check_extent(fh, vector, 32);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&vector);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  // An error of a request is told to the communicator's handler by some MPIs.
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  list_images();
  for (int i = 0; i < image_count; i++) RUN_FOR(external32, images[i].name, &images[i]);
  RUN(external32_named);
  RUN(external32_logicals);
  RUN(external32_pairs);
  RUN(external32_unknown);
  RUN(external32_f90_real);
  RUN_FOR_KINDS(external32_view, 0, kKinds);
  RUN_FOR_KINDS(external32_end_of_file, 0, kPlainKinds);
  RUN_FOR_KINDS(external32_long, 0, kPlainKinds);
  RUN_FOR_KINDS(external32_conversion_error, 0, kKinds);
  RUN(internal);
  RUN(capitals);
  RUN(extents);
  return ck_finish();
}
