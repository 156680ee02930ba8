// Large counts, sizes and offsets: more than 2^31 items through the _c calls and through big datatypes, more than 2^32 bytes
// in one access, offsets beyond 2^40, 64-bit sizes, statuses. Little is moved for real: one piece of memory is mapped many
// times over, data goes to /dev/null and comes from /dev/zero, and files are sparse.
#include "access_kinds.h"

#include <stdint.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#define KI (1LL << 10)
#define MI (1LL << 20)
#define GI (1LL << 30)
#define TI (1LL << 40)

static const long long kHuge = 2 * GI + 12 * MI;   // bytes of the mapping: a little more than an int can count
enum { kPiece = 4 << 20 };

static char *huge;   // kHuge bytes of address space over kPiece bytes of memory

static void map_huge(void) {
  int fd = memfd_create("large", 0);
  huge = mmap(NULL, (size_t)kHuge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (fd < 0 || ftruncate(fd, kPiece) != 0 || huge == MAP_FAILED) abort();
  for (long long at = 0; at < kHuge; at += kPiece)
    if (mmap(huge + at, kPiece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) abort();
  close(fd);
}

static long long elements_x(const MPI_Status *status, MPI_Datatype type) {
  MPI_Count count = -7;
  CHECK_OK(MPI_Get_elements_x(status, type, &count));
  return count;
}

// ---- counts -------------------------------------------------------------------------------------------------------------

static void count_of_bytes(int kind) {
  MPI_Status status;
  MPI_File fh = ck_open("/dev/null", MPI_MODE_RDWR);
  CHECK_OK(ck_write(kind, fh, ck_rank * kHuge, huge, kHuge, MPI_BYTE, &status));
  CHECK_INT(elements_x(&status, MPI_BYTE), kHuge);
  CHECK_COUNT(status, MPI_BYTE, MPI_UNDEFINED);   // no int
  CHECK_COUNT(status, MPI_INT, kHuge / 4);
  CHECK_OK(MPI_File_close(&fh));
}

// The plain calls reach as far by a type of many bytes.
static void big_type(int kind) {
  MPI_Status status;
  MPI_Datatype piece;
  MPI_File fh = ck_open("/dev/null", MPI_MODE_RDWR);
  MPI_Type_contiguous((int)(kHuge / 16), MPI_INT, &piece);
  MPI_Type_commit(&piece);
  CHECK_OK(ck_write(kind, fh, ck_rank * kHuge, huge, 4, piece, &status));
  CHECK_COUNT(status, piece, 4);
  CHECK_INT(elements_x(&status, piece), kHuge / 4);
  CHECK_INT(elements_x(&status, MPI_BYTE), kHuge);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&piece);
}

// The same 64 KiB again and again: no memory at all behind 6 GiB.
static void stride_zero(void) {
  MPI_Status status;
  MPI_Datatype block, type;
  static char data[2 * 64 * 1024];   // each copy of the type begins where the one before ends
  MPI_File fh = ck_open("/dev/null", MPI_MODE_RDWR);
  MPI_Type_contiguous(64 * 1024, MPI_BYTE, &block);
  MPI_Type_create_hvector(3 * 16384, 1, 0, block, &type);
  MPI_Type_commit(&type);
  CHECK_OK(MPI_File_write_at(fh, 0, data, 2, type, &status));
  CHECK_COUNT(status, type, 2);
  CHECK_INT(elements_x(&status, MPI_BYTE), 6 * GI);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&block);
  MPI_Type_free(&type);
}

static void large_count_at_end_of_file(int kind) {
  MPI_File fh = ck_open(ck_filled("f", 1000), MPI_MODE_RDONLY);
  MPI_Status status;
  CHECK_OK(ck_read(kind, fh, 100, huge, kHuge, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, 900);
  CHECK_INT((unsigned char)huge[899], ck_byte_at(999));
  CHECK_OK(MPI_File_close(&fh));
}

// 3 * 2^30 items of the memory type, of which each has no more than a byte; the file ends after a few.
static void large_count_of_a_type(void) {
  int kind = kAtAll + kPlainKinds;
  if (!ck_kind_exists(kind)) return;
  MPI_Datatype pair;
  MPI_Status status;
  MPI_File fh = ck_open(ck_filled("f", 1000), MPI_MODE_RDONLY);
  MPI_Type_create_hvector(2, 1, 2, MPI_BYTE, &pair);
  MPI_Type_commit(&pair);
  CHECK_OK(ck_read(kind, fh, 0, huge, 3 * GI / 8, pair, &status));
  CHECK_COUNT(status, MPI_BYTE, 1000);
  CHECK_COUNT(status, pair, 500);
  CHECK_INT((unsigned char)huge[3], ck_byte_at(2));   // pairs of every other byte, 3 bytes apart
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&pair);
}

// ---- places -------------------------------------------------------------------------------------------------------------

static void offsets_by(int kind, MPI_File fh, const char *name, long long base) {
  int data[100], back[100];
  MPI_Offset at = (base + 400LL * ck_rank) / 4;
  MPI_Status status;
  for (int i = 0; i < 100; i++) data[i] = i + 1000 * ck_rank + kind;
  CHECK_OK(ck_write(kind, fh, at, data, 100, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, 100);
  memset(back, 0, sizeof back);
  CHECK_OK(ck_read(kind, fh, at, back, 100, MPI_INT, &status));
  CHECK(!memcmp(back, data, sizeof data));
  CHECK_BYTES(name, base + 400LL * ck_rank, data, sizeof data);
}

static void offsets(int kind) {
  const char *name = ck_fresh("f");
  MPI_Offset size = -1, at = -1;
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  const long long bases[] = {2 * GI - 200, 4 * GI - 200, 5 * GI, 2 * TI};
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) offsets_by(kind, fh, name, bases[i]);
  if (!ck_kind_is_explicit(kind)) {
    CHECK_OK(MPI_File_get_position(fh, &at));
    CHECK_INT(at, (2 * TI + 400LL * (ck_rank + 1)) / 4);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_get_size(fh, &size));
  CHECK_INT(size, 2 * TI + 400LL * ck_size);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) ck_remove(name);   // sparse, but a comparison would read it all
}

// A filetype whose copies lie 3 GiB apart, the ranks' blocks in turn, behind a displacement of 2^40.
static void far_apart(int collective) {
  enum { kCopies = 5 };
  const char *name = ck_fresh("f");
  MPI_Datatype block, type;
  MPI_Offset place = -1, at = -1;
  MPI_Status status;
  int data[4 * kCopies], back[4 * kCopies];
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Type_contiguous(4, MPI_INT, &block);
  MPI_Type_create_resized(block, 0, 3 * GI, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < 4 * kCopies; i++) data[i] = i + 100 * ck_rank;
  CHECK_OK(MPI_File_set_view(fh, TI + 16 * ck_rank, MPI_INT, type, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_get_byte_offset(fh, 4000002, &place));
  CHECK_INT(place, TI + 16 * ck_rank + 1000000 * (3 * GI) + 8);
  CHECK_OK(collective ? MPI_File_write_all(fh, data, 4 * kCopies, MPI_INT, &status)
                      : MPI_File_write(fh, data, 4 * kCopies, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, 4 * kCopies);
  memset(back, 0, sizeof back);
  CHECK_OK(collective ? MPI_File_read_at_all(fh, 0, back, 4 * kCopies, MPI_INT, &status)
                      : MPI_File_read_at(fh, 0, back, 4 * kCopies, MPI_INT, &status));
  CHECK(!memcmp(data, back, sizeof data));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_seek(fh, 0, MPI_SEEK_END));
  CHECK_OK(MPI_File_get_position(fh, &at));
  CHECK_INT(at, 4 * kCopies);
  CHECK_OK(MPI_File_close(&fh));
  for (int c = 0; c < kCopies; c++) CHECK_BYTES(name, TI + 16 * ck_rank + c * 3 * GI, data + 4 * c, 16);
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) ck_remove(name);
  MPI_Type_free(&block);
  MPI_Type_free(&type);
}

static void shared_pointer(void) {
  const char *name = ck_fresh("f");
  MPI_Offset at = -1;
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_seek_shared(fh, 3 * TI, MPI_SEEK_SET));
  CHECK_OK(MPI_File_write_ordered(fh, &ck_rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_get_position_shared(fh, &at));
  CHECK_INT(at, 3 * TI + 4 * ck_size);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 3 * TI + 4 * ck_rank, &ck_rank, 4);
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) ck_remove(name);
}

static void sizes(void) {
  const char *name = ck_fresh("f");
  MPI_Offset size = -1;
  struct statfs fs;
  const long long wanted[] = {4 * GI + 1, 5 * TI + 3, 7};
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  for (int i = 0; i < 3; i++) {
    CHECK_OK(MPI_File_set_size(fh, wanted[i]));
    CHECK_OK(MPI_File_get_size(fh, &size));
    CHECK_INT(size, wanted[i]);
    CHECK_INT(ck_disk_size(name), wanted[i]);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // Only where it takes no memory and leaves room: ext4, xfs, btrfs.
  int disk = statfs(name, &fs) == 0 && (fs.f_type == 0xef53 || fs.f_type == 0x58465342 || fs.f_type == 0x9123683e) &&
             (long long)fs.f_bavail * fs.f_bsize > 64 * GI;
  if (disk && ck_is_mercutio()) {
    CHECK_OK(MPI_File_preallocate(fh, 4 * GI + 5));
    CHECK_OK(MPI_File_get_size(fh, &size));
    CHECK_INT(size, 4 * GI + 5);
  }
  CHECK_OK(MPI_File_set_size(fh, 0));
  CHECK_OK(MPI_File_close(&fh));
}

static void beyond_everything(void) {
  MPI_File fh = ck_create("f");
  int x = 0;
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_ERROR(MPI_File_write_at(fh, INT64_MAX / 4, &x, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_ERROR(MPI_File_write_at(fh, INT64_MAX / 2, &x, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_ERROR(MPI_File_write_at_all(fh, INT64_MAX, &x, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
}

static void extent_c(void) {
  typedef int (*ExtentC)(MPI_File, MPI_Datatype, MPI_Count *);
  ExtentC get = (ExtentC)dlsym(RTLD_DEFAULT, "MPI_File_get_type_extent_c");
  MPI_Datatype type;
  MPI_Count extent = -1;
  MPI_Aint plain = -1;
  MPI_File fh = ck_create("f");
  MPI_Type_create_resized(MPI_INT, 0, 9 * GI, &type);
  MPI_Type_commit(&type);
  CHECK_OK(MPI_File_get_type_extent(fh, type, &plain));
  CHECK_INT(plain, 9 * GI);
  if (get) {
    CHECK_OK(get(fh, type, &extent));
    CHECK_INT(extent, 9 * GI);
  }
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&type);
}

int main(int argc, char **argv) {
  static const int large_kinds[] = {kAt + kPlainKinds, kAtAll + kPlainKinds, kIat + kPlainKinds, kPointer + kPlainKinds,
                                    kPointerAllSplit + kPlainKinds, kSharedC, kOrderedC};
  static const int plain_kinds[] = {kAt, kAtAll, kIpointer, kOrdered};
  ck_init(&argc, &argv);
  map_huge();
  for (size_t i = 0; i < sizeof large_kinds / sizeof *large_kinds; i++) {
    if (!ck_kind_exists(large_kinds[i])) continue;
    RUN_FOR(count_of_bytes, ck_kind_names[large_kinds[i]], large_kinds[i]);
    if (large_kinds[i] < kShared) RUN_FOR(large_count_at_end_of_file, ck_kind_names[large_kinds[i]], large_kinds[i]);
  }
  for (size_t i = 0; i < sizeof plain_kinds / sizeof *plain_kinds; i++)
    RUN_FOR(big_type, ck_kind_names[plain_kinds[i]], plain_kinds[i]);
  RUN(stride_zero);
  RUN(large_count_of_a_type);
  RUN_FOR_KINDS(offsets, 0, kPlainKinds);
  RUN_FOR(far_apart, "independent", 0);
  RUN_FOR(far_apart, "collective", 1);
  RUN(shared_pointer);
  RUN(sizes);
  RUN(beyond_everything);
  RUN(extent_c);
  return ck_finish();
}
