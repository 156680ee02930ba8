// Individual and shared file pointers, in etypes of the view. Every conversion between etypes and bytes is a cursor's
// seek: O(depth log n), whatever the distance.
#include <cstdint>
#include <utility>

#include "file/open_file.h"

namespace mercutio {
namespace {

Status not_sequential(const Amode& amode) {
  if (!amode.sequential) return ok_status();
  return Error{ErrorClass::kUnsupportedOperation,
               "a file opened with MPI_MODE_SEQUENTIAL has a shared file pointer only, which can neither be set nor asked for"};
}

}  // namespace

// The standard counts it as a data access: another rank's later collective write must not come before it (engine/early.h).
Result<i64> OpenFile::bytes_now() {
  Result<i64> bytes = storage_->size();
  IndependentAccesses::of_process().note();
  return bytes;
}

// The standard: the first etype of the view that starts after the last byte of the file.
Result<i64> OpenFile::end_of_file_etypes(const FileView& view) {
  MERCUTIO_LET(const i64 bytes, bytes_now());
  if (view.view->filetype->size() == 0) return i64{0};
  const i64 etype_bytes = view.etype_bytes();
  const i64 below = view.view->stream_position(bytes);
  return below / etype_bytes + (below % etype_bytes > 0 ? 1 : 0);
}

Result<i64> OpenFile::target_of_seek(const FileView& view, i64 offset, Whence whence, i64 current) {
  i64 base = 0;
  if (whence == Whence::kCurrent) base = current;
  if (whence == Whence::kEnd) {
    MERCUTIO_LET(base, end_of_file_etypes(view));
  }
  i64 target = 0;
  const bool overflows = __builtin_add_overflow(base, offset, &target);
  if (overflows || target < 0)
    return Error{ErrorClass::kArg, std::string("seek to a ") + (overflows && offset > 0 ? "position beyond what a file can have: " : "negative position: ") +
                                       std::to_string(base) + " and " + std::to_string(offset)};
  return target;
}

Status OpenFile::seek(i64 offset, Whence whence) {
  MERCUTIO_TRY(not_sequential(amode_));
  while (whence == Whence::kEnd) {
    const auto view = current_view();
    MERCUTIO_LET(const i64 target, short_call(TraceKind::kSize, sizes_, [&] { return target_of_seek(*view, offset, whence, 0); }));
    std::lock_guard lock(mutex_);
    if (view_ != view) continue;   // another thread has set a view meanwhile
    pointer_ = target;
    return ok_status();
  }
  std::lock_guard lock(mutex_);   // from the pointer's old value to its new one
  MERCUTIO_LET(pointer_, target_of_seek(*view_, offset, whence, pointer_));
  return ok_status();
}

i64 OpenFile::position() {
  std::lock_guard lock(mutex_);
  return pointer_;
}

// Allowed for sequential files too.
Result<i64> OpenFile::byte_offset(i64 offset) {
  if (offset < 0) return Error{ErrorClass::kArg, "the offset is negative: " + std::to_string(offset)};
  const auto view = current_view();
  if (view->view->filetype->size() == 0) return view->view->displacement;
  i64 bytes = 0;
  if (__builtin_mul_overflow(offset, view->etype_bytes(), &bytes) || bytes >= view->view->filetype->stream_bytes())
    return Error{ErrorClass::kArg, "the offset is beyond what a file can have: " + std::to_string(offset)};
  return view->view->file_offset(bytes);
}

Status OpenFile::seek_shared(i64 offset, Whence whence, Status argument_error) {
  MERCUTIO_TRY(not_sequential(amode_));
  Arrival arrival{trace_time()};
  Status mine = std::move(argument_error);
  if (mine) mine = no_split("seek_shared");
  if (mine) mine = counter_status_;
  const std::function<Status()> move_pointer = [&]() -> Status {
    MERCUTIO_LET(const i64 current, shared_pointer());
    MERCUTIO_LET(const i64 target, target_of_seek(*current_view(), offset, whence, current));
    return counter_->store(target);
  };
  Status done = agreed_same(std::move(mine), {offset, static_cast<i64>(whence)}, "offset and whence", move_pointer, &arrival);
  trace_since(TraceKind::kSetting, arrival, "MPI_File_seek_shared");
  return done;
}

// Like seek_shared, not for sequential files (14.4.4).
Result<i64> OpenFile::position_shared() {
  MERCUTIO_TRY(not_sequential(amode_));
  return short_call(TraceKind::kSetting, positions_, [this] { return shared_pointer(); });
}

// Where a rank has asked for a place that no file has, the counter may be negative until that is given back.
Result<i64> OpenFile::shared_pointer() {
  MERCUTIO_TRY(counter_status_);
  MERCUTIO_LET(const i64 now, counter_->load());
  return now < 0 ? INT64_MAX : now;
}

}  // namespace mercutio
