// Opening: the last thread at the barrier of the new File does it for all. One open call of the storage.
#include <fcntl.h>

#include <cerrno>
#include <string_view>

#include "model/hints_sources.h"
#include "omp/file.h"

namespace mercutio::omp {
namespace {

// Flags with a meaning here, and flags without effect.
constexpr int kKnownFlags = O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY | O_LARGEFILE;

Status check_flags(int flags) {
  const int way = flags & O_ACCMODE;
  if (way != O_RDONLY && way != O_WRONLY && way != O_RDWR) return wrong_argument("give one of O_RDONLY, O_WRONLY and O_RDWR");
  if (flags & ~kKnownFlags)
    return wrong_argument(
        "only O_CREAT, O_EXCL, O_TRUNC and O_APPEND can be given with the way of access; for O_SYNC call "
        "omp_file_sync_all");
  if (way == O_RDONLY && (flags & (O_TRUNC | O_APPEND)))
    return wrong_argument("O_TRUNC and O_APPEND need a file that is opened for writing");
  if ((flags & O_EXCL) && !(flags & O_CREAT)) return wrong_argument("O_EXCL has a meaning with O_CREAT only");
  return ok_status();
}

// Replaces the advice for errno, which refers to MPI's modes.
Error explained(Error error) {
  if (error.sys_errno == ENOENT) error.what = "there is no such file (ENOENT): check the path, or open with O_CREAT";
  if (error.sys_errno == EEXIST) error.what = "the file exists (EEXIST): remove it, or open without O_EXCL";
  return error;
}

Hints hints_for(const std::string& name) {
  HintSet set;
  apply_hints(set, HintSources().asked_for(name).hints, HintTime::kOpen);
  return set.values;
}

}  // namespace

Status File::open_storage(const OpenCall& call) {
  const int way = call.flags & O_ACCMODE;
  OpenOptions options;
  options.read = can_read_ = way != O_WRONLY;
  options.write = can_write_ = way != O_RDONLY;
  options.create = (call.flags & O_CREAT) != 0;
  options.exclusive = (call.flags & O_EXCL) != 0;
  const Hints hints = hints_for(name_for_hints(name_));
  const Resolved resolved = resolve(name_, hints.mercutio_remote);
  options.wanted_layout = Layout{hints.striping_unit, hints.striping_factor, hints.start_iodevice};
  auto opened = resolved.driver->open(resolved.path, options);
  if (!opened) return explained(opened.error());
  use_storage(std::move(*opened));
  if (call.flags & O_TRUNC) MERCUTIO_TRY(storage_->set_size(0));
  if (call.flags & O_APPEND) {
    MERCUTIO_LET(pointer_, storage_->size());
  }
  return ok_status();
}

// Executed by the last thread at the barrier.
Status File::open(Files& files) {
  const OpenCall& first = slots_[0].call.opening;
  for (size_t thread = 0; thread < slots_.size(); ++thread) {
    const OpenCall& call = slots_[thread].call.opening;
    const std::string who = "thread " + std::to_string(thread);
    if (!call.handle || !call.name) return wrong_argument(who + ": the handle's address and the file name must not be NULL");
    if (call.flags != first.flags || std::string_view(call.name) != first.name)
      return Error{ErrorClass::kNotSame,
                   who + " gave another name or other flags than thread 0: all threads of the team must give the same",
                   EINVAL};
  }
  name_ = first.name;
  MERCUTIO_TRY(check_flags(first.flags));
  MERCUTIO_TRY(open_storage(first));
  handle_ = files.add(this, team_);
  if (handle_ == 0) return Error{ErrorClass::kOther, "too many open files: close some", EMFILE};
  return ok_status();
}

}  // namespace mercutio::omp
