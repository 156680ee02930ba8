// 14.4.5: split collectives. Each pair of begin and end, what may happen in between, one at a time on a handle but any
// number on several, statuses, and misuse, which is refused on all ranks and leaves the active access alone.
#include "access_kinds.h"

enum { kInts = 500 };

static int is_split(int kind) { return ck_kind_exists(kind) && ck_kind_is_split(kind); }

static int begin(CkAccess *a) {
  MPI_Request none = MPI_REQUEST_NULL;
  return a->write ? ck_call_write(a, MPI_STATUS_IGNORE, &none) : ck_call_read(a, MPI_STATUS_IGNORE, &none);
}

// Where a rank's data is with that kind of access: explicit offsets and individual pointers are set to it by the case,
// the shared pointer comes to it by itself.
static MPI_Offset place(int kind, int rank, int part) {
  return ck_kind_is_explicit(kind) || kind < kShared ? (MPI_Offset)(part * ck_size + rank) * kInts : 0;
}
static void go_to(int kind, MPI_File fh, int rank, int part) {
  if (kind < kShared && !ck_kind_is_explicit(kind)) CHECK_OK(MPI_File_seek(fh, place(kind, rank, part), MPI_SEEK_SET));
}

static void fill(int *data, int part) {
  for (int i = 0; i < kInts; i++) data[i] = part * 1000000 + ck_rank * 10000 + i;
}

static MPI_File ints(const char *name) {
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_set_view(fh, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  return fh;
}

// Write, read back, look at the file. Between begin and end the program computes, talks, and asks the file things.
static void pairs(int kind) {
  enum { kParts = 3 };
  const char *name = ck_fresh("f");
  MPI_File fh = ints(name);
  int data[kInts], back[kInts], sum = 0;
  MPI_Offset size = -1, at = -1;
  MPI_Status status;
  for (int part = 0; part < kParts; part++) {
    fill(data, part);
    go_to(kind, fh, ck_rank, part);
    CkAccess a = {1, kind, fh, place(kind, ck_rank, part), data, kInts, MPI_INT};
    CHECK_OK(begin(&a));
    MPI_Allreduce(&ck_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_INT(sum, ck_size * (ck_size - 1) / 2);
    CHECK_OK(MPI_File_get_size(fh, &size));
    CHECK_OK(MPI_File_get_position(fh, &at));
    if (kind < kShared && !ck_kind_is_explicit(kind)) CHECK_INT(at, place(kind, ck_rank, part) + kInts);
    CHECK_OK(ck_call_end(&a, &status));
    CHECK_COUNT(status, MPI_INT, kInts);
    CHECK_COUNT(status, MPI_BYTE, 4 * kInts);
  }
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
  for (int part = 0; part < kParts; part++) {
    fill(data, part);
    go_to(kind, fh, ck_rank, part);
    CkAccess a = {0, kind, fh, place(kind, ck_rank, part), back, kInts, MPI_INT};
    memset(back, 0, sizeof back);
    CHECK_OK(begin(&a));
    CHECK_OK(ck_call_end(&a, &status));
    CHECK_COUNT(status, MPI_INT, kInts);
    CHECK(!memcmp(back, data, sizeof back));
  }
  CHECK_OK(MPI_File_close(&fh));
  for (int part = 0; part < kParts; part++) {
    fill(data, part);
    CHECK_BYTES(name, 8 + (long long)(part * ck_size + ck_rank) * sizeof data, data, sizeof data);
  }
}

static void statuses(int kind) {
  MPI_File fh = ck_open(ck_filled("f", 100), MPI_MODE_RDONLY);
  MPI_Datatype triple;
  int in[20 * 3], elements = -1;
  MPI_Status status;
  MPI_Type_contiguous(3, MPI_INT, &triple);
  MPI_Type_commit(&triple);
  // Everybody reads the whole file; by the shared pointer the first rank gets it all.
  CkAccess a = {0, kind, fh, 0, in, 20, triple};
  CHECK_OK(begin(&a));
  CHECK_OK(ck_call_end(&a, &status));
  int mine = kind < kShared || ck_rank == 0;
  CHECK_COUNT(status, triple, mine ? MPI_UNDEFINED : 0);
  CHECK_OK(MPI_Get_elements(&status, triple, &elements));
  CHECK_INT(elements, mine ? 25 : 0);
  CHECK_COUNT(status, MPI_BYTE, mine ? 100 : 0);
  int cancelled = 1;
  CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_INT(cancelled, 0);
  a.count = 0;
  CHECK_OK(begin(&a));
  CHECK_OK(ck_call_end(&a, &status));
  CHECK_COUNT(status, MPI_INT, 0);
  a.count = 1;
  CHECK_OK(begin(&a));
  CHECK_OK(ck_call_end(&a, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&triple);
}

// Noncollective accesses of the same handle may go on meanwhile.
static void beside_independent_ones(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = ints(name);
  int data[kInts], other = 77 + ck_rank, back = 0;
  long long behind = 10LL * ck_size * kInts;
  MPI_Status status;
  MPI_Request request;
  fill(data, 0);
  go_to(kind, fh, ck_rank, 0);
  CkAccess a = {1, kind, fh, place(kind, ck_rank, 0), data, kInts, MPI_INT};
  CHECK_OK(begin(&a));
  CHECK_OK(MPI_File_write_at(fh, behind + ck_rank, &other, 1, MPI_INT, &status));
  CHECK_COUNT(status, MPI_INT, 1);
  CHECK_OK(MPI_File_iread_at(fh, behind + ck_rank, &back, 1, MPI_INT, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_INT(back, other);
  CHECK_OK(ck_call_end(&a, &status));
  CHECK_COUNT(status, MPI_INT, kInts);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 8 + (long long)ck_rank * sizeof data, data, sizeof data);
  CHECK_BYTES(name, 8 + 4 * (behind + ck_rank), &other, 4);
}

// One on each of three handles, ended in another order than begun, with a collective request on a fourth.
static void on_several_files(int kind) {
  const char *names[4];
  MPI_File fh[4];
  int data[4][kInts];
  CkAccess a[3];
  MPI_Status status;
  MPI_Request request;
  for (int i = 0; i < 4; i++) {
    char tag[2] = {(char)('a' + i), 0};
    names[i] = ck_fresh(tag);
    fh[i] = ints(names[i]);
    fill(data[i], i);
  }
  for (int i = 0; i < 3; i++) {
    go_to(kind, fh[i], ck_rank, 0);
    a[i] = (CkAccess){1, kind, fh[i], place(kind, ck_rank, 0), data[i], kInts - i, MPI_INT};
    CHECK_OK(begin(&a[i]));
  }
  CHECK_OK(MPI_File_iwrite_at_all(fh[3], (MPI_Offset)ck_rank * kInts, data[3], kInts, MPI_INT, &request));
  for (int i = 0; i < 3; i++) {
    int which = (i + 1 + ck_rank) % 3;   // each rank in its own order: that is no collective call on one handle
    CHECK_OK(ck_call_end(&a[which], &status));
    CHECK_COUNT(status, MPI_INT, kInts - which);
  }
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_COUNT(status, MPI_INT, kInts);
  for (int i = 0; i < 4; i++) {
    CHECK_OK(MPI_File_close(&fh[i]));
    long long stride = kind < kShared || i == 3 ? kInts : kInts - i;
    CHECK_BYTES(names[i], 8 + 4 * stride * ck_rank, data[i], 4 * (size_t)(kInts - (i < 3 ? i : 0)));
  }
}

// A second begin, another collective access, the wrong end: refused, and the first access ends as if nothing had been.
static void one_at_a_time(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = ints(name);
  int data[kInts], other[kInts] = {0};
  MPI_Status status;
  fill(data, 0);
  go_to(kind, fh, ck_rank, 0);
  CkAccess a = {1, kind, fh, place(kind, ck_rank, 0), data, kInts, MPI_INT};
  CHECK_OK(begin(&a));
  for (int second = 0; second < kAllKinds; second++) {
    if (!ck_kind_exists(second) || !ck_kind_is_collective(second)) continue;
    for (int write = 0; write < 2; write++) {
      CkAccess b = {write, second, fh, 0, other, 1, MPI_INT};
      MPI_Request request = MPI_REQUEST_NULL;
      int rc = write ? ck_call_write(&b, &status, &request) : ck_call_read(&b, &status, &request);
      CHECK_ERROR(rc);
      CHECK(request == MPI_REQUEST_NULL);
    }
  }
  const int kinds[] = {kAtAllSplit, kPointerAllSplit, kOrderedSplit};
  for (int i = 0; i < 3; i++)
    for (int write = 0; write < 2; write++) {
      CkAccess wrong = {write, kinds[i], fh, 0, data, 1, MPI_INT};
      int same = write && ck_kind_is_explicit(kinds[i]) == ck_kind_is_explicit(kind) && (kinds[i] >= kShared) == (kind >= kShared);
      if (!same) CHECK_ERROR(ck_call_end(&wrong, &status));
    }
  CHECK_OK(ck_call_end(&a, &status));
  CHECK_COUNT(status, MPI_INT, kInts);
  CHECK_ERROR(ck_call_end(&a, &status));   // it is over
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 8 + (long long)ck_rank * sizeof data, data, sizeof data);
  CHECK_INT(ck_disk_size(name), 8 + (long long)ck_size * sizeof data);
}

// What the chapter forbids while one is active.
static void others_are_refused(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = ints(name);
  int data[kInts];
  MPI_Offset at = -1;
  fill(data, 0);
  go_to(kind, fh, ck_rank, 0);
  CkAccess a = {1, kind, fh, place(kind, ck_rank, 0), data, kInts, MPI_INT};
  CHECK_OK(begin(&a));
  CHECK_ERROR(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_ERROR(MPI_File_set_size(fh, 10));
  CHECK_ERROR(MPI_File_preallocate(fh, 1 << 20));
  CHECK_ERROR(MPI_File_set_atomicity(fh, 1));
  CHECK_ERROR(MPI_File_sync(fh));
  CHECK_OK(MPI_File_get_byte_offset(fh, 1, &at));
  CHECK_INT(at, 12);
  CHECK_OK(ck_call_end(&a, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_sync(fh));
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), 8 + (long long)ck_size * sizeof data);
}

static void end_without_begin(int kind) {
  MPI_File fh = ck_create("f");
  char c = 'x';
  for (int write = 0; write < 2; write++) {
    CkAccess a = {write, kind, fh, 0, &c, 1, MPI_CHAR};
    CHECK_ERROR(ck_call_end(&a, MPI_STATUS_IGNORE));
  }
  CHECK_OK(ck_write(kind, fh, ck_rank, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
}

// A begin that fails has begun nothing: no end belongs to it, and the next begin works.
static void failed_begin(int kind) {
  const char *name = ck_filled("f", 4 * ck_size);
  char in[4], want[4];
  MPI_File fh = ck_open(name, MPI_MODE_RDONLY);
  for (int wrong = 0; wrong < 3; wrong++) {
    CkAccess a = {wrong == 0, kind, fh, 0, in, wrong == 1 ? -1 : 1, wrong == 2 ? MPI_DATATYPE_NULL : MPI_CHAR};
    int rc = begin(&a);
    CHECK_CLASS(rc, wrong == 0 ? MPI_ERR_READ_ONLY : wrong == 1 ? MPI_ERR_COUNT : MPI_ERR_TYPE);
    CHECK_ERROR(ck_call_end(&a, MPI_STATUS_IGNORE));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < 4; i++) want[i] = (char)ck_byte_at(4 * ck_rank + i);
  CHECK_OK(ck_read(kind, fh, 4 * ck_rank, in, 4, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK(!memcmp(in, want, 4));
  CHECK_OK(MPI_File_close(&fh));
}

// A begin that fails on the last rank only: the others' end tells them, nobody hangs, and the file goes on.
static void failed_begin_on_one_rank(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  char c = (char)('a' + ck_rank);
  int bad = ck_rank == ck_size - 1;
  CkAccess a = {1, kind, fh, ck_rank, &c, bad ? -1 : 1, MPI_CHAR};
  int rc = begin(&a);
  if (bad)
    CHECK_CLASS(rc, MPI_ERR_COUNT);
  else if (CHECK_OK(rc))
    CHECK_CLASS(ck_call_end(&a, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
  CHECK_OK(ck_write(kind, fh, ck_rank, &c, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, ck_rank, &c, 1);
}

// Through interleaving views, memory with holes, and sizes that differ.
static void noncontiguous(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype one, filetype, memory;
  int out[3 * 60], in[3 * 60], n = 30 + 10 * (ck_rank % 3);
  MPI_Status status;
  MPI_Type_contiguous(1, MPI_INT, &one);
  MPI_Type_create_resized(one, 0, 4 * ck_size, &filetype);
  MPI_Type_commit(&filetype);
  MPI_Type_vector(n, 1, 3, MPI_INT, &memory);
  MPI_Type_commit(&memory);
  for (int i = 0; i < 180; i++) out[i] = ck_rank * 1000 + i;
  CHECK_OK(MPI_File_set_view(fh, 4 * ck_rank, MPI_INT, filetype, "native", MPI_INFO_NULL));
  CHECK_OK(ck_write(kind, fh, 0, out, 1, memory, &status));
  CHECK_COUNT(status, MPI_INT, n);
  memset(in, 0xff, sizeof in);
  CHECK_OK(ck_read(kind, fh, 0, in, 1, memory, &status));
  CHECK_COUNT(status, memory, 1);
  for (int i = 0; i < 180; i++) CHECK_INT(in[i], i % 3 == 0 && i < 3 * n ? out[i] : -1);
  CHECK_OK(MPI_File_close(&fh));
  for (int i = 0; i < n; i += 7) CHECK_BYTES(name, 4LL * (i * ck_size + ck_rank), &out[3 * i], 4);
  MPI_Type_free(&one);
  MPI_Type_free(&filetype);
  MPI_Type_free(&memory);
}

// Begin of one kind after the end of another: the pointers are what the sum of all left.
static void one_after_the_other(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  const int kinds[] = {kOrderedSplit, kPointerAllSplit, kOrdered, kPointerAll, kOrderedSplit, kPointerAllSplit};
  char data[6];
  MPI_Offset at = -1;
  CHECK_OK(MPI_File_seek(fh, 1000 * (ck_rank + 1), MPI_SEEK_SET));
  for (int i = 0; i < 6; i++) {
    CkAccess a = {1, kinds[i], fh, 0, &data[i], 1, MPI_CHAR};
    data[i] = (char)('a' + 6 * ck_rank + i);
    CHECK_OK(begin(&a));
    if (ck_kind_is_split(kinds[i])) CHECK_OK(ck_call_end(&a, MPI_STATUS_IGNORE));
  }
  CHECK_OK(MPI_File_get_position(fh, &at));
  CHECK_INT(at, 1000 * (ck_rank + 1) + 3);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_get_position_shared(fh, &at));
  CHECK_INT(at, 3 * ck_size);
  CHECK_OK(MPI_File_close(&fh));
  for (int i = 0; i < 6; i++) CHECK_BYTES(name, i % 2 ? 1000 * (ck_rank + 1) + i / 2 : i / 2 * ck_size + ck_rank, &data[i], 1);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  for (int k = 0; k < kAllKinds; k++) {
    if (!is_split(k)) continue;
    RUN_FOR(pairs, ck_kind_names[k], k);
    RUN_FOR(statuses, ck_kind_names[k], k);
    RUN_FOR(beside_independent_ones, ck_kind_names[k], k);
    RUN_FOR(on_several_files, ck_kind_names[k], k);
    RUN_FOR(one_at_a_time, ck_kind_names[k], k);
    RUN_FOR(others_are_refused, ck_kind_names[k], k);
    RUN_FOR(end_without_begin, ck_kind_names[k], k);
    RUN_FOR(failed_begin, ck_kind_names[k], k);
    RUN_FOR(failed_begin_on_one_rank, ck_kind_names[k], k);
    if (k < kShared) RUN_FOR(noncontiguous, ck_kind_names[k], k);
  }
  RUN(one_after_the_other);
  return ck_finish();
}
