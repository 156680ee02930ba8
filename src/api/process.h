// The one global of the product: MPI gives its calls no context argument.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "api/errhandlers.h"
#include "api/handles.h"
#include "api/job_trace.h"
#include "file/buffers.h"
#include "file/file.h"
#include "mpi/errors.h"

namespace mercutio {

// Who drives nonblocking calls. The progress thread, where MPI may be called from any thread, or where the access needs no
// call of MPI (all ranks share memory) and its end can be told to MPI from inside one of the program's calls. Else the
// program's own calls of MPI, where MPI lets us into all that wait; without that they run to their end at once.
class ProcessProgress final : public Progress {
 public:
  RequestRef start(RequestBody body) override;
  bool progress() override;
  const char* who(bool sends) const override;
  void shut_down();   // drives everything to its end; afterwards calls complete at once

 private:
  enum class Driver { kThread, kWaitingCalls, kStartingCall };
  Driver driver(bool sends) const;
  // For atomic access by progress(), which comes from inside of MPI.
  struct Kept {
    std::unique_ptr<Progress> progress;
    std::atomic<Progress*> now{nullptr};
  };
  Progress& get(Kept& kept, std::unique_ptr<Progress> (*make)());
  std::mutex mutex_;
  Kept thread_, polled_;
  std::atomic<bool> shut_{false};
};

// What waits to be done by a thread that may call MPI. To add to it takes no memory.
class Postponed {
 public:
  struct Action {
    virtual ~Action() = default;
    virtual void run() = 0;
    Action* next = nullptr;
  };
  void add(Action& action);
  void run();

 private:
  std::mutex mutex_;
  Action* first_ = nullptr;
  Action** end_ = &first_;
  std::atomic<bool> any_{false};
};

struct Process {
  ProcessProgress progress;
  Postponed postponed;
  DatarepRegistry datareps;
  Buffers buffers;
  ErrorCodes codes;
  Errhandlers errhandlers;
  Handles handles;
  std::once_flag finalize_hook, trace_begun;
  HintService hints;
  JobTrace trace;

  Process();
  Context context();
};

Process& process();
// Which of the program's calls that wait lead to us. MPICH and its descendants ask the request that is waited for
// (access.cpp); Open MPI calls, in whatever waits, a function that is registered here.
enum class Hook { kNone, kRequests, kAll };
Hook hook_into_waiting();
// Registers, once, what must happen inside MPI_Finalize.
void hook_finalize();
// Begins the trace of the job where the environment asks for one. `in_init`: all ranks are in MPI_Init.
void begin_trace(bool in_init);

}  // namespace mercutio
