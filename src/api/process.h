// The only global state of the library, because MPI calls have no context argument.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "api/errhandlers.h"
#include "api/handles.h"
#include "api/job_trace.h"
#include "file/buffers.h"
#include "file/file.h"
#include "mpi/errors.h"
#include "storage/published.h"

namespace mercutio {

// Drives nonblocking calls. The progress thread does so if any thread may call MPI, or if the access calls no MPI (all ranks share
// memory) and its completion can be reported to MPI from one of the program's calls. Otherwise the program's own MPI calls do, if
// the MPI lets us hook into all calls that wait. If not, accesses run to their end in the call that starts them.
class ProcessProgress final : public Progress {
 public:
  RequestRef start(RequestBody body) override;
  bool progress(bool waits) override;
  const char* who(bool sends) const override;
  void shut_down();   // drives all requests to their end; later accesses complete in their start call

 private:
  enum class Driver { kThread, kWaitingCalls, kStartingCall };
  Driver driver(bool sends) const;
  // Atomic, because MPI may call progress() from within.
  struct Kept {
    std::unique_ptr<Progress> progress;
    std::atomic<Progress*> now{nullptr};
  };
  Progress& get(Kept& kept, std::unique_ptr<Progress> (*make)());
  std::mutex mutex_;
  Kept thread_, polled_;
  std::atomic<bool> shut_{false};
};

// Actions that wait for a thread that may call MPI. Adding one allocates no memory.
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

// The nonblocking accesses whose requests the program has not completed.
class StartedAccesses {
 public:
  struct Access {
    virtual ~Access() = default;
    virtual bool moved() = 0;   // whether the data is
    virtual void wait(const std::function<bool()>& over) = 0;   // until then, or until over()
  };
  enum class Until { kOne, kAll };
  bool none() const { return count_.load(std::memory_order_relaxed) == 0; }
  void add(MPI_Request request, Access& access);
  void remove(MPI_Request request, const Access& access);
  // If all of these requests are of accesses, null ones left out, waits until the data of one or of each is moved. Otherwise, or without memory,
  // returns at once.
  void wait(Until until, int count, const MPI_Request* requests);

 private:
  std::mutex mutex_;
  std::unordered_map<MPI_Request, Access*> accesses_;
  std::atomic<i64> count_{0};
};

struct Process {
  ProcessProgress progress;
  Postponed postponed;
  StartedAccesses accesses;
  DatarepRegistry datareps;
  Buffers buffers;
  PublishedFiles published;
  ErrorCodes codes;
  Errhandlers errhandlers;
  Handles handles;
  std::once_flag trace_begun;
  HintService hints;
  JobTrace trace;

  Process();
  Context context();
};

Process& process();
// Whether several threads of the program may be in calls of MPI at once.
bool threads_call();
// Which waiting calls of the program call us. MPICH and its descendants poll the request that is waited for (access.cpp). Open MPI
// calls a registered function in every call that waits.
enum class Hook { kNone, kRequests, kAll };
Hook hook_into_waiting();
// Registers the actions that MPI_Finalize must trigger.
void hook_finalize();
// Begins the trace of the job if the environment requests one. `in_init`: all ranks are in MPI_Init. `comm`: as in JobTrace::begin().
void begin_trace(bool in_init, MPI_Comm comm);

}  // namespace mercutio
