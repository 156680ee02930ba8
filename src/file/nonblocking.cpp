// Nonblocking accesses, and how split ones are started: those of one rank that are short are moved at once, the others are handed to Progress.
#include "base/attempt.h"
#include "file/open_file.h"

namespace mercutio {

// Collective accesses of ranks that all share memory do without messages, unless a hint asks for what needs them.
bool OpenFile::sends_messages(const Hints& hints) const {
  if (comm_->size() == 1) return false;
  return !arena_ || !arena_->whole() || hints.mercutio_exchange == WantedExchange::kMessages || hints.mercutio_throttle > 0;
}

// The call that starts an access must not wait for other ranks, so the access itself waits until its tag is free. What is recorded of it
// begins when it does, which may be long after it was started.
static Task<Result<i64>> perform_later(std::shared_ptr<InFlight> in_flight, InFlight::Entered entered, std::shared_ptr<Operation> operation) {
  co_await until([&] { return in_flight->owns_tag(entered); });
  if (operation->trace) {
    operation->start_ns = now_ns();
    operation->counters.clock = PhaseClock();
    operation->counters.clock.start(operation->start_ns);
  }
  auto performing = perform(std::move(operation));
  co_return co_await performing;
}

Result<RequestRef> OpenFile::launch(OperationRef operation, std::function<void(const Result<i64>&)> on_done) {
  const bool collective = operation->collective;
  const InFlight::Entered entered = in_flight_->enter(collective ? operation->channel.tag : -1);
  // Until `leave` the file waits for the callback before it goes.
  const bool noted = operation->trace || (publishes_ && collective);
  auto ended = [this, in_flight = in_flight_, entered, kept = noted ? operation : nullptr, on_done = std::move(on_done)](const Result<i64>& result) mutable {
    (void)attempt([&] {
      if (kept && kept->trace) trace_access(*kept, result, /*waited=*/false);
      if (kept && kept->collective) note_own(*kept);
      return ok_status();
    });
    kept.reset();
    if (on_done) on_done(result);
    in_flight->leave(entered);
  };
  const bool inline_ok = may_run_inline(*operation), counts_by_messages = counter_ && counter_->sends();
  const bool in_turns = operation->atomic && turned_ && counts_by_messages;
  const bool sends = in_turns || (collective && sends_messages(operation->hints->values));
  std::function<bool(bool)> failed;   // until the access is over the Comm is there
  if (collective) failed = [comm = comm_.get()](bool may_call) { return comm->failed(may_call); };
  TraceSink* const trace = operation->trace;
  const i64 start_ns = trace ? now_ns() : 0;
  auto request = attempt([&] {
    auto performing = !trace && entered.owns_tag ? perform(std::move(operation)) : perform_later(in_flight_, entered, std::move(operation));
    const void* const queue = collective ? static_cast<const void*>(in_flight_.get()) : comm_.get();
    RequestBody body{std::move(performing), sends, std::move(ended), comm_->pauses(), inline_ok, std::move(failed), queue};
    return Result<RequestRef>(context_.progress->start(std::move(body)));
  });
  if (!request) in_flight_->leave(entered);   // it was not started
  if (trace) trace->record(TraceEvent{TraceKind::kBlocked, start_ns, now_ns(), 0, -1, name_});
  return request;
}

// What the rank itself moves takes less time than to hand it to a thread.
bool OpenFile::may_run_inline(const Operation& operation) const {
  constexpr i64 kMostBytes = 64 * KiB;
  return !operation.atomic && operation.file_bytes <= kMostBytes && !blocking_.blocks();
}

// A short access of one rank takes less time than handing it to a thread and completing its request from there, which has
// to wait for the message-passing library's lock (seconds under MPICH 4.0 with busy cores), unless the storage makes its callers
// wait. Nothing: it is to be launched.
std::optional<Result<i64>> OpenFile::move_at_once(const OperationRef& operation) {
  const bool alone = !operation->collective || comm_->size() == 1;
  if (!alone || !may_run_inline(*operation)) return std::nullopt;
  const TimedAccess timed(operation->passed_over);
  const BlockingDetector::Probe probe = blocking_.before(/*closely=*/false);
  Result<i64> moved = operation->collective ? wait_for(perform(operation)) : perform_alone(*operation);
  blocking_.after(probe);
  if (operation->trace) trace_access(*operation, moved, /*waited=*/true);
  return moved;
}

// Of an access that may go on after the call that starts it.
OpenFile::OperationRef OpenFile::prepare_to_start(AccessCall& call) {
  auto operation = std::allocate_shared<Operation>(FrameAllocator<Operation>());
  const Look look = look_at(call);
  if (call.collective && is_alone(call)) call.collective = false;
  prepare(call, look, *operation);
  return operation;
}

// The errors of an access that is moved at once come from the call itself, through the file's error handler.
// An Error returned here means that there is no request and on_done is never called.
Result<RequestRef> OpenFile::start(AccessCall call, std::function<void(const Result<i64>&)> on_done) {
  MERCUTIO_TRY(admit(call));
  OperationRef operation = prepare_to_start(call);
  if (operation->trace && (call.collective || operation->entry)) trace_step(*operation, StepForm::kStarted);
  if (Status entry = operation->entry; !entry) {
    if (!call.collective) return refused(*operation);
    (void)launch(std::move(operation), nullptr);
    return std::move(entry).error();
  }
  if (auto moved = move_at_once(operation)) {
    if (!*moved) return std::move(*moved).error();
    RequestRef finished = finished_request(*moved);   // first: whoever has been told of an end must not be told of an Error
    if (on_done) on_done(*moved);
    return finished;
  }
  return launch(std::move(operation), std::move(on_done));
}

}  // namespace mercutio
