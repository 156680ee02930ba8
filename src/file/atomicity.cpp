// Atomic mode. An access holds a lock of the storage. Where not all ranks see that, they take turns (storage/turned.h). So they do where
// writes are seen when they are published: an access reads what the last one has published, and publishes what it writes
// (storage/published.h).
#include <chrono>
#include <thread>

#include "base/attempt.h"
#include "file/open_file.h"

namespace mercutio {
namespace {

// The ranks of an open, one at a time and in the order in which they asked. The counter's lower half gives out tickets, and its upper
// half counts those that have been served; both begin again after 2^31.
class Turns {
 public:
  Turns(std::unique_ptr<SharedCounter> counter, Comm& comm) : counter_(std::move(counter)), comm_(comm) {}

  Status wait() {
    MERCUTIO_LET(const i64 before, counter_->fetch_add(1));
    const i64 ticket = before & kMost;
    if (ticket == kMost) MERCUTIO_TRY(counter_->fetch_add(-(kMost + 1)));
    if (served(before) == ticket) return ok_status();
    for (std::chrono::microseconds pause(20);; pause = std::min(2 * pause, kLongest)) {
      MERCUTIO_LET(const i64 now, counter_->load());
      if (served(now) == ticket) return ok_status();
      if (comm_.failed(/*may_call=*/false)) return rank_died();
      std::this_thread::sleep_for(pause);
    }
  }
  Status next() {
    MERCUTIO_TRY(counter_->fetch_add(kOne));
    return ok_status();
  }

 private:
  static constexpr i64 kOne = i64{1} << 32, kMost = (i64{1} << 31) - 1;
  static constexpr std::chrono::microseconds kLongest{2000};   // an access is a few requests to a server
  static i64 served(i64 value) { return value >> 32 & kMost; }
  const std::unique_ptr<SharedCounter> counter_;
  Comm& comm_;
};

class HeldTurn final : public HeldLock {
 public:
  explicit HeldTurn(std::shared_ptr<Turns> turns) : turns_(std::move(turns)) {}
  ~HeldTurn() override { (void)release(); }
  Status release() override {
    const std::shared_ptr<Turns> turns = std::move(turns_);
    return turns ? turns->next() : ok_status();
  }

 private:
  std::shared_ptr<Turns> turns_;
};

}  // namespace

// What a rank reads in its turn, or under its lock, must be the latest. Where nodes keep sizes, only a lock renews them.
Status OpenFile::check_atomicity() const {
  const Traits& traits = storage_->traits();
  if (published_) return ok_status();
  if (traits.remote_cluster && !traits.can_lock)
    return Error{ErrorClass::kUnsupportedOperation, "atomic mode on another cluster needs byte-range locks, which its storage doesn't offer: " + traits.file_system};
  const bool seen = traits.coherence == Coherence::kImmediate || caches() == 1;
  const bool sizes_seen = !turned_ || traits.way == CoherenceWay::kNone || caches() == 1;
  if ((seen && sizes_seen) || traits.remote_cluster) return ok_status();
  return Error{ErrorClass::kUnsupportedOperation, "atomic mode can't hold between nodes on this file system (" + traits.file_system +
                                                      "). " + traits.coherence_advice};
}

Status OpenFile::set_atomicity(bool atomic) {
  Arrival arrival{trace_time()};
  Status mine = no_split("set_atomicity");
  if (mine) in_flight_->wait_all(*context_.progress, *comm_);
  const WritesUnderWay::Change change(writes_);
  wait_for_writes(change);
  Status kept = write_kept();
  if (mine) mine = std::move(kept);
  if (mine) mine = attempt([this] { return storage_->flush(); });   // what is kept of earlier writes must not come after atomic ones
  if (mine && atomic) mine = check_atomicity();
  MERCUTIO_TRY(agreed_same(std::move(mine), {atomic ? 1 : 0, turned_ ? 1 : 0}, "the atomicity, and whether the file system is mounted with locks,", nullptr, &arrival));
  if (turned_ && atomic != atomic_) MERCUTIO_TRY(atomic ? begin_turns() : end_turns());
  trace_step(StepKind::kAtomicity, arrival.start_ns, atomic ? 1 : 0);
  atomic_ = atomic;
  trace_since(TraceKind::kSetting, arrival, "MPI_File_set_atomicity");
  return ok_status();
}

// A file of one rank, or that nobody writes, has nothing to publish.
Status OpenFile::begin_turns() {
  if (publishes_) MERCUTIO_TRY(publish_all(attempt([this] { return write_out(); })));
  std::unique_ptr<Storage> alone;
  std::shared_ptr<Turns> turns;
  const Status mine = attempt([&]() -> Status {
    auto counter = counter_ ? counter_->second() : nullptr;
    if (!counter) return Error{ErrorClass::kUnsupportedOperation, "the ranks have no counter by which they could take turns"};
    if (comm_->rank() == 0) MERCUTIO_TRY(counter->store(0));
    turns = std::make_shared<Turns>(std::move(counter), *comm_);
    if (!publishes_ || hints_->values.mercutio_dry_run) return ok_status();
    OpenOptions options = options_to_open(false, false);
    options.group = {};
    options.handle = {};
    MERCUTIO_LET(alone, resolved_.driver->open(resolved_.path, options));
    return ok_status();
  });
  MERCUTIO_TRY(agreed(mine));
  const Turned::TakeTurn take_turn = [turns]() -> Result<std::unique_ptr<HeldLock>> {
    MERCUTIO_TRY(turns->wait());
    return std::unique_ptr<HeldLock>(std::make_unique<HeldTurn>(turns));
  };
  published_ ? published_->begin_atomic(std::move(alone), take_turn) : turned_->begin_turns(take_turn);
  return ok_status();
}

Status OpenFile::end_turns() {
  if (!published_) return turned_->end_turns(), ok_status();
  Status mine = attempt([this] { return published_->end_atomic(); });
  return publishes_ ? publish_all(std::move(mine)) : agreed(std::move(mine));
}

}  // namespace mercutio
