// 14.6: atomic mode, nonatomic mode with sync-barrier-sync, what is seen after close and open, the chapter's examples.
#include "access_kinds.h"

enum { kPieces = 64, kPiece = 16, kTurns = 6 };

static void make_visible(MPI_File fh) {
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_sync(fh));
}

static void flag(void) {
  MPI_File fh = ck_create("f");
  int atomic = -1;
  CHECK_OK(MPI_File_get_atomicity(fh, &atomic));
  CHECK_INT(atomic, 0);   // the default
  CHECK_OK(MPI_File_set_atomicity(fh, 1));
  CHECK_OK(MPI_File_get_atomicity(fh, &atomic));
  CHECK(atomic != 0);
  CHECK_OK(MPI_File_set_view(fh, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_get_atomicity(fh, &atomic));
  CHECK(atomic != 0);   // a view changes nothing about it
  CHECK_OK(MPI_File_set_atomicity(fh, 17));
  CHECK_OK(MPI_File_set_atomicity(fh, 0));
  CHECK_OK(MPI_File_get_atomicity(fh, &atomic));
  CHECK_INT(atomic, 0);
  CHECK_OK(MPI_File_close(&fh));
}

static void flags_differ(void) {
  MPI_File fh = ck_create("f");
  int atomic = -1;
  if (ck_size > 1) {
    int rc = MPI_File_set_atomicity(fh, ck_rank == 0);
    CHECK_ERROR(rc);
    CHECK_SAME(rc);
  }
  CHECK_OK(MPI_File_get_atomicity(fh, &atomic));
  CHECK_INT(atomic, 0);
  CHECK_OK(MPI_File_close(&fh));
}

// All of it was written by one rank.
static void expect_one_letter(const char *in, int bytes) {
  CHECK(in[0] >= 'A' && in[0] < 'A' + ck_size);
  for (int i = 1; i < bytes; i++)
    if (!CHECK(in[i] == in[0])) break;
}

// All ranks write the same noncontiguous pieces again and again, each its own letter: afterwards, and in between for a
// reader, the pieces all hold one letter. Without atomic mode, they may mix.
static void overlapping_writes(int kind) {
  const char *name = ck_fresh("any_wins");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype filetype;
  char out[kPieces * kPiece], in[kPieces * kPiece];
  MPI_Status status;
  MPI_Type_vector(kPieces, kPiece, 3 * kPiece, MPI_CHAR, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_OK(MPI_File_set_view(fh, 5, MPI_CHAR, filetype, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_set_atomicity(fh, 1));
  memset(out, 'A' + ck_rank, sizeof out);
  for (int turn = 0; turn < kTurns; turn++) {
    CHECK_OK(ck_write(kind, fh, 0, out, sizeof out, MPI_CHAR, &status));
    CHECK_COUNT(status, MPI_CHAR, sizeof out);
    CHECK_OK(ck_read(kind, fh, 0, in, sizeof in, MPI_CHAR, &status));
    CHECK_COUNT(status, MPI_CHAR, sizeof in);
    expect_one_letter(in, sizeof in);
  }
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&filetype);
}

// Ranks overlap their neighbours, in views that differ: what two of them share belongs to one of them, entirely.
static void partly_overlapping(int kind) {
  const char *name = ck_fresh("any_wins");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype filetype;
  char out[2 * kPieces * kPiece], in[kPieces * kPiece];
  MPI_Type_vector(2 * kPieces, kPiece, 2 * kPiece, MPI_CHAR, &filetype);
  MPI_Type_commit(&filetype);
  long long half = 2LL * kPieces * kPiece;
  CHECK_OK(MPI_File_set_view(fh, half * ck_rank, MPI_CHAR, filetype, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_set_atomicity(fh, 1));
  memset(out, 'A' + ck_rank, sizeof out);
  for (int turn = 0; turn < kTurns; turn++) CHECK_OK(ck_write(kind, fh, 0, out, sizeof out, MPI_CHAR, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_read_at(fh, 0, in, sizeof in, MPI_CHAR, MPI_STATUS_IGNORE));   // shared with the rank before
  CHECK(in[0] == 'A' + ck_rank || (ck_rank > 0 && in[0] == 'A' + ck_rank - 1));
  expect_one_letter(in, sizeof in);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&filetype);
}

// The same with so many pieces at unequal distances that one request of the storage can't have all of them.
static void overlapping_irregular_writes(void) {
  enum { kMany = 1000 };
  MPI_File fh = ck_open(ck_fresh("any_wins"), MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Datatype filetype;
  const int bytes = kMany * kPiece;
  int *places = malloc(kMany * sizeof *places);
  char *out = malloc((size_t)bytes), *in = malloc((size_t)bytes);
  for (int i = 0; i < kMany; i++) places[i] = 40 * i + i * 7919 % 17;
  MPI_Type_create_indexed_block(kMany, kPiece, places, MPI_CHAR, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_OK(MPI_File_set_view(fh, 3, MPI_CHAR, filetype, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_set_atomicity(fh, 1));
  memset(out, 'A' + ck_rank, (size_t)bytes);
  for (int turn = 0; turn < 2 * kTurns; turn++) {
    CHECK_OK((turn % 2 ? MPI_File_write_at_all : MPI_File_write_at)(fh, 0, out, bytes, MPI_CHAR, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_read_at(fh, 0, in, bytes, MPI_CHAR, MPI_STATUS_IGNORE));
    expect_one_letter(in, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&filetype);
  free(places);
  free(out);
  free(in);
}

// In atomic mode data is there as soon as the call has returned: a message is all the other rank needs.
static void atomic_is_seen_at_once(void) {
  MPI_File fh = ck_create("f");
  int value = -1;
  MPI_Status status;
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_set_atomicity(fh, 1));
  for (int turn = 0; turn < 5; turn++) {   // the number goes round, each rank adds one
    int token = 0, before = (ck_rank + ck_size - 1) % ck_size;
    if (ck_rank > 0) CHECK_OK(MPI_Recv(&token, 1, MPI_INT, before, turn, MPI_COMM_WORLD, &status));
    if (ck_rank > 0 || turn > 0) {
      CHECK_OK(MPI_File_read_at(fh, before, &value, 1, MPI_INT, &status));
      CHECK_INT(value, turn * ck_size + ck_rank);
    }
    value = turn * ck_size + ck_rank + 1;
    CHECK_OK(MPI_File_write_at(fh, ck_rank, &value, 1, MPI_INT, &status));
    if (ck_rank < ck_size - 1) CHECK_OK(MPI_Send(&token, 1, MPI_INT, ck_rank + 1, turn, MPI_COMM_WORLD));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_close(&fh));
}

// Concurrent appends by the shared pointer in atomic mode with reads of what is finished.
static void atomic_shared(void) {
  const char *name = ck_fresh("any_order");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  char record[32], in[32];
  CHECK_OK(MPI_File_set_atomicity(fh, 1));
  memset(record, 'a' + ck_rank, sizeof record);
  for (int turn = 0; turn < kTurns; turn++) CHECK_OK(MPI_File_write_shared(fh, record, sizeof record, MPI_CHAR, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = ck_rank; i < kTurns * ck_size; i += ck_size) {
    CHECK_OK(MPI_File_read_at(fh, 32 * i, in, sizeof in, MPI_CHAR, MPI_STATUS_IGNORE));
    for (int j = 1; j < 32; j++) CHECK(in[j] == in[0]);
  }
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), 32LL * kTurns * ck_size);
}

// Nonatomic: sync, barrier, sync, and everybody sees everything, through every kind of access and view.
static void sync_barrier_sync(int kind) {
  MPI_File fh = ck_create("f");
  MPI_Datatype filetype, tile;
  int out[50], in[50];
  MPI_Status status;
  MPI_Type_contiguous(1, MPI_INT, &filetype);
  MPI_Type_create_resized(filetype, 0, 4 * ck_size, &tile);
  MPI_Type_commit(&tile);
  for (int turn = 0; turn < 3; turn++) {
    int peer = (ck_rank + turn) % ck_size;
    for (int i = 0; i < 50; i++) out[i] = turn * 10000 + ck_rank * 100 + i;
    CHECK_OK(MPI_File_set_view(fh, 4 * ck_rank, MPI_INT, tile, "native", MPI_INFO_NULL));
    CHECK_OK(ck_write(kind, fh, 0, out, 50, MPI_INT, &status));
    make_visible(fh);
    CHECK_OK(MPI_File_set_view(fh, 4 * peer, MPI_INT, tile, "native", MPI_INFO_NULL));
    CHECK_OK(ck_read(kind, fh, 0, in, 50, MPI_INT, &status));
    CHECK_COUNT(status, MPI_INT, 50);
    for (int i = 0; i < 50; i++) CHECK_INT(in[i], turn * 10000 + peer * 100 + i);
    make_visible(fh);
  }
  CHECK_OK(MPI_File_close(&fh));
  MPI_Type_free(&filetype);
  MPI_Type_free(&tile);
}

// What one handle wrote is seen by a handle opened after it was closed, on other ranks and other communicators.
static void close_and_open(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_WRONLY), self;
  int out[100], in[100];
  for (int i = 0; i < 100; i++) out[i] = ck_rank * 1000 + i;
  CHECK_OK(ck_write(kind, fh, (MPI_Offset)ck_rank * sizeof out, out, 100, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &self));
  for (int rank = 0; rank < ck_size; rank++) {
    CHECK_OK(ck_read(kind, self, (MPI_Offset)rank * sizeof in, in, 100, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < 100; i++) CHECK_INT(in[i], rank * 1000 + i);
  }
  CHECK_OK(MPI_File_close(&self));
  MPI_Barrier(MPI_COMM_WORLD);
}

// Two handles of the same file: sync on the writer, then on the reader.
static void two_handles(void) {
  const char *name = ck_fresh("f");
  MPI_File writer = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR), reader = ck_open(name, MPI_MODE_RDONLY);
  MPI_Offset size = -1;
  for (int turn = 1; turn <= 4; turn++) {
    int value = turn * 100 + ck_rank, in = -1, peer = (ck_rank + 1) % ck_size;
    CHECK_OK(MPI_File_write_at_all(writer, 4 * (turn * ck_size + ck_rank), &value, 4, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_sync(writer));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_OK(MPI_File_sync(reader));
    CHECK_OK(MPI_File_read_at(reader, 4 * (turn * ck_size + peer), &in, 4, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_INT(in, turn * 100 + peer);
    CHECK_OK(MPI_File_get_size(reader, &size));
    CHECK_INT(size, 4 * (turn + 1) * ck_size);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  CHECK_OK(MPI_File_close(&writer));
  CHECK_OK(MPI_File_close(&reader));
}

// One rank sees its own accesses in order without any call between them, in both modes, and through requests too.
static void own_accesses_are_in_order(int atomic) {
  MPI_File fh = ck_create("f");
  unsigned char in[64], out[64];
  MPI_Request request;
  MPI_Offset mine = 64 * ck_rank;
  CHECK_OK(MPI_File_set_atomicity(fh, atomic));
  for (int turn = 0; turn < 10; turn++) {
    memset(out, turn + 1, sizeof out);
    CHECK_OK(MPI_File_write_at(fh, mine, out, 64, MPI_BYTE, MPI_STATUS_IGNORE));
    memset(out, turn + 101, sizeof out);
    CHECK_OK(MPI_File_iwrite_at(fh, mine + 16, out, 16, MPI_BYTE, &request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_OK(MPI_File_read_at(fh, mine, in, 64, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 0; i < 64; i++) CHECK_INT(in[i], i >= 16 && i < 32 ? turn + 101 : turn + 1);
  }
  CHECK_OK(MPI_File_close(&fh));
}

// The chapter's examples: 10 integers written by rank 0 and read by rank 1, consistent by atomic mode or by sync; two
// files in one program; and a nonblocking write and read completed together.
static void examples(int atomic) {
  MPI_File fh = ck_create("a"), other = ck_create("b");
  int a[10], b[10];
  MPI_Status status;
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_set_view(other, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_set_atomicity(fh, atomic));
  CHECK_OK(MPI_File_set_atomicity(other, atomic));
  for (int i = 0; i < 10; i++) a[i] = 5 + i;
  if (ck_rank == 0) CHECK_OK(MPI_File_write_at(fh, 0, a, 10, MPI_INT, &status));
  if (!atomic) make_visible(fh);
  if (atomic) MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == ck_size - 1) {
    CHECK_OK(MPI_File_read_at(fh, 0, b, 10, MPI_INT, &status));
    CHECK(!memcmp(a, b, sizeof a));
    MPI_Request requests[2];
    MPI_Status statuses[2];
    CHECK_OK(MPI_File_iwrite_at(other, 10, a, 10, MPI_INT, &requests[0]));
    CHECK_OK(MPI_File_iread_at(other, 10, b, 10, MPI_INT, &requests[1]));
    CHECK_OK(MPI_Waitall(2, requests, statuses));
    CHECK_COUNT(statuses[0], MPI_INT, 10);
    int got = (int)ck_count(&statuses[1], MPI_INT);   // conflicting and concurrent: in atomic mode all or nothing
    CHECK(got == 0 || got == 10 || !atomic);
    CHECK_OK(MPI_File_read_at(other, 10, b, 10, MPI_INT, &status));
    CHECK(!memcmp(a, b, sizeof a));
  }
  CHECK_OK(MPI_File_close(&fh));
  CHECK_OK(MPI_File_close(&other));
}

static void syncs_without_writes(void) {
  MPI_File fh = ck_open(ck_filled("f", 10), MPI_MODE_RDONLY);
  for (int i = 0; i < 3; i++) CHECK_OK(MPI_File_sync(fh));
  CHECK_OK(MPI_File_close(&fh));
  fh = ck_create("g");
  CHECK_OK(MPI_File_sync(fh));
  CHECK_OK(MPI_File_set_size(fh, 100));
  make_visible(fh);
  CHECK_INT(ck_disk_size(ck_path("g")), 100);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_close(&fh));
}

// On storage without locks (run.py --no-locks). The file can be used all the same.
static void atomic_is_refused(void) {
  MPI_File fh = ck_create("f");
  int atomic = -1, rc = MPI_File_set_atomicity(fh, 1);
  CHECK_CLASS(rc, MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_SAME(rc);
  CHECK_OK(MPI_File_get_atomicity(fh, &atomic));
  CHECK_INT(atomic, 0);
  CHECK_OK(MPI_File_set_atomicity(fh, 0));
  CHECK_OK(MPI_File_write_at_all(fh, ck_rank, "a", 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  const int locks = getenv("MERCUTIO_TEST_NO_LOCKS") == NULL;
  if (locks) RUN(flag);
  RUN(flags_differ);
  for (int k = 0; k < kPlainKinds; k++) {
    if (locks) RUN_FOR(overlapping_writes, ck_kind_names[k], k);
    if (locks) RUN_FOR(partly_overlapping, ck_kind_names[k], k);
    RUN_FOR(sync_barrier_sync, ck_kind_names[k], k);
    RUN_FOR(close_and_open, ck_kind_names[k], k);
  }
  if (locks) RUN(overlapping_irregular_writes);
  if (locks) RUN(atomic_is_seen_at_once);
  if (locks) RUN(atomic_shared);
  RUN(two_handles);
  RUN_FOR(own_accesses_are_in_order, "nonatomic", 0);
  if (locks) RUN_FOR(own_accesses_are_in_order, "atomic", 1);
  RUN_FOR(examples, "nonatomic", 0);
  if (locks) RUN_FOR(examples, "atomic", 1);
  if (!locks) RUN(atomic_is_refused);
  RUN(syncs_without_writes);
  return ck_finish();
}
