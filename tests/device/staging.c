// Accesses of several chunks with buffers in the memory of a device (fake_device.c is preloaded), and copies that the device's runtime
// refuses. With FAKE_DEVICE_RANKS=odd the even ranks' buffers are the processor's.
#include "access_kinds.h"

enum { kLarge = (9 << 20) + 1000, kBlock = 1000 };

static unsigned char byte_of(int rank, long long i) { return (unsigned char)(i * 31 + (i >> 9) * 7 + rank * 101 + 5); }

static char *filled(long long bytes) {
  char *buffer = malloc((size_t)bytes);
  for (long long i = 0; i < bytes; i++) buffer[i] = (char)byte_of(ck_rank, i);
  return buffer;
}

static void check_bytes(const char *got, long long bytes, const char *what) {
  long long i = 0;
  while (i < bytes && (unsigned char)got[i] == byte_of(ck_rank, i)) i++;
  char text[100];
  snprintf(text, sizeof text, "%s: byte %lld is %02x, want %02x", what, i, i < bytes ? (unsigned char)got[i] : 0, byte_of(ck_rank, i));
  if (i < bytes) ck_report(0, __FILE__, __LINE__, text);
}

// Blocks of kBlock bytes, one of each rank in turn.
static void interleaved_view(MPI_File fh, const char *datarep, MPI_Datatype etype) {
  int bytes = 0;
  MPI_Datatype blocks;
  MPI_Type_size(etype, &bytes);
  const int n = kBlock / bytes;
  MPI_Type_create_resized(etype, 0, (MPI_Aint)bytes, &blocks);
  MPI_Datatype block, tiled;
  MPI_Type_contiguous(n, blocks, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)n * bytes * ck_size, &tiled);
  MPI_Type_commit(&tiled);
  CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)n * bytes * ck_rank, etype, tiled, (char *)datarep, MPI_INFO_NULL));
  MPI_Type_free(&tiled);
  MPI_Type_free(&block);
  MPI_Type_free(&blocks);
}

static void there_and_back(int kind, MPI_File fh, long long count, MPI_Datatype type, char *buffer, char *back) {
  MPI_Status status;
  CHECK_OK(ck_write(kind, fh, 0, buffer, count, type, &status));
  CHECK_COUNT(status, type, count);
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_sync(fh));
  if (kind >= kShared) CHECK_OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
  CHECK_OK(ck_read(kind, fh, 0, back, count, type, &status));
  CHECK_COUNT(status, type, count);
}

static void contiguous(int kind) {
  MPI_File fh = ck_create("f");
  char *buffer = filled(kLarge), *back = calloc(1, kLarge);
  if (kind < kShared) interleaved_view(fh, "native", MPI_BYTE);
  there_and_back(kind, fh, kLarge, MPI_BYTE, buffer, back);
  check_bytes(back, kLarge, "what was read");
  CHECK_OK(MPI_File_close(&fh));
  if (kind >= kShared) CHECK_BYTES(ck_path("f"), (long long)ck_rank * kLarge, buffer, kLarge);
  for (long long b = 0; kind < kShared && b < kLarge / kBlock; b += 97)
    CHECK_BYTES(ck_path("f"), (b * ck_size + ck_rank) * kBlock, buffer + b * kBlock, kBlock);
  free(buffer);
  free(back);
}

// 24 of every 40 bytes: gaps stay as they are. `order` 1: the last piece first.
static void strided(int order) {
  const int pieces = 250000;
  MPI_File fh = ck_create("f");
  MPI_Datatype type;
  MPI_Type_create_hvector(pieces, 3, order ? -40 : 40, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  const long long bytes = 40LL * pieces;
  char *buffer = filled(bytes), *back = malloc((size_t)bytes), *want = malloc((size_t)bytes);
  memset(back, 0x5a, (size_t)bytes);
  memset(want, 0x5a, (size_t)bytes);
  for (int i = 0; i < pieces; i++) memcpy(want + 40LL * i, buffer + 40LL * i, 24);
  interleaved_view(fh, "native", MPI_DOUBLE);
  const long long origin = order ? 40LL * (pieces - 1) : 0;
  there_and_back(kAtAll, fh, 1, type, buffer + origin, back + origin);
  CHECK(memcmp(back, want, (size_t)bytes) == 0);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&type);
  free(buffer);
  free(back);
  free(want);
}

// Pieces of 1 to 29 bytes in no order, addressed from MPI_BOTTOM.
static void irregular(int kind) {
  enum { kPieces = 5000 };
  static MPI_Aint places[kPieces];
  static int lengths[kPieces];
  MPI_File fh = ck_create("f");
  char *memory = filled(32LL * kPieces), *want = malloc(32 * kPieces);
  memset(want, 0x5a, 32 * kPieces);
  for (int i = 0; i < kPieces; i++) {
    const int at = (int)((i * 1237LL) % kPieces);
    lengths[i] = 1 + i % 29;
    MPI_Get_address(memory + 32LL * at, &places[i]);
    memcpy(want + 32 * at, memory + 32 * at, (size_t)lengths[i]);
  }
  MPI_Datatype type;
  MPI_Type_create_hindexed(kPieces, lengths, places, MPI_BYTE, &type);
  MPI_Type_commit(&type);
  interleaved_view(fh, "native", MPI_BYTE);
  MPI_Status status;
  CHECK_OK(ck_write(kind, fh, 0, MPI_BOTTOM, 1, type, &status));
  CHECK_OK(MPI_File_sync(fh));
  memset(memory, 0x5a, 32 * kPieces);
  CHECK_OK(ck_read(kind, fh, 0, MPI_BOTTOM, 1, type, &status));
  CHECK_COUNT(status, type, 1);
  CHECK(memcmp(memory, want, 32 * kPieces) == 0);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&type);
  free(memory);
  free(want);
}

static void external32(int kind) {
  const int count = 700000;
  MPI_File fh = ck_create("f");
  MPI_Datatype spread;   // an int, a gap
  MPI_Type_create_resized(MPI_INT, 0, 12, &spread);
  MPI_Type_commit(&spread);
  int *values = malloc(12LL * count), *back = malloc(12LL * count);
  for (int i = 0; i < 3 * count; i++) values[i] = i * 5 + ck_rank, back[i] = i % 3 ? i * 5 + ck_rank : -1;
  interleaved_view(fh, "external32", MPI_INT);
  there_and_back(kind, fh, count, spread, (char *)values, (char *)back);
  CHECK(memcmp(values, back, 12LL * count) == 0);
  CHECK_OK(MPI_File_close(&fh));
  const int first = ck_rank;
  const unsigned char want[4] = {0, 0, 0, (unsigned char)first};
  CHECK_BYTES(ck_path("f"), (long long)kBlock * ck_rank, want, 4);
  MPI_Type_free(&spread);
  free(values);
  free(back);
}

static void atomic_mode(int kind) {
  MPI_File fh = ck_create("f");
  char *buffer = filled(kLarge), *back = calloc(1, kLarge);
  CHECK_OK(MPI_File_set_atomicity(fh, 1));
  interleaved_view(fh, "native", MPI_BYTE);
  there_and_back(kind, fh, kLarge, MPI_BYTE, buffer, back);
  check_bytes(back, kLarge, "what was read");
  CHECK_OK(MPI_File_close(&fh));
  free(buffer);
  free(back);
}

// The file ends in the middle of the second chunk of the last rank.
static void end_of_file(int kind) {
  const long long there = 5 << 20, before = (long long)(ck_size - 1) * kLarge;
  MPI_File fh = ck_create("f");
  char *buffer = filled(kLarge), *back = filled(kLarge);
  const long long mine = ck_rank == ck_size - 1 ? there : kLarge;
  CHECK_OK(MPI_File_write_at_all(fh, (MPI_Offset)ck_rank * kLarge, buffer, (int)mine, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  memset(back, 0, (size_t)mine);
  MPI_Status status;
  CHECK_OK(ck_read(kind, fh, (MPI_Offset)ck_rank * kLarge, back, kLarge, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, mine);
  check_bytes(back, kLarge, "what was read, and what was not");
  CHECK_INT(ck_disk_size(ck_path("f")), before + there);
  CHECK_OK(MPI_File_close(&fh));
  free(buffer);
  free(back);
}

// The n-th copy fails on one rank.
static void refused(int n) {
  void (*refuse)(long) = (void (*)(long))dlsym(RTLD_DEFAULT, "fake_device_refuse");
  if (!CHECK(refuse != NULL)) return;
  const int odd_only = getenv("FAKE_DEVICE_RANKS") != NULL, bad = odd_only ? 1 : ck_size - 1;
  for (int kind = 0; kind < kPlainKinds; kind++) {
    for (int write = 0; write < 2; write++) {
      MPI_File fh = ck_create("f");
      char *buffer = filled(kLarge);
      MPI_Status status;
      CHECK_OK(MPI_File_write_at_all(fh, (MPI_Offset)ck_rank * kLarge, buffer, kLarge, MPI_BYTE, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_File_sync(fh));
      MPI_Barrier(MPI_COMM_WORLD);
      refuse(ck_rank == bad ? n : 0);
      const CkAccess access = {write, kind, fh, (MPI_Offset)ck_rank * kLarge, buffer, kLarge, MPI_BYTE};
      const int code = ck_do(&access, &status);
      refuse(0);
      if (ck_kind_is_collective(kind) || ck_rank == bad) CHECK_CLASS(code, MPI_ERR_BUFFER);
      else CHECK_OK(code);
      CHECK_OK(MPI_File_write_at_all(fh, (MPI_Offset)ck_rank * kLarge, buffer, kLarge, MPI_BYTE, MPI_STATUS_IGNORE));
      CHECK_OK(MPI_File_close(&fh));
      free(buffer);
    }
  }
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);   // for MPI_Wait
  RUN_FOR_KINDS(contiguous, 0, kPlainKinds);
  RUN_FOR_KINDS(contiguous, kOrdered, kSharedC);
  RUN_FOR(strided, "forward", 0);
  RUN_FOR(strided, "backward", 1);
  RUN_FOR_KINDS(irregular, 0, kPlainKinds);
  RUN_FOR_KINDS(external32, 0, kPlainKinds);
  RUN_FOR_KINDS(atomic_mode, 0, kPlainKinds);
  RUN_FOR_KINDS(end_of_file, 0, kPlainKinds);
  static const char *const names[] = {"first", "second", "third"};
  for (int n = 1; n <= 3; n++) RUN_FOR(refused, names[n - 1], n);
  return ck_finish();
}
