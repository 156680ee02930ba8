// O3: a write that the file system refuses (EFBIG) is an error on every rank of a collective write, in one round or many.
#include "write_limit.h"

static LimitHints hints;

static void every_rank_is_refused(int kind) {
  const char *name = ck_fresh("f");
  char *buffer = calloc(1, kShare);
  MPI_File fh = open_with(name, hints);
  interleaved_view(fh);
  limit_writes(kEveryRank);
  int code = ck_write(kind, fh, 0, buffer, kShare, MPI_BYTE, MPI_STATUS_IGNORE);
  lift_limit();
  CHECK_CLASS(code, MPI_ERR_NO_SPACE);
  check_still_usable(fh, name);
  CHECK_OK(MPI_File_close(&fh));
  free(buffer);
}

// Every rank writes a part of its own, and only what lies behind the limit fails.
static void independent(int kind) {
  const char *name = ck_fresh("f");
  char buffer[1000];
  MPI_Status status;
  memset(buffer, 'x', sizeof buffer);
  MPI_File fh = open_with(name, hints);
  limit_writes(kEveryRank);
  int code = ck_write(kind, fh, ck_rank == 0 ? 0 : 10000 * ck_rank, buffer, 1000, MPI_BYTE, &status);
  lift_limit();
  CHECK_CLASS(code, ck_rank == 0 ? MPI_SUCCESS : MPI_ERR_NO_SPACE);
  if (ck_rank == 0) CHECK_COUNT(status, MPI_BYTE, 1000);
  CHECK_OK(MPI_File_close(&fh));
  if (ck_rank == 0) CHECK_BYTES(name, 0, buffer, 1000);
}

int main(int argc, char **argv) {
  static char names[kHintSets][64];
  ck_init(&argc, &argv);
  return_errors();
  for (int i = 0; i < kHintSets; i++) {
    hints = (LimitHints)i;
    snprintf(names[i], sizeof names[i], "%s", limit_hint_names[i]);
    RUN_FOR(every_rank_is_refused, names[i], kPointerAll);
  }
  hints = kDefaultHints;
  RUN_FOR(every_rank_is_refused, "split", kAtAllSplit);
  RUN_FOR(every_rank_is_refused, "nonblocking", kIatAll);
  RUN_FOR(independent, "at", kAt);
  RUN_FOR(independent, "pointer", kPointer);
  RUN_FOR(independent, "iat", kIat);
  return ck_finish();
}
