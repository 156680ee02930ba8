#include "mpi/finalize.h"

#include <atomic>
#include <mutex>

#include "mpi/calls.h"
#include "mpi/mpi_header.h"

namespace mercutio {
namespace {

std::atomic<void (*)()> steps[kFinalizeSteps];
std::atomic<bool> begun{false};

void run_until(AtFinalize last) {
  for (int step = 0; step <= static_cast<int>(last); ++step)
    if (auto* const end = steps[step].load()) end();
}

int end_all(MPI_Comm, int, void*, void*) {
  begun = true;   // where this library's MPI_Finalize has not been called
  run_until(AtFinalize::kTypes);
  return MPI_SUCCESS;
}

}  // namespace

void begin_finalize() {
  begun = true;
  run_until(AtFinalize::kWindowThreads);
}

bool in_finalize() { return begun; }

void watch_finalize() {
  static std::once_flag watched;
  if (!world_initialised()) return;
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
