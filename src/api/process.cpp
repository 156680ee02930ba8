#include "api/process.h"

#include "mpi/mpi_comm.h"

namespace mercutio {

Progress& ProcessProgress::chosen() {
  std::lock_guard lock(mutex_);
  if (!shut_ && thread_multiple()) {
    if (!thread_) thread_ = make_progress_thread();
    return *thread_;
  }
  if (!eager_) eager_ = make_eager_progress();
  return *eager_;
}

RequestRef ProcessProgress::start(Task<Result<i64>> task, std::function<void(const Result<i64>&)> on_done) {
  return chosen().start(std::move(task), std::move(on_done));
}

void ProcessProgress::shut_down() {
  std::unique_ptr<Progress> thread;
  {
    std::lock_guard lock(mutex_);
    shut_ = true;
    thread = std::move(thread_);
  }
}

Process& process() {
  // Never destroyed: files may be used from destructors and from MPI_Finalize of other tools.
  static Process* const the_process = new Process;
  return *the_process;
}

static int at_finalize(MPI_Comm, int, void*, void*) {
  process().progress.shut_down();
  return MPI_SUCCESS;
}

void hook_finalize() {
  std::call_once(process().finalize_hook, [] {
    int keyval = MPI_KEYVAL_INVALID;
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &keyval, nullptr) != MPI_SUCCESS) return;
    PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, nullptr);
    PMPI_Comm_free_keyval(&keyval);
  });
}

}  // namespace mercutio
