// Calls that complete requests. What fails is raised on the file (completion.h). MPICH (4.0 and later, and its descendants) does not treat
// generalized requests, such as nonblocking file accesses, as MPI section 13.2 says:
// - MPI_Waitall ends the program if a list contains a null request and a request that is not complete. Therefore null requests are
//   removed from the list that it gets.
// - MPI_Request_get_status and its kin do not progress a generalized request, as MPI_Test does. Therefore completed accesses are reported
//   to MPI here.
//
// Calls that wait for accesses and nothing else wait here (StartedAccesses::wait).
//
// Cost: a load if no access is under way; otherwise a lock, a look-up of each handle, and a copy of the list if it contains null requests.
#include <algorithm>
#include <vector>

#include "api/call.h"
#include "api/completion.h"
#include "api/export.h"
#include "mpi/real.h"

namespace {

using namespace mercutio;

bool nothing_pending() { return process().accesses.none(); }

int real_waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  static auto* const real = real_function<int(int, MPI_Request*, MPI_Status*)>("PMPI_Waitall");
  return real(count, requests, statuses);
}

int real_wait(MPI_Request* request, MPI_Status* status) {
  static auto* const real = real_function<int(MPI_Request*, MPI_Status*)>("PMPI_Wait");
  return real(request, status);
}

int wait_without_null(int count, MPI_Request* requests, MPI_Status* statuses) {
  std::vector<MPI_Request> active;
  for (int i = 0; i < count; ++i)
    if (requests[i] != MPI_REQUEST_NULL) active.push_back(requests[i]);
  std::vector<MPI_Status> results(active.size() + 1);   // never empty, because some MPIs reject a null pointer
  const int code = real_waitall(static_cast<int>(active.size()), active.data(),
                                statuses == MPI_STATUSES_IGNORE ? MPI_STATUSES_IGNORE : results.data());
  std::size_t next = 0;
  for (int i = 0; i < count; ++i) {
    const bool was_null = requests[i] == MPI_REQUEST_NULL;
    if (statuses != MPI_STATUSES_IGNORE) {
      if (was_null) {
        real_wait(&requests[i], &statuses[i]);   // sets the empty status
        if (code != MPI_SUCCESS) statuses[i].MPI_ERROR = MPI_SUCCESS;
      } else {
        statuses[i] = results[next];
      }
    }
    if (!was_null) requests[i] = active[next++];
  }
  return code;
}

}  // namespace

MERCUTIO_MPI_FUNCTION(int, Waitall, (int count, MPI_Request requests[], MPI_Status statuses[])) {
  if (count <= 0 || !requests || nothing_pending()) return real_waitall(count, requests, statuses);
  return guarded(nullptr, "MPI_Waitall", [&] {
    const Completion completion(/*waits=*/true);
    process().accesses.wait(StartedAccesses::Until::kAll, count, requests);
    const auto nulls = std::count(requests, requests + count, MPI_REQUEST_NULL);
    const bool mixed = nulls > 0 && nulls < count;
    const int code = mixed ? wait_without_null(count, requests, statuses) : real_waitall(count, requests, statuses);
    return completion.result(code, count, statuses);
  });
}

MERCUTIO_MPI_FUNCTION(int, Testall, (int count, MPI_Request requests[], int* flag, MPI_Status statuses[])) {
  static auto* const real = real_function<int(int, MPI_Request*, int*, MPI_Status*)>("PMPI_Testall");
  if (nothing_pending()) return real(count, requests, flag, statuses);
  return guarded(nullptr, "MPI_Testall", [&] {
    const Completion completion(/*waits=*/false);
    const int code = real(count, requests, flag, statuses);
    return *flag ? completion.result(code, count, statuses) : code;   // MPICH 5 asks for statuses of a part, too
  });
}

#define SOME(name, waits, before)                                                                                 \
  MERCUTIO_MPI_FUNCTION(int, name, (int count, MPI_Request requests[], int* done, int indices[],                  \
                                    MPI_Status statuses[])) {                                                     \
    static auto* const real = real_function<int(int, MPI_Request*, int*, int*, MPI_Status*)>("PMPI_" #name);      \
    if (nothing_pending()) return real(count, requests, done, indices, statuses);                                 \
    return guarded(nullptr, "MPI_" #name, [&] {                                                                   \
      const Completion completion(waits);                                                                         \
      before;                                                                                                     \
      const int code = real(count, requests, done, indices, statuses);                                            \
      return completion.result(code, *done, statuses);                                                            \
    });                                                                                                           \
  }

SOME(Waitsome, true, process().accesses.wait(StartedAccesses::Until::kOne, count, requests))
SOME(Testsome, false, )

// Those that complete one request.
#define ONE(name, waits, parameters, arguments, has_completed, before)                     \
  MERCUTIO_MPI_FUNCTION(int, name, parameters) {                                           \
    static auto* const real = real_function<int parameters>("PMPI_" #name);                \
    if (nothing_pending()) return real arguments;                                          \
    return guarded(nullptr, "MPI_" #name, [&] {                                            \
      const Completion completion(waits);                                                  \
      before;                                                                              \
      const int code = real arguments;                                                     \
      return has_completed ? completion.result(code, status) : code;                       \
    });                                                                                    \
  }

ONE(Wait, true, (MPI_Request * request, MPI_Status* status), (request, status), true, process().accesses.wait(StartedAccesses::Until::kAll, 1, request))
ONE(Test, false, (MPI_Request * request, int* flag, MPI_Status* status), (request, flag, status), *flag, )
ONE(Waitany, true, (int count, MPI_Request requests[], int* index, MPI_Status* status), (count, requests, index, status), true,
    process().accesses.wait(StartedAccesses::Until::kOne, count, requests))
ONE(Testany, false, (int count, MPI_Request requests[], int* index, int* flag, MPI_Status* status), (count, requests, index, flag, status), *flag, )

// Where the MPI has none for lists: programs that look for these calls find ours.
static int ask_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  static auto* const real = real_function<int(MPI_Request, int*, MPI_Status*)>("PMPI_Request_get_status");
  return real(request, flag, status);
}

static int ask_Request_get_status_any(int count, const MPI_Request requests[], int* index, int* flag, MPI_Status* status) {
  bool active = false;
  *flag = 0;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    const int code = ask_Request_get_status(requests[i], flag, status);
    if (code != MPI_SUCCESS || *flag) return *index = i, code;
    active = true;
  }
  *index = MPI_UNDEFINED;
  if (active) return MPI_SUCCESS;
  const int code = ask_Request_get_status(MPI_Request{MPI_REQUEST_NULL}, flag, status);   // true, with an empty status
  if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
  return code;
}

static int ask_Request_get_status_all(int count, const MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  int all = 1, code = MPI_SUCCESS;
  for (int i = 0; i < count && all && code == MPI_SUCCESS; ++i)
    code = ask_Request_get_status(requests[i], &all, statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i]);
  *flag = all && code == MPI_SUCCESS;
  return code;
}

static int ask_Request_get_status_some(int count, const MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
  bool active = false;
  int found = 0, flag = 0;
  *done = 0;
  for (int i = 0; i < count; ++i) {
    if (requests[i] == MPI_REQUEST_NULL) continue;
    active = true;
    const int code = ask_Request_get_status(requests[i], &flag, statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[found]);
    if (code != MPI_SUCCESS) return code;
    if (flag) indices[found++] = i;
  }
  *done = active ? found : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

// Those that complete none: the error of an access is in its status, and raised when its request is completed. Those of lists are MPI 4.1's.
#define ASK(name, parameters, arguments, told, statuses)                                                          \
  MERCUTIO_MPI_FUNCTION(int, name, parameters) {                                                                  \
    static auto* const real = real_function<int parameters>("PMPI_" #name);                                       \
    if (real && nothing_pending()) return real arguments;                                                         \
    return guarded(nullptr, "MPI_" #name, [&]() -> int {                                                          \
      const Completion completion(/*waits=*/false);                                                               \
      process().postponed.run();                                                                                  \
      const int code = real ? real arguments : ask_##name arguments;                                              \
      if (!completion.empty()) completion.tell(told, statuses);   /* else the MPI may have set nothing */         \
      return code;                                                                                                \
    });                                                                                                           \
  }

ASK(Request_get_status, (MPI_Request request, int* flag, MPI_Status* status), (request, flag, status), *flag ? 1 : 0, status)
ASK(Request_get_status_any, (int count, const MPI_Request requests[], int* index, int* flag, MPI_Status* status), (count, requests, index, flag, status),
    *flag ? 1 : 0, status)
ASK(Request_get_status_all, (int count, const MPI_Request requests[], int* flag, MPI_Status statuses[]), (count, requests, flag, statuses),
    *flag ? count : 0, statuses)
ASK(Request_get_status_some, (int count, const MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]),
    (count, requests, done, indices, statuses), *done, statuses)
