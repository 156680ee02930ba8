#include "engine/progress/progress.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "base/nap.h"
#include "base/reserve.h"
#include "base/threads.h"
#include "base/yielding.h"
#include "comm/comm.h"

namespace mercutio {
namespace {

using Clock = std::chrono::steady_clock;

// Pauses after the n-th step without progress: yields at first, then sleeps for increasing times, so that ranks sharing a core get
// it.
void default_backoff(i64 spins) {
  if (spins < 32 && yielding.worth_trying()) return void(yielding.yield());
  nap(std::clamp<i64>(5 + (spins - 32) / 4, 5, 100) * 1000);
}

// Held by one thread at a time. Unlike a mutex, it may be tried by the thread that holds it: MPI may call progress() from within a step.
struct Turn {
  bool try_lock() { return !taken.test_and_set(std::memory_order_acquire); }
  void unlock() { taken.clear(std::memory_order_release); }
  std::atomic_flag taken;
};

// Predicts whether the program waits for an access immediately after starting it. If so, the waiting thread drives the access
// itself. Waking the progress thread would take longer than a small access, so the thread polls instead of sleeping.
class WaitPredictor {
 public:
  static constexpr auto kImmediate = std::chrono::microseconds(100);   // maximum time between start and wait
  static constexpr auto kBusyWindow = std::chrono::milliseconds(2);   // how long the progress thread leaves an access to a thread that waits

  bool expects_wait() const { return expects_wait_.load(std::memory_order_relaxed); }
  void learn(Clock::duration until_waited) { expects_wait_.store(until_waited < kImmediate, std::memory_order_relaxed); }

 private:
  std::atomic<bool> expects_wait_{false};
};

// MPI may call progress() on the progress thread, from within a step.
thread_local bool is_progress_thread = false;

class DrivenRequest final : public Request {
 public:
  // A thread that waits for it: with a `predictor`, drives it; with neither that nor `others`, leaves it to another thread. others(this) drives
  // other requests, which it may follow, and without a predictor this one, too. It returns whether there are any.
  using DriveOthers = std::function<bool(const DrivenRequest*)>;
  DrivenRequest(RequestBody body, WaitPredictor* predictor, DriveOthers others)
      : task_(std::move(body.task)), on_done_(std::move(body.on_done)), pauses_(std::move(body.pauses)), failed_(std::move(body.failed)), queue_(body.queue),
        predictor_(predictor), others_(std::move(others)), begin_(Clock::now()) {
    if (predictor_ && predictor_->expects_wait()) hold_until(begin_ + WaitPredictor::kBusyWindow);
  }

  bool done() const override { return done_.load(std::memory_order_acquire); }
  Result<i64> wait() override {
    block({});
    return *result_;
  }
  bool wait_for(std::chrono::microseconds time) override { return block({.end = Clock::now() + time, .longest_ns = kShortWaitNs}); }
  bool wait_until(const std::function<bool()>& over) override { return block({.over = &over}); }

  // Advances the task. Only one thread at a time does so.
  enum class Driven { kEnded, kWaits, kByAnother };
  Driven drive() {
    const std::unique_lock turn(driven_, std::try_to_lock);
    if (!turn) return Driven::kByAnother;
    return done() || step() ? Driven::kEnded : Driven::kWaits;
  }
  // Called by the driving thread between two steps.
  void backoff(const Pauses::Wait& wait) const { pauses_ ? pauses_->pause(wait) : default_backoff(wait.spins); }

  const void* queue() const { return queue_; }
  bool by_waiters() const { return predictor_ != nullptr; }
  // Called by a thread that drives the request because it waits: the progress thread leaves it alone for kBusyWindow.
  void note_waiter() {
    const Clock::time_point now = Clock::now();
    if (!waited_for_.exchange(true, std::memory_order_relaxed)) predictor_->learn(now - begin_);
    hold_until(now + WaitPredictor::kBusyWindow);
  }
  // The progress thread drives the request again.
  void note_no_waiter() {
    if (predictor_ && !was_waited_for()) predictor_->learn(Clock::duration::max());
  }
  // Whether the progress thread leaves the request to a thread that waits for it now, or has just done so, or is expected to.
  bool is_held(Clock::time_point now) const {
    return by_waiters() && (waiters_.load(std::memory_order_relaxed) > 0 || held_until_.load(std::memory_order_relaxed) > now.time_since_epoch().count());
  }
  // Called by a thread that drives it because it waits for another one: the progress thread leaves it alone for a moment.
  void note_follower() { hold_until(Clock::now() + WaitPredictor::kImmediate); }
  bool was_waited_for() const { return waited_for_.load(std::memory_order_relaxed); }

 private:
  bool step() {
    const UsesReserve uses;
    const bool over = task_->step(), given_up = !over && failed_ && failed_(!is_progress_thread);
    if (!over && !given_up) return false;
    Result<i64> result = over ? task_->take() : Result<i64>(rank_died());
    task_.reset();   // releases what the access refers to before the request counts as done
    (void)attempt([&] {
      if (on_done_) on_done_(result);
      return ok_status();
    });
    on_done_ = nullptr;
    {
      std::lock_guard lock(mutex_);
      result_ = std::move(result);
      done_.store(true, std::memory_order_release);
    }
    changed_.notify_all();
    return true;
  }

  void hold_until(Clock::time_point time) { held_until_.store(time.time_since_epoch().count(), std::memory_order_relaxed); }

  struct Limits {
    Clock::time_point end = Clock::time_point::max();
    i64 longest_ns = INT64_MAX;   // of a pause. A short wait drives no others, whose steps may take long.
    const std::function<bool()>* over = nullptr;
  };

  bool block(const Limits& limits) {
    const Waiter waiter(*this);
    if (predictor_ && !done() && !was_waited_for()) note_waiter();
    while (!done()) {
      // A wait whose time is over is still a switch to another thread.
      if (limits.end != Clock::time_point::max() && Clock::now() >= limits.end) return false;
      const bool by_another = predictor_ ? drive() == Driven::kByAnother : !others_;
      bool any_others = false;
      if (others_ && !done() && (limits.longest_ns == INT64_MAX || !predictor_)) any_others = attempt_or(true, [&] { return others_(this); });
      if (done()) break;
      if (limits.over && (*limits.over)()) return false;
      by_another ? sleep_until_done(std::min(limits.end, Clock::now() + WaitPredictor::kImmediate))
                 : backoff({waiters_spins_++, /*may_call=*/true, /*alone=*/!any_others, limits.longest_ns});
    }
    return true;
  }

  void sleep_until_done(Clock::time_point end) {
    std::unique_lock lock(mutex_);
    if (changed_.wait_until(lock, end, [this] { return done(); })) return;
    lock.unlock();
    if (pauses_) pauses_->poll_mpi();
  }

  struct Waiter {
    explicit Waiter(DrivenRequest& one) : request(one) { request.waiters_.fetch_add(1, std::memory_order_relaxed); }
    ~Waiter() {
      if (request.predictor_ && !request.done()) request.note_waiter();   // it may be about to wait again
      request.waiters_.fetch_sub(1, std::memory_order_relaxed);
    }
    DrivenRequest& request;
  };

  static constexpr i64 kShortWaitNs = 50'000;   // because the caller may be MPI_Test
  std::optional<Task<Result<i64>>> task_;
  std::function<void(const Result<i64>&)> on_done_;
  const std::shared_ptr<Pauses> pauses_;
  const std::function<bool(bool)> failed_;
  const void* const queue_;
  WaitPredictor* const predictor_;   // of the progress thread; not used once the request is done
  const DriveOthers others_;
  const Clock::time_point begin_;
  std::atomic<bool> waited_for_{false};
  std::atomic<i64> waiters_{0};
  std::atomic<i64> waiters_spins_{0};   // over all waits
  Turn driven_;
  std::atomic<Clock::rep> held_until_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Result<i64>> result_;
  std::atomic<bool> done_{false};
};
using DrivenRequestRef = std::shared_ptr<DrivenRequest>;

// The requests that are not done. Those of a queue wait for those before them, so only the first few of each queue can make progress. A selection has
// these. Its size grows with the number of queues, but not with that of the requests. Ranks may start requests of different queues in different
// orders, so each queue has its share.
class PendingRequests {
 public:
  void add(const DrivenRequestRef& request) {
    Queue& queue = queues_[request->queue()];
    while (!queue.empty() && queue.front()->done()) remove(queue, queue.begin());
    queue.push_back(request);
    ++count_;
  }
  bool empty() const { return count_ == 0; }
  i64 count() const { return count_; }   // with some that are done
  // Calls take(request) for the requests of the selection. Removes those that are done.
  template <class Take>
  void select(Take take) {
    const i64 share = std::clamp<i64>(kMostTaken / std::max<i64>(std::ssize(queues_), 1), kLeastOfQueue, kMostOfQueue);
    for (auto entry = queues_.begin(); entry != queues_.end();) {
      Queue& queue = entry->second;
      for (auto one = queue.begin(); one != queue.end() && one - queue.begin() < share;) {
        if ((*one)->done()) {
          one = remove(queue, one);
        } else {
          take(*one++);
        }
      }
      entry = queue.empty() && std::ssize(queues_) > kMostEmpty ? queues_.erase(entry) : std::next(entry);
    }
  }

 private:
  using Queue = std::deque<DrivenRequestRef>;
  static constexpr i64 kMostTaken = 64, kMostOfQueue = 32, kLeastOfQueue = 2;
  static constexpr i64 kMostEmpty = 4;   // queues that stay, for the next requests of a file

  Queue::iterator remove(Queue& queue, Queue::iterator one) {
    --count_;
    return queue.erase(one);
  }

  std::map<const void*, Queue> queues_;
  i64 count_ = 0;
};

class ProgressThread final : public Progress {
 public:
  explicit ProgressThread(void (*at_start)()) : at_start_(at_start) {}
  ~ProgressThread() override {
    {
      std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  bool ready() override {
    std::lock_guard lock(mutex_);
    return has_thread();
  }

  // If no thread can be started, the call drives the access to its end.
  RequestRef start(RequestBody body) override {
    WaitPredictor* const predictor = body.sends ? nullptr : &predictor_;
    const bool leave = predictor && predictor->expects_wait(), go_ahead = leave && body.inline_ok;
    auto request = std::allocate_shared<DrivenRequest>(FrameAllocator<DrivenRequest>(), std::move(body), predictor, predictor ? DrivenRequest::DriveOthers([this](const DrivenRequest* waited) {
      return count_.load(std::memory_order_relaxed) > 1 && drive_others(waited);
    }) : nullptr);
    if (go_ahead && request->drive() == DrivenRequest::Driven::kEnded) return request;   // as the following wait would do
    {
      std::lock_guard lock(mutex_);
      if (has_thread()) {
        active_.add(request);
        count_.store(active_.count(), std::memory_order_release);
        if (!leave || !polls_) wake_.notify_all();
        return request;
      }
    }
    for (i64 spins = 0; request->drive() != DrivenRequest::Driven::kEnded; ++spins) request->backoff({spins, /*may_call=*/true});
    return request;
  }

  // Calls in quick succession come from a waiting thread, which then drives the requests. Otherwise the progress thread does. Where ranks
  // share cores, even a waiting thread calls after long pauses.
  bool progress(bool waits) override {
    if (count_.load(std::memory_order_acquire) == 0 || is_progress_thread) return false;
    const Clock::rep now = Clock::now().time_since_epoch().count();
    if (Clock::duration(now - last_look_.exchange(now, std::memory_order_relaxed)) > kPollGap && !waits) return false;
    for (const DrivenRequestRef& one : driven_by_waiters()) {
      one->note_waiter();
      (void)one->drive();
    }
    return false;
  }

 private:
  static constexpr Clock::duration kPollGap = std::chrono::microseconds(200), kLinger = std::chrono::milliseconds(20);
  static constexpr std::chrono::milliseconds kLongestPause{8};

  std::vector<DrivenRequestRef> driven_by_waiters() {
    std::vector<DrivenRequestRef> found;
    std::lock_guard lock(mutex_);
    select_next([&](const DrivenRequestRef& one) {
      if (one->by_waiters()) found.push_back(one);
    });
    return found;
  }

  bool drive_others(const DrivenRequest* waited) {
    bool any = false;
    for (const DrivenRequestRef& one : driven_by_waiters()) {
      if (one.get() == waited) continue;
      any = true;
      one->note_follower();
      (void)one->drive();
    }
    return any;
  }

  bool has_thread() {   // requires the lock
    if (!thread_.joinable()) {
      auto made = start_thread([this] { loop(); });
      if (made) thread_ = std::move(*made);
    }
    return thread_.joinable();
  }

  void loop() {
    is_progress_thread = true;
    if (at_start_) at_start_();
    std::vector<DrivenRequestRef> mine;
    for (i64 spins = 0;;) {
      const Result<bool> more = attempt([&] { return Result<bool>(choose(mine)); });
      if (more && !*more) return;
      if (mine.empty()) {
        if (!more) default_backoff(INT64_MAX);   // no memory for the list of requests
        spins = 0;
        continue;
      }
      const auto ended = std::count_if(mine.begin(), mine.end(), [](const DrivenRequestRef& one) { return one->drive() == DrivenRequest::Driven::kEnded; });
      spins = ended > 0 ? 0 : spins + 1;
      if (spins > 0) mine.size() == 1 ? mine[0]->backoff({spins - 1}) : default_backoff(spins);
    }
  }

  template <class Take>
  void select_next(Take take) {   // requires the lock
    active_.select(take);
    count_.store(active_.count(), std::memory_order_release);
  }

  // Selects the requests that the thread drives now. Sleeps if there are none. False: the thread ends.
  bool choose(std::vector<DrivenRequestRef>& mine) {
    mine.clear();
    std::unique_lock lock(mutex_);
    const Clock::time_point now = Clock::now();
    bool left_alone = true;   // nothing to drive now, nor soon
    select_next([&](const DrivenRequestRef& one) {
      const bool held = !ending_ && one->is_held(now);
      left_alone = left_alone && held && one->was_waited_for();
      if (held) return;
      one->note_no_waiter();
      mine.push_back(one);
    });
    if (active_.empty() && ending_) return false;
    if (!active_.empty()) last_active_ = now;
    pause_ = left_alone ? std::min(2 * pause_, kLongestPause) : WaitPredictor::kBusyWindow;
    if (!mine.empty()) return true;
    polls_ = predictor_.expects_wait() && now - last_active_ < kLinger;
    if (polls_ || !active_.empty()) wake_.wait_for(lock, pause_);
    else wake_.wait(lock);
    return true;
  }

  void (*const at_start_)();
  std::mutex mutex_;
  std::condition_variable wake_;
  PendingRequests active_;
  std::atomic<i64> count_{0};   // of them
  std::atomic<Clock::rep> last_look_{0};
  WaitPredictor predictor_;
  Clock::time_point last_active_{};
  bool polls_ = false;   // the thread wakes up without a notification
  std::chrono::milliseconds pause_ = WaitPredictor::kBusyWindow;   // until then, longer as long as there is nothing to do
  std::thread thread_;
  bool ending_ = false;
};

class PolledProgress final : public Progress {
 public:
  ~PolledProgress() override {
    for (i64 spins = 0; progress(/*waits=*/true); ++spins) default_backoff(spins);
  }

  RequestRef start(RequestBody body) override {
    auto request = std::allocate_shared<DrivenRequest>(FrameAllocator<DrivenRequest>(), std::move(body), /*predictor=*/nullptr, [this](const DrivenRequest*) {
      progress(/*waits=*/true);
      return left_.load() > 1;
    });
    std::lock_guard lock(mutex_);
    arrived_.push_back(request);
    ++left_;
    return request;
  }

  // One thread drives at a time. A call from within a step, if MPI calls back, has no effect.
  bool progress(bool /*waits*/) override {
    if (left_.load() == 0) return false;
    if (const std::unique_lock turn(busy_, std::try_to_lock); turn) {
      {
        std::lock_guard lock(mutex_);
        const auto add = [this] { return active_.add(arrived_.front()), true; };
        while (!arrived_.empty() && attempt_or(false, add)) arrived_.pop_front();   // without memory, another time
      }
      active_.select([this](const DrivenRequestRef& one) {
        if (one->drive() == DrivenRequest::Driven::kEnded) --left_;
      });
    }
    return left_.load() > 0;
  }

 private:
  Turn busy_;
  PendingRequests active_;   // used only by the driving thread
  std::mutex mutex_;
  std::deque<DrivenRequestRef> arrived_;
  std::atomic<i64> left_{0};
};

}  // namespace

RequestRef finished_request(Result<i64> result) {
  class Finished final : public Request {
   public:
    explicit Finished(Result<i64> result) : result_(std::move(result)) {}
    bool done() const override { return true; }
    Result<i64> wait() override { return result_; }
    bool wait_for(std::chrono::microseconds) override { return true; }
    bool wait_until(const std::function<bool()>&) override { return true; }

   private:
    Result<i64> result_;
  };
  return std::make_shared<Finished>(std::move(result));
}

std::unique_ptr<Progress> make_progress_thread(void (*at_start)()) { return std::make_unique<ProgressThread>(at_start); }
std::unique_ptr<Progress> make_polled_progress() { return std::make_unique<PolledProgress>(); }

}  // namespace mercutio
