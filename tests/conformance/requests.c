// 14.4.1, 3.7: requests of nonblocking accesses in every call that completes requests, together with those of messages and
// collectives; out of order, several files and communicators at once, statuses, errors, and requests that are freed.
#include "access_kinds.h"

enum { kInts = 300, kMany = 8 };

static void fill(int *data, int seed) {
  for (int i = 0; i < kInts; i++) data[i] = seed * 1000000 + ck_rank * 10000 + i;
}

// Starts one access at the n-th place of this rank.
static MPI_Request started(int write, int kind, MPI_File fh, int n, int *data) {
  MPI_Offset place = (MPI_Offset)(n * ck_size + ck_rank) * kInts;
  MPI_Request request = MPI_REQUEST_NULL;
  if (kind < kShared && !ck_kind_is_explicit(kind)) CHECK_OK(MPI_File_seek(fh, place, MPI_SEEK_SET));
  CkAccess a = {write, kind, fh, place, data, kInts - n, MPI_INT};
  CHECK_OK(write ? ck_call_write(&a, MPI_STATUS_IGNORE, &request) : ck_call_read(&a, MPI_STATUS_IGNORE, &request));
  CHECK(request != MPI_REQUEST_NULL);
  return request;
}

static MPI_File ints(const char *name) {
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  return fh;
}

// The ways to complete kMany requests. Each leaves the status of request i in statuses[i].
static void by_wait(MPI_Request *requests, MPI_Status *statuses) {
  for (int i = kMany - 1; i >= 0; i--) CHECK_OK(MPI_Wait(&requests[i], &statuses[i]));
}
static void by_test(MPI_Request *requests, MPI_Status *statuses) {
  for (int i = 0, flag; i < kMany; i++)
    for (flag = 0; !flag;) CHECK_OK(MPI_Test(&requests[i], &flag, &statuses[i]));
}
static void by_waitall(MPI_Request *requests, MPI_Status *statuses) { CHECK_OK(MPI_Waitall(kMany, requests, statuses)); }
static void by_testall(MPI_Request *requests, MPI_Status *statuses) {
  for (int flag = 0; !flag;) CHECK_OK(MPI_Testall(kMany, requests, &flag, statuses));
}
static void by_waitany(MPI_Request *requests, MPI_Status *statuses) {
  MPI_Status status;
  int which = -1;
  for (int i = 0; i < kMany; i++) {
    CHECK_OK(MPI_Waitany(kMany, requests, &which, &status));
    if (CHECK(which >= 0 && which < kMany)) statuses[which] = status;
  }
  CHECK_OK(MPI_Waitany(kMany, requests, &which, &status));
  CHECK_INT(which, MPI_UNDEFINED);
}
static void by_testany(MPI_Request *requests, MPI_Status *statuses) {
  MPI_Status status;
  for (int done = 0, which, flag; done < kMany;) {
    CHECK_OK(MPI_Testany(kMany, requests, &which, &flag, &status));
    if (!flag) continue;
    if (!CHECK(which >= 0 && which < kMany)) return;
    statuses[which] = status;
    done++;
  }
}
static void by_some(int (*call)(int, MPI_Request[], int *, int[], MPI_Status[]), MPI_Request *requests, MPI_Status *statuses) {
  MPI_Status some[kMany];
  int which[kMany], n = 0;
  for (int done = 0; done < kMany; done += n) {
    CHECK_OK(call(kMany, requests, &n, which, some));
    if (!CHECK(n >= 0 && n <= kMany)) return;
    for (int i = 0; i < n; i++) statuses[which[i]] = some[i];
  }
  CHECK_OK(call(kMany, requests, &n, which, some));
  CHECK_INT(n, MPI_UNDEFINED);
}
static void by_waitsome(MPI_Request *requests, MPI_Status *statuses) { by_some(MPI_Waitsome, requests, statuses); }
static void by_testsome(MPI_Request *requests, MPI_Status *statuses) { by_some(MPI_Testsome, requests, statuses); }
static void by_get_status(MPI_Request *requests, MPI_Status *statuses) {
  for (int i = 0, flag; i < kMany; i++) {
    for (flag = 0; !flag;) CHECK_OK(MPI_Request_get_status(requests[i], &flag, &statuses[i]));
    CHECK(requests[i] != MPI_REQUEST_NULL);   // asked, not completed
    CHECK_OK(MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE));
    CHECK_INT(flag, 1);
    CHECK_OK(MPI_Wait(&requests[i], &statuses[i]));
  }
}

static const struct {
  const char *name;
  void (*complete)(MPI_Request *, MPI_Status *);
} kWays[] = {{"wait", by_wait}, {"test", by_test}, {"waitall", by_waitall}, {"testall", by_testall},
             {"waitany", by_waitany}, {"testany", by_testany}, {"waitsome", by_waitsome}, {"testsome", by_testsome},
             {"get_status", by_get_status}};
enum { kWayCount = sizeof kWays / sizeof *kWays };

// File accesses of all sorts, a message in each direction and a collective one, completed together.
static void completed_by(int way) {
  const char *name = ck_fresh("f");
  MPI_File fh = ints(name);
  int data[kMany][kInts], back[kMany][kInts], sum = -1, note = ck_rank, noted = -1;
  const int kinds[] = {kIat, kIatAll, kIpointer, kIpointerAll, kIat};
  int next = (ck_rank + 1) % ck_size, previous = (ck_rank + ck_size - 1) % ck_size;
  for (int write = 1; write >= 0; write--) {
    MPI_Request requests[kMany];
    MPI_Status statuses[kMany];
    memset(statuses, 0, sizeof statuses);
    CHECK_OK(MPI_Irecv(&noted, 1, MPI_INT, previous, 5, MPI_COMM_WORLD, &requests[0]));
    for (int i = 0; i < 5; i++) {
      fill(data[i], i);
      requests[i + 1] = started(write, kinds[i], fh, i, write ? data[i] : back[i]);
    }
    CHECK_OK(MPI_Iallreduce(&ck_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[6]));
    CHECK_OK(MPI_Isend(&note, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &requests[7]));
    kWays[way].complete(requests, statuses);
    for (int i = 0; i < kMany; i++) CHECK(requests[i] == MPI_REQUEST_NULL);
    for (int i = 0; i < 5; i++) {
      CHECK_COUNT(statuses[i + 1], MPI_INT, kInts - i);
      if (!write) CHECK(!memcmp(data[i], back[i], 4 * (size_t)(kInts - i)));
    }
    CHECK_COUNT(statuses[0], MPI_INT, 1);
    CHECK_INT(statuses[0].MPI_SOURCE, previous);
    CHECK_INT(noted, previous);
    CHECK_INT(sum, ck_size * (ck_size - 1) / 2);
  }
  CHECK_OK(MPI_File_close(&fh));
  for (int i = 0; i < 5; i++) CHECK_BYTES(name, (long long)(i * ck_size + ck_rank) * sizeof data[0], data[i], sizeof(int) * (kInts - i));
}

// Inactive requests are nothing; a list with holes is completed all the same.
static void null_requests(void) {
  MPI_File fh = ints(ck_fresh("f"));
  int data[kInts], which = -1;
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[3];
  fill(data, 0);
  requests[1] = started(1, kIat, fh, 0, data);
  CHECK_OK(MPI_Waitall(3, requests, statuses));
  CHECK_COUNT(statuses[1], MPI_INT, kInts);
  CHECK_COUNT(statuses[0], MPI_INT, 0);
  requests[2] = started(1, kIat, fh, 0, data);
  CHECK_OK(MPI_Waitany(3, requests, &which, &statuses[0]));
  CHECK_INT(which, 2);
  CHECK_COUNT(statuses[0], MPI_INT, kInts);
  CHECK_OK(MPI_File_close(&fh));
}

// Collective ones, which are not over when the call returns, among null ones.
static void null_and_collective(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ints(name);
  int data[2][kInts], sum = 0;
  MPI_Request requests[6] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[6];
  for (int turn = 0; turn < 3; turn++) {
    memset(statuses, 0x77, sizeof statuses);
    for (int i = 0; i < 2; i++) {
      fill(data[i], i);
      requests[1 + 3 * i] = started(1, kIatAll, fh, i, data[i]);
    }
    CHECK_OK(MPI_Iallreduce(&ck_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[5]));
    if (turn == 2)
      for (int i = 0; i < 6; i++) CHECK_OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    else
      CHECK_OK(MPI_Waitall(6, requests, statuses));
    for (int i = 0; i < 6; i++) CHECK(requests[i] == MPI_REQUEST_NULL);
    if (turn == 2) continue;
    CHECK_COUNT(statuses[0], MPI_INT, 0);
    CHECK_INT(statuses[0].MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_COUNT(statuses[1], MPI_INT, kInts);
    CHECK_COUNT(statuses[3], MPI_INT, 0);
    CHECK_COUNT(statuses[4], MPI_INT, kInts - 1);
  }
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, (long long)(ck_size + ck_rank) * sizeof data[0], data[1], sizeof data[1] - 4);
}

// Every nonblocking kind: many started, waited for in an order of each rank's own.
static void out_of_order(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = ints(name);
  int data[kMany][kInts], back[kMany][kInts];
  MPI_Request requests[kMany];
  MPI_Status status;
  for (int write = 1; write >= 0; write--) {
    if (!write) {
      CHECK_OK(MPI_File_sync(fh));
      MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < kMany; i++) {
      fill(data[i], i);
      requests[i] = started(write, kind, fh, i, write ? data[i] : back[i]);
    }
    for (int i = 0; i < kMany; i++) {
      int which = (i * 3 + ck_rank) % kMany;
      CHECK_OK(MPI_Wait(&requests[which], &status));
      CHECK_COUNT(status, MPI_INT, kInts - which);
      if (!write) CHECK(!memcmp(data[which], back[which], 4 * (size_t)(kInts - which)));
    }
  }
  CHECK_OK(MPI_File_close(&fh));
}

// Collective requests on files of several communicators, started in orders that differ where they may.
static void several_communicators(void) {
  MPI_Comm comms[3] = {MPI_COMM_WORLD, MPI_COMM_NULL, MPI_COMM_NULL};
  const char *tags[] = {"world", ck_rank % 2 ? "odd" : "even", "reversed"};
  MPI_File fh[3];
  MPI_Request requests[3];
  MPI_Status statuses[3];
  char names[3][CK_NAME_BYTES];
  int data[3][kInts], ranks[3];
  MPI_Comm_split(MPI_COMM_WORLD, ck_rank % 2, ck_rank, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -ck_rank, &comms[2]);
  ck_fresh("odd");
  ck_fresh("even");
  ck_fresh("world");
  ck_fresh("reversed");
  for (int i = 0; i < 3; i++) {
    snprintf(names[i], CK_NAME_BYTES, "%s", ck_path(tags[i]));
    MPI_Comm_rank(comms[i], &ranks[i]);
    fill(data[i], i);
    CHECK_OK(MPI_File_open(comms[i], names[i], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh[i]));
  }
  for (int i = 0; i < 3; i++) {
    int which = (i + ck_rank) % 3;   // one collective call on each handle: no order is prescribed between handles
    CHECK_OK(MPI_File_iwrite_at_all(fh[which], (MPI_Offset)ranks[which] * sizeof data[0], data[which], kInts, MPI_INT, &requests[which]));
  }
  CHECK_OK(MPI_Waitall(3, requests, statuses));
  for (int i = 0; i < 3; i++) {
    CHECK_COUNT(statuses[i], MPI_INT, kInts);
    CHECK_OK(MPI_File_close(&fh[i]));
    CHECK_BYTES(names[i], (long long)ranks[i] * sizeof data[0], data[i], sizeof data[0]);
    if (i) MPI_Comm_free(&comms[i]);
  }
}

// A collective request must get on while its rank is in other calls: the last rank starts its part only after a message
// of rank 0, which waits for nothing.
static void late_starters(void) {
  const char *name = ck_fresh("f");
  MPI_File fh = ints(name);
  int data[kInts], token = 0, last = ck_size - 1;
  MPI_Request request;
  MPI_Status status;
  fill(data, 0);
  if (ck_rank == last && last > 0) CHECK_OK(MPI_Recv(&token, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &status));
  request = started(1, kIatAll, fh, 0, data);
  if (ck_rank == 0 && last > 0) {
    int flag = 1;
    CHECK_OK(MPI_Test(&request, &flag, &status));   // may not be over yet, and must not wait
    CHECK_OK(MPI_Send(&token, 1, MPI_INT, last, 9, MPI_COMM_WORLD));
    if (flag) request = MPI_REQUEST_NULL;
  }
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, (long long)ck_rank * sizeof data, data, sizeof data);
}

// Freed before it is complete: the access happens all the same; closing the file waits for it.
static void freed(int kind) {
  const char *name = ck_fresh("f");
  MPI_File fh = ints(name);
  int data[kInts];
  fill(data, 0);
  MPI_Request request = started(1, kind, fh, 0, data);
  CHECK_OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_OK(MPI_File_close(&fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_INT(ck_disk_size(name), (long long)ck_size * sizeof data);
  if (kind < kShared) CHECK_BYTES(name, (long long)ck_rank * sizeof data, data, sizeof data);
}

// A file access can't be cancelled: it completes, and says so.
static void cancelled(int kind) {
  const char *name = ck_fresh(ck_tag_of_kind(kind));
  MPI_File fh = ints(name);
  int data[kInts], flag = 1;
  MPI_Status status;
  fill(data, 0);
  MPI_Request request = started(1, kind, fh, 0, data);
  (void)MPI_Cancel(&request);
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK_INT(flag, 0);
  CHECK_COUNT(status, MPI_INT, kInts);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_INT(ck_disk_size(name), (long long)ck_size * sizeof data);
}

static void short_and_empty(int kind) {
  MPI_File fh = ck_open(ck_filled("f", 100), MPI_MODE_RDONLY);
  MPI_Datatype triple;
  int in[60], elements = -1;
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[2];
  MPI_Type_contiguous(3, MPI_INT, &triple);
  MPI_Type_commit(&triple);
  CkAccess a = {0, kind, fh, 0, in, 20, triple}, none = {0, kind, fh, 0, NULL, 0, triple};
  CHECK_OK(ck_call_read(&none, MPI_STATUS_IGNORE, &requests[1]));
  CHECK_OK(ck_call_read(&a, MPI_STATUS_IGNORE, &requests[0]));
  MPI_Type_free(&triple);   // allowed: the access keeps what it needs
  CHECK_OK(MPI_Waitall(2, requests, statuses));
  CHECK_COUNT(statuses[1], MPI_BYTE, 0);
  if (kind < kShared || ck_size == 1) {
    CHECK_COUNT(statuses[0], MPI_BYTE, 100);
    CHECK_OK(MPI_Get_elements(&statuses[0], MPI_INT, &elements));
    CHECK_INT(elements, 25);
    CHECK_INT(((unsigned char *)in)[99], ck_byte_at(99));
  }
  CHECK_OK(MPI_File_close(&fh));
}

// What is wrong with the arguments is said by the call, which gives no request, or by its completion.
static void errors(int kind) {
  MPI_File fh = ck_open(ck_filled("f", 1000), MPI_MODE_RDONLY);
  char c[4] = "abc";
  for (int wrong = 0; wrong < 4; wrong++) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int want[] = {MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_READ_ONLY, MPI_ERR_ARG};
    if (wrong == 3 && !ck_kind_is_explicit(kind)) continue;
    CkAccess a = {wrong == 2, kind, fh, wrong == 3 ? -1 : 0, c, wrong == 0 ? -1 : 1, wrong == 1 ? MPI_DATATYPE_NULL : MPI_CHAR};
    int rc = a.write ? ck_call_write(&a, MPI_STATUS_IGNORE, &request) : ck_call_read(&a, MPI_STATUS_IGNORE, &request);
    if (rc == MPI_SUCCESS) rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_CLASS(rc, want[wrong]);
    CHECK(request == MPI_REQUEST_NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  char in = 0;
  CHECK_OK(ck_read(kind, fh, 0, &in, 1, MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&fh));
}

// One bad access among good ones: completion calls say MPI_ERR_IN_STATUS or the error itself, the good ones are done.
static void one_bad(int collective) {
  const char *name = ck_fresh("f");
  MPI_File fh = ck_open(name, MPI_MODE_CREATE | MPI_MODE_RDWR);
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[3];
  char c[3] = {'a', 'b', 'c'};
  int bad_rank = ck_rank == ck_size - 1, code = MPI_SUCCESS;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  memset(statuses, 0, sizeof statuses);
  for (int i = 0; i < 3; i++) {
    int n = i == 1 && bad_rank ? -1 : 1;
    int rc = collective ? MPI_File_iwrite_at_all(fh, 3 * ck_rank + i, &c[i], n, MPI_CHAR, &requests[i])
                        : MPI_File_iwrite_at(fh, 3 * ck_rank + i, &c[i], n, MPI_CHAR, &requests[i]);
    if (n < 0) code = rc;
  }
  int rc = MPI_Waitall(3, requests, statuses);
  if (bad_rank) CHECK_CLASS(code, MPI_ERR_COUNT);
  if (!collective || bad_rank) CHECK_OK(rc);
  if (collective && !bad_rank && CHECK(ck_class(rc) == MPI_ERR_IN_STATUS || ck_class(rc) == MPI_ERR_COUNT) &&
      ck_class(rc) == MPI_ERR_IN_STATUS) {
    CHECK_CLASS(statuses[1].MPI_ERROR, MPI_ERR_COUNT);
    CHECK_CLASS(statuses[0].MPI_ERROR, MPI_SUCCESS);
    if (requests[2] != MPI_REQUEST_NULL) {   // MPICH leaves those behind the error
      CHECK_CLASS(statuses[2].MPI_ERROR, MPI_ERR_PENDING);
      CHECK_OK(MPI_Wait(&requests[2], &statuses[2]));
    }
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  for (int i = 0; i < 3; i++) CHECK(requests[i] == MPI_REQUEST_NULL);
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, 3 * ck_rank, "a", 1);
  CHECK_BYTES(name, 3 * ck_rank + 2, "c", 1);
}

// Large ones, which really are under way when the call returns, beside a program that goes on; several per file.
static void large(int kind) {
  enum { kLarge = 1 << 18, kParts = 3 };
  const char *name = ck_fresh("f");
  MPI_File fh = ints(name);
  int *data = malloc(sizeof(int) * kParts * kLarge), *back = calloc(kParts * kLarge, sizeof(int));
  MPI_Request requests[kParts];
  MPI_Status statuses[kParts];
  for (int i = 0; i < kParts * kLarge; i++) data[i] = i * 3 + ck_rank;
  for (int write = 1; write >= 0; write--) {
    if (kind < kShared && !ck_kind_is_explicit(kind)) CHECK_OK(MPI_File_seek(fh, (MPI_Offset)ck_rank * kParts * kLarge, MPI_SEEK_SET));
    for (int i = 0; i < kParts; i++) {
      CkAccess a = {write, kind, fh, ((MPI_Offset)ck_rank * kParts + i) * kLarge, (write ? data : back) + i * kLarge, kLarge, MPI_INT};
      CHECK_OK(write ? ck_call_write(&a, MPI_STATUS_IGNORE, &requests[i]) : ck_call_read(&a, MPI_STATUS_IGNORE, &requests[i]));
    }
    CHECK_OK(MPI_Waitall(kParts, requests, statuses));
    for (int i = 0; i < kParts; i++) CHECK_COUNT(statuses[i], MPI_INT, kLarge);
  }
  CHECK(!memcmp(data, back, sizeof(int) * kParts * kLarge));
  CHECK_OK(MPI_File_close(&fh));
  CHECK_BYTES(name, (long long)ck_rank * kParts * kLarge * 4, data, sizeof(int) * kParts * kLarge);
  MPI_Barrier(MPI_COMM_WORLD);
  if (ck_rank == 0) ck_remove(name);   // leaves nothing of this size behind
  free(data);
  free(back);
}

int main(int argc, char **argv) {
  ck_init(&argc, &argv);
  for (int way = 0; way < kWayCount; way++) RUN_FOR(completed_by, kWays[way].name, way);
  RUN(null_requests);
  RUN(null_and_collective);
  for (int k = 0; k < kAllKinds; k++) {
    if (!ck_kind_exists(k) || !ck_kind_is_nonblocking(k)) continue;
    if (k < kShared) RUN_FOR(out_of_order, ck_kind_names[k], k);
    RUN_FOR(freed, ck_kind_names[k], k);
    RUN_FOR(cancelled, ck_kind_names[k], k);
    RUN_FOR(short_and_empty, ck_kind_names[k], k);
    RUN_FOR(errors, ck_kind_names[k], k);
    if (k < kPlainKinds) RUN_FOR(large, ck_kind_names[k], k);
  }
  RUN(several_communicators);
  RUN(late_starters);
  RUN_FOR(one_bad, "independent", 0);
  RUN_FOR(one_bad, "collective", 1);
  return ck_finish();
}
