#include "mpi/failures.h"

#include <time.h>

#include <cstring>

#include "mpi/abi_numbers.h"
#include "mpi/real.h"

namespace mercutio {
namespace {

using Revoke = int(MPI_Comm);
using IsRevoked = int(MPI_Comm, int*);
using GetFailed = int(MPI_Comm, MPI_Group*);

// MPICH exports functions of these names, too, but its launcher ends the job. So does Open MPI's without --with-ft ulfm, which is known once MPI is initialised.
bool reports_failures() {
#ifdef MERCUTIO_ABI_OPENMPI
  static const auto* const enabled = static_cast<const bool*>(real_symbol("ompi_ftmpi_enabled"));
  static const bool has = real_symbol("PMPIX_Comm_revoke") != nullptr;
  return has && (!enabled || *enabled);
#else
  return false;
#endif
}

// Finds the classes by their texts, because their numbers differ between the releases that have them.
FailureClasses find_classes() {
  FailureClasses classes;
  int* last = nullptr;
  int found = 0;
  if (!reports_failures()) return classes;
  if (PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &found) != MPI_SUCCESS || !found) return classes;
  auto* const text_of = real_function<int(int, char*, int*)>("PMPI_Error_string");   // not ours, which may be the caller
  for (int code = MPI_SUCCESS + 1; text_of && code <= *last; ++code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (text_of(code, text, &length) != MPI_SUCCESS) continue;
    const auto is = [&text](const char* name) { return std::strncmp(text, name, std::strlen(name)) == 0; };
    if (is("MPI_ERR_PROC_FAILED:")) classes.failed = code;
    if (is("MPI_ERR_PROC_FAILED_PENDING:")) classes.pending = code;
    if (is("MPI_ERR_REVOKED:")) classes.revoked = code;
  }
  return classes;
}

i64 coarse_now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * i64{1000000000} + now.tv_nsec;
}

}  // namespace

const FailureClasses& failure_classes() {
  static const FailureClasses classes = find_classes();
  return classes;
}

bool is_failure(int code) {
  if (code == MPI_SUCCESS || !reports_failures()) return false;
  int cls = code;
  PMPI_Error_class(code, &cls);
  const FailureClasses& classes = failure_classes();
  return cls == classes.pending || cls == classes.revoked || (cls == classes.failed && cls != MPI_ERR_OTHER);
}

bool is_revoked(MPI_Comm comm) {
  static auto* const ask = reports_failures() ? real_function<IsRevoked>("PMPIX_Comm_is_revoked") : nullptr;
  int flag = 0;
  return ask && ask(comm, &flag) == MPI_SUCCESS && flag;
}

bool has_failed_ranks(MPI_Comm comm) {
  constexpr timespec kNap{0, 1000000};
  static auto* const get_failed = reports_failures() ? real_function<GetFailed>("PMPIX_Comm_get_failed") : nullptr;
  for (int naps = 0; get_failed && naps < 1000; ++naps) {
    MPI_Group failed = MPI_GROUP_NULL;
    int ranks = 0, arrived = 0;
    if (get_failed(comm, &failed) != MPI_SUCCESS) return false;
    PMPI_Group_size(failed, &ranks);
    PMPI_Group_free(&failed);
    if (ranks > 0) return true;
    PMPI_Iprobe(MPI_ANY_SOURCE, 0, comm, &arrived, MPI_STATUS_IGNORE);   // lets the MPI take the news
    nanosleep(&kNap, nullptr);
  }
  return false;
}

Failures::Failures() : reported_(reports_failures()) {}

void Failures::note(MPI_Comm comm, int code) {
  if (code == MPI_SUCCESS || !is_failure(code) || known_.exchange(true, std::memory_order_acq_rel)) return;
  static auto* const revoke = real_function<Revoke>("PMPIX_Comm_revoke");
  if (revoke) revoke(comm);
}

void Failures::poll(MPI_Comm comm, int tag) {
  int arrived = 0;
  note(comm, PMPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &arrived, MPI_STATUS_IGNORE));
}

bool Failures::found(MPI_Comm comm, int tag) {
  constexpr i64 kEvery = 50000000;   // 50 ms
  const i64 now = coarse_now_ns();
  i64 next = next_poll_ns_.load(std::memory_order_relaxed);
  const bool due = now >= next && next_poll_ns_.compare_exchange_strong(next, now + kEvery, std::memory_order_relaxed);
  if (due) poll(comm, tag);
  return known();
}

}  // namespace mercutio
