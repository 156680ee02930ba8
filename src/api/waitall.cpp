// MPICH (4.0 and later) ends the program when MPI_Waitall finds a null request beside a generalized request that is
// not complete yet, which is what a nonblocking file access is. So null requests are left out of the list that it gets.
// Cost: a look at each handle; a copy of the list only where there are null ones.
#include <algorithm>
#include <vector>

#include "api/export.h"
#include "mpi/real.h"

namespace {

int real_waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  static auto* const real = mercutio::real_function<int(int, MPI_Request*, MPI_Status*)>("PMPI_Waitall");
  return real(count, requests, statuses);
}

int wait_without_null(int count, MPI_Request* requests, MPI_Status* statuses) {
  std::vector<MPI_Request> active;
  for (int i = 0; i < count; ++i)
    if (requests[i] != MPI_REQUEST_NULL) active.push_back(requests[i]);
  std::vector<MPI_Status> results(active.size() + 1);   // never empty: some MPIs refuse a null pointer
  const int code = real_waitall(static_cast<int>(active.size()), active.data(),
                                statuses == MPI_STATUSES_IGNORE ? MPI_STATUSES_IGNORE : results.data());
  std::size_t next = 0;
  for (int i = 0; i < count; ++i) {
    const bool was_null = requests[i] == MPI_REQUEST_NULL;
    if (statuses != MPI_STATUSES_IGNORE) {
      if (was_null) {
        PMPI_Wait(&requests[i], &statuses[i]);   // the empty status
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
  if (count <= 0 || !requests) return real_waitall(count, requests, statuses);
  const auto nulls = std::count(requests, requests + count, MPI_REQUEST_NULL);
  const bool mixed = nulls > 0 && nulls < count;
  return mixed ? wait_without_null(count, requests, statuses) : real_waitall(count, requests, statuses);
}
