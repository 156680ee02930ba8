#include "omp/file.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "base/attempt.h"

namespace mercutio::omp {
namespace {

std::string thread_text(size_t thread) {
  return "thread " + std::to_string(thread);
}

bool same_routine(const Routine& a, const Routine& b) {
  return a.operation == b.operation && a.direction == b.direction && std::string_view(a.name) == b.name;
}

Error not_same(std::string what) {
  return Error{ErrorClass::kNotSame, std::move(what), EINVAL};
}

// The error of f(), if there is one.
template <class F>
std::optional<Error> error_of(F&& f) {
  const Status status = attempt(std::forward<F>(f));
  return status ? std::nullopt : std::optional(status.error());
}

}  // namespace

File::File(const TeamId& team, std::optional<Error> refusal)
    : team_(team), refusal_(std::move(refusal)), barrier_(team.size), slots_(static_cast<size_t>(team.size)) {
  for (Slot& slot : slots_) {
    requests_.push_back(&slot.call.request);
    slot.cursors.resize(slots_.size());
  }
}

void File::use_storage(std::unique_ptr<Storage> storage) {
  storage_ = std::move(storage);
  const i64 stripe_bytes = storage_->layout().stripe_bytes;
  unit_bytes_ = std::max<i64>(1, stripe_bytes > 0 ? stripe_bytes : storage_->traits().block_bytes);
}

int File::adopt(std::unique_ptr<Storage> storage, Files& files) {
  use_storage(std::move(storage));
  handle_ = files.add(this, team_);
  if (handle_ != 0) files.put_back(handle_);
  return handle_;
}

void File::post(Slot& slot, const Call& call) {
  slot.call = call;
  slot.refused = error_of([&] { return slot.call.request.check(); });
  slot.failed.reset();
}

// Whether a thread is in the same call as thread 0.
Status File::check_same(size_t thread) const {
  const Call& call = slots_[thread].call;
  if (!same_routine(call.request.routine, routine()))
    return not_same(thread_text(thread) + " is in " + call.request.routine.name + ", thread 0 in " + routine().name +
                    ": all threads of the team must call the same routine");
  if (call.handle != slots_[0].call.handle)
    return not_same(thread_text(thread) +
                    " named another file than thread 0: all threads of the team must give the same handle");
  return ok_status();
}

Status File::check_arguments(size_t thread) const {
  const Slot& slot = slots_[thread];
  if (slot.refused) {
    Error error = *slot.refused;
    error.what = thread_text(thread) + ": " + error.what;
    return error;
  }
  if (routine().operation == Operation::kTransfer && routine().common &&
      !slot.call.request.same_arguments(slots_[0].call.request))
    return not_same(
        thread_text(thread) +
        " has other arguments than thread 0: all threads give the same to routines with 'com' in their name");
  return ok_status();
}

Status File::check_together() const {
  if (routine().operation != Operation::kTransfer) return ok_status();
  const bool reading = routine().direction == Direction::kRead;
  if (reading && !can_read_)
    return Error{ErrorClass::kAmode, "the file was opened for writing only: open it with O_RDONLY or O_RDWR", EBADF};
  if (!reading && !can_write_)
    return Error{ErrorClass::kAmode, "the file was opened for reading only: open it with O_WRONLY or O_RDWR", EBADF};
  i64 room = std::numeric_limits<i64>::max() - (routine().explicit_offsets ? 0 : pointer_);
  for (const Request* request : access().requests) {
    if (request->bytes > room)
      return Error{ErrorClass::kArg, "the data of all threads together are more than a file can hold", EFBIG};
    room -= request->bytes;
  }
  return ok_status();
}

Status File::check() const {
  for (size_t thread = 0; thread < slots_.size(); ++thread) MERCUTIO_TRY(check_same(thread));
  if (refusal_) return *refusal_;
  for (size_t thread = 0; thread < slots_.size(); ++thread) MERCUTIO_TRY(check_arguments(thread));
  return check_together();
}

Access File::access() const {
  Access access;
  access.requests = std::span(requests_).first(routine().common ? 1 : requests_.size());
  access.threads = team_.size;
  access.pointer = pointer_;
  access.unit_bytes = unit_bytes_;
  return access;
}

Status File::move(i64 thread) {
  const Access all = access();
  Mover mover(*storage_, routine().direction, *this);
  MERCUTIO_TRY(walk(all, share_of(all, thread), slots_[static_cast<size_t>(thread)].cursors, mover));
  return mover.finish();
}

Result<i64> File::carry_out(i64 thread, const Call& call, Files& files) {
  Slot& slot = slots_[static_cast<size_t>(thread)];
  post(slot, call);
  barrier_.arrive([&] { begin(files); });
  if (moves()) {
    slot.failed = error_of([&] { return move(thread); });
    barrier_.arrive([&] { conclude(files); });
  }
  return outcome_ ? Result<i64>(completed(*outcome_, call.request.routine.name)) : Result<i64>(slot.result);
}

// Executed by the last thread at the barrier: what one thread does for all, before data is moved.
void File::begin(Files& files) {
  outcome_ = error_of([&] { return check(); });
  if (moves()) return;
  if (!outcome_) outcome_ = error_of([&] { return finish(files); });
  conclude(files);
}

// Executed by the last thread at the barrier: results, the file pointer, and the handle of a file that is opened.
void File::conclude(Files& files) {
  i64 all = 0;
  for (Slot& slot : slots_) {
    slot.result = slot.moved.exchange(0, std::memory_order_relaxed);
    all += slot.result;
    if (!outcome_ && slot.failed) outcome_ = std::move(slot.failed);
  }
  if (!outcome_ && !routine().explicit_offsets) pointer_ += all;
  for (Slot& slot : slots_) {
    if (routine().common) slot.result = all;
    // All other threads wait, because this may be one shared variable.
    if (int* const handle = slot.call.opening.handle) *handle = outcome_ ? -1 : handle_;
  }
  if (handle_ != 0) files.end_call(handle_);
}

Status File::finish(Files& files) {
  if (routine().operation == Operation::kOpen) return open(files);
  if (routine().operation == Operation::kSync) return storage_->sync();
  files.remove(handle_);
  handle_ = 0;
  return storage_->close();
}

void File::leave(Files& files) {
  const i64 size = team_.size;  // a thread that has left must not access the object any more
  if (left_.fetch_add(1, std::memory_order_acq_rel) + 1 < size) return;
  left_.store(0, std::memory_order_relaxed);
  handle_ == 0 ? delete this : files.put_back(handle_);
}

Error File::completed(Error error, const char* routine) const {
  std::string where = name_.empty() ? "" : name_ + ": ";
  if (error.sys_errno != 0 && error.offset >= 0)
    error.what += " (" + std::to_string(error.bytes) + " bytes at offset " + std::to_string(error.offset) + ")";
  error.what = std::string(routine) + ": " + where + error.what;
  return error;
}

namespace {

Error unknown_runtime() {
  return Error{ErrorClass::kComm,
               "the program's OpenMP runtime lacks GOMP_single_copy_start, by which the threads of a team meet: build "
               "the program with GCC, Clang or Intel's compilers, and not with a static libgomp",
               ENOTSUP};
}

Error not_open() {
  return Error{ErrorClass::kFile,
               "the handle is not that of an open file: use what omp_file_open_all stored, until omp_file_close_all",
               EBADF};
}

std::string team_text(const TeamId& team) {
  return "a team of " + std::to_string(team.size) + " threads at nesting level " + std::to_string(team.level);
}

Error other_team(const TeamId& owner, const TeamId& caller) {
  return Error{ErrorClass::kComm,
               "the file was opened by " + team_text(owner) + ", and this is " +
                   (owner.size == caller.size && owner.level == caller.level ? "another one" : team_text(caller)) +
                   ": use it in parallel regions like the one that opened it (num_threads), or open it here, too",
               EINVAL};
}

Error in_use() {
  return Error{ErrorClass::kComm,
               "another team of the program is in a call on this file: let the teams take turns, or open it in each of "
               "them",
               EBUSY};
}

// The file of a call, which the team has to itself until its last thread leaves.
File* file_for(const TeamId& team, Files& files, const Call& call) {
  if (call.request.routine.operation == Operation::kOpen) return new File(team);
  const Files::Taken taken = files.take(call.handle, team);
  if (taken.file) return taken.file;
  if (taken.found == Files::State::kNone) return new File(team, not_open());
  return new File(team, taken.found == Files::State::kIdle ? other_team(taken.team, team) : in_use());
}

Error without_file(const Call& call, Error error) {
  // Other threads do the same at once, and it may be one shared variable.
  if (call.opening.handle) std::atomic_ref(*call.opening.handle).store(-1, std::memory_order_relaxed);
  error.what = std::string(call.request.routine.name) + ": " + error.what;
  return error;
}

Result<i64> take_part(Team& team, Files& files, const Call& call) {
  if (!team.can_meet()) return without_file(call, unknown_runtime());
  static char nothing;
  void* const met = team.meet([&]() -> void* {
    try {
      return file_for(team.id(), files, call);
    } catch (const std::bad_alloc&) {
      return &nothing;
    }
  });
  if (met == &nothing) return without_file(call, Error{ErrorClass::kNoMem, "out of memory", ENOMEM});
  File* const file = static_cast<File*>(met);
  Result<i64> result = attempt([&] { return file->carry_out(team.number(), call, files); });
  file->leave(files);
  return result;
}

}  // namespace

Result<i64> call_file(Team& team, Files& files, int handle, const Request& request) {
  return take_part(team, files, Call{request, handle, {}});
}

Status open_file(Team& team, Files& files, const OpenCall& opening) {
  constexpr Routine kOpen{"omp_file_open_all", Operation::kOpen};
  const Result<i64> opened = take_part(team, files, Call{Request(kOpen), 0, opening});
  return opened ? ok_status() : Status(opened.error());
}

}  // namespace mercutio::omp
