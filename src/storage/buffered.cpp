// The buffered decorator. It begins to absorb after some accesses in a row that were small and each began where the one before
// ended, so a single access, or a random one, costs two comparisons more than before. Whoever holds a lock through it moves
// data at once: locks are taken for others to see what was done under them.
#include "storage/buffered.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "storage/finished_transfer.h"

namespace mercutio {
namespace {

constexpr i64 kStreak = 8;                    // accesses in a row before the first is absorbed
constexpr i64 kPart = 8;                      // at most this part of the buffer is small
constexpr i64 kAheadPart = 16;                // at most this part of what was read in a row is read in advance
constexpr i64 kLongestKeptNs = 1000000000;    // while appends go on; a program that dies loses no older ones

// A run of accesses that follow each other.
struct Streak {
  i64 next = -1;    // where the following one begins
  i64 length = 0;
  i64 bytes = 0;

  // Whether the pieces go on where the last ones ended, each behind the one before.
  bool continued_by(std::span<const IoPiece> pieces) {
    i64 at = pieces.empty() ? -1 : pieces.front().offset;
    const bool goes_on = at == next && at >= 0;
    bool in_order = true;
    for (const IoPiece& piece : pieces) {
      in_order = in_order && piece.offset == at;
      at = piece.offset + piece.bytes;
    }
    const i64 here = in_order && !pieces.empty() ? at - pieces.front().offset : 0;
    length = in_order ? (goes_on ? length + 1 : 1) : 0;
    bytes = goes_on ? bytes + here : here;
    next = in_order ? at : -1;
    return in_order && goes_on && length > kStreak;
  }
};

// Bytes [begin, begin + bytes.size()) of the file.
struct Kept {
  i64 begin = 0;
  std::vector<std::byte> bytes;

  i64 end() const { return begin + static_cast<i64>(bytes.size()); }
  bool empty() const { return bytes.empty(); }
  bool touched_by(std::span<const IoPiece> pieces) const {
    return !empty() && std::any_of(pieces.begin(), pieces.end(), [this](const IoPiece& piece) {
      return piece.offset < end() && piece.offset + piece.bytes > begin;
    });
  }
};

i64 bytes_of(std::span<const IoPiece> pieces) {
  i64 bytes = 0;
  for (const IoPiece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

class Buffered final : public Storage {
 public:
  Buffered(std::unique_ptr<Storage> inner, const Buffering& buffering) : inner_(std::move(inner)), buffering_(buffering) {}
  ~Buffered() override { (void)write_out(); }

  Result<i64> write(std::span<const IoPiece> pieces) override {
    const i64 bytes = bytes_of(pieces);
    std::unique_lock lock(mutex_);
    if (ahead_.touched_by(pieces)) forget_ahead();
    const bool follows = buffering_.write_behind && writes_.continued_by(pieces);
    if (follows && small(bytes)) return absorb(pieces, bytes);
    MERCUTIO_TRY(write_out());
    ++writes_under_way_;
    lock.unlock();
    Result<i64> moved = inner_->write(pieces);
    lock.lock();
    --writes_under_way_;
    return moved;
  }

  Result<i64> read(std::span<const IoPiece> pieces) override {
    {
      std::lock_guard guard(mutex_);
      if (behind_.touched_by(pieces)) MERCUTIO_TRY(write_out());
      const i64 bytes = bytes_of(pieces);
      const bool follows = buffering_.read_ahead && reads_.continued_by(pieces);
      if (follows && small(bytes) && writes_under_way_ == 0 && worth_serving(pieces, bytes)) return serve(pieces);
    }
    Result<i64> moved = inner_->read(pieces);
    if (!moved || *moved == bytes_of(pieces)) return moved;
    {
      std::lock_guard guard(mutex_);   // what is kept beyond the end would make a hole of what lies before it
      if (behind_.empty()) return moved;
      MERCUTIO_TRY(write_out());
    }
    return inner_->read(pieces);
  }

  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override;

  Status flush() override {
    Status written = flush_here();
    Status flushed = inner_->flush();
    return written ? flushed : written;
  }
  Status refresh() override {
    MERCUTIO_TRY(flush_here());
    return inner_->refresh();
  }
  Status publish(bool keep, bool last) override { return inner_->publish(keep, last); }   // after sync() on all ranks
  Status begin_turn(i64 turn) override {
    MERCUTIO_TRY(flush_here());
    return inner_->begin_turn(turn);
  }
  Result<i64> size() override {
    MERCUTIO_TRY(flush_here());
    return inner_->size();
  }
  i64 known_size() const override { return inner_->known_size(); }
  Status set_size(i64 bytes) override {
    MERCUTIO_TRY(flush_here());
    return inner_->set_size(bytes);
  }
  Status preallocate(i64 bytes) override {
    MERCUTIO_TRY(flush_here());
    return inner_->preallocate(bytes);
  }
  Status sync() override {
    MERCUTIO_TRY(flush_here());
    return inner_->sync();
  }
  Status close() override {
    Status flushed = flush_here();
    behind_.bytes.clear();   // lost, if it could not be written: the Error says so
    Status closed = inner_->close();
    return flushed ? closed : flushed;
  }
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override {
    return unbuffered([&] { return inner_->lock(begin, end, exclusive); });
  }
  Result<std::unique_ptr<HeldLock>> try_lock(i64 begin, i64 end, bool exclusive) override {
    return unbuffered([&] { return inner_->try_lock(begin, end, exclusive); });
  }
  std::unique_ptr<HeldLock> exclude_other_writers() override { return inner_->exclude_other_writers(); }
  const Traits& traits() const override { return inner_->traits(); }
  Layout layout() override { return inner_->layout(); }
  const CacheStats* cache_stats() const override { return &cache_stats_; }
  void trace_to(TraceSink* sink) override {
    std::lock_guard guard(mutex_);
    sink_ = sink;
  }

 private:
  class Unlocking;
  class Writing;

  // A lock, while which nothing is kept.
  template <class Take>
  Result<std::unique_ptr<HeldLock>> unbuffered(Take take);

  // Nothing is read in advance that could be much compared to what was asked for.
  i64 ahead_bytes() const { return std::min(reads_.bytes / kAheadPart, buffering_.buffer_bytes); }
  bool worth_serving(std::span<const IoPiece> pieces, i64 bytes) const {
    const i64 at = pieces.front().offset;
    return (at >= ahead_.begin && at < ahead_.end()) || ahead_bytes() >= 2 * bytes;
  }
  bool small(i64 bytes) const { return locks_ == 0 && bytes > 0 && bytes <= buffering_.buffer_bytes / kPart; }

  Status flush_here() {
    std::lock_guard guard(mutex_);
    forget_ahead();
    return write_out();
  }
  void forget_ahead() {
    drop_ahead();
    told(TraceKind::kAbsorbedRead, served_, std::exchange(unused_bytes_, 0));
  }
  void drop_ahead() {
    unused_bytes_ += std::max<i64>(0, ahead_.end() - std::max(served_to_, ahead_.begin));
    ahead_.bytes.clear();
  }
  Result<i64> absorb(std::span<const IoPiece> pieces, i64 bytes);
  Status write_out();
  Result<i64> serve(std::span<const IoPiece> pieces);
  Status refill(i64 offset, i64 wanted);
  void count(i64& calls) {
    ++calls;
    cache_stats_.calls.fetch_add(1, std::memory_order_relaxed);
  }
  i64 begin_request() {
    cache_stats_.requests.fetch_add(1, std::memory_order_relaxed);
    return sink_ ? now_ns() : 0;
  }
  void end_request(TraceKind kind, i64 start_ns, const IoPiece& whole, i64 moved);
  void told(TraceKind kind, i64& calls, i64 unused_bytes = 0);

  std::unique_ptr<Storage> inner_;
  const Buffering buffering_;
  std::mutex mutex_;   // guards what follows
  Streak writes_, reads_;
  Kept behind_, ahead_;
  i64 oldest_ns_ = 0;   // of what is kept
  i64 locks_ = 0;
  i64 writes_under_way_ = 0;   // past the buffer. Nothing is read ahead meanwhile: it could be from before them
  TraceSink* sink_ = nullptr;
  i64 kept_ = 0, served_ = 0;   // accesses that were absorbed and not yet told of
  i64 served_to_ = 0, unused_bytes_ = 0;   // where the last one ended in what was read in advance; what earlier ones left there
  CacheStats cache_stats_;
};

void Buffered::end_request(TraceKind kind, i64 start_ns, const IoPiece& whole, i64 moved) {
  if (!sink_) return;
  TraceEvent event{kind, start_ns, now_ns(), moved, whole.offset};
  event.span = whole.bytes;
  sink_->record(event);
}

void Buffered::told(TraceKind kind, i64& calls, i64 unused_bytes) {
  if (sink_ && calls > 0) {
    const i64 now = now_ns();
    TraceEvent event{kind, now, now, unused_bytes};
    event.pieces = calls;
    sink_->record(event);
  }
  calls = 0;
}

Result<i64> Buffered::absorb(std::span<const IoPiece> pieces, i64 bytes) {
  const i64 now = now_ns();
  const bool full = static_cast<i64>(behind_.bytes.size()) + bytes > buffering_.buffer_bytes;
  const bool elsewhere = !behind_.empty() && behind_.end() != pieces.front().offset;
  if (full || elsewhere || (!behind_.empty() && now - oldest_ns_ > kLongestKeptNs)) MERCUTIO_TRY(write_out());
  if (behind_.empty()) {
    behind_.bytes.reserve(static_cast<size_t>(buffering_.buffer_bytes));
    behind_.begin = pieces.front().offset;
    oldest_ns_ = now;
  }
  for (const IoPiece& piece : pieces) behind_.bytes.insert(behind_.bytes.end(), piece.data, piece.data + piece.bytes);
  count(kept_);
  return bytes;
}

Status Buffered::write_out() {
  if (behind_.empty()) return ok_status();
  const IoPiece whole{behind_.begin, behind_.bytes.data(), static_cast<i64>(behind_.bytes.size())};
  const i64 start_ns = begin_request();
  Result<i64> moved = inner_->write(std::span(&whole, 1));
  end_request(TraceKind::kStorageWrite, start_ns, whole, moved ? *moved : 0);
  if (!moved) {
    Error error = moved.error();
    error.what += " (data of earlier writes, kept in memory until now: mercutio_write_behind)";
    return error;
  }
  behind_.bytes.clear();
  told(TraceKind::kAbsorbedWrite, kept_);
  return ok_status();
}

// From the buffer, which is filled again as often as the pieces need it. Ends where the file does.
Result<i64> Buffered::serve(std::span<const IoPiece> pieces) {
  i64 moved = 0;
  count(served_);
  for (const IoPiece& piece : pieces) {
    for (i64 done = 0; done < piece.bytes;) {
      const i64 at = piece.offset + done;
      if (at < ahead_.begin || at >= ahead_.end()) MERCUTIO_TRY(refill(at, piece.bytes - done));
      const i64 here = std::min(ahead_.end() - at, piece.bytes - done);
      if (here <= 0) return moved;
      std::memcpy(piece.data + done, ahead_.bytes.data() + (at - ahead_.begin), static_cast<size_t>(here));
      done += here;
      moved += here;
      served_to_ = at + here;
    }
  }
  return moved;
}

Status Buffered::refill(i64 offset, i64 wanted) {
  MERCUTIO_TRY(write_out());   // it may lie in what is read now
  drop_ahead();
  ahead_.begin = offset;
  ahead_.bytes.resize(static_cast<size_t>(std::max(ahead_bytes(), wanted)));
  const IoPiece whole{offset, ahead_.bytes.data(), static_cast<i64>(ahead_.bytes.size())};
  const i64 start_ns = begin_request();
  Result<i64> got = inner_->read(std::span(&whole, 1));
  end_request(TraceKind::kStorageRead, start_ns, whole, got ? *got : 0);
  ahead_.bytes.resize(got ? static_cast<size_t>(*got) : 0);
  return got ? ok_status() : Status(got.error());
}

class Buffered::Writing final : public Transfer {
 public:
  Writing(std::unique_ptr<Transfer> inner, Buffered& owner) : inner_(std::move(inner)), owner_(owner) {}
  ~Writing() override { (void)wait(); }
  bool done() override {
    if (!inner_->done()) return false;
    over();
    return true;
  }
  Result<i64> wait() override {
    Result<i64> moved = inner_->wait();
    over();
    return moved;
  }

 private:
  void over() {
    if (std::exchange(over_, true)) return;
    std::lock_guard guard(owner_.mutex_);
    --owner_.writes_under_way_;
  }

  std::unique_ptr<Transfer> inner_;
  Buffered& owner_;
  bool over_ = false;
};

std::unique_ptr<Transfer> Buffered::start(Direction direction, std::vector<IoPiece> pieces) {
  {
    std::lock_guard guard(mutex_);
    forget_ahead();
    if (Status written = write_out(); !written) return finished_transfer(written.error());
    if (direction == Direction::kWrite) ++writes_under_way_;
  }
  std::unique_ptr<Transfer> started = inner_->start(direction, std::move(pieces));
  if (direction == Direction::kRead) return started;
  return std::make_unique<Writing>(std::move(started), *this);
}

// Nothing is absorbed until it is released.
class Buffered::Unlocking final : public HeldLock {
 public:
  Unlocking(std::unique_ptr<HeldLock> held, Buffered& owner) : held_(std::move(held)), owner_(owner) {}
  ~Unlocking() override {
    std::lock_guard guard(owner_.mutex_);
    --owner_.locks_;
  }
  Status release() override { return held_->release(); }

 private:
  std::unique_ptr<HeldLock> held_;
  Buffered& owner_;
};

template <class Take>
Result<std::unique_ptr<HeldLock>> Buffered::unbuffered(Take take) {
  {
    std::lock_guard guard(mutex_);
    ++locks_;
  }
  Status flushed = flush();
  Result<std::unique_ptr<HeldLock>> held = flushed ? take() : Result<std::unique_ptr<HeldLock>>(flushed.error());
  if (held && *held) return std::unique_ptr<HeldLock>(std::make_unique<Unlocking>(std::move(*held), *this));
  std::lock_guard guard(mutex_);
  --locks_;
  return held;
}

}  // namespace

std::unique_ptr<Storage> make_buffered(std::unique_ptr<Storage> inner, const Buffering& buffering) {
  return std::make_unique<Buffered>(std::move(inner), buffering);
}

}  // namespace mercutio
