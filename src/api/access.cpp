// The data-access procedures. Every row of the table becomes two functions (int and MPI_Count) that fill an AccessCall.
#include <dlfcn.h>

#include <atomic>
#include <chrono>

#include "api/access_table.h"
#include "api/call.h"
#include "api/completion.h"
#include "api/export.h"
#include "base/borrowed.h"
#include "mpi/calls.h"
#include "mpi/decode.h"
#include "mpi/mpi_comm.h"
#include "mpi/real.h"

namespace mercutio {
namespace {

struct Row {
  const char* name;
  Direction direction;
  Positioning positioning;
  bool collective;
};

// The buffer arguments of the caller.
struct Buffer {
  const void* base;
  i64 count;
  MPI_Datatype type;
};

// Some procedures of Open MPI's Fortran layer pass MPI_BOTTOM unchanged: the address of a variable that stands for address zero.
std::byte* address_of(const Buffer& buffer) {
  static const void* const fortran_bottom = dlsym(RTLD_DEFAULT, "mpi_fortran_bottom_");
  bool is_bottom = fortran_bottom != nullptr && buffer.base == fortran_bottom;
  return is_bottom ? nullptr : static_cast<std::byte*>(const_cast<void*>(buffer.base));
}

AccessCall make_failed_call(const Row& row, i64 offset, Error error) {
  return {row.name, row.direction, row.positioning, row.collective, offset, {nullptr, contiguous_bytes(), 0}, byte_type(), std::move(error)};
}

AccessCall make_other_call(const OpenHandle& handle, const Row& row, i64 offset, const Buffer& buffer) {
  Result<MemoryType> type = buffer.count < 0 ? Error{ErrorClass::kCount, "the count is negative"} : attempt([&] { return decode_memory(buffer.type, handle.comm); });
  if (type) {
    return {row.name, row.direction, row.positioning, row.collective, offset, {address_of(buffer), std::move(type->flat), buffer.count}, std::move(type->spec)};
  }
  return make_failed_call(row, offset, std::move(type).error());
}

// Makes an AccessCall from the arguments. Where they are wrong, nothing is moved, and argument_error is set.
AccessCall make_call(const OpenHandle& handle, const Row& row, i64 offset, const Buffer& buffer) {
  const NamedMemory type = named_memory(buffer.type);
  if (!type.flat || buffer.count < 0) return make_other_call(handle, row, offset, buffer);
  return {row.name, row.direction, row.positioning, row.collective, offset, {address_of(buffer), borrowed(type.flat), buffer.count}, borrowed(type.spec)};
}

[[gnu::always_inline]] inline int blocking(const Row& row, MPI_File file, i64 offset, const Buffer& buffer, MPI_Status* status) {
  return with_file(file, row.name, [&](OpenHandle& handle) __attribute__((always_inline)) -> int {
    Result<i64> moved = attempt([&]() __attribute__((always_inline)) { return handle.file->access(make_call(handle, row, offset, buffer)); });
    set_status(status, moved ? *moved : moved.error().moved);
    return moved ? MPI_SUCCESS : fail(&handle, row.name, moved.error());
  });
}

// ---- nonblocking: a generalized request, completed by the thread that drives the access
// ------------------------------------------

// If the program frees a generalized request before it is complete, MPICH destroys it at once and must not be told of its
// completion. Other MPIs keep it until then. The access and the MPI both release the state; the second of them destroys it.
enum class Stage { kMoving, kDone, kFreed };

struct PendingAccess final : Postponed::Action, StartedAccesses::Access {
  void run() override;              // completes the request in MPI
  bool moved() override { return access->done(); }
  void wait(const std::function<bool()>& over) override;
  std::atomic<Stage> stage{Stage::kMoving};
  MPI_Request request = MPI_REQUEST_NULL;
  OpenHandle* handle = nullptr;
  const char* name = "";
  i64 bytes = 0;
  Status failed = ok_status();      // with the text for the user
  int code = MPI_SUCCESS;
  RequestRef access;
  std::atomic<bool> given{false};   // `access` is set; another thread may destroy the state
  bool mpi_here = true;             // any thread may call MPI
  KeptType type;                    // which the program's conversion functions receive
  std::chrono::steady_clock::time_point last_poll;
  std::string file_name;            // of a traced one, which may be closed before the request is completed
  i64 moved_ns = 0;                 // and when the data was moved
};

int query_access(void* state, MPI_Status* status) {
  auto* pending = static_cast<PendingAccess*>(state);
  // Another thread has written the result. The acquire load makes it visible, as MPI need not do so.
  const bool done = pending->stage.load(std::memory_order_acquire) == Stage::kDone;
  PMPI_Status_set_elements_x(status, MPI_BYTE, done ? pending->bytes : 0);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  if (!done || pending->code == MPI_SUCCESS) return MPI_SUCCESS;
  if (!Completion::collect(pending, pending->handle->mpi(), pending->code)) return pending->code;
  status->MPI_TAG = pending->code;
  return MPI_SUCCESS;
}

// Returns true for the first caller.
bool reach(PendingAccess* pending, Stage stage) {
  Stage moving = Stage::kMoving;
  return pending->stage.compare_exchange_strong(moving, stage);
}

// The program may have waited in the call that completes the request; longer than the access it waited for other requests.
void tell_of_wait(Tracer& tracer, const PendingAccess& pending) {
  const i64 start_ns = Completion::began_ns();
  tracer.waited(pending.file_name, start_ns, start_ns > 0 ? pending.moved_ns : 0);
}

int free_access(void* state) {
  auto* pending = static_cast<PendingAccess*>(state);
  const bool given = pending->given.load(std::memory_order_acquire);   // makes it visible, as MPI need not do so
  process().accesses.remove(pending->request, *pending);
  if (!reach(pending, Stage::kFreed)) {
    (void)guarded_or(false, [&] {
      if (Tracer* tracer = process().trace.tracer(); tracer && given) tell_of_wait(*tracer, *pending);
      return true;
    });
    delete pending;
  }
  return MPI_SUCCESS;
}

// File accesses cannot be cancelled: the request completes normally.
int cancel_access(void*, int) { return MPI_SUCCESS; }

// Completes the request. Calls MPI.
void tell_mpi(PendingAccess* pending) {
  pending->type = KeptType();
  if (!pending->failed) {
    const Error& error = pending->failed.error();
    pending->code = attempt_or(mpi_class(error.cls), [&] { return process().codes.code_for(error.cls, error.what); });
  }
  MPI_Request request = pending->request;   // `pending` may be destroyed as soon as the request is complete
  if (reach(pending, Stage::kDone)) {
    PMPI_Grequest_complete(request);
  } else {
    delete pending;
  }
}

void PendingAccess::run() { tell_mpi(this); }

// Called by the thread that has moved the data, which may be one that must not call MPI. The file may be closed before MPI is told.
void complete_access(PendingAccess* pending, const Result<i64>& moved) {
  if (!pending->file_name.empty()) pending->moved_ns = now_ns();
  if (moved) {
    pending->bytes = *moved;
  } else {
    pending->bytes = moved.error().moved;
    pending->failed = attempt([&] {
      Error named = moved.error();
      named.what = pending->handle->file->describe(pending->name, moved.error());
      return Status(std::move(named));
    });
  }
  if (pending->mpi_here) return tell_mpi(pending);
  process().postponed.add(*pending);
}

// A rank that waits for accesses and nothing else drives them itself, or sleeps until the progress thread has moved the data. In MPI it
// would spin on the core that the thread, or another rank, needs.
void PendingAccess::wait(const std::function<bool()>& over) {
  (void)access->wait_until(over);
  process().postponed.run();
}

// For MPICH's extension of generalized requests. Calls that wait are known. Of others, one that polls within kPollGap of the previous poll
// or of the start counts as waiting.
int poll_access(void* state, MPI_Status*) {
  constexpr auto kPollGap = std::chrono::microseconds(100), kNap = std::chrono::microseconds(100);
  return guarded_or(MPI_SUCCESS, [&] {
    auto* pending = static_cast<PendingAccess*>(state);
    if (pending->access && !pending->access->done()) {
      const bool waiting = Completion::waits() || std::chrono::steady_clock::now() - pending->last_poll < kPollGap;
      if (waiting) (void)pending->access->wait_for(kNap);
      pending->last_poll = std::chrono::steady_clock::now();
    }
    process().postponed.run();
    return MPI_SUCCESS;
  });
}

// In calls that are not ours, and where a list has other requests, too.
int wait_for_accesses(int count, void** states, double, MPI_Status*) {
  return guarded_or(MPI_SUCCESS, [&] {
    for (int i = 0; i < count; ++i) static_cast<PendingAccess*>(states[i])->wait(/*over=*/[] { return false; });
    return MPI_SUCCESS;
  });
}

using PollFunction = int(void*, MPI_Status*);
using WaitFunction = int(int, void**, double, MPI_Status*);
using ExtendedStart = int(MPI_Grequest_query_function*, MPI_Grequest_free_function*, MPI_Grequest_cancel_function*, PollFunction*,
                          WaitFunction*, void*, MPI_Request*);

int start_request(PendingAccess* pending) {
  static auto* const extended = real_function<ExtendedStart>("PMPIX_Grequest_start");
  if (extended)
    return extended(query_access, free_access, cancel_access, poll_access, wait_for_accesses, pending, &pending->request);
  return PMPI_Grequest_start(query_access, free_access, cancel_access, pending, &pending->request);
}

// Of an access without a request. In a collective one this rank takes part all the same, or the others would wait for ever.
int fail_unstarted(OpenHandle& handle, const Row& row, const Error& error) {
  if (row.collective) (void)attempt([&] { return handle.file->start(make_failed_call(row, 0, error), nullptr); });
  return fail(&handle, row.name, error);
}

int nonblocking(const Row& row, MPI_File file, i64 offset, const Buffer& buffer, MPI_Request* request) {
  return with_file(file, row.name, [&](OpenHandle& handle) -> int {
    auto* pending = new PendingAccess;
    pending->handle = &handle;
    pending->name = row.name;
    pending->mpi_here = thread_multiple();
    const int code = start_request(pending);
    if (code != MPI_SUCCESS) {
      delete pending;
      *request = MPI_REQUEST_NULL;
      return fail_unstarted(handle, row, mpi_error("MPI_Grequest_start", code, handle.comm));
    }
    MPI_Request mine = pending->request;
    auto started = attempt([&] {
      process().accesses.add(mine, *pending);
      if (process().trace.tracer()) pending->file_name = handle.file->name();
      if (handle.registered()) pending->type = KeptType(buffer.type, handle.comm);
      return handle.file->start(make_call(handle, row, offset, buffer),
                                [pending](const Result<i64>& moved) { complete_access(pending, moved); });
    });
    if (started) {
      pending->access = std::move(*started);
      pending->last_poll = std::chrono::steady_clock::now();
      pending->given.store(true, std::memory_order_release);
      *request = mine;
      process().postponed.run();
      return MPI_SUCCESS;
    }
    pending->stage = Stage::kDone;   // nothing was started
    PMPI_Grequest_complete(mine);
    PMPI_Request_free(&mine);
    *request = MPI_REQUEST_NULL;
    return fail(&handle, row.name, started.error());
  });
}

int split_begin(const Row& row, MPI_File file, i64 offset, const Buffer& buffer) {
  return run_on_file(file, row.name, [&](OpenHandle& handle) -> Status {
    KeptType kept = handle.registered() ? KeptType(buffer.type, handle.comm) : KeptType();
    MERCUTIO_TRY(handle.file->begin(make_call(handle, row, offset, buffer)));
    handle.split_type = std::move(kept);
    return ok_status();
  });
}

int split_end(const Row& row, MPI_File file, const void* buffer, MPI_Status* status) {
  return with_file(file, row.name, [&](OpenHandle& handle) -> int {
    Result<i64> moved = attempt([&] { return handle.file->end(row.name, row.direction, row.positioning, buffer); });
    if (moved) handle.split_type = KeptType();
    set_status(status, moved ? *moved : 0);
    return moved ? MPI_SUCCESS : fail(&handle, row.name, moved.error());
  });
}

}  // namespace
}  // namespace mercutio

using namespace mercutio;

#define BUFFER_kRead void*
#define BUFFER_kWrite const void*
#define DEFINE_ROW(name, suffix, direction, positioning, collective) \
  static constexpr Row row{"MPI_File_" #name suffix, Direction::direction, Positioning::positioning, collective}

#define BLOCKING_EXPLICIT(name, direction, positioning, collective, Count, twin)                                       \
  MERCUTIO_MPI_FUNCTION(int, File_##name##twin, (MPI_File file, MPI_Offset offset, BUFFER_##direction buffer, Count count, \
                                                 MPI_Datatype type, MPI_Status* status)) {                             \
    DEFINE_ROW(name, #twin, direction, positioning, collective);                                                       \
    return blocking(row, file, offset, {buffer, count, type}, status);                                                 \
  }
#define BLOCKING_POINTER(name, direction, positioning, collective, Count, twin)                                        \
  MERCUTIO_MPI_FUNCTION(int, File_##name##twin, (MPI_File file, BUFFER_##direction buffer, Count count, MPI_Datatype type, \
                                                 MPI_Status* status)) {                                                \
    DEFINE_ROW(name, #twin, direction, positioning, collective);                                                       \
    return blocking(row, file, 0, {buffer, count, type}, status);                                                      \
  }
#define NONBLOCKING_EXPLICIT(name, direction, positioning, collective, Count, twin)                                    \
  MERCUTIO_MPI_FUNCTION(int, File_##name##twin, (MPI_File file, MPI_Offset offset, BUFFER_##direction buffer, Count count, \
                                                 MPI_Datatype type, MPI_Request* request)) {                           \
    DEFINE_ROW(name, #twin, direction, positioning, collective);                                                       \
    return nonblocking(row, file, offset, {buffer, count, type}, request);                                             \
  }
#define NONBLOCKING_POINTER(name, direction, positioning, collective, Count, twin)                                     \
  MERCUTIO_MPI_FUNCTION(int, File_##name##twin, (MPI_File file, BUFFER_##direction buffer, Count count, MPI_Datatype type, \
                                                 MPI_Request* request)) {                                              \
    DEFINE_ROW(name, #twin, direction, positioning, collective);                                                       \
    return nonblocking(row, file, 0, {buffer, count, type}, request);                                                  \
  }
#define SPLIT_BEGIN_EXPLICIT(name, direction, positioning, collective, Count, twin)                                    \
  MERCUTIO_MPI_FUNCTION(int, File_##name##_begin##twin, (MPI_File file, MPI_Offset offset, BUFFER_##direction buffer,  \
                                                         Count count, MPI_Datatype type)) {                            \
    DEFINE_ROW(name, "_begin" #twin, direction, positioning, collective);                                              \
    return split_begin(row, file, offset, {buffer, count, type});                                                      \
  }
#define SPLIT_BEGIN_POINTER(name, direction, positioning, collective, Count, twin)                                     \
  MERCUTIO_MPI_FUNCTION(int, File_##name##_begin##twin, (MPI_File file, BUFFER_##direction buffer, Count count, MPI_Datatype type)) { \
    DEFINE_ROW(name, "_begin" #twin, direction, positioning, collective);                                              \
    return split_begin(row, file, 0, {buffer, count, type});                                                           \
  }
#define SPLIT_END(name, direction, positioning, collective)                                                            \
  MERCUTIO_MPI_FUNCTION(int, File_##name##_end, (MPI_File file, BUFFER_##direction buffer, MPI_Status* status)) {      \
    DEFINE_ROW(name, "_end", direction, positioning, collective);                                                      \
    return split_end(row, file, buffer, status);                                                                       \
  }

// Both forms of each call.
#define BOTH_BLOCKING_EXPLICIT(...) BLOCKING_EXPLICIT(__VA_ARGS__, int, ) BLOCKING_EXPLICIT(__VA_ARGS__, MPI_Count, _c)
#define BOTH_BLOCKING_POINTER(...) BLOCKING_POINTER(__VA_ARGS__, int, ) BLOCKING_POINTER(__VA_ARGS__, MPI_Count, _c)
#define BOTH_NONBLOCKING_EXPLICIT(...) NONBLOCKING_EXPLICIT(__VA_ARGS__, int, ) NONBLOCKING_EXPLICIT(__VA_ARGS__, MPI_Count, _c)
#define BOTH_NONBLOCKING_POINTER(...) NONBLOCKING_POINTER(__VA_ARGS__, int, ) NONBLOCKING_POINTER(__VA_ARGS__, MPI_Count, _c)
#define BOTH_SPLIT_EXPLICIT(...) SPLIT_BEGIN_EXPLICIT(__VA_ARGS__, int, ) SPLIT_BEGIN_EXPLICIT(__VA_ARGS__, MPI_Count, _c) SPLIT_END(__VA_ARGS__)
#define BOTH_SPLIT_POINTER(...) SPLIT_BEGIN_POINTER(__VA_ARGS__, int, ) SPLIT_BEGIN_POINTER(__VA_ARGS__, MPI_Count, _c) SPLIT_END(__VA_ARGS__)

MERCUTIO_BLOCKING_EXPLICIT(BOTH_BLOCKING_EXPLICIT)
MERCUTIO_BLOCKING_POINTER(BOTH_BLOCKING_POINTER)
MERCUTIO_NONBLOCKING_EXPLICIT(BOTH_NONBLOCKING_EXPLICIT)
MERCUTIO_NONBLOCKING_POINTER(BOTH_NONBLOCKING_POINTER)
MERCUTIO_SPLIT_EXPLICIT(BOTH_SPLIT_EXPLICIT)
MERCUTIO_SPLIT_POINTER(BOTH_SPLIT_POINTER)
