// M15: the error of a nonblocking access is one of its file. It is raised by the handler of the file, not by that of MPI_COMM_WORLD, which
// ends the program, in each call that completes the request.
#include "write_limit.h"

enum { kWait, kTest, kWaitany, kTestany, kWaitall, kTestall, kWaitsome, kTestsome, kWaitallIgnored, kWays };
static const char *const names[kWays] = {"wait", "test", "waitany", "testany", "waitall", "testall", "waitsome", "testsome", "waitall_ignored"};

static MPI_Status *volatile ignored = MPI_STATUSES_IGNORE;   // which some MPIs declare as an array
static int called, last;
static MPI_File shown;
static void handler(MPI_File *fh, int *code, ...) {
  called++;
  shown = *fh;
  last = *code;
}

// Of a null request, one that succeeds, and one that fails. The error, of the list or of the request.
static int complete(int way, MPI_Request *request, MPI_Status *status) {
  int flag = 0, index = -1, done = 0, indices[3], code = MPI_SUCCESS, error = MPI_SUCCESS;
  if (way == kWait) return MPI_Wait(&request[2], &status[2]);
  if (way == kTest) {
    while (!flag && code == MPI_SUCCESS) code = MPI_Test(&request[2], &flag, MPI_STATUS_IGNORE);
    return code;
  }
  if (way == kWaitallIgnored) return MPI_Waitall(3, request, ignored);
  if (way == kWaitall || way == kTestall) {
    while (!flag && code == MPI_SUCCESS)
      code = way == kWaitall ? (flag = 1, MPI_Waitall(3, request, status)) : MPI_Testall(3, request, &flag, status);
    CHECK_CLASS(code, MPI_ERR_IN_STATUS);
    CHECK_CLASS(status[0].MPI_ERROR, MPI_SUCCESS);
    CHECK_CLASS(status[1].MPI_ERROR, MPI_SUCCESS);
    return status[2].MPI_ERROR;
  }
  while (request[1] != MPI_REQUEST_NULL || request[2] != MPI_REQUEST_NULL) {
    if (way == kWaitany || way == kTestany) {
      code = way == kWaitany ? MPI_Waitany(3, request, &index, &status[0]) : MPI_Testany(3, request, &index, &flag, &status[0]);
      if (code != MPI_SUCCESS) error = code;
      continue;
    }
    code = (way == kWaitsome ? MPI_Waitsome : MPI_Testsome)(3, request, &done, indices, status);
    for (int i = 0; i < done && code != MPI_SUCCESS; i++) {
      CHECK_CLASS(code, MPI_ERR_IN_STATUS);
      if (indices[i] == 2) error = status[i].MPI_ERROR;
      else CHECK_CLASS(status[i].MPI_ERROR, MPI_SUCCESS);
    }
  }
  return error;
}

static void one(int way, int handled) {
  char *buffer = calloc(1, kShare);
  MPI_File fh = ck_create("f");
  MPI_Request request[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status[3];
  MPI_Errhandler errhandler;
  called = 0;
  if (handled) {
    MPI_File_create_errhandler(handler, &errhandler);
    CHECK_OK(MPI_File_set_errhandler(fh, errhandler));
    MPI_Errhandler_free(&errhandler);
  }
  limit_writes(kEveryRank);
  CHECK_OK(MPI_File_iwrite_at(fh, 10 * ck_rank, buffer, 10, MPI_BYTE, &request[1]));
  if (way == kWait || way == kTest) CHECK_OK(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_iwrite_at(fh, (MPI_Offset)(ck_rank + 1) * kShare, buffer, kShare, MPI_BYTE, &request[2]));
  int code = complete(way, request, status);
  CHECK_CLASS(code, way == kWaitallIgnored ? MPI_ERR_IN_STATUS : MPI_ERR_NO_SPACE);
  CHECK_INT(called, handled);
  if (handled) CHECK_CLASS(last, MPI_ERR_NO_SPACE);
  if (handled) CHECK(shown == fh);
  for (int i = 0; i < 3; i++) CHECK(request[i] == MPI_REQUEST_NULL);
  check_requests_go_on(fh, buffer);
  free(buffer);
}

static void returned(int way) { one(way, 0); }
static void handled(int way) { one(way, 1); }

// A query says that it is complete, and completes nothing.
static void get_status(void) {
  char *buffer = calloc(1, kShare);
  MPI_File fh = ck_create("f");
  MPI_Request request;
  int flag = 0;
  limit_writes(kEveryRank);
  CHECK_OK(MPI_File_iwrite_at(fh, (MPI_Offset)(ck_rank + 1) * kShare, buffer, kShare, MPI_BYTE, &request));
  while (!flag && ck_failures == 0) CHECK_OK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE));
  CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
  lift_limit();
  CHECK_OK(MPI_File_close(&fh));
  free(buffer);
}

// The arguments of a query are the MPI's to check.
static void get_status_without_flag(void) {
  char byte = 'x';
  MPI_File fh = ck_create("f");
  MPI_Request request;
  CHECK_OK(MPI_File_iwrite_at(fh, ck_rank, &byte, 1, MPI_BYTE, &request));
  const MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  for (int i = 0; i < 2; i++) CHECK_OK(MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_Request_get_status(request, NULL, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  for (int i = 0; i < 2; i++) CHECK_OK(MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_ARE_FATAL));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
}

// The library has those for lists under any MPI; the headers of some have not.
static int (*get_any)(int, const MPI_Request[], int *, int *, MPI_Status *);
static int (*get_all)(int, const MPI_Request[], int *, MPI_Status[]);
static int (*get_some)(int, const MPI_Request[], int *, int[], MPI_Status[]);

enum { kAny, kAll, kSome, kLists };
static const char *const lists[kLists] = {"any", "all", "some"};

// The same of a list, with one that succeeds and a null request.
static void get_status_of_list(int list) {
  char *buffer = calloc(1, kShare);
  MPI_File fh = ck_create("f");
  MPI_Request request[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status[3];
  int flag = 0, index = -1, done = 0, indices[3], code = MPI_SUCCESS;
  limit_writes(kEveryRank);
  CHECK_OK(MPI_File_iwrite_at(fh, (MPI_Offset)(ck_rank + 1) * kShare, buffer, kShare, MPI_BYTE, &request[2]));
  if (list == kAll) CHECK_OK(MPI_File_iwrite_at(fh, 10 * ck_rank, buffer, 10, MPI_BYTE, &request[1]));
  while (!flag && code == MPI_SUCCESS) {
    if (list == kAny) CHECK_OK(code = get_any(3, request, &index, &flag, &status[0]));
    if (list == kAll) CHECK_OK(code = get_all(3, request, &flag, status));
    if (list == kSome) CHECK_OK(code = get_some(3, request, &done, indices, status));
    if (list == kSome) flag = done > 0;
  }
  if (list == kAny) CHECK_INT(index, 2);
  if (list == kSome) CHECK_INT(indices[0], 2);
  CHECK_CLASS(status[list == kAll ? 2 : 0].MPI_ERROR, MPI_ERR_NO_SPACE);
  CHECK(request[2] != MPI_REQUEST_NULL);
  CHECK_CLASS(MPI_Wait(&request[2], MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
  CHECK_OK(MPI_Wait(&request[1], MPI_STATUS_IGNORE));
  lift_limit();
  CHECK_OK(MPI_File_close(&fh));
  free(buffer);
}

static void get_status_of_nulls(void) {
  const MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status[2];
  int flag = 0, index = 7, done = 7, indices[2];
  CHECK_OK(get_any(2, request, &index, &flag, &status[0]));
  CHECK_INT(index, MPI_UNDEFINED);
  CHECK_INT(flag, 1);
  CHECK_INT(status[0].MPI_SOURCE, MPI_ANY_SOURCE);
  flag = 0;
  CHECK_OK(get_all(2, request, &flag, status));
  CHECK_INT(flag, 1);
  CHECK_OK(get_some(2, request, &done, indices, status));
  CHECK_INT(done, MPI_UNDEFINED);
}

static void get_status_of_lists(void) {
  *(void **)&get_any = dlsym(RTLD_DEFAULT, "MPI_Request_get_status_any");
  *(void **)&get_all = dlsym(RTLD_DEFAULT, "MPI_Request_get_status_all");
  *(void **)&get_some = dlsym(RTLD_DEFAULT, "MPI_Request_get_status_some");
  RUN(get_status_of_nulls);
  for (int list = 0; list < kLists; list++) RUN_FOR(get_status_of_list, lists[list], list);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  for (int way = 0; way < kWays && ck_is_mercutio(); way++) {
    RUN_FOR(returned, names[way], way);
    RUN_FOR(handled, names[way], way);
  }
  if (ck_is_mercutio()) RUN(get_status);
  RUN(get_status_without_flag);
  if (ck_is_mercutio()) get_status_of_lists();
  return ck_finish();
}
