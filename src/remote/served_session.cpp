#include "remote/served_session.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/attempt.h"

namespace mercutio::remote {
namespace {

constexpr i64 kSharedLimitMs = 2'000;   // for a channel, while others wait for the same reply

// A lock changes nothing and may wait as long as others hold it. An access under a lock is work once it has the lock.
bool is_work(Kind kind) {
  return kind != Kind::kLock && !is_locked(kind);
}

class SafeLock final : public HeldLock {
 public:
  SafeLock(std::shared_ptr<ServedFile> file, std::unique_ptr<HeldLock> lock) : file_(std::move(file)) {
    std::lock_guard guard(file_->locks_mutex);
    file_->locks.emplace(this, std::move(lock));
  }
  ~SafeLock() override { (void)release(); }
  Status release() override {
    std::shared_lock in_use(file_->closing);
    std::unique_ptr<HeldLock> held;
    {
      std::lock_guard guard(file_->locks_mutex);
      const auto known = file_->locks.find(this);
      if (known == file_->locks.end()) return ok_status();
      held = std::move(known->second);
      file_->locks.erase(known);
    }
    return held->release();
  }

 private:
  const std::shared_ptr<ServedFile> file_;
};

}  // namespace

Status ServedFile::close() {
  closed = true;
  std::map<const HeldLock*, std::unique_ptr<HeldLock>> held;
  {
    std::lock_guard guard(locks_mutex);
    held.swap(locks);
  }
  held.clear();
  claim.reset();
  return storage->close();
}

std::unique_ptr<HeldLock> made_safe(const std::shared_ptr<ServedFile>& file, std::unique_ptr<HeldLock> lock) {
  return std::make_unique<SafeLock>(file, std::move(lock));
}

ServedSession::Admission ServedSession::admit(u64 id, Kind kind, const std::shared_ptr<Channel>& channel, i64 send_limit_ms, const ChangedBy& changed) {
  std::shared_ptr<const Buffer> again;
  {
    std::lock_guard guard(mutex_);
    if (ended_) return Admission::kOver;
    Late late{std::nullopt, changed.path, kind == Kind::kClose};
    if (const auto open = files_.find(changed.file); open != files_.end()) late.file = open->second->identity;
    if (id < finished_ && !awaited_.count(id)) {
      if (!late.certain || !late.file || !late_.emplace(id, late).second) return Admission::kAnswered;
      ++working_;
      return Admission::kExecute;
    }
    const auto known = entries_.find(id);
    if (known == entries_.end()) {
      if (static_cast<i64>(entries_.size()) >= limits_.unfinished) return Admission::kTooMany;
      Entry entry;
      entry.routes.push_back(channel);
      entry.work = is_work(kind);
      entry.late = std::move(late);
      entries_.emplace(id, std::move(entry));
      working_ += is_work(kind) ? 1 : 0;
      return Admission::kExecute;
    }
    auto& routes = known->second.routes;   // each channel once, however often the request is sent
    const auto is_known = [&](const std::weak_ptr<Channel>& route) { return route.expired() || route.lock() == channel; };
    std::erase_if(routes, is_known);
    routes.push_back(channel);
    if (!known->second.reply->empty()) again = known->second.reply;
  }
  if (again) (void)channel->send(*again, send_limit_ms);
  return Admission::kAnswered;
}

// The data of a read under a lock is not stored: the read is executed again if its reply is lost.
bool ServedSession::complete(u64 id, Kind kind, Buffer reply, i64 send_limit_ms) {
  std::vector<std::weak_ptr<Channel>> routes;
  std::shared_ptr<const Buffer> answer;
  {
    std::lock_guard guard(mutex_);
    const auto known = entries_.find(id);
    if (known == entries_.end()) return end_late(id), false;
    if (known->second.work && --working_ == 0) at_rest_.notify_all();
    *known->second.reply = std::move(reply);
    answer = known->second.reply;
    routes.swap(known->second.routes);
    if (kind == Kind::kLockedRead) entries_.erase(known);
  }
  if (routes.size() > 1) send_limit_ms = std::min(send_limit_ms, kSharedLimitMs);
  for (auto at = routes.rbegin(); at != routes.rend(); ++at) {
    const std::shared_ptr<Channel> route = at->lock();   // if it is cut, the client sends the request again on another stream
    if (route && !attempt([&] { return route->send(*answer, send_limit_ms); })) route->cut();
  }
  return true;
}

bool ServedSession::end_late(u64 id) {
  if (late_.erase(id) == 0) return false;
  --working_;
  at_rest_.notify_all();
  return true;
}

bool ServedSession::begin_work(u64 id) {
  std::lock_guard guard(mutex_);
  return resume_work(id);
}

void ServedSession::pause_work(Entry& entry) {
  entry.work = false;
  if (--working_ == 0) at_rest_.notify_all();
}

bool ServedSession::resume_work(u64 id) {
  if (late_.count(id)) return true;
  const auto known = entries_.find(id);
  if (ended_ || known == entries_.end()) return false;
  known->second.work = true;
  ++working_;
  return true;
}

void ServedSession::hold_up(u64 file) {
  std::lock_guard guard(mutex_);
  ++behind_[file].held_up;
  any_held_up_ = true;
}

bool ServedSession::wait_behind(u64 file, i64 bytes, u64 id, std::function<void()> work) {
  constexpr i64 kOverhead = 1 * KiB;
  std::lock_guard guard(mutex_);
  const auto known = behind_.find(file);
  bytes += kOverhead;
  if (known == behind_.end() || behind_bytes_ + bytes > limits_.behind_bytes) return false;
  known->second.works.emplace_back(bytes, std::move(work));
  behind_bytes_ += bytes;
  if (const auto late = late_.find(id); late != late_.end()) {   // abandoned since: begin_work() will say so
    if (!late->second.certain) end_late(id);
    return true;
  }
  const auto admitted = entries_.find(id);
  if (admitted != entries_.end() && admitted->second.work) pause_work(admitted->second);
  return true;
}

std::function<void()> ServedSession::next_behind(u64 file) {
  std::lock_guard guard(mutex_);
  const auto known = behind_.find(file);
  if (known == behind_.end()) return nullptr;
  auto& works = known->second.works;
  if (works.empty()) {
    if (--known->second.held_up == 0) behind_.erase(known);
    any_held_up_ = !behind_.empty();
    return nullptr;
  }
  auto [bytes, work] = std::move(works.front());
  works.pop_front();
  behind_bytes_ -= bytes;
  return work;
}

// Reports may arrive in any order. What one of them finishes stays finished.
void ServedSession::finish(u64 end, const std::set<u64>& awaited) {
  std::lock_guard guard(mutex_);
  for (auto at = entries_.begin(); at != entries_.end() && at->first < end;) {
    const auto next = std::next(at);
    if (!awaited.count(at->first)) {
      const Entry& entry = at->second;
      if (entry.reply->empty() && (entry.work || entry.late.certain)) {
        late_.emplace(at->first, entry.late);
        working_ += entry.work ? 0 : 1;
      }
      entries_.erase(at);
    }
    at = next;
  }
  for (auto at = awaited_.begin(); at != awaited_.end() && *at < end;) at = awaited.count(*at) ? std::next(at) : awaited_.erase(at);
  for (auto at = awaited.lower_bound(finished_); at != awaited.end() && *at < end; ++at) awaited_.insert(*at);
  finished_ = std::max(finished_, end);
  at_rest_.notify_all();   // what waits for others may have been abandoned
}

template <class Concerns>
bool ServedSession::await_late(i64 limit_ms, u64 id, Concerns concerns) {
  std::unique_lock guard(mutex_);
  MERCUTIO_HELD(mutex_);
  const auto at_rest = [&]() MERCUTIO_REQUIRES(mutex_) {
    return std::none_of(late_.begin(), late_.end(), [&](const auto& known) { return concerns(known.second); });
  };
  if (late_.count(id)) return false;
  if (at_rest()) return true;
  const auto waiting = entries_.find(id);
  const bool paused = waiting != entries_.end() && waiting->second.work;
  if (paused) pause_work(waiting->second);
  const auto over = [&]() MERCUTIO_REQUIRES(mutex_) { return at_rest() || (paused && !entries_.count(id)); };
  (void)at_rest_.wait_for(guard, std::chrono::milliseconds(limit_ms), over);
  return (!paused || resume_work(id)) && at_rest();
}

bool ServedSession::await_forgotten(i64 limit_ms, u64 id) {
  return await_late(limit_ms, id, [](const Late&) { return true; });
}

bool ServedSession::await_forgotten_on(const FileIdentity& file, i64 limit_ms, u64 id) {
  return await_late(limit_ms, id, [&](const Late& late) { return late.file == file; });
}

bool ServedSession::await_forgotten_names(const std::string& path, i64 limit_ms, u64 id) {
  return await_late(limit_ms, id, [&](const Late& late) { return !late.file && (late.path.empty() || late.path == path); });
}

Status ServedSession::room() const {
  if (!ended_ && static_cast<i64>(files_.size()) < limits_.files) return ok_status();
  return Error{ErrorClass::kOther, "too many open files in one client of this server: close some", EMFILE};
}

Status ServedSession::room_for_file() {
  std::lock_guard guard(mutex_);
  return room();
}

Result<u64> ServedSession::add_file(std::shared_ptr<ServedFile> file) {
  std::lock_guard guard(mutex_);
  MERCUTIO_TRY(room());
  files_.emplace(next_handle_, std::move(file));
  return next_handle_++;
}

std::shared_ptr<ServedFile> ServedSession::file(u64 handle) {
  std::lock_guard guard(mutex_);
  const auto known = files_.find(handle);
  return known == files_.end() ? nullptr : known->second;
}

std::shared_ptr<ServedFile> ServedSession::take_file(u64 handle) {
  std::lock_guard guard(mutex_);
  const auto known = files_.find(handle);
  if (known == files_.end()) return nullptr;
  std::shared_ptr<ServedFile> file = std::move(known->second);
  files_.erase(known);
  return file;
}

Result<u64> ServedSession::add_lock(std::unique_ptr<HeldLock> lock, const ServedFile& file) {
  std::lock_guard guard(mutex_);
  if (ended_ || static_cast<i64>(locks_.size()) >= limits_.locks)
    return Error{ErrorClass::kIo, "too many locks of one client", ENOLCK};
  locks_.emplace(next_handle_, Lock{std::move(lock), file.path, file.identity});
  return next_handle_++;
}

std::optional<FileIdentity> ServedSession::file_of_lock(u64 handle) {
  std::lock_guard guard(mutex_);
  const auto known = locks_.find(handle);
  return known == locks_.end() ? std::nullopt : std::optional(known->second.file);
}

std::optional<std::string> ServedSession::release_lock(u64 handle) {
  Lock lock;
  {
    std::lock_guard guard(mutex_);
    const auto known = locks_.find(handle);
    if (known == locks_.end()) return std::nullopt;
    lock = std::move(known->second);
    locks_.erase(known);
  }
  lock.held.reset();
  return lock.path;
}

FlatTypeRef ServedSession::tree(u64 hash) {
  std::lock_guard guard(mutex_);
  const auto known = trees_.find(hash);
  return known == trees_.end() ? nullptr : known->second;
}

void ServedSession::learn(u64 hash, FlatTypeRef tree) {
  std::lock_guard guard(mutex_);
  if (trees_.count(hash)) return;
  const i64 bytes = 256 + tree->memory_bytes();
  if (tree_bytes_ + bytes > limits_.tree_bytes) {
    trees_.clear();
    tree_bytes_ = 0;
  }
  tree_bytes_ += bytes;
  trees_.emplace(hash, std::move(tree));
}

bool ServedSession::attach(const std::shared_ptr<Channel>& channel) {
  std::lock_guard guard(mutex_);
  if (ended_) return false;
  channels_.push_back(channel);
  idle_since_ns_ = -1;
  return true;
}

void ServedSession::detach(const Channel* channel, i64 now, bool in_order) {
  std::lock_guard guard(mutex_);
  client_ended_ = client_ended_ || in_order;
  std::erase_if(channels_, [&](const std::weak_ptr<Channel>& known) {
    const std::shared_ptr<Channel> held = known.lock();
    return !held || held.get() == channel;
  });
  if (channels_.empty()) idle_since_ns_ = now;
}

i64 ServedSession::streams() {
  std::lock_guard guard(mutex_);
  return static_cast<i64>(channels_.size());
}

bool ServedSession::client_has_ended() {
  std::lock_guard guard(mutex_);
  return client_ended_;
}

bool ServedSession::cut_one() {
  std::lock_guard guard(mutex_);
  if (channels_.size() < 2) return false;
  if (const std::shared_ptr<Channel> channel = channels_.back().lock()) channel->cut();
  channels_.pop_back();
  return true;
}

i64 ServedSession::idle_since() {
  std::lock_guard guard(mutex_);
  return working_ > 0 ? -1 : idle_since_ns_;
}

u64 ServedSession::claim_on(const FileIdentity& identity) {
  std::lock_guard guard(mutex_);
  for (const auto& [handle, file] : files_)
    if (file->claimed && file->identity == identity) return handle;
  return 0;
}

bool ServedSession::holds_files() {
  std::lock_guard guard(mutex_);
  return (!files_.empty() && !borrowed_) || std::any_of(copies_.begin(), copies_.end(), [](const auto& known) { return !known.second->over(); });
}

Result<u64> ServedSession::add_copy(std::shared_ptr<OutgoingCopy> copy) {
  std::lock_guard guard(mutex_);
  if (copies_.size() >= kMostCopies) std::erase_if(copies_, [](const auto& known) { return known.second->over(); });
  if (ended_ || copies_.size() >= kMostCopies) return Error{ErrorClass::kOther, "too many copies of one client at once", EUSERS};
  copies_.emplace(next_handle_, std::move(copy));
  return next_handle_++;
}

std::shared_ptr<OutgoingCopy> ServedSession::copy(u64 handle) {
  std::lock_guard guard(mutex_);
  const auto known = copies_.find(handle);
  return known == copies_.end() ? nullptr : known->second;
}

// Concurrent callers return after the session has ended. Files used by other sessions are closed, as these may be writing.
void ServedSession::end() {
  std::lock_guard one_at_a_time(ending_);
  std::map<u64, std::shared_ptr<ServedFile>> files;
  std::map<u64, Lock> locks;
  {
    std::lock_guard guard(mutex_);
    ended_ = true;
    for (const auto& [handle, copy] : copies_) copy->cancel();
    files.swap(files_);
    locks.swap(locks_);
  }
  locks.clear();
  for (const auto& [handle, file] : files) {
    if (!file->lent || file == borrowed_) continue;
    std::unique_lock alone(file->closing);
    if (!file->closed) (void)file->close();
  }
}

bool ServedSession::retire(i64 limit_ms) {
  {
    std::unique_lock guard(mutex_);
    MERCUTIO_HELD(mutex_);
    const auto at_rest = [&]() MERCUTIO_REQUIRES(mutex_) { return working_ == 0; };
    ended_ = true;
    for (const std::weak_ptr<Channel>& known : channels_)
      if (const std::shared_ptr<Channel> channel = known.lock()) channel->cut();
    if (!at_rest_.wait_for(guard, std::chrono::milliseconds(limit_ms), at_rest)) return false;
  }
  end();
  return true;
}

}  // namespace mercutio::remote
