#include "omp/file.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <new>
#include <string_view>

namespace mercutio::omp {
namespace {

Error no_memory() {
  return Error{ErrorClass::kNoMem, "out of memory", ENOMEM};
}

std::string thread_text(size_t thread) {
  return "thread " + std::to_string(thread);
}

bool same_routine(const Routine& a, const Routine& b) {
  return a.operation == b.operation && a.direction == b.direction && std::string_view(a.name) == b.name;
}

Error not_same(std::string what) {
  return Error{ErrorClass::kNotSame, std::move(what), EINVAL};
}

Error not_open(const char* routine) {
  return Error{
      ErrorClass::kFile,
      std::string(routine) +
          ": a thread of the team gave a handle that is not that of an open file: use what omp_file_open_all stored, "
          "until omp_file_close_all",
      EBADF};
}

std::string team_text(const TeamId& team) {
  return "a team of " + std::to_string(team.size) + " threads at nesting level " + std::to_string(team.level);
}

Error other_team(const char* routine, const TeamId& owner, const TeamId& caller) {
  return Error{ErrorClass::kComm,
               std::string(routine) + ": the file was opened by " + team_text(owner) + ", and this is " +
                   (owner.size == caller.size && owner.level == caller.level ? "another one" : team_text(caller)) +
                   ": use it in parallel regions like the one that opened it (num_threads), or open it here, too",
               EINVAL};
}

}  // namespace

File::File(const TeamId& team) : team_(team), barrier_(team.size), slots_(static_cast<size_t>(team.size)) {
  for (Slot& slot : slots_) {
    requests_.push_back(&slot.request);
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
  return handle_ = files.add(this);
}

void File::post(i64 thread, const Request& request) {
  Slot& slot = slots_[static_cast<size_t>(thread)];
  slot.request = request;
  const Status checked = slot.request.check();
  slot.refused = checked ? std::nullopt : std::optional(checked.error());
  slot.failed.reset();
  slot.round = round_;
}

void File::withdraw(i64 thread) {
  slots_[static_cast<size_t>(thread)].round = 0;
}

// The error of a thread's request, by itself or in comparison with that of thread 0.
std::optional<Error> File::fault_of(size_t thread) const {
  const Slot& slot = slots_[thread];
  const Routine& routine = slots_[0].request.routine;
  if (slot.round != round_)
    return not_same(thread_text(thread) +
                    " named another file than the others: all threads of the team must give the same handle");
  if (!same_routine(slot.request.routine, routine))
    return not_same(thread_text(thread) + " is in " + slot.request.routine.name + ", thread 0 in " + routine.name +
                    ": all threads of the team must call the same routine");
  if (slot.refused) {
    Error error = *slot.refused;
    error.what = thread_text(thread) + ": " + error.what;
    return error;
  }
  if (routine.operation == Operation::kTransfer && routine.common && !slot.request.same_arguments(slots_[0].request))
    return not_same(
        thread_text(thread) +
        " has other arguments than thread 0: all threads give the same to routines with 'com' in their name");
  return std::nullopt;
}

std::optional<Error> File::fault_of_all() const {
  const Routine& routine = slots_[0].request.routine;
  if (routine.operation != Operation::kTransfer) return std::nullopt;
  const bool reading = routine.direction == Direction::kRead;
  if (reading && !can_read_)
    return Error{ErrorClass::kAmode, "the file was opened for writing only: open it with O_RDONLY or O_RDWR", EBADF};
  if (!reading && !can_write_)
    return Error{ErrorClass::kAmode, "the file was opened for reading only: open it with O_WRONLY or O_RDWR", EBADF};
  i64 room = std::numeric_limits<i64>::max() - (routine.explicit_offsets ? 0 : pointer_);
  for (const Request* request : access().requests) {
    if (request->bytes > room)
      return Error{ErrorClass::kArg, "the data of all threads together are more than a file can hold", EFBIG};
    room -= request->bytes;
  }
  return std::nullopt;
}

std::optional<Error> File::find_fault() const {
  for (size_t thread = 0; thread < slots_.size(); ++thread)
    if (auto fault = fault_of(thread)) return fault;
  return fault_of_all();
}

Access File::access() const {
  Access access;
  access.requests = std::span(requests_).first(slots_[0].request.routine.common ? 1 : requests_.size());
  access.threads = team_.size;
  access.pointer = pointer_;
  access.unit_bytes = unit_bytes_;
  return access;
}

Status File::move(i64 thread) {
  const Access all = access();
  Mover mover(*storage_, slots_[0].request.routine.direction, *this);
  MERCUTIO_TRY(walk(all, share_of(all, thread), slots_[static_cast<size_t>(thread)].cursors, mover));
  return mover.finish();
}

Result<i64> File::carry_out(i64 thread, const char* routine, Files& files) {
  Slot& slot = slots_[static_cast<size_t>(thread)];
  std::optional<Error> fault;
  try {
    fault = find_fault();
    if (!fault && slots_[0].request.routine.operation == Operation::kTransfer) {
      if (const Status moved = move(thread); !moved) slot.failed = moved.error();
    }
  } catch (const std::bad_alloc&) {
    slot.failed = no_memory();
  }
  barrier_.arrive([&] {
    try {
      conclude(std::move(fault), files);
    } catch (const std::bad_alloc&) {
      outcome_ = no_memory();
    }
    ++round_;
  });
  return outcome_ ? Result<i64>(completed(*outcome_, routine)) : Result<i64>(slot.result);
}

// Executed by the last thread at the barrier: results, the file pointer, and what one thread does for all.
void File::conclude(std::optional<Error> fault, Files& files) {
  const Routine& routine = slots_[0].request.routine;
  outcome_ = std::move(fault);
  i64 all = 0;
  for (Slot& slot : slots_) {
    slot.result = slot.moved.exchange(0, std::memory_order_relaxed);
    all += slot.result;
    if (!outcome_ && slot.failed) outcome_ = std::move(slot.failed);
    slot.failed.reset();
  }
  if (!outcome_) {
    if (const Status done = finish(routine.operation, files); !done) outcome_ = done.error();
  }
  if (outcome_) return;
  if (!routine.explicit_offsets) pointer_ += all;
  if (!routine.common) return;
  for (Slot& slot : slots_) slot.result = all;
}

Status File::finish(Operation operation, Files& files) {
  if (operation == Operation::kTransfer) return ok_status();
  if (operation == Operation::kSync) return storage_->sync();
  files.remove(handle_);
  is_closed_ = true;
  return storage_->close();
}

Error File::completed(Error error, const char* routine) const {
  std::string where = name_.empty() ? "" : name_ + ": ";
  if (error.sys_errno != 0 && error.offset >= 0)
    error.what += " (" + std::to_string(error.bytes) + " bytes at offset " + std::to_string(error.offset) + ")";
  error.what = std::string(routine) + ": " + where + error.what;
  return error;
}

Error unknown_runtime(const char* routine) {
  return Error{
      ErrorClass::kComm,
      std::string(routine) +
          ": the program's OpenMP runtime lacks GOMP_single_copy_start, by which the threads of a team meet: build the "
          "program with GCC, Clang or Intel's compilers",
      ENOTSUP};
}

Result<i64> call_file(Team& team, Files& files, int handle, Request request) {
  const char* const routine = request.routine.name;
  if (!team.can_meet()) return unknown_runtime(routine);
  const TeamId id = team.id();
  File* const mine = files.find(handle);
  const bool fits = mine && mine->team() == id;
  if (fits) mine->post(team.number(), request);
  static char nobody;
  void* const met = team.meet([&]() -> void* { return mine ? static_cast<void*>(mine) : &nobody; });
  File* const agreed = met == &nobody ? nullptr : static_cast<File*>(met);
  if (fits && agreed != mine) mine->withdraw(team.number());
  if (!agreed) return not_open(routine);
  if (agreed->team() != id) return other_team(routine, agreed->team(), id);
  Result<i64> result = agreed->carry_out(team.number(), routine, files);
  if (agreed->last_to_leave()) delete agreed;
  return result;
}

File* Files::find(int handle) const {
  const auto index = static_cast<size_t>(handle) - 1;
  return handle < 1 || index >= files_.size() ? nullptr : files_[index].load(std::memory_order_acquire);
}

int Files::add(File* file) {
  for (size_t i = 0; i < files_.size(); ++i) {
    File* none = nullptr;
    if (files_[i].compare_exchange_strong(none, file, std::memory_order_acq_rel)) return static_cast<int>(i) + 1;
  }
  return 0;
}

void Files::remove(int handle) {
  files_[static_cast<size_t>(handle) - 1].store(nullptr, std::memory_order_release);
}

}  // namespace mercutio::omp
