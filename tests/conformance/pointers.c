// 14.4.3: individual file pointers. Every kind of access that uses one, calls that can't move it, seeks from each base,
// what a pointer means in a view, and where it is after short, empty, failed and nonblocking accesses.
#include "access_kinds.h"

static MPI_Offset position(MPI_File fh) {
  MPI_Offset at = -77;
  CHECK_OK(MPI_File_get_position(fh, &at));
  return at;
}

static MPI_Offset byte_offset(MPI_File fh, MPI_Offset offset) {
  MPI_Offset at = -77;
  CHECK_OK(MPI_File_get_byte_offset(fh, offset, &at));
  return at;
}

// One access where the pointer is, without the seek that ck_write and ck_read do first.
static int here(int write, int kind, MPI_File fh, void *buffer, MPI_Count count, MPI_Datatype type, MPI_Status *status) {
  CkAccess a = {write, kind, fh, 0, buffer, count, type};
  MPI_Request request = MPI_REQUEST_NULL;
  int rc = write ? ck_call_write(&a, status, &request) : ck_call_read(&a, status, &request);
  if (rc != MPI_SUCCESS) return rc;
  if (ck_kind_is_nonblocking(kind)) return MPI_Wait(&request, status);
  return ck_kind_is_split(kind) ? ck_call_end(&a, status) : rc;
}

// Each rank has every size-th pair of integers.
static MPI_File in_pairs(const char *name, MPI_Datatype *filetype) {
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Type_vector(1, 2, 2, MPI_INT, filetype);
  MPI_Datatype block = *filetype;
  MPI_Type_create_resized(block, 0, 8 * ck_size, filetype);
  MPI_Type_commit(filetype);
  MPI_Type_free(&block);
  CHECK_OK(MPI_File_set_view(fh, 4 + 8 * ck_rank, MPI_INT, *filetype, "native", MPI_INFO_NULL));
  return fh;
}

// Call after call, each goes on where the last one ended; sizes differ from call to call and from rank to rank.
static void goes_on(int kind) {
  enum { kCalls = 9, kMost = 200 };
  const char *name = ck_fresh("f");
  MPI_Datatype filetype;
  MPI_File fh = in_pairs(name, &filetype);
  int data[kMost], back[kMost], at = 0, total = 0;
  MPI_Status status;
  for (int i = 0; i < kMost; i++) data[i] = 1000 * ck_rank + i;
  for (int call = 0; call < kCalls; call++) {
    int n = (call * 5 + ck_rank * 3) % 11;
    CHECK_OK(here(1, kind, fh, data + total, n, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, n);
    total += n;
    CHECK_INT(position(fh), total);
  }
  CHECK_OK(MPI_File_sync(fh));
  CHECK_OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
  memset(back, 0, sizeof back);
  for (int call = 0; call < kCalls; call++) {
    int n = (call * 7 + ck_rank * 2) % 9;
    if (n > total - at) n = total - at;
    CHECK_OK(here(0, kind, fh, back + at, n, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, n);
    at += n;
    CHECK_INT(position(fh), at);
  }
  CHECK(!memcmp(back, data, 4 * (size_t)at));
  CHECK_OK(MPI_File_close(&fh));
  for (int i = 0; i < total; i++) CHECK_BYTES(name, 4 + 8LL * (i / 2 * ck_size + ck_rank) + i % 2 * 4, data + i, 4);
  MPI_Type_free(&filetype);
}

// Reading and writing share the pointer; explicit offsets and the shared pointer leave it alone.
static void one_for_reading_and_writing(int kind) {
  MPI_File fh = ck_open(ck_filled("f", 1000), MPI_MODE_RDWR);
  unsigned char in[10], out[10] = "abcdefghi";
  MPI_Status status;
  CHECK_OK(MPI_File_seek(fh, 100 * ck_rank, MPI_SEEK_SET));
  CHECK_OK(here(0, kind, fh, in, 10, MPI_BYTE, &status));
  CHECK_INT(in[0], ck_byte_at(100 * ck_rank));
  CHECK_OK(here(1, kind, fh, out, 10, MPI_BYTE, &status));
  CHECK_OK(MPI_File_read_at(fh, 900, in, 10, MPI_BYTE, &status));
  CHECK_OK(MPI_File_read_shared(fh, in, 10, MPI_BYTE, &status));
  CHECK_INT(position(fh), 100 * ck_rank + 20);
  CHECK_OK(here(0, kind, fh, in, 10, MPI_BYTE, &status));
  CHECK_INT(in[9], ck_byte_at(100 * ck_rank + 29));
  CHECK_OK(MPI_File_read_at(fh, 100 * ck_rank + 10, in, 10, MPI_BYTE, &status));
  CHECK(!memcmp(in, out, 10));
  CHECK_OK(MPI_File_close(&fh));
}

// A blocking access leaves the pointer behind what it could read; a started one behind what it asked for (new position =
// old position + elements asked for), as it must be known before the data is.
static void short_read(int kind) {
  MPI_File fh = ck_open(ck_filled("f", 1000), MPI_MODE_RDONLY);
  unsigned char in[600];
  int started = ck_kind_is_nonblocking(kind) || ck_kind_is_split(kind);
  MPI_Status status;
  CHECK_OK(MPI_File_seek(fh, 700, MPI_SEEK_SET));
  CHECK_OK(here(0, kind, fh, in, 600, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, 300);
  CHECK_INT(in[299], ck_byte_at(999));
  CHECK_INT(position(fh), started ? 1300 : 1000);
  CHECK_OK(MPI_File_seek(fh, 1000, MPI_SEEK_SET));
  CHECK_OK(here(0, kind, fh, in, 100, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, 0);
  CHECK_INT(position(fh), started ? 1100 : 1000);
  CHECK_OK(MPI_File_close(&fh));
}

static void nothing(int kind) {
  MPI_File fh = ck_open(ck_filled("f", 100), MPI_MODE_RDWR);
  char c = 'x';
  MPI_Status status;
  CHECK_OK(MPI_File_seek(fh, 5 + ck_rank, MPI_SEEK_SET));
  CHECK_OK(here(1, kind, fh, &c, 0, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, 0);
  CHECK_OK(here(0, kind, fh, NULL, 0, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, 0);
  CHECK_INT(position(fh), 5 + ck_rank);
  CHECK_OK(MPI_File_close(&fh));
}

// What was refused has not moved the pointer.
static void refused(int kind) {
  const char *name = ck_filled("f", 100);
  MPI_File fh = ck_open(name, MPI_MODE_RDONLY);
  char c[8] = "abcdefg";
  int rc;
  CHECK_OK(MPI_File_seek(fh, 9, MPI_SEEK_SET));
  rc = here(1, kind, fh, c, 1, MPI_BYTE, MPI_STATUS_IGNORE);
  CHECK_CLASS(rc, MPI_ERR_READ_ONLY);
  CHECK_INT(position(fh), 9);
  rc = here(0, kind, fh, c, -1, MPI_BYTE, MPI_STATUS_IGNORE);
  CHECK_CLASS(rc, MPI_ERR_COUNT);
  CHECK_INT(position(fh), 9);
  CHECK_OK(MPI_File_close(&fh));
  fh = ck_open(name, MPI_MODE_WRONLY);
  CHECK_OK(MPI_File_seek(fh, 9, MPI_SEEK_SET));
  rc = here(0, kind, fh, c, 1, MPI_BYTE, MPI_STATUS_IGNORE);
  CHECK_CLASS(rc, MPI_ERR_ACCESS);
  CHECK_INT(position(fh), 9);
  CHECK_OK(MPI_File_close(&fh));
}

// Beyond 4 GiB, in a file that is a hole up to there.
static void far_away(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  const long long far = 5LL << 30;
  double out[4] = {1, 2, 3, 4 + ck_rank}, in[4] = {0};
  MPI_Status status;
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_seek(fh, far / 8 + 4 * ck_rank, MPI_SEEK_SET));
  CHECK_OK(here(1, kind, fh, out, 4, MPI_DOUBLE, &status));
  CHECK_INT(position(fh), far / 8 + 4 * ck_rank + 4);
  CHECK_INT(byte_offset(fh, position(fh)), far + 32 * (ck_rank + 1));
  CHECK_OK(MPI_File_seek(fh, -4, MPI_SEEK_CUR));
  CHECK_OK(here(0, kind, fh, in, 4, MPI_DOUBLE, &status));
  CHECK(!memcmp(in, out, sizeof in));
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_INT(ck_disk_size(name), far + 32 * ck_size);
  CHECK_OK(MPI_File_seek(fh, 0, MPI_SEEK_END));
  CHECK_INT(position(fh), far / 8 + 4 * ck_size);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_set_size(fh, 0));   // leaves nothing of this size behind
  CHECK_OK(MPI_File_close(&fh));
}

static void seeks(void) {
  MPI_File fh = ck_open(ck_filled("f", 1000), MPI_MODE_RDWR);
  CHECK_INT(position(fh), 0);
  CHECK_OK(MPI_File_seek(fh, 30, MPI_SEEK_SET));
  CHECK_OK(MPI_File_seek(fh, 12, MPI_SEEK_CUR));
  CHECK_INT(position(fh), 42);
  CHECK_OK(MPI_File_seek(fh, -42, MPI_SEEK_CUR));
  CHECK_INT(position(fh), 0);
  CHECK_OK(MPI_File_seek(fh, 0, MPI_SEEK_END));
  CHECK_INT(position(fh), 1000);
  CHECK_OK(MPI_File_seek(fh, -1000, MPI_SEEK_END));
  CHECK_INT(position(fh), 0);
  CHECK_OK(MPI_File_seek(fh, 500 + ck_rank, MPI_SEEK_END));   // behind the end is allowed, and each rank has its own
  CHECK_INT(position(fh), 1500 + ck_rank);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_INT(ck_disk_size(ck_path("f")), 1000);   // a seek makes no file longer
  CHECK_OK(MPI_File_close(&fh));
}

// The standard: it is erroneous to seek to a negative position; the pointer stays.
static void negative_seeks(void) {
  MPI_File fh = ck_open(ck_filled("f", 1000), MPI_MODE_RDWR);
  CHECK_OK(MPI_File_seek(fh, 10, MPI_SEEK_SET));
  CHECK_CLASS(MPI_File_seek(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_seek(fh, -11, MPI_SEEK_CUR), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_seek(fh, -1001, MPI_SEEK_END), MPI_ERR_ARG);
  CHECK_ERROR(MPI_File_seek(fh, 0, 4711));
  CHECK_INT(position(fh), 10);
  if (ck_is_mercutio()) {   // the hosts wrap around
    MPI_Offset most = (MPI_Offset)(~0ULL >> 1);
    CHECK_CLASS(MPI_File_seek(fh, most, MPI_SEEK_CUR), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_seek(fh, most, MPI_SEEK_END), MPI_ERR_ARG);
    CHECK_INT(position(fh), 10);
  }
  CHECK_OK(MPI_File_close(&fh));
}

// In etypes of the view: set_view puts the pointer to 0, and every base counts etypes that the view shows.
static void seeks_in_a_view(void) {
  MPI_File fh = ck_open(ck_filled("f", 1000), MPI_MODE_RDWR);
  MPI_Datatype filetype;
  unsigned char in[4];
  MPI_Type_vector(1, 2, 2, MPI_INT, &filetype);
  MPI_Datatype tile;
  MPI_Type_create_resized(filetype, 0, 20, &tile);
  MPI_Type_commit(&tile);
  CHECK_OK(MPI_File_seek(fh, 77, MPI_SEEK_SET));
  CHECK_OK(MPI_File_set_view(fh, 8, MPI_INT, tile, "native", MPI_INFO_NULL));
  CHECK_INT(position(fh), 0);
  CHECK_OK(MPI_File_seek(fh, 3, MPI_SEEK_SET));   // the second integer of the second tile
  CHECK_OK(MPI_File_read(fh, in, 4, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_INT(in[0], ck_byte_at(8 + 20 + 4));
  CHECK_INT(position(fh), 4);
  CHECK_OK(MPI_File_seek(fh, 2, MPI_SEEK_CUR));
  CHECK_INT(byte_offset(fh, position(fh)), 8 + 60);
  // Bytes 8 to 999: 49 tiles and the first 12 bytes of one more, whose two integers are data.
  CHECK_OK(MPI_File_seek(fh, 0, MPI_SEEK_END));
  CHECK_INT(position(fh), 100);
  CHECK_OK(MPI_File_seek(fh, -1, MPI_SEEK_END));
  CHECK_OK(MPI_File_read(fh, in, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_INT(in[3], ck_byte_at(8 + 49 * 20 + 7));
  CHECK_CLASS(MPI_File_seek(fh, -101, MPI_SEEK_END), MPI_ERR_ARG);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&filetype);
  MPI_Type_free(&tile);
}

static void byte_offsets(void) {
  MPI_File fh = ck_open(ck_filled("f", 10), MPI_MODE_RDONLY);
  MPI_Datatype filetype, tile;
  const int lengths[] = {1, 2, 1}, places[] = {1, 4, 8};
  const long long data[] = {1, 4, 5, 8};
  CHECK_INT(byte_offset(fh, 0), 0);
  CHECK_INT(byte_offset(fh, 12345678901LL), 12345678901LL);
  MPI_Type_indexed(3, lengths, places, MPI_SHORT, &filetype);
  MPI_Type_create_resized(filetype, 0, 30, &tile);
  MPI_Type_commit(&tile);
  CHECK_OK(MPI_File_set_view(fh, 1000 + 7 * ck_rank, MPI_SHORT, tile, "native", MPI_INFO_NULL));
  for (long long i = 0; i < 40; i++) CHECK_INT(byte_offset(fh, i), 1000 + 7 * ck_rank + i / 4 * 30 + 2 * data[i % 4]);
  const long long far = 4000000000LL;
  CHECK_INT(byte_offset(fh, 4 * far + 2), 1000 + 7 * ck_rank + far * 30 + 10);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&filetype);
  MPI_Type_free(&tile);
}

// Each rank moves its own; the others see nothing of it.
static void everybody_has_one(void) {
  MPI_File fh = ck_open(ck_filled("f", 1000), MPI_MODE_RDONLY), other = ck_open(ck_path("f"), MPI_MODE_RDONLY);
  unsigned char in[8];
  for (int i = 0; i < 5 + ck_rank; i++) CHECK_OK(MPI_File_read(fh, in, 8, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_INT(position(fh), 8 * (5 + ck_rank));
  CHECK_INT(position(other), 0);   // two handles of one file, two pointers
  CHECK_OK(MPI_File_close(&fh));
  CHECK_OK(MPI_File_close(&other));
}

// Many started before one is waited for: each has its own place, in the order of the calls.
static void started_in_a_row(int kind) {
  enum { kCalls = 12, kPart = 25 };
  const char *name = ck_fresh("f");
  MPI_Datatype filetype;
  MPI_File fh = in_pairs(name, &filetype);
  int out[kCalls][kPart], in[kCalls][kPart];
  MPI_Request requests[kCalls];
  MPI_Status statuses[kCalls];
  for (int write = 1; write >= 0; write--) {
    for (int call = 0; call < kCalls; call++) {
      for (int i = 0; i < kPart; i++) out[call][i] = ck_rank * 10000 + call * 100 + i;
      CkAccess a = {write, kind, fh, 0, write ? out[call] : in[call], kPart, MPI_INT};
      CHECK_OK(write ? ck_call_write(&a, MPI_STATUS_IGNORE, &requests[call]) : ck_call_read(&a, MPI_STATUS_IGNORE, &requests[call]));
      CHECK_INT(position(fh), (call + 1) * kPart);   // moved by the call, not by its completion
    }
    CHECK_OK(MPI_Waitall(kCalls, requests, statuses));
    for (int call = 0; call < kCalls; call++) CHECK_COUNT(statuses[call], MPI_INT, kPart);
    CHECK_OK(MPI_File_seek(fh, 0, MPI_SEEK_SET));
  }
  CHECK(!memcmp(in, out, sizeof in));
  CHECK_OK(MPI_File_close(&fh));
  for (int i = 0; i < kCalls * kPart; i += 17) CHECK_BYTES(name, 4 + 8LL * (i / 2 * ck_size + ck_rank) + i % 2 * 4, (int *)out + i, 4);
  MPI_Type_free(&filetype);
}

static void append_starts_at_the_end(void) {
  const char *name = ck_filled("f", 123);
  MPI_File fh = ck_open(name, MPI_MODE_WRONLY | MPI_MODE_APPEND);
  MPI_Offset shared = -1;
  CHECK_INT(position(fh), 123);
  CHECK_OK(MPI_File_get_position_shared(fh, &shared));
  CHECK_INT(shared, 123);
  CHECK_OK(MPI_File_seek(fh, ck_rank, MPI_SEEK_CUR));
  CHECK_OK(MPI_File_write(fh, "z", 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), 123 + ck_size);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  for (int k = 0; k < kKinds; k++) {
    if (ck_kind_is_explicit(k) || !ck_kind_exists(k)) continue;
    RUN_FOR(goes_on, ck_kind_names[k], k);
    RUN_FOR(one_for_reading_and_writing, ck_kind_names[k], k);
    RUN_FOR(short_read, ck_kind_names[k], k);
    RUN_FOR(nothing, ck_kind_names[k], k);
    RUN_FOR(refused, ck_kind_names[k], k);
    RUN_FOR(far_away, ck_kind_names[k], k);
    if (ck_kind_is_nonblocking(k)) RUN_FOR(started_in_a_row, ck_kind_names[k], k);
  }
  RUN(seeks);
  RUN(negative_seeks);
  RUN(seeks_in_a_view);
  RUN(byte_offsets);
  RUN(everybody_has_one);
  RUN(append_starts_at_the_end);
  return ck_finish();
}
