// Completion calls, most of them on lists of requests. MPICH (4.0 and later, and its descendants) does not treat generalized
// requests, such as nonblocking file accesses, as MPI section 13.2 says:
// - MPI_Waitall ends the program if a list contains a null request and a request that is not complete. Therefore null requests are
//   removed
//   from the list that it gets.
// - The error of a request appears in its status as an error of class MPI_ERR_OTHER, or not at all (MPI_Waitsome of MPICH 5 and
//   Intel MPI).
//   Therefore query_access also stores it in the tag, which has no meaning for a file access, and it is corrected here.
// - MPI_Request_get_status does not progress a generalized request, as MPI_Test does. Therefore completed accesses are reported to
//   MPI here.
//
// Cost: a test of each handle, a copy of the list if it contains null requests, and a test of each status after an error.
#include <algorithm>
#include <vector>

#include "api/call.h"
#include "api/export.h"
#include "mpi/real.h"

namespace {

using namespace mercutio;

int class_of(int code) {
  int cls = MPI_SUCCESS;
  return PMPI_Error_class(code, &cls) == MPI_SUCCESS ? cls : MPI_ERR_UNKNOWN;
}

int with_errors_of_accesses(int result, int count, MPI_Status* statuses) {
  if (result == MPI_SUCCESS || statuses == MPI_STATUSES_IGNORE || class_of(result) != MPI_ERR_IN_STATUS) return result;
  for (int i = 0; i < count; ++i) {
    MPI_Status& status = statuses[i];
    if (status.MPI_SOURCE != MPI_UNDEFINED || status.MPI_TAG == MPI_UNDEFINED) continue;
    const int cls = class_of(status.MPI_ERROR);
    if ((cls != MPI_ERR_OTHER && cls != MPI_SUCCESS) || process().codes.text_of(status.MPI_TAG).empty()) continue;
    status.MPI_ERROR = status.MPI_TAG;
    status.MPI_TAG = MPI_UNDEFINED;
  }
  return result;
}

int real_waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  static auto* const real = real_function<int(int, MPI_Request*, MPI_Status*)>("PMPI_Waitall");
  return with_errors_of_accesses(real(count, requests, statuses), count, statuses);
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
        PMPI_Wait(&requests[i], &statuses[i]);   // sets the empty status
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
  return guarded(nullptr, "MPI_Waitall", [&] {
    if (count <= 0 || !requests) return real_waitall(count, requests, statuses);
    const auto nulls = std::count(requests, requests + count, MPI_REQUEST_NULL);
    const bool mixed = nulls > 0 && nulls < count;
    return mixed ? wait_without_null(count, requests, statuses) : real_waitall(count, requests, statuses);
  });
}

MERCUTIO_MPI_FUNCTION(int, Testall, (int count, MPI_Request requests[], int* flag, MPI_Status statuses[])) {
  static auto* const real = real_function<int(int, MPI_Request*, int*, MPI_Status*)>("PMPI_Testall");
  return guarded(nullptr, "MPI_Testall", [&] {
    return with_errors_of_accesses(real(count, requests, flag, statuses), count, statuses);
  });
}

#define SOME(name)                                                                                                \
  MERCUTIO_MPI_FUNCTION(int, name, (int count, MPI_Request requests[], int* done, int indices[],                  \
                                    MPI_Status statuses[])) {                                                     \
    static auto* const real = real_function<int(int, MPI_Request*, int*, int*, MPI_Status*)>("PMPI_" #name);      \
    return guarded(nullptr, "MPI_" #name, [&] {                                                                   \
      const int result = real(count, requests, done, indices, statuses);                                          \
      return result == MPI_SUCCESS ? result : with_errors_of_accesses(result, *done, statuses);                   \
    });                                                                                                           \
  }

SOME(Waitsome)
SOME(Testsome)

MERCUTIO_MPI_FUNCTION(int, Request_get_status, (MPI_Request request, int* flag, MPI_Status* status)) {
  static auto* const real = real_function<int(MPI_Request, int*, MPI_Status*)>("PMPI_Request_get_status");
  return guarded(nullptr, "MPI_Request_get_status", [&] {
    process().postponed.run();
    return real(request, flag, status);
  });
}
