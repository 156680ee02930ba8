// The one global of the product: MPI gives its calls no context argument.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "api/errhandlers.h"
#include "api/handles.h"
#include "file/file.h"
#include "mpi/errors.h"

namespace mercutio {

// Drives nonblocking calls by the progress thread where MPI may be called from any thread, else to their end at once.
class ProcessProgress final : public Progress {
 public:
  RequestRef start(Task<Result<i64>> task, std::function<void(const Result<i64>&)> on_done) override;
  void shut_down();   // drives everything to its end; afterwards calls complete at once

 private:
  Progress& chosen();
  std::mutex mutex_;
  std::unique_ptr<Progress> thread_, eager_;
  bool shut_ = false;
};

struct Process {
  ProcessProgress progress;
  DatarepRegistry datareps;
  ErrorCodes codes;
  Errhandlers errhandlers;
  Handles handles;
  std::once_flag finalize_hook;

  Context context() { return Context{&progress, &datareps, nullptr}; }
};

Process& process();
// Registers, once, what must happen inside MPI_Finalize.
void hook_finalize();

}  // namespace mercutio
