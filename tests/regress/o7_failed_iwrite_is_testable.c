// O7: every completion call gives the error of a nonblocking write that failed, and the request is gone. Those of lists say
// MPI_ERR_IN_STATUS, and have it in the status of that request.
#include "write_limit.h"

enum { kTest, kWait, kWaitany, kWaitall, kTestall, kWaitsome, kTestsome };

// Both requests complete, one with an error, which is returned.
static int complete_all(int how, MPI_Request *request) {
  MPI_Status status[2];
  int flag = 0, code = MPI_SUCCESS;
  while (!flag && code == MPI_SUCCESS)
    code = how == kWaitall ? (flag = 1, MPI_Waitall(2, request, status)) : MPI_Testall(2, request, &flag, status);
  CHECK_CLASS(code, MPI_ERR_IN_STATUS);
  CHECK_CLASS(status[0].MPI_ERROR, MPI_SUCCESS);
  return status[1].MPI_ERROR;
}

static int complete_some(int how, MPI_Request *request) {
  MPI_Status status[2];
  int done = 0, index[2], error = MPI_SUCCESS;
  while (done != MPI_UNDEFINED) {
    int code = (how == kWaitsome ? MPI_Waitsome : MPI_Testsome)(2, request, &done, index, status);
    for (int i = 0; i < done && code != MPI_SUCCESS; i++) {
      CHECK_CLASS(code, MPI_ERR_IN_STATUS);
      if (index[i] == 1) error = status[i].MPI_ERROR;
      if (index[i] == 0) CHECK_CLASS(status[i].MPI_ERROR, MPI_SUCCESS);
    }
  }
  return error;
}

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
  if (how >= kWaitall) CHECK_OK(MPI_File_iwrite_at(fh, 10 * ck_rank, buffer, 10, MPI_BYTE, &request[0]));
  if (how == kTest) code = test_until_done(&request[1], &status[1]);
  if (how == kWait) code = MPI_Wait(&request[1], &status[1]);
  if (how == kWaitany) code = MPI_Waitany(2, request, &index, &status[1]);
  if (how == kWaitall || how == kTestall) code = complete_all(how, request);
  if (how == kWaitsome || how == kTestsome) code = complete_some(how, request);
  CHECK_ERROR(code);
  CHECK_CLASS(code, MPI_ERR_NO_SPACE);
  CHECK(request[0] == MPI_REQUEST_NULL);
  CHECK(request[1] == MPI_REQUEST_NULL);
  check_requests_go_on(fh, buffer);
  free(buffer);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  return_errors();
  RUN_FOR(failed_request, "test", kTest);
  RUN_FOR(failed_request, "wait", kWait);
  RUN_FOR(failed_request, "waitany", kWaitany);
  RUN_FOR(failed_request, "waitall", kWaitall);
  RUN_FOR(failed_request, "testall", kTestall);
  RUN_FOR(failed_request, "waitsome", kWaitsome);
  RUN_FOR(failed_request, "testsome", kTestsome);
  return ck_finish();
}
