// M2: when one rank of a collective write fails, every rank returns an error, all the same, and none waits for the others.
#include "write_limit.h"

static LimitHints hints;
static int access_kind = kAtAll;

static void write_refused_on(int rank) {
  const char *name = ck_fresh("f");
  char *buffer = calloc(1, kShare);
  MPI_File fh = open_with(name, hints);
  interleaved_view(fh);
  limit_writes(rank);
  int code = ck_write(access_kind, fh, 0, buffer, kShare, MPI_BYTE, MPI_STATUS_IGNORE);
  lift_limit();
  CHECK_CLASS(code, MPI_ERR_NO_SPACE);
  check_still_usable(fh, name);
  CHECK_OK(MPI_File_close(&fh));
  free(buffer);
}

// Whoever writes the data here, the outcome is the same on every rank.
static void same_outcome(int rank) {
  const char *name = ck_fresh("f");
  char *buffer = calloc(1, kShare);
  MPI_File fh = open_with(name, kDefaultHints);
  interleaved_view(fh);
  limit_writes(rank);
  int code = ck_write(access_kind, fh, 0, buffer, kShare, MPI_BYTE, MPI_STATUS_IGNORE);
  lift_limit();
  CHECK_SAME(code);
  CHECK(ck_class(code) == MPI_SUCCESS || ck_class(code) == MPI_ERR_NO_SPACE);
  check_still_usable(fh, name);
  CHECK_OK(MPI_File_close(&fh));
  free(buffer);
}

static void ordered(int rank) {
  MPI_File fh = ck_create("f");
  char *buffer = calloc(1, kShare);
  limit_writes(rank);
  int code = MPI_File_write_ordered(fh, buffer, kShare, MPI_BYTE, MPI_STATUS_IGNORE);
  lift_limit();
  CHECK_SAME(code);
  CHECK_ERROR(code);
  CHECK_OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
  CHECK_OK(MPI_File_write_ordered(fh, buffer, kShare, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(ck_path("f")), (long long)kShare * ck_size);
  free(buffer);
}

static void bad_argument_on(int rank) {
  MPI_File fh = ck_create("f");
  char byte = 'x';
  CHECK_ERROR(MPI_File_write_at_all(fh, ck_rank == rank ? -1 : ck_rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_write_at_all(fh, ck_rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(ck_path("f")), ck_size);
}

// Nothing is written, and the shared file pointer stays: where it is called again, no hole is left.
static void bad_count_in_order(int rank) {
  enum { kStart = 7 };
  MPI_File fh = ck_create("f");
  char byte = 'x';
  MPI_Offset at = -1;
  const int count = ck_rank == rank ? -1 : 1;
  CHECK_OK(MPI_File_seek_shared(fh, kStart, MPI_SEEK_SET));
  CHECK_CLASS(MPI_File_write_ordered(fh, &byte, count, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
  if (MPI_File_write_ordered_begin(fh, &byte, count, MPI_BYTE) == MPI_SUCCESS)
    CHECK_CLASS(MPI_File_write_ordered_end(fh, &byte, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
  CHECK_OK(MPI_File_get_position_shared(fh, &at));
  CHECK_INT(at, kStart);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_File_write_ordered(fh, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(ck_path("f")), kStart + ck_size);
}

int main(int argc, char **argv) {
  static const LimitHints sets[] = {kAllAggregate, kSmallRounds, kNoBuffering};
  static const struct { const char *name; int kind; } kinds[] = {
      {"at_all", kAtAll}, {"all", kPointerAll}, {"iat_all", kIatAll}, {"split", kAtAllSplit}};
  char name[80];
  ck_init(&argc, &argv);
  return_errors();
  for (int i = 0; i < 3; i++)
    for (int rank = 0; rank < ck_size; rank++) {
      hints = sets[i];
      snprintf(name, sizeof name, "%s.rank%d", limit_hint_names[hints], rank);
      RUN_FOR(write_refused_on, name, rank);
    }
  hints = kAllAggregate;
  for (int i = 0; i < 4; i++) {
    access_kind = kinds[i].kind;
    RUN_FOR(write_refused_on, kinds[i].name, ck_size - 1);
  }
  access_kind = kAtAll;
  for (int rank = 0; rank < ck_size; rank++) {
    snprintf(name, sizeof name, "rank%d", rank);
    RUN_FOR(same_outcome, name, rank);
    RUN_FOR(ordered, name, rank);
    RUN_FOR(bad_argument_on, name, rank);
    RUN_FOR(bad_count_in_order, name, rank);
  }
  return ck_finish();
}
