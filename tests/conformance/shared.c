// 14.4.4: the shared file pointer. Noncollective accesses take turns, none loses or repeats a byte; ordered ones follow
// the ranks; seeks, views, sequential mode, several files at once; and nothing is left beside the user's file.
#include <dirent.h>

#include "access_kinds.h"

static MPI_Offset shared_position(MPI_File fh) {
  MPI_Offset at = -77;
  CHECK_OK(MPI_File_get_position_shared(fh, &at));
  return at;
}

// The same when all are done with what they did before, and before any of them goes on.
static MPI_Offset position_after_all(MPI_File fh) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Offset at = shared_position(fh);
  MPI_Barrier(MPI_COMM_WORLD);
  return at;
}

// One record of `n` integers that say who wrote them, as which of his records, and how long it is.
static void make_record(int *record, int n, int call) {
  for (int i = 0; i < n; i++) record[i] = ck_rank << 20 | call << 8 | n;
}
static int record_length(int rank, int call) { return (rank * 5 + call * 3) % 7 + 1; }

// The file must be made of whole records, each there once, those of one rank in the order of its calls.
static void check_records(const char *name, int calls) {
  int next[64] = {0}, word, total = 0, records = 0;
  FILE *f = ck_look(name);
  if (!CHECK(f != NULL)) return;
  while (fread(&word, 4, 1, f) == 1) {
    int rank = word >> 20, call = word >> 8 & 0xfff, n = word & 0xff, again = word;
    if (!CHECK(rank >= 0 && rank < ck_size && rank < 64 && call < calls && n == record_length(rank, call))) break;
    CHECK_INT(call, next[rank]++);
    for (int i = 1; i < n; i++) CHECK(fread(&again, 4, 1, f) == 1 && again == word);
    records++;
  }
  fclose(f);
  CHECK_INT(records, ck_size * calls);
  for (int rank = 0; rank < ck_size; rank++)
    for (int call = 0; call < calls; call++) total += record_length(rank, call);
  CHECK_INT(ck_disk_size(name), 4LL * total);
}

static void writes_take_turns(int kind) {
  enum { kCalls = 15 };
  const char *name = ck_fresh(ck_tag_of_kind(kind));
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_WRONLY);
  MPI_Offset before = -1;
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (int call = 0; call < kCalls; call++) {
    int record[8], n = record_length(ck_rank, call);
    MPI_Status status;
    make_record(record, n, call);
    CHECK_OK(ck_write(kind, fh, 0, record, n, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, n);
    MPI_Offset now = shared_position(fh);
    CHECK(now >= before + n);
    before = now;
  }
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  check_records(name, kCalls);
  CHECK_INT(position_after_all(fh), ck_disk_size(name) / 4);
  CHECK_OK(MPI_File_close(&fh));
}

// Every number is read by one rank, once.
static void reads_take_turns(int kind) {
  enum { kNumbers = 420 };
  const char *name = ck_fresh("f");
  int numbers[kNumbers], seen[kNumbers] = {0}, all[kNumbers], last = -1;
  for (int i = 0; i < kNumbers; i++) numbers[i] = i;
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Status status;
  CHECK_OK(MPI_File_set_view(fh, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  if (ck_rank == 0) CHECK_OK(MPI_File_write_at(fh, 0, numbers, kNumbers, MPI_INT, &status));
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_sync(fh));
  for (int left = kNumbers / ck_size, call = 0; left > 0; call++) {
    int in[12], n = (call + ck_rank) % 12;
    if (n > left) n = left;
    if (ck_kind_is_collective(kind)) n = left < 5 ? left : 5;
    CHECK_OK(ck_read(kind, fh, 0, in, n, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, n);
    for (int i = 0; i < n; i++) {
      if (!CHECK(in[i] > last && in[i] < kNumbers && (i == 0 || in[i] == in[i - 1] + 1))) continue;
      seen[last = in[i]]++;
    }
    left -= n;
  }
  MPI_Allreduce(seen, all, kNumbers, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < kNumbers; i++) CHECK_INT(all[i], i < kNumbers / ck_size * ck_size);
  CHECK_OK(MPI_File_close(&fh));
}

// Rank order, with other lengths on each rank, some of them zero.
static void ordered(int kind) {
  enum { kCalls = 6 };
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  int data[8], back[8], want[64 * 8], total = 0;
  MPI_Status status;
  CHECK_OK(MPI_File_set_view(fh, 40, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (int call = 0; call < kCalls; call++) {
    int n = (ck_rank + call) % 3 == 0 ? 0 : record_length(ck_rank, call), at = 0;
    for (int rank = 0; rank < ck_size; rank++)
      for (int i = 0, length = (rank + call) % 3 == 0 ? 0 : record_length(rank, call); i < length; i++)
        want[at++] = rank << 20 | call << 8 | length;
    make_record(data, n, call);
    CHECK_OK(ck_write(kind, fh, 0, data, n, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, n);
    CHECK_OK(MPI_File_sync(fh));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_BYTES(name, 40 + 4LL * total, want, 4 * (size_t)at);
    total += at;
    CHECK_INT(position_after_all(fh), total);
  }
  CHECK_OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
  for (int call = 0; call < kCalls; call++) {
    int n = (ck_rank + call) % 3 == 0 ? 0 : record_length(ck_rank, call);
    make_record(data, n, call);
    CHECK_OK(ck_read(kind, fh, 0, back, n, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, n);
    CHECK(!memcmp(back, data, 4 * (size_t)n));
  }
  CHECK_OK(MPI_File_close(&fh));
}

// Together the ranks get what is there and no more.
static void end_of_file(int kind) {
  const long long bytes = 1000;
  MPI_File fh = ck_open(ck_filled("f", bytes), MPI_MODE_RDONLY);
  unsigned char in[700];
  MPI_Status status;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(ck_read(kind, fh, 0, in, 700, MPI_BYTE, &status));
  int got = (int)ck_count(&status, MPI_BYTE), sum = 0;
  MPI_Allreduce(&got, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_INT(sum, ck_size == 1 ? 700 : bytes);
  if (ck_kind_is_collective(kind)) CHECK_INT(got, ck_rank == 0 ? 700 : ck_rank == 1 ? 300 : 0);
  if (got == 700) CHECK_INT(in[699], ck_byte_at(699));
  if (got == 300) CHECK_INT(in[299], ck_byte_at(999));
  CHECK_OK(MPI_File_close(&fh));
}

// The individual pointer and explicit offsets have nothing to do with it.
static void is_another_pointer(int kind) {
  MPI_File fh = ck_open(ck_filled("f", 4000), MPI_MODE_RDWR);
  unsigned char in[10];
  MPI_Offset at = -1;
  CHECK_OK(MPI_File_seek(fh, 1234, MPI_SEEK_SET));
  CHECK_OK(MPI_File_seek_shared(fh, 500, MPI_SEEK_SET));
  CHECK_OK(ck_read(kind, fh, 0, in, 10, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at(fh, 3000, in, 10, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read(fh, in, 10, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_INT(in[0], ck_byte_at(1234));
  CHECK_OK(MPI_File_get_position(fh, &at));
  CHECK_INT(at, 1244);
  CHECK_INT(position_after_all(fh), 500 + 10 * ck_size);
  CHECK_OK(MPI_File_close(&fh));
}

static void nothing(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  char c = 'x';
  MPI_Status status;
  CHECK_OK(ck_write(kind, fh, 0, &c, 0, MPI_CHAR, &status));
  CHECK_COUNT(status, MPI_CHAR, 0);
  CHECK_OK(ck_read(kind, fh, 0, NULL, 0, MPI_CHAR, &status));
  CHECK_COUNT(status, MPI_CHAR, 0);
  CHECK_INT(position_after_all(fh), 0);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), 0);
}

// A refused access has not moved the pointer.
static void refused(int kind) {
  const char *name = ck_filled("f", 100);
  MPI_File fh = ck_open(name, MPI_MODE_RDONLY);
  char c = 'x';
  int rc = ck_write(kind, fh, 0, &c, 1, MPI_BYTE, MPI_STATUS_IGNORE);
  CHECK_CLASS(rc, MPI_ERR_READ_ONLY);
  rc = ck_read(kind, fh, 0, &c, -1, MPI_BYTE, MPI_STATUS_IGNORE);
  CHECK_CLASS(rc, MPI_ERR_COUNT);
  rc = ck_read(kind, fh, 0, &c, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE);
  CHECK_CLASS(rc, MPI_ERR_TYPE);
  CHECK_INT(position_after_all(fh), 0);
  CHECK_OK(MPI_File_close(&fh));
  fh = ck_open(name, MPI_MODE_WRONLY);
  rc = ck_read(kind, fh, 0, &c, 1, MPI_BYTE, MPI_STATUS_IGNORE);
  CHECK_CLASS(rc, MPI_ERR_ACCESS);
  CHECK_INT(position_after_all(fh), 0);
  CHECK_OK(MPI_File_close(&fh));
}

// Through a view with holes, the same on all ranks, with memory that has holes, too.
static void in_a_view(int kind) {
  const char *name = ck_fresh(ck_tag_of_kind(kind));
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype block, filetype, memory;
  int out[9], in[9], wanted = 0, found = 0;
  MPI_Type_contiguous(2, MPI_INT, &block);
  MPI_Type_create_resized(block, 0, 20, &filetype);
  MPI_Type_commit(&filetype);
  MPI_Type_vector(3, 1, 4, MPI_INT, &memory);
  MPI_Type_commit(&memory);
  CHECK_OK(MPI_File_set_view(fh, 100, MPI_INT, filetype, "native", MPI_INFO_NULL));
  for (int i = 0; i < 9; i++) out[i] = ck_rank + 1;
  CHECK_OK(ck_write(kind, fh, 0, out, 1, memory, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_sync(fh));
  CHECK_INT(position_after_all(fh), 3 * ck_size);
  for (int etype = 0; etype < 3 * ck_size; etype++) {   // every rank's triple is whole, wherever it is
    int value = -1;
    CHECK_OK(MPI_File_read_at(fh, etype, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    if (etype % 3 == 0) wanted = value;
    CHECK_INT(value, wanted);
    found += value == ck_rank + 1;
    CHECK_BYTES(name, 100 + etype / 2 * 20 + etype % 2 * 4, &value, 4);
  }
  CHECK_INT(found, 3);
  CHECK_OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
  memset(in, 0, sizeof in);
  CHECK_OK(ck_read(kind, fh, 0, in, 1, memory, MPI_STATUS_IGNORE));
  CHECK(in[0] > 0 && in[0] <= ck_size && in[4] == in[0] && in[8] == in[0] && in[1] == 0);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&block);
  MPI_Type_free(&filetype);
  MPI_Type_free(&memory);
}

static void far_away(int kind) {
  const char *name = ck_fresh("f");
  const long long far = 6LL << 30;
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  char c = (char)('a' + ck_rank);
  CHECK_OK(MPI_File_seek_shared(fh, far, MPI_SEEK_SET));
  CHECK_OK(ck_write(kind, fh, 0, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_INT(position_after_all(fh), far + ck_size);
  CHECK_INT(ck_disk_size(name), far + ck_size);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_set_size(fh, 0));
  CHECK_OK(MPI_File_close(&fh));
}

static void seeks(void) {
  MPI_File fh = ck_open(ck_filled("f", 1002), MPI_MODE_RDWR);
  CHECK_INT(position_after_all(fh), 0);
  CHECK_OK(MPI_File_set_view(fh, 2, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_seek_shared(fh, 30, MPI_SEEK_SET));
  CHECK_INT(position_after_all(fh), 30);
  CHECK_OK(MPI_File_seek_shared(fh, -12, MPI_SEEK_CUR));
  CHECK_INT(position_after_all(fh), 18);
  CHECK_OK(MPI_File_seek_shared(fh, -4, MPI_SEEK_END));
  CHECK_INT(position_after_all(fh), 246);
  CHECK_OK(MPI_File_seek_shared(fh, 50, MPI_SEEK_END));
  CHECK_INT(position_after_all(fh), 300);
  CHECK_CLASS(MPI_File_seek_shared(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_seek_shared(fh, -301, MPI_SEEK_CUR), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_seek_shared(fh, -251, MPI_SEEK_END), MPI_ERR_ARG);
  CHECK_ERROR(MPI_File_seek_shared(fh, 0, 4711));
  CHECK_INT(position_after_all(fh), 300);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_INT(position_after_all(fh), 0);   // a new view puts it back
  CHECK_OK(MPI_File_close(&fh));
}

// Offset and whence must be the same: all ranks are told.
static void seeks_differ(void) {
  MPI_File fh = ck_open(ck_filled("f", 1000), MPI_MODE_RDWR);
  if (ck_size > 1) {
    int rc = MPI_File_seek_shared(fh, 10 + ck_rank, MPI_SEEK_SET);
    CHECK_ERROR(rc);
    CHECK_SAME(rc);
    rc = MPI_File_seek_shared(fh, 10, ck_rank == 0 ? MPI_SEEK_SET : MPI_SEEK_CUR);
    CHECK_ERROR(rc);
    CHECK_SAME(rc);
  }
  CHECK_INT(position_after_all(fh), 0);
  CHECK_OK(MPI_File_close(&fh));
}

// What is allowed in MPI_MODE_SEQUENTIAL: the shared pointer, and a view that begins where it is.
static void sequential_writing(void) {
  const char *name = ck_fresh("any_order");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  MPI_Datatype block, tile;
  MPI_Offset displacement = -1;
  char c = (char)('a' + ck_rank), datarep[MPI_MAX_DATAREP_STRING], etc[3] = {c, c, 0};
  MPI_Datatype etype, filetype;
  int number = 1000 + ck_rank;
  CHECK_OK(MPI_File_write_ordered(fh, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_write_shared(fh, etc, 2, MPI_CHAR, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_dup(MPI_INT, &block);
  MPI_Type_create_resized(block, 0, 8, &tile);
  MPI_Type_commit(&tile);
  CHECK_OK(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, tile, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_get_view(fh, &displacement, &etype, &filetype, datarep));
  CHECK_INT(displacement, 3 * ck_size);
  MPI_Type_free(&filetype);
  CHECK_OK(MPI_File_write_ordered(fh, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_ordered_begin(fh, &c, 1, MPI_CHAR));
  CHECK_OK(MPI_File_write_ordered_end(fh, &c, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, ck_rank, &c, 1);
  CHECK_BYTES(name, 3 * ck_size + 8 * ck_rank, &number, 4);
  CHECK_BYTES(name, 3 * ck_size + 8 * ck_size + ck_rank, &c, 1);
  MPI_Type_free(&block);
  MPI_Type_free(&tile);
}

static void sequential_reading(void) {
  MPI_File fh = ck_open(ck_filled("f", 1000), MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL);
  unsigned char in[20];
  MPI_Status status;
  MPI_Request request;
  CHECK_OK(MPI_File_read_ordered(fh, in, 20, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, 20);
  CHECK_INT(in[0], ck_byte_at(20 * ck_rank));
  CHECK_OK(MPI_File_iread_shared(fh, in, 1, MPI_BYTE, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_read_ordered(fh, in, 20, MPI_BYTE, &status));
  CHECK_INT(in[0], ck_byte_at(21 * ck_size + 20 * ck_rank));
  CHECK_OK(MPI_File_close(&fh));
}

static void sequential_refuses(void) {
  const char *name = ck_filled("f", 100);
  MPI_File fh = ck_open(name, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL), both = MPI_FILE_NULL;
  MPI_Offset at = -1;
  char c = 'x';
  for (int kind = 0; kind < kPlainKinds; kind++) {
    MPI_Request request = MPI_REQUEST_NULL;
    CkAccess a = {1, kind, fh, 0, &c, 1, MPI_CHAR};
    int rc = ck_call_write(&a, MPI_STATUS_IGNORE, &request);
    CHECK_CLASS(rc, MPI_ERR_UNSUPPORTED_OPERATION);
  }
  CHECK_CLASS(MPI_File_seek(fh, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_get_position(fh, &at), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_OK(MPI_File_get_byte_offset(fh, 7, &at));
  CHECK_INT(at, 7);
  CHECK_CLASS(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_get_position_shared(fh, &at), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_set_size(fh, 5), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_preallocate(fh, 5000), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_shared(fh, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), 100);
  CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &both), MPI_ERR_AMODE);
  fh = ck_open(name, MPI_MODE_RDWR);   // and the other way round
  CHECK_ERROR(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_close(&fh));
}

// Two files at once, and one of them opened twice: four handles, four pointers.
static void several_files(void) {
  const char *names[] = {ck_fresh("a"), ck_fresh("b")};
  MPI_File fh[4];
  char data[4];
  for (int i = 0; i < 4; i++) fh[i] = ck_open(names[i % 2], MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_seek_shared(fh[2], 1000, MPI_SEEK_SET));
  CHECK_OK(MPI_File_seek_shared(fh[3], 2000, MPI_SEEK_SET));
  for (int turn = 0; turn < 6; turn++)
    for (int i = 0; i < 4; i++) {
      memset(data, 'a' + i, sizeof data);
      if ((turn + i) % 2 == 0)
        CHECK_OK(MPI_File_write_ordered(fh[i], data, i + 1, MPI_CHAR, MPI_STATUS_IGNORE));
      else
        CHECK_OK(MPI_File_write_shared(fh[i], data, i + 1, MPI_CHAR, MPI_STATUS_IGNORE));
    }
  for (int i = 0; i < 4; i++) CHECK_INT(position_after_all(fh[i]), (i >= 2 ? 1000 * (i - 1) : 0) + 6 * (i + 1) * ck_size);
  for (int i = 3; i >= 0; i--) CHECK_OK(MPI_File_close(&fh[i]));
  CHECK_INT(ck_disk_size(names[0]), 1000 + 18 * ck_size);
  CHECK_INT(ck_disk_size(names[1]), 2000 + 24 * ck_size);
}

// Half of the ranks each, in files of their own, at the same time; then a pointer of one rank alone.
static void other_communicators(void) {
  MPI_Comm half;
  char name[CK_NAME_BYTES], c = (char)('a' + ck_rank);
  int rank, size;
  MPI_File fh;
  MPI_Comm_split(MPI_COMM_WORLD, ck_rank % 2, -ck_rank, &half);   // with the order turned round
  MPI_Comm_rank(half, &rank);
  MPI_Comm_size(half, &size);
  ck_fresh("half0");
  snprintf(name, sizeof name, "%s", ck_fresh("half1"));
  if (ck_rank % 2 == 0) snprintf(name, sizeof name, "%s", ck_path("half0"));
  CHECK_OK(MPI_File_open(half, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  for (int i = 0; i < 5 + ck_rank % 2; i++) CHECK_OK(MPI_File_write_ordered(fh, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_INT(shared_position(fh), (5 + ck_rank % 2) * size);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 4 * size + rank, &c, 1);
  MPI_Comm_free(&half);
  snprintf(name, sizeof name, "%s%d", ck_fresh("self"), ck_rank);
  CHECK_OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  for (int i = 0; i < 3; i++) CHECK_OK(MPI_File_write_shared(fh, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_INT(shared_position(fh), 3);
  CHECK_OK(MPI_File_close(&fh));
}

// Files opened, used and closed many times over on one communicator: each open begins at 0.
static void again_and_again(void) {
  const char *name = ck_fresh("f");
  char c = 'x';
  for (int turn = 0; turn < 20; turn++) {
    MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
    CHECK_INT(position_after_all(fh), 0);
    CHECK_OK(MPI_File_write_shared(fh, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_close(&fh));
  }
  CHECK_INT(ck_disk_size(name), ck_size);
}

static int entries(const char *folder) {
  int n = 0;
  DIR *d = opendir(ck_on_disk(folder));
  for (struct dirent *e; d && (e = readdir(d));)
    if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) n++;
  if (d) closedir(d);
  return n;
}

// The folder holds the file and nothing else: while it is open (hosts may keep a file for the pointer then), and after.
static void no_litter(void) {
  char folder[CK_NAME_BYTES], name[CK_NAME_BYTES + 8], c = 'x';
  snprintf(folder, sizeof folder, "%s", ck_path("folder"));
  snprintf(name, sizeof name, "%s/file", folder);
  if (ck_rank == 0) mkdir(ck_on_disk(folder), 0777);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_write_shared(fh, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_write_ordered(fh, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_is_mercutio()) CHECK_INT(entries(folder), 1);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_INT(entries(folder), 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) CHECK(unlink(ck_on_disk(name)) == 0 && rmdir(ck_on_disk(folder)) == 0);
}

// Where the pointer is kept in a file (MERCUTIO_SHARED_POINTER=file, a test of its own), that file has no name any more as soon as all
// ranks of a node have it; between nodes it goes with the communicator.
static void its_file_goes(void) {
  const char *way = getenv("MERCUTIO_SHARED_POINTER"), *folder = getenv("MERCUTIO_SHARED_POINTER_DIR");
  MPI_Comm comm;
  MPI_File fh;
  char c = 'x';
  if (!way || !folder || !ck_is_mercutio()) return;
  int before = entries(folder);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  CHECK_OK(MPI_File_open(comm, ck_fresh("f"), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK_OK(MPI_File_write_shared(fh, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_INT(entries(folder), before);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Comm_free(&comm);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_INT(entries(folder), before);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  for (int k = kShared; k < kAllKinds; k++) {
    if (!ck_kind_exists(k)) continue;
    RUN_FOR(writes_take_turns, ck_kind_names[k], k);
    RUN_FOR(reads_take_turns, ck_kind_names[k], k);
    RUN_FOR(end_of_file, ck_kind_names[k], k);
    RUN_FOR(is_another_pointer, ck_kind_names[k], k);
    RUN_FOR(nothing, ck_kind_names[k], k);
    RUN_FOR(refused, ck_kind_names[k], k);
    RUN_FOR(in_a_view, ck_kind_names[k], k);
    RUN_FOR(far_away, ck_kind_names[k], k);
    if (ck_kind_is_collective(k)) RUN_FOR(ordered, ck_kind_names[k], k);
  }
  RUN(seeks);
  RUN(seeks_differ);
  RUN(sequential_writing);
  RUN(sequential_reading);
  RUN(sequential_refuses);
  RUN(several_files);
  RUN(other_communicators);
  RUN(again_and_again);
  RUN(no_litter);
  RUN(its_file_goes);
  return ck_finish();
}
