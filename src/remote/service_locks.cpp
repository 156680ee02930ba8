// The server's part of locks, and of accesses under a lock.
#include <cerrno>

#include "base/attempt.h"
#include "remote/service.h"

namespace mercutio::remote {

void Service::lock_or_wait(const std::shared_ptr<ServedSession>& session, const Task& task) {
  const FrameHeader& header = task.frame->header;
  const Status taken = attempt([&] { return take_lock(session, task); });
  if (!taken) session->complete(header.id, header.kind, operations_.answer_of(header.id, taken.error()), options_.silence_ms);
}

// Grants the lock at once if it is free. Otherwise no thread waits: the queue's thread, or one of its own, continues the request
// later.
Status Service::take_lock(const std::shared_ptr<ServedSession>& session, const Task& task) {
  const FrameHeader& header = task.frame->header;
  MERCUTIO_LET(const LockRequest wanted, operations_.wanted_lock(session, header.kind, task.frame->body().subspan(kAcknowledgedBytes)));
  const auto granted = [this, wanted, frame = task.frame](Result<std::unique_ptr<HeldLock>> lock) {
    const Status used = attempt([&] {
      const auto held = std::make_shared<Result<std::unique_ptr<HeldLock>>>(std::move(lock));
      const auto use = [this, wanted, frame, held](i64 limit_ms) { use_lock(wanted, {frame}, std::move(*held), limit_ms); };
      if (!run_beside([this, use] { use(options_.silence_ms); })) use(kLateMs);
      return ok_status();
    });
    const u64 id = frame->header.id;
    if (!used) wanted.session->complete(id, frame->header.kind, operations_.answer_of(id, used.error()), kLateMs);
  };
  Result<std::unique_ptr<HeldLock>> lock = std::unique_ptr<HeldLock>();
  {
    const Work work(task.stream, task.turn, task.file);
    lock = options_.in_turn ? LockQueue::take(wanted, true) : locks_.request(wanted, granted);
  }
  if (!lock || *lock) use_lock(wanted, task, std::move(lock), options_.silence_ms);
  return ok_status();
}

// Replies that the lock is held, or executes the access under it and releases it.
void Service::use_lock(const LockRequest& wanted, const Task& task, Result<std::unique_ptr<HeldLock>> lock, i64 limit_ms) {
  const Frame& frame = *task.frame;
  const u64 id = frame.header.id;
  const Kind kind = frame.header.kind;
  ServedSession& session = *wanted.session;
  bool begun = true;
  Buffer reply;
  {
    const Work work(task.stream, task.turn, task.file);
    reply = answer_from(id, [&] {
      if (!is_locked(kind) || !lock) return operations_.answer_lock(wanted, id, std::move(lock));
      Buffer done;
      begun = session.begin_work(id);
      if (begun && !session.await_forgotten_on(wanted.file->identity, kLateMs)) done = operations_.too_early(id);
      if (begun && done.empty()) done = operations_.carry_out(session, frame, frame.body().subspan(kAcknowledgedBytes));
      const Status given_back = release(std::move(*lock));
      locks_.released(wanted.file->path);
      return given_back ? std::move(done) : operations_.answer_of(id, given_back.error());
    });
  }
  if (begun) session.complete(id, kind, std::move(reply), limit_ms);
}

}  // namespace mercutio::remote
