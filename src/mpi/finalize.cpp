#include "mpi/finalize.h"

#include <atomic>
#include <mutex>

#include "mpi/calls.h"
#include "mpi/mpi_header.h"

namespace mercutio {
namespace {

std::atomic<void (*)()> steps[kFinalizeSteps];

int end_all(MPI_Comm, int, void*, void*) {
  for (const auto& step : steps)
    if (auto* const end = step.load()) end();
  return MPI_SUCCESS;
}

}  // namespace

void watch_finalize() {
  static std::once_flag watched;
  if (!world_active()) return;
  std::call_once(watched, [] {
    int keyval = MPI_KEYVAL_INVALID;
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, end_all, &keyval, nullptr) != MPI_SUCCESS) return;
    PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
    PMPI_Comm_free_keyval(&keyval);
  });
}

void at_finalize(AtFinalize step, void (*end)()) {
  watch_finalize();
  steps[static_cast<int>(step)] = end;
}

}  // namespace mercutio
