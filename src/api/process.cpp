#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "api/call.h"
#include "api/completion.h"
#include "model/environment_check.h"
#include "mpi/calls.h"
#include "mpi/environment.h"
#include "mpi/finalize.h"
#include "mpi/mpi_comm.h"
#include "mpi/numa.h"
#include "mpi/real.h"

namespace mercutio {

Progress& ProcessProgress::get(Kept& kept, std::unique_ptr<Progress> (*make)()) {
  if (Progress* const now = kept.now.load(std::memory_order_acquire)) return *now;
  std::lock_guard lock(mutex_);
  if (!kept.progress) {
    kept.progress = make();
    kept.now = kept.progress.get();
  }
  return *kept.progress;
}

ProcessProgress::Driver ProcessProgress::driver(bool sends) const {
  if (shut_) return Driver::kStartingCall;
  const Hook hook = hook_into_waiting();
  if (thread_multiple()) return Driver::kThread;
  if (!sends && hook != Hook::kNone) return Driver::kThread;
  return hook == Hook::kAll ? Driver::kWaitingCalls : Driver::kStartingCall;
}

RequestRef ProcessProgress::start(RequestBody body) {
  Driver by = driver(body.sends);
  if (by == Driver::kThread) {
    const auto make = [] { return make_progress_thread(progress_stays_bound() ? nullptr : spread_over_domain); };
    Progress& thread = get(thread_, make);
    if (thread.ready()) return thread.start(std::move(body));
    by = hook_into_waiting() == Hook::kAll ? Driver::kWaitingCalls : Driver::kStartingCall;
  }
  RequestRef request = get(polled_, make_polled_progress).start(std::move(body));
  if (by == Driver::kStartingCall) (void)request->wait();
  return request;
}

const char* ProcessProgress::who(bool sends) const {
  switch (driver(sends)) {
    case Driver::kThread: return "the progress thread";
    case Driver::kWaitingCalls: return "calls of MPI that wait";
    case Driver::kStartingCall: break;
  }
  return "the call that starts them";
}

bool ProcessProgress::progress(bool waits) {
  if (Progress* thread = thread_.now.load(std::memory_order_acquire)) thread->progress(waits);
  Progress* polled = polled_.now.load(std::memory_order_acquire);
  return polled && polled->progress(waits);
}

void ProcessProgress::shut_down() {
  std::unique_ptr<Progress> thread;
  {
    std::lock_guard lock(mutex_);
    shut_ = true;
    thread_.now = nullptr;
    thread = std::move(thread_.progress);
  }
  while (progress(/*waits=*/true)) sched_yield();
}

void Postponed::add(Action& action) {
  std::lock_guard lock(mutex_);
  action.next = nullptr;
  *end_ = &action;
  end_ = &action.next;
  any_.store(true, std::memory_order_release);
}

void Postponed::run() {
  if (!any_.load(std::memory_order_acquire)) return;
  Action* next = nullptr;
  {
    std::lock_guard lock(mutex_);
    next = std::exchange(first_, nullptr);
    end_ = &first_;
    any_.store(false, std::memory_order_relaxed);
  }
  while (next) {
    Action* const action = std::exchange(next, next->next);
    action->run();   // may delete it
  }
}

void StartedAccesses::add(MPI_Request request, Access& access) {
  std::lock_guard lock(mutex_);
  accesses_[request] = &access;
  count_.store(std::ssize(accesses_), std::memory_order_relaxed);
}

void StartedAccesses::remove(MPI_Request request, const Access& access) {
  std::lock_guard lock(mutex_);
  const auto found = accesses_.find(request);
  if (found != accesses_.end() && found->second == &access) accesses_.erase(found);
  count_.store(std::ssize(accesses_), std::memory_order_relaxed);
}

void StartedAccesses::wait(Until until, int count, const MPI_Request* requests) {
  if (!requests) return;
  (void)attempt([&] {
    std::vector<Access*> awaited;
    {
      std::lock_guard lock(mutex_);
      for (int i = 0; i < count; ++i) {
        if (requests[i] == MPI_REQUEST_NULL) continue;
        const auto found = accesses_.find(requests[i]);
        if (found == accesses_.end()) return ok_status();
        awaited.push_back(found->second);
      }
    }
    const std::function<bool()> over = [&] {
      return until == Until::kOne && std::any_of(awaited.begin(), awaited.end(), [](Access* access) { return access->moved(); });
    };
    for (Access* const access : awaited) {
      if (over()) break;
      access->wait(over);
    }
    return ok_status();
  });
}

static int open_mpi_waits() {
  return guarded_or(0, [] {
    process().progress.progress(Completion::waits());
    process().postponed.run();
    return 0;
  });
}

// opal_progress_register, by which Open MPI's own nonblocking collectives have progressed since 2004.
Hook hook_into_waiting() {
  static const Hook hook = [] {
    if (real_symbol("PMPIX_Grequest_start")) return Hook::kRequests;
    auto* const add = real_function<int(int (*)())>("opal_progress_register");
    return add && add(open_mpi_waits) == 0 ? Hook::kAll : Hook::kNone;
  }();
  return hook;
}

// One write per text, so that lines of several processes do not mix.
static void say(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

// Looking for hints costs about as much as opening a small file.
static constexpr i64 kHintsKeptNs = 50'000'000;
Process::Process() : hints{HintSources(kHintsKeptNs), HintReporter(say)} {}

// A program that uses only sessions has no MPI_COMM_WORLD; then every process counts as its rank 0.
static bool is_world_root() {
  int rank = 0;
  if (world_active()) PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0;
}

// A spawned program shares the job with its parents.
static i64 processes_of_job() {
  int size = 0;
  if (!world_active()) return 0;
  MPI_Comm parent = MPI_COMM_NULL;
  PMPI_Comm_get_parent(&parent);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  return parent == MPI_COMM_NULL ? size : 0;
}

Context Process::context() {
#ifdef MERCUTIO_ABI_OPENMPI
  constexpr bool kTakesPartialEtypes = true;   // PETSc's binary viewer needs it
#else
  constexpr bool kTakesPartialEtypes = false;
#endif
  return Context{&progress, &datareps, trace.tracer(), &hints, is_world_root(), processes_of_job(), kTakesPartialEtypes, &buffers, &published, trace.job(), trace.first_traced(), threads_call(), trace.all_record()};
}

Process& process() {
  // Never destroyed, because files may be used in destructors and in MPI_Finalize of other tools.
  static Process* const the_process = [] {
    static const pid_t owner = ::getpid();
    std::atexit([] {
      if (::getpid() != owner) return;   // a forked child has copies of what its parent keeps, and of locks that nobody releases
      (void)attempt([] {
        process().handles.flush_all();
        return ok_status();
      });
    });
    return new Process;
  }();
  return *the_process;
}

static void end_accesses() {
  const auto each = [](auto step) {   // even if earlier ones have failed
    (void)guarded_or(false, [&] {
      step();
      return true;
    });
  };
  each([] { process().progress.shut_down(); });
  each([] { process().postponed.run(); });
  each([] { process().handles.flush_all(); });
  each([] { process().trace.end(); });
}

// An error of the trace does not affect the program.
void begin_trace(bool in_init, MPI_Comm comm) {
  JobTrace& trace = process().trace;
  std::call_once(process().trace_begun, [&] {
    (void)attempt([&] {
      if (is_world_root()) process().hints.reporter.warn(unknown_variables(environ));
      trace.begin(in_init, comm);
      return ok_status();
    });
  });
  if (trace.on() && in_init) hook_finalize();
}

void hook_finalize() { at_finalize(AtFinalize::kAccesses, end_accesses); }

}  // namespace mercutio
