// The io_uring queue. As many runs are in flight as the ring has slots; a thread of its own takes the completions,
// submits the rest of runs that were moved in part, and refills the slots. Submission entries belong to whoever holds
// the mutex, completion entries to that thread alone. Costs one ring, one thread and 1 MiB of slots per process.
// Worth it where the device, not the page cache, is what one waits for: direct I/O.
#include "storage/posix/async_queue.h"

#ifdef MERCUTIO_HAVE_URING

#include <liburing.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "base/attempt.h"
#include "base/threads.h"
#include "storage/finished_transfer.h"
#include "storage/posix/direct_read.h"
#include "storage/posix/gather.h"
#include "storage/posix/transfer.h"

namespace mercutio::posix {
namespace {

constexpr unsigned kSlots = 64;
constexpr int kLargestErrno = 4095;   // by the kernel's rule; CephFS may return more (read_missed_bytes)

// What became of one run, in the order of the pieces.
struct Outcome {
  i64 wanted = 0;
  i64 moved = 0;
  std::optional<Error> error;
};

struct UringJob {
  UringJob(std::shared_ptr<OpenFd> fd, Direction direction, std::vector<IoPiece> list)
      : fd(std::move(fd)), running(OpenFd::begin(this->fd)), direction(direction), pieces(std::move(list)), in_workers(!this->fd->direct()), gatherer(pieces) {
    reading.emplace(this->fd->direct() && direction == Direction::kRead);
  }

  std::shared_ptr<OpenFd> fd;
  TransferCount::Running running;
  const Direction direction;
  const std::vector<IoPiece> pieces;
  const bool in_workers;  // a buffered file: the kernel's threads, not the caller, shall copy
  std::optional<DirectRead> reading;
  // Under the queue's mutex:
  Gatherer gatherer;
  std::vector<Outcome> outcomes;
  i64 in_flight = 0;
  bool gathered = false;  // no further run starts
  std::optional<Error> failed;  // a run could not be started
  // Under the job's own:
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Result<i64>> result;

  Result<i64> sum() const {
    i64 total = 0;
    for (const Outcome& outcome : outcomes) {
      if (outcome.error) return Error(*outcome.error).behind(total + outcome.moved);
      total += outcome.moved;
      if (outcome.moved < outcome.wanted) return total;
    }
    if (failed) return Error(*failed).behind(total);
    return total;
  }
  void finish() {
    reading.reset();
    running.reset();
    fd.reset();
    std::lock_guard guard(mutex);
    result = attempt([this] { return sum(); });
    changed.notify_all();
  }
};

class UringTransfer final : public Transfer {
 public:
  explicit UringTransfer(std::shared_ptr<UringJob> job) : job_(std::move(job)) {}
  ~UringTransfer() override { (void)wait(); }
  bool done() override {
    std::lock_guard guard(job_->mutex);
    return job_->result.has_value();
  }
  Result<i64> wait() override {
    std::unique_lock guard(job_->mutex);
    job_->changed.wait(guard, [&] { return job_->result.has_value(); });
    return *job_->result;
  }

 private:
  std::shared_ptr<UringJob> job_;
};

struct Slot {
  std::shared_ptr<UringJob> job;  // null: free
  size_t number = 0;              // of the run in its job
  Run run;
};

class Ring {
 public:
  ~Ring() {
    if (reaper_.joinable()) {
      {
        std::lock_guard guard(mutex_);
        ending_ = true;
        io_uring_prep_nop(entry(nullptr));
        submit();
      }
      reaper_.join();
    }
    if (ready_) io_uring_queue_exit(&ring_);
  }

  // Sets the ring up and sees that an operation comes back: a sandbox may allow the one without the other.
  bool begin() {
    if (io_uring_queue_init(kSlots * 2, &ring_, 0) != 0) return false;
    ready_ = true;
    io_uring_prep_nop(entry(nullptr));
    if (io_uring_submit(&ring_) != 1) return false;
    io_uring_cqe* completion = nullptr;
    if (io_uring_wait_cqe(&ring_, &completion) != 0) return false;
    io_uring_cqe_seen(&ring_, completion);
    free_.reserve(slots_.size());
    for (Slot& slot : slots_) free_.push_back(&slot);
    auto thread = start_thread([this] { reap(); });
    if (thread) reaper_ = std::move(*thread);
    return thread.ok();
  }

  void start(const std::shared_ptr<UringJob>& job) {
    std::lock_guard guard(mutex_);
    const Status queued = attempt([&] {
      waiting_.push_back(job);
      return ok_status();
    });
    if (!queued) {
      job->failed = queued.error();
      job->finish();
    }
    refill();
    submit();
  }

 private:
  // There are twice as many entries as slots, so one is free.
  io_uring_sqe* entry(Slot* slot) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    io_uring_sqe_set_data(sqe, slot);
    return sqe;
  }

  // The ring was seen to work, so what fails is for want of memory and passes, as it would inside a system call.
  void submit() {
    while (io_uring_sq_ready(&ring_) > 0) {
      const int taken = io_uring_submit(&ring_);
      if (taken <= 0 && taken != -EINTR) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void prepare(Slot& slot) {
    io_uring_sqe* sqe = entry(&slot);
    const UringJob& job = *slot.job;
    const Run& run = slot.run;
    const iovec* buffers = run.buffers.data() + run.first;
    const auto count = static_cast<unsigned>(run.count - run.first);
    if (job.direction == Direction::kRead)
      io_uring_prep_readv(sqe, job.fd->get(), buffers, count, static_cast<__u64>(run.offset));
    else
      io_uring_prep_writev(sqe, job.fd->get(), buffers, count, static_cast<__u64>(run.offset));
    io_uring_sqe_set_data(sqe, &slot);
    if (job.in_workers) io_uring_sqe_set_flags(sqe, IOSQE_ASYNC);
  }

  // Starts runs while there are any and a slot is free.
  void refill() {
    while (!waiting_.empty()) {
      const std::shared_ptr<UringJob> job = waiting_.front();
      while (!job->gathered && !free_.empty()) start_run(job);
      if (!job->gathered) return;
      waiting_.pop_front();
      if (job->in_flight == 0) job->finish();
    }
  }

  void start_run(const std::shared_ptr<UringJob>& job) {
    Slot& slot = *free_.back();
    const Result<bool> more = attempt([&]() -> Result<bool> {
      if (!job->gatherer.next(slot.run)) return false;
      job->outcomes.push_back(Outcome{slot.run.bytes, 0, std::nullopt});
      return true;
    });
    if (!more) job->failed = more.error();   // what runs already ends first
    if (!more || !*more) {
      job->gathered = true;
      return;
    }
    free_.pop_back();
    slot.job = job;
    slot.number = job->outcomes.size() - 1;
    ++job->in_flight;
    prepare(slot);
  }

  // True when the slot's run is over.
  bool take(Slot& slot, int moved) {
    UringJob& job = *slot.job;
    Outcome& outcome = job.outcomes[slot.number];
    const bool reading = job.direction == Direction::kRead;
    if (reading && moved <= 0 && read_missed_bytes(job.fd->get(), slot.run.offset, -moved)) return take_by_call(slot, outcome);
    if (moved == -EINTR || moved == -EAGAIN) return false;
    if (moved == -EOPNOTSUPP || moved == -EINVAL || (moved == 0 && !reading)) return take_by_call(slot, outcome);
    const auto error = [&](const char* call, int number) {
      return attempt([&] { return Status(error_from_errno(call, number, slot.run.offset, slot.run.bytes)); }).error();
    };
    if (moved < 0)
      outcome.error = error(reading ? "pread" : "pwrite", -moved <= kLargestErrno ? -moved : EIO);
    if (moved <= 0) return true;
    outcome.moved += moved;
    slot.run.advance(moved);
    return slot.run.bytes == 0;
  }

  // For files that the ring can't serve, and writes that wrote nothing; one that can't be served at all gives the same error again.
  bool take_by_call(Slot& slot, Outcome& outcome) {
    Result<i64> moved = attempt([&] { return move_run(slot.job->fd->get(), slot.job->direction, slot.run); });
    if (moved)
      outcome.moved += *moved;
    else
      outcome.error = moved.error();
    return true;
  }

  void complete(Slot& slot, int moved) {
    if (!take(slot, moved)) {
      prepare(slot);
      return;
    }
    const std::shared_ptr<UringJob> job = std::move(slot.job);
    const Outcome& outcome = job->outcomes[slot.number];
    free_.push_back(&slot);
    if (outcome.error || outcome.moved < outcome.wanted) job->gathered = true;
    const bool is_waiting = !waiting_.empty() && waiting_.front() == job;
    if (--job->in_flight == 0 && job->gathered && !is_waiting) job->finish();
  }

  void reap() {
    for (;;) {
      io_uring_cqe* completion = nullptr;
      const int failed = io_uring_wait_cqe(&ring_, &completion);
      std::lock_guard guard(mutex_);
      if (failed == 0) {
        do {
          auto* slot = static_cast<Slot*>(io_uring_cqe_get_data(completion));
          const int moved = completion->res;
          io_uring_cqe_seen(&ring_, completion);
          if (slot) complete(*slot, moved);
        } while (io_uring_peek_cqe(&ring_, &completion) == 0);
        refill();
        submit();
      }
      if (ending_ && waiting_.empty() && free_.size() == slots_.size()) return;
    }
  }

  io_uring ring_{};
  bool ready_ = false;
  std::mutex mutex_;
  std::deque<std::shared_ptr<UringJob>> waiting_;  // those with runs that were not started
  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
  std::vector<Slot*> free_;
  bool ending_ = false;
  std::thread reaper_;
};

class UringQueue final : public AsyncQueue {
 public:
  const char* name() const override { return "io_uring"; }
  explicit UringQueue(std::unique_ptr<Ring> ring) : ring_(std::move(ring)) {}
  ~UringQueue() override {
    if (owner_ != ::getpid()) (void)ring_.release();  // a forked child: the thread isn't here, the ring is the parent's
  }

  std::unique_ptr<Transfer> start(std::shared_ptr<OpenFd> fd, Direction direction,
                                  std::vector<IoPiece> pieces) override {
    if (owner_ != ::getpid()) return finished_transfer(transfer(fd->get(), direction, pieces));
    if (Status valid = check_pieces(pieces); !valid) return finished_transfer(valid.error());
    auto job = std::make_shared<UringJob>(std::move(fd), direction, std::move(pieces));
    auto handle = std::make_unique<UringTransfer>(job);
    ring_->start(job);
    return handle;
  }

 private:
  const pid_t owner_ = ::getpid();
  std::unique_ptr<Ring> ring_;
};

}  // namespace

std::shared_ptr<AsyncQueue> make_uring_queue() {
  auto ring = std::make_unique<Ring>();
  if (!ring->begin()) return nullptr;
  return std::make_shared<UringQueue>(std::move(ring));
}

}  // namespace mercutio::posix

#else

namespace mercutio::posix {

std::shared_ptr<AsyncQueue> make_uring_queue() {
  return nullptr;
}

}  // namespace mercutio::posix

#endif
