// Split collectives: _begin starts the access, which Progress drives, or moves it at once; _end takes its result. One a file at a time. A
// _begin that fails leaves no trace, and a wrong _end leaves the active one alone.
#include "file/open_file.h"

namespace mercutio {

Status OpenFile::begin(AccessCall call) {
  MERCUTIO_TRY(admit(call));
  if (publishes_ && call.direction == Direction::kRead) MERCUTIO_TRY(publish_before_read());
  OperationRef operation = prepare_to_start(call);
  if (operation->ordered) place_together(*operation);
  if (Status entry = operation->entry; !entry) {
    if (operation->trace) trace_step(*operation, StepForm::kBlocking);
    if (!call.collective) return refused(*operation);
    (void)launch(std::move(operation), nullptr);  // joins, so that the other ranks' _end gets the Error
    return std::move(entry).error();
  }
  if (operation->trace) trace_step(*operation, StepForm::kSplit);
  auto moved = move_at_once(operation);
  MERCUTIO_LET(RequestRef request, moved ? Result<RequestRef>(finished_request(*std::move(moved))) : launch(std::move(operation), nullptr));
  std::lock_guard lock(mutex_);
  in_split_.store(true, std::memory_order_release);
  split_ = Split{std::move(request), call.direction, call.positioning};
  return ok_status();
}

// The buffer isn't compared: Fortran compilers may pass copies.
Result<i64> OpenFile::end(const char* name, Direction direction, Positioning positioning, const void* /*buffer*/) {
  RequestRef request;
  {
    std::lock_guard lock(mutex_);
    if (!split_) return Error{ErrorClass::kOther, std::string(name) + " without the _begin that belongs to it"};
    if (split_->direction != direction || split_->positioning != positioning)
      return Error{ErrorClass::kOther, std::string(name) + " doesn't belong to the split collective that is active"};
    request = split_->request;
    split_.reset();
    in_split_.store(false, std::memory_order_release);
  }
  const i64 start_ns = trace_time();
  if (trace_) trace_step(StepKind::kEnd, start_ns);
  Result<i64> moved = request->wait();
  trace_since(TraceKind::kBlocked, {start_ns});
  return moved;
}

}  // namespace mercutio
