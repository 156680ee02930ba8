#include "storage/locked.h"

#include <algorithm>
#include <condition_variable>
#include <limits>
#include <list>
#include <mutex>
#include <utility>

#include "base/thread_annotations.h"
#include "storage/forwarding.h"

namespace mercutio {
namespace {

struct Span {
  i64 begin = std::numeric_limits<i64>::max(), end = 0;
};

Span span_of(std::span<const IoPiece> pieces) {
  Span span;
  for (const IoPiece& piece : pieces) {
    if (piece.bytes <= 0) continue;
    span.begin = std::min(span.begin, piece.offset);
    span.end = std::max(span.end, piece.offset + piece.bytes);
  }
  return span;
}

// The ranges that callers of lock() hold, and how many transfers rely on each.
class HeldRanges {
 public:
  struct Range {
    Span span;
    i64 users = 0;
  };
  using Ticket = std::list<Range>::iterator;

  Ticket add(Span span) {
    std::lock_guard guard(mutex_);
    return ranges_.insert(ranges_.end(), Range{span, 0});
  }
  // Waits for the transfers that rely on it.
  void remove(Ticket ticket) {
    std::unique_lock guard(mutex_);
    MERCUTIO_HELD(mutex_);
    unused_.wait(guard, [&]() MERCUTIO_REQUIRES(mutex_) { return ticket->users == 0; });
    ranges_.erase(ticket);
  }
  // Whether a held range covers all of it; if so leave() must follow. Who holds a shared lock may write under it: any lock
  // keeps the cache right, and callers of lock() see to the order of writers.
  bool enter(Span span, Ticket& ticket) {
    std::lock_guard guard(mutex_);
    ticket = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& range) {
      return range.span.begin <= span.begin && span.end <= range.span.end;
    });
    if (ticket == ranges_.end()) return false;
    ++ticket->users;
    return true;
  }
  void leave(Ticket ticket) {
    {
      std::lock_guard guard(mutex_);
      --ticket->users;
    }
    unused_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable unused_;
  std::list<Range> ranges_ MERCUTIO_GUARDED_BY(mutex_);
};

// Of a transfer on a range that it has entered.
struct Reliance {
  ~Reliance() { ranges.leave(ticket); }
  HeldRanges& ranges;
  const HeldRanges::Ticket ticket;
};

class CoveringLock final : public HeldLock {
 public:
  CoveringLock(std::shared_ptr<HeldRanges> ranges, Span span, std::unique_ptr<HeldLock> inner)
      : ranges_(std::move(ranges)), ticket_(ranges_->add(span)), inner_(std::move(inner)) {}
  ~CoveringLock() override { forget(); }
  Status release() override {
    forget();
    return inner_->release();
  }

 private:
  void forget() {
    if (ranges_) std::exchange(ranges_, nullptr)->remove(ticket_);
  }

  std::shared_ptr<HeldRanges> ranges_;
  const HeldRanges::Ticket ticket_;
  const std::unique_ptr<HeldLock> inner_;
};

class LockedStorage final : public Forwarding {
 public:
  explicit LockedStorage(std::unique_ptr<Storage> inner) : Forwarding(std::move(inner)), traits_(inner_->traits()) {
    traits_.coherence = Coherence::kImmediate;
    traits_.way = CoherenceWay::kLocks;
  }

  Result<i64> read(std::span<const IoPiece> pieces) override {
    return covered(pieces, false, [&] { return inner_->read(pieces); });
  }
  // To give a lock back waits for the data of all threads, so a thread leaves none behind that waits for its own turn to do so.
  Result<i64> write(std::span<const IoPiece> pieces) override {
    return covered(pieces, true, [&]() -> Result<i64> {
      Result<i64> moved = inner_->write(pieces);
      if (moved) MERCUTIO_TRY(inner_->sync());
      return moved;
    });
  }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    return Storage::start(direction, std::move(pieces));
  }

  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override {
    MERCUTIO_LET(auto inner, inner_->lock(begin, end, exclusive));
    return covering({begin, end}, std::move(inner));
  }
  Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) override {
    MERCUTIO_LET(auto inner, inner_->try_lock(begin, end, exclusive));
    return inner ? covering({begin, end}, std::move(inner)) : nullptr;
  }
  std::optional<Result<i64>> move_locked(Direction, std::span<const IoPiece>, i64, i64) override { return std::nullopt; }
  const Traits& traits() const override { return traits_; }

 private:
  std::unique_ptr<HeldLock> covering(Span span, std::unique_ptr<HeldLock> inner) {
    return std::make_unique<CoveringLock>(ranges_, span, std::move(inner));
  }
  template <class Move>
  Result<i64> covered(std::span<const IoPiece> pieces, bool exclusive, Move move) {
    const Span span = span_of(pieces);
    if (span.begin >= span.end) return move();
    HeldRanges::Ticket ticket;
    if (ranges_->enter(span, ticket)) {
      const Reliance reliance{*ranges_, ticket};
      return move();
    }
    MERCUTIO_LET(auto held, inner_->lock(span.begin, span.end, exclusive));
    return release_after(move(), std::move(held));
  }

  Traits traits_;
  const std::shared_ptr<HeldRanges> ranges_ = std::make_shared<HeldRanges>();
};

}  // namespace

std::unique_ptr<Storage> make_locked(std::unique_ptr<Storage> inner) {
  return std::make_unique<LockedStorage>(std::move(inner));
}

}  // namespace mercutio
