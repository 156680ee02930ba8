// O7: MPI_Test, MPI_Wait and MPI_Waitall of a nonblocking write that failed give its error, and the request is gone.
#include "write_limit.h"

enum { kTest, kWait, kWaitall, kWaitany };

static void failed_request(int how) {
  char *buffer = calloc(1, kShare);
  MPI_File fh = ck_create("f");
  MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status[2];
  int index = -1, code = MPI_ERR_UNKNOWN;
  limit_writes(kEveryRank);
  CHECK_OK(MPI_File_iwrite_at(fh, 0, buffer, 100, MPI_BYTE, &request[0]));
  CHECK_OK(MPI_Wait(&request[0], MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_iwrite_at(fh, (MPI_Offset)(ck_rank + 1) * kShare, buffer, kShare, MPI_BYTE, &request[1]));
  if (how == kWaitall) CHECK_OK(MPI_File_iwrite_at(fh, 10 * ck_rank, buffer, 10, MPI_BYTE, &request[0]));
  if (how == kTest) code = test_until_done(&request[1], &status[1]);
  if (how == kWait) code = MPI_Wait(&request[1], &status[1]);
  if (how == kWaitany) code = MPI_Waitany(2, request, &index, &status[1]);
  if (how == kWaitall) {
    CHECK_CLASS(MPI_Waitall(2, request, status), MPI_ERR_IN_STATUS);
    CHECK_CLASS(status[0].MPI_ERROR, MPI_SUCCESS);
    code = status[1].MPI_ERROR;
  }
  CHECK_ERROR(code);
  // MPI_Waitall of some MPIs puts the error of a generalized request into one of its own, of class MPI_ERR_OTHER.
  if (how != kWaitall) CHECK_CLASS(code, MPI_ERR_NO_SPACE);
  CHECK(request[0] == MPI_REQUEST_NULL);
  CHECK(request[1] == MPI_REQUEST_NULL);
  lift_limit();
  CHECK_OK(MPI_File_iwrite_at(fh, (MPI_Offset)ck_rank * kShare, buffer, kShare, MPI_BYTE, &request[1]));
  CHECK_OK(MPI_Wait(&request[1], &status[1]));
  CHECK_COUNT(status[1], MPI_BYTE, kShare);
  CHECK_OK(MPI_File_close(&fh));
  free(buffer);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  return_errors();
  RUN_FOR(failed_request, "test", kTest);
  RUN_FOR(failed_request, "wait", kWait);
  RUN_FOR(failed_request, "waitall", kWaitall);
  RUN_FOR(failed_request, "waitany", kWaitany);
  return ck_finish();
}
