#include "storage/lazy_writes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/cached_file.h"
#include "storage/finished_transfer.h"

namespace mercutio {
namespace {

constexpr i64 kKeptPart = 8;   // a write of more than this part of the memory is worth a request of its own
constexpr i64 kLongestLazyNs = 10'000'000'000;   // while writes go on; a program that dies loses no older ones

}  // namespace

Result<i64> LazyWrites::write(std::span<const IoPiece> pieces) {
  {
    std::unique_lock lock(mutex_);
    MERCUTIO_HELD(mutex_);
    while (overlaps_taken(pieces)) written_.wait(lock);
    if (keeps(pieces)) {
      MERCUTIO_TRY(keep(pieces));
      return bytes_of(pieces);
    }
    forget(pieces);
  }
  return inner_->write(pieces);
}

std::unique_ptr<Transfer> LazyWrites::start(Direction direction, std::vector<IoPiece> pieces) {
  {
    std::unique_lock lock(mutex_);
    MERCUTIO_HELD(mutex_);
    if (direction == Direction::kRead) {
      if (Status done = write_out(); !done) return finished_transfer(done.error());
    } else {
      while (overlaps_taken(pieces)) written_.wait(lock);
      if (keeps(pieces)) {
        Status kept = keep(pieces);
        return finished_transfer(kept ? Result<i64>(bytes_of(pieces)) : Result<i64>(std::move(kept).error()));
      }
      forget(pieces);
    }
  }
  return inner_->start(direction, std::move(pieces));
}

bool LazyWrites::keeps(std::span<const IoPiece> pieces) {
  const i64 bytes = bytes_of(pieces);
  const bool sound = std::all_of(pieces.begin(), pieces.end(), [](const IoPiece& piece) { return piece.offset >= 0 && piece.bytes >= 0 && piece.offset <= INT64_MAX - piece.bytes; });
  return locks_ == 0 && sound && bytes > 0 && bytes <= most_bytes_ / kKeptPart;
}

Status LazyWrites::keep(std::span<const IoPiece> pieces) {
  const i64 now = now_ns();
  if (used_ + bytes_of(pieces) > most_bytes_ || (memory_ && now - oldest_ns_ > kLongestLazyNs)) MERCUTIO_TRY(write_out());
  if (!memory_) {
    memory_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(most_bytes_));
    oldest_ns_ = now;
  }
  for (const IoPiece& piece : pieces) {
    if (piece.bytes == 0) continue;
    std::memcpy(memory_.get() + used_, piece.data, static_cast<size_t>(piece.bytes));
    ranges_.put(piece.offset, piece.offset + piece.bytes, Place{used_});
    used_ += piece.bytes;
  }
  ++calls_;
  stats_.calls.fetch_add(1, std::memory_order_relaxed);
  return ok_status();
}

// What is written past the memory now covers what is kept.
void LazyWrites::forget(std::span<const IoPiece> pieces) {
  for (const IoPiece& piece : pieces)
    if (piece.bytes > 0) ranges_.erase(piece.offset, piece.offset + piece.bytes);
}

bool LazyWrites::overlaps_taken(std::span<const IoPiece> pieces) {
  return std::any_of(pieces.begin(), pieces.end(), [&](const IoPiece& piece) MERCUTIO_REQUIRES(mutex_) {
    const auto behind = std::upper_bound(taken_.begin(), taken_.end(), piece.offset, [](i64 offset, const IoPiece& one) { return offset < one.offset + one.bytes; });
    return behind != taken_.end() && behind->offset < piece.offset + piece.bytes;
  });
}

LazyWrites::Kept LazyWrites::take_all() {
  Kept kept;
  kept.memory = std::move(memory_);
  kept.bytes = ranges_.bytes();
  kept.pieces.reserve(ranges_.all().size());
  for (const auto& [begin, rest] : ranges_.all()) kept.pieces.push_back({begin, kept.memory.get() + rest.value.at, rest.end - begin});
  ranges_ = {};
  used_ = 0;
  if (sink_ && calls_ > 0) {
    const i64 now = now_ns();
    TraceEvent event{TraceKind::kAbsorbedWrite, now, now, 0};
    event.pieces = calls_;
    sink_->record(event);
  }
  calls_ = 0;
  return kept;
}

LazyWrites::Kept LazyWrites::take() {
  std::unique_lock lock(mutex_);
  MERCUTIO_HELD(mutex_);
  while (!taken_.empty()) written_.wait(lock);
  Kept kept = take_all();
  taken_ = kept.pieces;
  return kept;
}

void LazyWrites::written() {
  {
    std::lock_guard lock(mutex_);
    taken_.clear();
  }
  written_.notify_all();
}

Status LazyWrites::write_out() {
  if (ranges_.empty()) {
    memory_ = nullptr;
    used_ = 0;
    return ok_status();
  }
  const Kept kept = take_all();
  stats_.requests.fetch_add(1, std::memory_order_relaxed);
  const i64 start_ns = sink_ ? now_ns() : 0;
  Result<i64> moved = inner_->write(kept.pieces);
  if (sink_) {
    TraceEvent event{TraceKind::kStorageWrite, start_ns, now_ns(), moved ? *moved : 0, kept.pieces.front().offset};
    event.pieces = static_cast<i64>(kept.pieces.size());
    event.span = kept.pieces.back().offset + kept.pieces.back().bytes - event.offset;
    sink_->record(event);
  }
  if (moved) return ok_status();
  Error error = std::move(moved).error();
  error.what += kKeptUntilNow;
  return error;
}

Status LazyWrites::flush() {
  {
    std::lock_guard lock(mutex_);
    MERCUTIO_TRY(write_out());
  }
  return inner_->flush();
}

Result<i64> LazyWrites::read(std::span<const IoPiece> pieces) {
  MERCUTIO_TRY(flush());
  return inner_->read(pieces);
}

std::optional<Result<i64>> LazyWrites::move_locked(Direction direction, std::span<const IoPiece> pieces, i64 begin, i64 end) {
  if (Status done = flush(); !done) return Result<i64>(std::move(done).error());
  return inner_->move_locked(direction, pieces, begin, end);
}

Result<i64> LazyWrites::size() {
  MERCUTIO_TRY(flush());
  return inner_->size();
}

Status LazyWrites::set_size(i64 bytes) {
  MERCUTIO_TRY(flush());
  return inner_->set_size(bytes);
}

Status LazyWrites::sync() {
  Status flushed = flush(), synced = inner_->sync();
  return flushed ? synced : flushed;
}

Status LazyWrites::refresh() {
  MERCUTIO_TRY(flush());
  return inner_->refresh();
}

Status LazyWrites::close() {
  Status flushed = flush(), closed = inner_->close();
  return flushed ? closed : flushed;
}

void LazyWrites::trace_to(TraceSink* sink) {
  std::lock_guard lock(mutex_);
  sink_ = sink;
}

class LazyWrites::Unlocking final : public HeldLock {
 public:
  Unlocking(std::unique_ptr<HeldLock> held, LazyWrites& owner) : held_(std::move(held)), owner_(owner) {}
  ~Unlocking() override {
    std::lock_guard lock(owner_.mutex_);
    --owner_.locks_;
  }
  Status release() override { return held_->release(); }

 private:
  std::unique_ptr<HeldLock> held_;
  LazyWrites& owner_;
};

template <class Take>
Result<std::unique_ptr<HeldLock>> LazyWrites::unkept(Take take) {
  {
    std::lock_guard lock(mutex_);
    ++locks_;
  }
  Status flushed = flush();
  Result<std::unique_ptr<HeldLock>> held = flushed ? take() : Result<std::unique_ptr<HeldLock>>(flushed.error());
  if (held && *held) return std::unique_ptr<HeldLock>(std::make_unique<Unlocking>(std::move(*held), *this));
  std::lock_guard lock(mutex_);
  --locks_;
  return held;
}

Result<std::unique_ptr<HeldLock>> LazyWrites::lock(i64 begin, i64 end, bool exclusive) {
  return unkept([&] { return inner_->lock(begin, end, exclusive); });
}

Result<std::unique_ptr<HeldLock>> LazyWrites::try_lock(i64 begin, i64 end, bool exclusive) {
  return unkept([&] { return inner_->try_lock(begin, end, exclusive); });
}

}  // namespace mercutio
