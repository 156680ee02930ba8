// A process that has a file open twice, for collective calls and for its own: PnetCDF does so, and calls MPI_File_sync between only if its
// user asks for it. What a rank has written it reads through either open, and of its writes to one place the last one counts. Every file
// system that POSIX describes gives that; a store whose objects are published doesn't by itself.
#include "check.h"

enum { kPiece = 100 };

typedef struct {
  MPI_File all, own;
  const char *name;
  MPI_Offset mine;   // of this rank's piece
} Opens;

// One rank moves what all write, so that the others' bytes are in its memory.
static Opens open_both(void) {
  Opens opens = {.name = ck_fresh("f"), .mine = kPiece * ck_rank};
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_Info_set(info, "romio_cb_write", "enable");
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, opens.name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &opens.all));
  CHECK_OK(MPI_File_open(MPI_COMM_SELF, opens.name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &opens.own));
  MPI_Info_free(&info);
  return opens;
}

static void write_piece(MPI_File fh, int together, MPI_Offset at, int value, int bytes) {
  char out[kPiece];
  memset(out, value, sizeof out);
  CHECK_OK((together ? MPI_File_write_at_all : MPI_File_write_at)(fh, at, out, bytes, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void expect_piece(MPI_File fh, int together, MPI_Offset at, int value, int bytes) {
  char in[kPiece] = "", want[kPiece];
  MPI_Status status;
  memset(want, value, sizeof want);
  CHECK_OK((together ? MPI_File_read_at_all : MPI_File_read_at)(fh, at, in, bytes, MPI_BYTE, &status));
  CHECK_COUNT(status, MPI_BYTE, bytes);
  CHECK(!memcmp(in, want, (size_t)bytes));
}

static void expect_file(const char *name, int value, int changed, int value_there) {
  char *want = malloc((size_t)(kPiece * ck_size));
  MPI_Barrier(MPI_COMM_WORLD);
  memset(want, value, (size_t)(kPiece * ck_size));
  for (int rank = 0; rank < ck_size; rank++) memset(want + kPiece * rank, value_there, (size_t)changed);
  CHECK_BYTES(name, 0, want, (size_t)(kPiece * ck_size));
  CHECK_INT(ck_disk_size(name), kPiece * ck_size);
  MPI_Barrier(MPI_COMM_WORLD);
  free(want);
}

// PnetCDF's order: fill values, the same places by independent calls, then the independent open is closed first.
static void later_bytes_remain(int own_first) {
  Opens opens = open_both();
  write_piece(opens.all, 1, opens.mine, 'f', kPiece);
  write_piece(opens.own, 0, opens.mine, 'd', 40);
  CHECK_OK(MPI_File_close(own_first ? &opens.own : &opens.all));
  CHECK_OK(MPI_File_close(own_first ? &opens.all : &opens.own));
  expect_file(opens.name, 'f', 40, 'd');
}

static void opens_take_turns(int sync) {
  Opens opens = open_both();
  write_piece(opens.own, 0, opens.mine, 'a', kPiece);
  write_piece(opens.all, 1, opens.mine, 'b', kPiece);
  if (sync) CHECK_OK(MPI_File_sync(opens.all));
  write_piece(opens.own, 0, opens.mine, 'c', 60);
  write_piece(opens.all, 1, opens.mine, 'd', 30);
  expect_piece(opens.own, 0, opens.mine, 'd', 30);
  expect_piece(opens.own, 0, opens.mine + 30, 'c', 30);
  expect_piece(opens.all, 0, opens.mine + 30, 'c', 30);
  expect_piece(opens.own, 0, opens.mine + 60, 'b', 40);
  write_piece(opens.all, 1, opens.mine, 'c', 60);
  CHECK_OK(MPI_File_close(&opens.all));
  CHECK_OK(MPI_File_close(&opens.own));
  expect_file(opens.name, 'b', 60, 'c');
}

static void what_one_has_written_the_other_reads(void) {
  Opens opens = open_both();
  MPI_Offset size = -1;
  write_piece(opens.all, 1, opens.mine, 'a', kPiece);
  expect_piece(opens.own, 0, opens.mine, 'a', kPiece);
  write_piece(opens.all, 0, opens.mine, 'b', 20);
  expect_piece(opens.own, 0, opens.mine, 'b', 20);
  expect_piece(opens.own, 0, opens.mine + 20, 'a', 80);
  write_piece(opens.own, 0, opens.mine + 10, 'c', 20);
  expect_piece(opens.all, 0, opens.mine, 'b', 10);
  expect_piece(opens.all, 0, opens.mine + 10, 'c', 20);
  CHECK_OK(MPI_File_get_size(opens.own, &size));
  CHECK(size >= opens.mine + kPiece);
  CHECK_OK(MPI_File_close(&opens.own));
  CHECK_OK(MPI_File_close(&opens.all));
}

// All ranks see it in a collective read, and go on reading through an open that has seen the file before.
static void all_see_it_in_a_collective_read(void) {
  Opens opens = open_both();
  const MPI_Offset next = kPiece * ((ck_rank + 1) % ck_size);
  write_piece(opens.all, 1, opens.mine, 'a', kPiece);
  CHECK_OK(MPI_File_sync(opens.all));
  expect_piece(opens.all, 0, next, 'a', kPiece);
  MPI_Barrier(MPI_COMM_WORLD);
  write_piece(opens.own, 0, opens.mine, 'b', kPiece);
  MPI_Barrier(MPI_COMM_WORLD);
  expect_piece(opens.all, 1, next, 'b', kPiece);
  MPI_Barrier(MPI_COMM_WORLD);
  write_piece(opens.own, 0, opens.mine, 'c', kPiece);
  CHECK_OK(MPI_File_sync(opens.own));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_sync(opens.all));
  expect_piece(opens.all, 0, next, 'c', kPiece);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_close(&opens.own));
  CHECK_OK(MPI_File_close(&opens.all));
  expect_file(opens.name, 'c', 0, 0);
}

// Another rank has published through an open of its own: what was seen of the file before is not there any more.
static void the_object_is_replaced(void) {
  Opens opens = open_both();
  write_piece(opens.all, 1, opens.mine, 'a', kPiece);
  CHECK_OK(MPI_File_sync(opens.all));
  expect_piece(opens.all, 0, opens.mine, 'a', 10);
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == ck_size - 1) {
    write_piece(opens.own, 0, kPiece * ck_size, 'z', 10);
    CHECK_OK(MPI_File_sync(opens.own));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  expect_piece(opens.all, 0, opens.mine, 'a', kPiece);
  expect_piece(opens.own, 0, opens.mine, 'a', kPiece);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_close(&opens.all));
  CHECK_OK(MPI_File_close(&opens.own));
}

// With this hint other storage is opened on the ranks that move data only. All ranks of such a file have something to publish.
static void what_collective_calls_alone_write(void) {
  const char *name = ck_fresh("f");
  MPI_Info info;
  MPI_File fh;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_no_indep_rw", "true");
  for (int again = 0; again < 2; again++) {
    CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    if (again) expect_piece(fh, 1, kPiece * ck_rank, 'a', kPiece);
    write_piece(fh, 1, kPiece * ck_rank, 'a' + again, kPiece);
    CHECK_OK(MPI_File_close(&fh));
    expect_file(name, 'a' + again, 0, 0);
  }
  MPI_Info_free(&info);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  RUN_FOR(later_bytes_remain, "own_closed_first", 1);
  RUN_FOR(later_bytes_remain, "own_closed_last", 0);
  RUN_FOR(opens_take_turns, "unsynchronised", 0);
  RUN_FOR(opens_take_turns, "synchronised", 1);
  RUN(what_one_has_written_the_other_reads);
  RUN(all_see_it_in_a_collective_read);
  RUN(the_object_is_replaced);
  RUN(what_collective_calls_alone_write);
  return ck_finish();
}
