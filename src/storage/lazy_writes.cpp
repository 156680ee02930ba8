#include "storage/lazy_writes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <utility>

#include "storage/cached_file.h"
#include "storage/finished_transfer.h"

namespace mercutio {
namespace {

constexpr i64 kKeptPart = 8;   // a write of more than this part of the memory is worth a request of its own
constexpr i64 kLongestLazyNs = 10'000'000'000;   // while writes go on; a program that dies loses no older ones

// Writes pieces some at a time, which needs no list of all of them. What follows one that failed is written, too.
class Parts {
 public:
  explicit Parts(Storage& storage) : storage_(storage) {}
  void add(const IoPiece& piece) {
    pieces_[count_++] = piece;
    if (count_ == pieces_.size()) write();
  }
  // The bytes written, or the first Error.
  Result<i64> end() {
    write();
    if (!first_) return moved_;
    first_->what += kKeptUntilNow;
    return std::move(*first_);
  }

 private:
  void write() {
    const std::span<const IoPiece> pieces(pieces_.data(), std::exchange(count_, 0));
    if (pieces.empty()) return;
    const Result<i64> moved = attempt([&] { return storage_.write(pieces); });
    if (moved) moved_ += *moved;
    if (!moved && !first_) first_ = moved.error();
  }

  Storage& storage_;
  std::array<IoPiece, 1024> pieces_;
  size_t count_ = 0;
  i64 moved_ = 0;
  std::optional<Error> first_;
};

}  // namespace

Result<i64> LazyWrites::write(std::span<const IoPiece> pieces) {
  {
    std::unique_lock lock(mutex_);
    MERCUTIO_HELD(mutex_);
    while (overlaps_taken(pieces)) written_.wait(lock);
    MERCUTIO_LET(const bool kept, keep(pieces));
    if (kept) return bytes_of(pieces);
    MERCUTIO_TRY(forget(pieces));
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
      const Result<bool> kept = keep(pieces);
      if (!kept) return finished_transfer(kept.error());
      if (*kept) return finished_transfer(bytes_of(pieces));
      if (Status forgotten = forget(pieces); !forgotten) return finished_transfer(forgotten.error());
    }
  }
  return inner_->start(direction, std::move(pieces));
}

bool LazyWrites::keeps(std::span<const IoPiece> pieces) {
  const i64 bytes = bytes_of(pieces);
  const bool sound = std::all_of(pieces.begin(), pieces.end(), [](const IoPiece& piece) { return piece.offset >= 0 && piece.bytes >= 0 && piece.offset <= INT64_MAX - piece.bytes; });
  return locks_ == 0 && sound && bytes > 0 && bytes <= most_bytes_ / kKeptPart;
}

Result<bool> LazyWrites::keep(std::span<const IoPiece> pieces) {
  if (!keeps(pieces)) return false;
  const i64 now = now_ns();
  if (used_ + bytes_of(pieces) > most_bytes_ || (memory_ && now - oldest_ns_ > kLongestLazyNs)) MERCUTIO_TRY(write_out());
  if (!memory_) {
    memory_.reset(new (std::nothrow) std::byte[static_cast<size_t>(most_bytes_)]);
    if (!memory_) return false;
    oldest_ns_ = now;
  }
  const Status noted = attempt_memory([&] {
    MERCUTIO_HELD(mutex_);
    for (const IoPiece& piece : pieces) {
      if (piece.bytes == 0) continue;
      std::memcpy(memory_.get() + used_, piece.data, static_cast<size_t>(piece.bytes));
      ranges_.put(piece.offset, piece.offset + piece.bytes, Place{used_});
      used_ += piece.bytes;
    }
    return ok_status();
  });
  if (!noted) {   // what has been noted of it is written twice
    MERCUTIO_TRY(write_out());
    return false;
  }
  ++calls_;
  stats_.calls.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// What is written past the memory now covers what is kept.
Status LazyWrites::forget(std::span<const IoPiece> pieces) {
  const Status forgotten = attempt_memory([&] {
    MERCUTIO_HELD(mutex_);
    for (const IoPiece& piece : pieces)
      if (piece.bytes > 0) ranges_.erase(piece.offset, piece.offset + piece.bytes);
    return ok_status();
  });
  return forgotten ? ok_status() : write_out();
}

bool LazyWrites::overlaps_taken(std::span<const IoPiece> pieces) {
  return std::any_of(pieces.begin(), pieces.end(), [&](const IoPiece& piece) MERCUTIO_REQUIRES(mutex_) {
    const auto behind = std::upper_bound(taken_.begin(), taken_.end(), piece.offset, [](i64 offset, const IoPiece& one) { return offset < one.offset + one.bytes; });
    return behind != taken_.end() && behind->offset < piece.offset + piece.bytes;
  });
}

void LazyWrites::forget_all() {
  memory_ = nullptr;
  ranges_ = {};
  used_ = 0;
}

void LazyWrites::trace_kept() {
  const i64 calls = std::exchange(calls_, 0), now = sink_ ? now_ns() : 0;
  if (!sink_ || calls == 0) return;
  TraceEvent event{TraceKind::kAbsorbedWrite, now, now, 0};
  event.pieces = calls;
  sink_->record(event);
}

LazyWrites::Kept LazyWrites::take() {
  std::unique_lock lock(mutex_);
  MERCUTIO_HELD(mutex_);
  while (!taken_.empty()) written_.wait(lock);
  Kept kept;
  taken_.reserve(ranges_.all().size());
  kept.pieces.reserve(ranges_.all().size());
  trace_kept();
  for (const auto& [begin, rest] : ranges_.all()) kept.pieces.push_back({begin, memory_.get() + rest.value.at, rest.end - begin});
  kept.memory = std::move(memory_);
  kept.bytes = ranges_.bytes();
  taken_ = kept.pieces;   // the room is there
  forget_all();
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
    forget_all();
    return ok_status();
  }
  const i64 start_ns = sink_ ? now_ns() : 0, first = ranges_.all().begin()->first, pieces = std::ssize(ranges_.all()), end = ranges_.end();
  trace_kept();
  stats_.requests.fetch_add(1, std::memory_order_relaxed);
  Parts parts(*inner_);
  for (const auto& [begin, rest] : ranges_.all()) parts.add({begin, memory_.get() + rest.value.at, rest.end - begin});
  const Result<i64> moved = parts.end();
  forget_all();
  if (sink_) {
    TraceEvent event{TraceKind::kStorageWrite, start_ns, now_ns(), moved ? *moved : 0, first};
    event.pieces = pieces;
    event.span = end - first;
    sink_->record(event);
  }
  return moved ? ok_status() : Status(moved.error());
}

Status LazyWrites::write_alone(const Kept& kept) {
  Parts parts(*inner_);
  for (const IoPiece& piece : kept.pieces) parts.add(piece);
  const Result<i64> moved = parts.end();
  return moved ? ok_status() : Status(moved.error());
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
  Status flushed = attempt([this] { return flush(); }), synced = inner_->sync();
  return flushed ? synced : flushed;
}

Status LazyWrites::refresh() {
  MERCUTIO_TRY(flush());
  return inner_->refresh();
}

Status LazyWrites::close() {
  Status flushed = attempt([this] { return flush(); }), closed = inner_->close();
  return flushed ? closed : flushed;
}

void LazyWrites::trace_to(TraceSink* sink) {
  std::lock_guard lock(mutex_);
  sink_ = sink;
}

template <class Take>
Result<std::unique_ptr<HeldLock>> LazyWrites::unkept(Take take) {
  Counted counted(locks_);
  MERCUTIO_TRY(flush());
  return CountedLock::of(std::move(counted), take);
}

Result<std::unique_ptr<HeldLock>> LazyWrites::lock(i64 begin, i64 end, bool exclusive) {
  return unkept([&] { return inner_->lock(begin, end, exclusive); });
}

Result<std::unique_ptr<HeldLock>> LazyWrites::try_lock(i64 begin, i64 end, bool exclusive) {
  return unkept([&] { return inner_->try_lock(begin, end, exclusive); });
}

}  // namespace mercutio
