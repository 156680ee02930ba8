// Writes that fail on one rank: the rank may write no byte behind kLimit (EFBIG), until the limit is lifted. The limit is set
// after MPI_Init and MPI_File_open, so that it meets the file's data and nothing else.
#ifndef MERCUTIO_TESTS_WRITE_LIMIT_H
#define MERCUTIO_TESTS_WRITE_LIMIT_H

#include "access_kinds.h"

#include <sys/resource.h>
#include <time.h>

enum { kLimit = 4096, kBlock = 4096, kBlocks = 32, kShare = kBlock * kBlocks };
enum { kEveryRank = -1 };

CK_UNUSED static void limit_writes(int rank) {
  struct rlimit limit;
  signal(SIGXFSZ, SIG_IGN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != kEveryRank && rank != ck_rank) return;
  CHECK_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = kLimit;
  CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

CK_UNUSED static void lift_limit(void) {
  struct rlimit limit;
  CHECK_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = limit.rlim_max;
  CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

// An error of a request is reported to the communicator's handler on some MPIs.
CK_UNUSED static void return_errors(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

// The view of one rank: blocks of kBlock bytes, the ranks in turn.
CK_UNUSED static MPI_Datatype interleaved_type(void) {
  MPI_Datatype vector, type;
  MPI_Type_vector(kBlocks, kBlock, kBlock * ck_size, MPI_BYTE, &vector);
  MPI_Type_create_resized(vector, 0, (MPI_Aint)kShare * ck_size, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&vector);
  return type;
}

CK_UNUSED static void interleaved_view(MPI_File fh) {
  MPI_Datatype type = interleaved_type();
  CHECK_OK(MPI_File_set_view(fh, (MPI_Offset)ck_rank * kBlock, MPI_BYTE, type, "native", MPI_INFO_NULL));
  MPI_Type_free(&type);
}

typedef enum { kDefaultHints, kAllAggregate, kSmallRounds, kNoBuffering, kHintSets } LimitHints;
static const char *const limit_hint_names[kHintSets] CK_UNUSED = {"default", "all_aggregate", "small_rounds", "no_buffering"};

CK_UNUSED static MPI_File open_with(const char *name, LimitHints hints) {
  MPI_Info info;
  MPI_File fh = MPI_FILE_NULL;
  MPI_Info_create(&info);
  if (hints == kAllAggregate || hints == kSmallRounds) {
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "cb_nodes", "64");
    MPI_Info_set(info, "cb_config_list", "*:64");
  }
  if (hints == kSmallRounds) MPI_Info_set(info, "cb_buffer_size", "16384");
  if (hints == kNoBuffering) MPI_Info_set(info, "romio_cb_write", "disable");
  if (!CHECK_OK(MPI_File_open(MPI_COMM_WORLD, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh)))
    MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Info_free(&info);
  return fh;
}

CK_UNUSED static double seconds_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// MPI_Test until it is complete, for a few seconds; the error it was completed with.
CK_UNUSED static int test_until_done(MPI_Request *request, MPI_Status *status) {
  int done = 0, code = MPI_SUCCESS;
  double end = seconds_now() + 10;
  while (!done && code == MPI_SUCCESS && seconds_now() < end) code = MPI_Test(request, &done, status);
  CHECK(done || code != MPI_SUCCESS);
  return code;
}

// Lifts the limit: then a request on the same file moves its data. Closes the file.
CK_UNUSED static void check_requests_go_on(MPI_File fh, const char *buffer) {
  MPI_Request request;
  MPI_Status status;
  lift_limit();
  CHECK_OK(MPI_File_iwrite_at(fh, (MPI_Offset)ck_rank * kShare, buffer, kShare, MPI_BYTE, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_COUNT(status, MPI_BYTE, kShare);
  CHECK_OK(MPI_File_close(&fh));
}

// Without the limit the same file takes the data.
CK_UNUSED static void check_still_usable(MPI_File fh, const char *name) {
  char *buffer = malloc(kShare);
  memset(buffer, 'A' + ck_rank, kShare);
  CHECK_OK(MPI_File_write_at_all(fh, 0, buffer, kShare, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_sync(fh));
  for (int i = 0; i < kBlocks; i++)
    if (!CHECK_BYTES(name, (long long)(i * ck_size + ck_rank) * kBlock, buffer, kBlock)) break;
  free(buffer);
}

#endif
