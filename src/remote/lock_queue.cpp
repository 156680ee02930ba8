#include "remote/lock_queue.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/attempt.h"
#include "base/threads.h"
#include "base/trace.h"

namespace mercutio::remote {
namespace {

constexpr i64 kShortestUs = 500, kLongestUs = 20'000;
constexpr i64 kPartOfWait = 16;

}  // namespace

void LockQueue::stop() {
  std::thread thread;
  {
    std::lock_guard guard(mutex_);
    stopping_ = true;
    thread.swap(thread_);
    changed_.notify_all();
  }
  if (thread.joinable()) thread.join();
}

bool LockQueue::conflicts(const LockRequest& one, const LockRequest& other) {
  return (one.exclusive || other.exclusive) && one.begin < other.end && other.begin < one.end;
}

Result<std::unique_ptr<HeldLock>> LockQueue::take(const LockRequest& wanted, bool waits) {
  std::shared_lock in_use(wanted.file->closing);
  if (wanted.file->closed) return Error{ErrorClass::kFile, "the file is not open on the server", EBADF};
  Storage& storage = *wanted.file->storage;
  MERCUTIO_LET(auto lock, waits ? storage.lock(wanted.begin, wanted.end, wanted.exclusive) : storage.try_lock(wanted.begin, wanted.end, wanted.exclusive));
  return lock ? made_safe(wanted.file, std::move(lock)) : nullptr;
}

Result<std::unique_ptr<HeldLock>> LockQueue::request(const LockRequest& wanted, Granted granted) {
  const std::string& path = wanted.file->path;
  bool first = true;
  {
    std::lock_guard guard(mutex_);
    if (const auto file = files_.find(path); file != files_.end()) {
      const auto conflict = [&](const std::shared_ptr<Waiter>& other) { return conflicts(wanted, other->wanted); };
      first = std::none_of(file->second.waiters.begin(), file->second.waiters.end(), conflict);
    }
  }
  if (first) {
    MERCUTIO_LET(auto lock, take(wanted, false));
    if (lock) return lock;
  }
  std::lock_guard guard(mutex_);
  const i64 now = now_ns();
  File& file = files_[path];
  if (file.waiters.empty()) file.next_ns = now + kShortestUs * 1'000;
  file.waiters.push_back(std::make_shared<Waiter>(Waiter{wanted, std::move(granted), now}));
  wake();
  return std::unique_ptr<HeldLock>();
}

// Without a thread the server calls step_without_thread() regularly.
void LockQueue::wake() {
  if (!thread_.joinable() && !stopping_) {
    if (auto thread = start_thread([this] { run(); })) thread_ = std::move(*thread);
  }
  changed_.notify_all();
}

void LockQueue::released(const std::string& path) {
  std::lock_guard guard(mutex_);
  const auto known = files_.find(path);
  if (known == files_.end()) return;
  File& file = known->second;
  const i64 now = now_ns();
  if (file.turn_ns == 0) file.turn_ns = now;
  const bool pauses = now - file.turn_ns > kTurnMs * kMs;
  file.next_ns = pauses ? now + kPauseMs * kMs : now;
  if (pauses) file.turn_ns = 0;
  wake();
}

void LockQueue::drop(const ServedSession* session) {
  std::lock_guard guard(mutex_);
  for (auto at = files_.begin(); at != files_.end();) {
    std::erase_if(at->second.waiters, [&](const std::shared_ptr<Waiter>& waiter) {
      if (waiter->wanted.session.get() != session) return false;
      return waiter->over = true;
    });
    at->second.next_ns = 0;   // the session may have held locks, too
    at = at->second.waiters.empty() ? files_.erase(at) : std::next(at);
  }
  if (!files_.empty()) wake();
}

// Of the files that are due, the requests that conflict with no earlier one.
std::vector<std::shared_ptr<LockQueue::Waiter>> LockQueue::due(i64 now) {
  std::vector<std::shared_ptr<Waiter>> found;
  for (auto& [path, file] : files_) {
    if (file.next_ns > now) continue;
    for (auto at = file.waiters.begin(); at != file.waiters.end(); ++at)
      if (std::none_of(file.waiters.begin(), at, [&](const auto& earlier) { return conflicts((*at)->wanted, earlier->wanted); })) found.push_back(*at);
    const i64 waited_us = (now - file.waiters.front()->since_ns) / 1'000;
    file.next_ns = now + std::clamp(waited_us / kPartOfWait, kShortestUs, kLongestUs) * 1'000;
  }
  return found;
}

// False: the request has been cancelled.
bool LockQueue::take_out(const std::shared_ptr<Waiter>& waiter, i64 now) {
  if (std::exchange(waiter->over, true)) return false;
  const auto known = files_.find(waiter->wanted.file->path);
  known->second.waiters.remove(waiter);
  if (known->second.turn_ns == 0) known->second.turn_ns = now;
  if (known->second.waiters.empty()) files_.erase(known);
  return true;
}

void LockQueue::step_without_thread(i64 now) {
  {
    std::lock_guard guard(mutex_);
    if (files_.empty() || thread_.joinable()) return;
  }
  step(now);
}

void LockQueue::step(i64 now) {
  std::vector<std::shared_ptr<Waiter>> tried;
  {
    std::lock_guard guard(mutex_);
    tried = due(now);
  }
  for (const std::shared_ptr<Waiter>& waiter : tried) {
    auto lock = take(waiter->wanted, false);
    if (lock && !*lock) continue;
    bool wanted = false;
    {
      std::lock_guard guard(mutex_);
      wanted = take_out(waiter, now);
    }
    if (wanted) waiter->granted(std::move(lock));
  }
}

void LockQueue::run() {
  for (;;) {
    {
      std::unique_lock guard(mutex_);
      MERCUTIO_HELD(mutex_);
      if (stopping_) return;
      i64 next_ns = INT64_MAX;
      for (const auto& [path, file] : files_) next_ns = std::min(next_ns, file.next_ns);
      const i64 left_ns = next_ns == INT64_MAX ? 1'000 * kMs : next_ns - now_ns();
      if (left_ns > 0) changed_.wait_for(guard, std::chrono::nanoseconds(left_ns));
      if (stopping_) return;
    }
    (void)attempt([this] {
      step(now_ns());
      return ok_status();
    });
  }
}

}  // namespace mercutio::remote
