#include "mpi/calls.h"

#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>

#include "mpi/abi_numbers.h"
#include "mpi/failures.h"
#include "mpi/real.h"

namespace mercutio {
namespace {

// Threads whose calls overlap share the first one's record. The last one restores the handler.
struct Returning {
  MPI_Errhandler program = MPI_ERRHANDLER_NULL;
  int users = 0;
};
struct AllReturning {
  std::mutex mutex;
  std::map<MPI_Comm, Returning> of_comm;
};

AllReturning& returning() {
  static AllReturning* const all = new AllReturning;
  return *all;
}

bool is_set(MPI_Comm comm, MPI_Errhandler handler) {
  MPI_Errhandler now = MPI_ERRHANDLER_NULL;
  if (PMPI_Comm_get_errhandler(comm, &now) != MPI_SUCCESS) return false;
  const bool same = now == handler;
  PMPI_Errhandler_free(&now);
  return same;
}

}  // namespace

Error mpi_error(const char* call, int code, MPI_Comm comm) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  PMPI_Error_string(code, text, &length);
  return Error{is_failure(code) || has_failed_ranks(comm) ? ErrorClass::kProcFailed : ErrorClass::kOther, std::string(call) + ": " + text};
}

bool is_open_mpi_4() {
  static const bool is = [] {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int bytes = 0;
    return PMPI_Get_library_version(text, &bytes) == MPI_SUCCESS && std::strstr(text, "Open MPI v4");
  }();
  return is;
}

bool world_active() {
  int initialised = 0, finalized = 0;
  return PMPI_Initialized(&initialised) == MPI_SUCCESS && initialised && PMPI_Finalized(&finalized) == MPI_SUCCESS && !finalized;
}

static std::optional<PlaceInJob> place_by_session() {
  using Session = std::conditional_t<std::is_pointer_v<MPI_Group>, void*, MPI_Group>;   // Open MPI 4 does not declare MPI_Session
  static auto* const init = real_function<int(MPI_Info, MPI_Errhandler, Session*)>("PMPI_Session_init");
  static auto* const finalize = real_function<int(Session*)>("PMPI_Session_finalize");
  static auto* const group_of = real_function<int(Session, const char*, MPI_Group*)>("PMPI_Group_from_session_pset");
  Session session{};
  MPI_Group job = MPI_GROUP_NULL;
  PlaceInJob place;
  if (!init || !finalize || !group_of || init(MPI_INFO_NULL, abi_numbers().errors_return, &session) != MPI_SUCCESS) return std::nullopt;
  const bool known = group_of(session, "mpi://WORLD", &job) == MPI_SUCCESS && PMPI_Group_rank(job, &place.rank) == MPI_SUCCESS && PMPI_Group_size(job, &place.size) == MPI_SUCCESS;
  if (job != MPI_GROUP_NULL) PMPI_Group_free(&job);
  finalize(&session);
  return known && place.rank >= 0 && place.rank < place.size ? std::optional(place) : std::nullopt;
}

PlaceInJob place_in_job(MPI_Comm comm) {
  PlaceInJob place;
  if (world_active()) {
    comm = MPI_COMM_WORLD;
  } else if (const std::optional<PlaceInJob> known = place_by_session()) {
    return *known;
  }
  if (comm == MPI_COMM_NULL) return place;
  PMPI_Comm_rank(comm, &place.rank);
  PMPI_Comm_size(comm, &place.size);
  return place;
}

std::vector<int> ranks_in_world(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  int size = 0, inter = 0;
  if (comm == MPI_COMM_NULL || !world_active() || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter) return {};
  PMPI_Comm_size(comm, &size);
  std::vector<int> ranks(static_cast<std::size_t>(size)), there(ranks);
  std::iota(ranks.begin(), ranks.end(), 0);
  PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  const bool known = PMPI_Group_translate_ranks(group, size, ranks.data(), world, there.data()) == MPI_SUCCESS;
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  return known ? there : std::vector<int>{};
}

// MPICH 5 raises the errors of requests on MPI_COMM_SELF once a handler of it has been set, and on MPI_COMM_WORLD before. Restoring
// the program's handler would change the communicator that its handlers receive.
ErrorsReturned::ErrorsReturned(MPI_Comm comm) : comm_(comm) {
#ifndef MERCUTIO_ABI_OPENMPI
  if (comm_ == MPI_COMM_SELF) comm_ = MPI_COMM_NULL;
#endif
  if (comm_ == MPI_COMM_NULL) return;
  std::lock_guard lock(returning().mutex);
  Returning& here = returning().of_comm[comm_];
  if (here.users++ > 0) return;
  PMPI_Comm_get_errhandler(comm_, &here.program);
  PMPI_Comm_set_errhandler(comm_, abi_numbers().errors_return);
}

ErrorsReturned::~ErrorsReturned() {
  if (comm_ == MPI_COMM_NULL) return;
  std::lock_guard lock(returning().mutex);
  const auto found = returning().of_comm.find(comm_);
  Returning& here = found->second;
  if (--here.users > 0) return;
  if (is_set(comm_, abi_numbers().errors_return)) PMPI_Comm_set_errhandler(comm_, here.program);
  PMPI_Errhandler_free(&here.program);
  returning().of_comm.erase(found);
}

}  // namespace mercutio
