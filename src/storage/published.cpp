#include "storage/published.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <span>
#include <string>

#include "base/ranges.h"
#include "base/thread_annotations.h"

namespace mercutio {
namespace {

constexpr i64 kRecordBytes = 128;   // of a range: what the map needs for it

// What this rank has written in collective accesses, and what is known of it.
class OwnWrites {
 public:
  explicit OwnWrites(i64 most_bytes) : most_bytes_(most_bytes) {}
  bool empty() const { return !any_.load(std::memory_order_acquire); }
  i64 end() const {
    std::lock_guard lock(mutex_);
    return end_;
  }

  void note(std::span<const IoPiece> pieces) {
    std::lock_guard lock(mutex_);
    any_.store(true, std::memory_order_release);
    auto copy = std::make_shared<std::vector<std::byte>>();
    const i64 records = static_cast<i64>(ranges_.all().size() + pieces.size());
    if (lost_from_ < lost_to_ || ranges_.bytes() + bytes_of(pieces) + kRecordBytes * records > most_bytes_) return lose(pieces);
    copy->reserve(static_cast<size_t>(bytes_of(pieces)));
    for (const IoPiece& piece : pieces) {
      const Place place{copy, static_cast<i64>(copy->size())};
      copy->insert(copy->end(), piece.data, piece.data + piece.bytes);
      ranges_.put(piece.offset, piece.offset + piece.bytes, place);
      end_ = std::max(end_, piece.offset + piece.bytes);
    }
  }
  void note_end(i64 end) {
    std::lock_guard lock(mutex_);
    any_.store(true, std::memory_order_release);
    end_ = std::max(end_, end);
  }
  // What lies in this range can't be kept.
  void lose(i64 begin, i64 end) {
    std::lock_guard lock(mutex_);
    any_.store(true, std::memory_order_release);
    const IoPiece all{begin, nullptr, end - begin};
    lose(std::span(&all, 1));
  }
  // This rank writes them otherwise.
  void replace(std::span<const IoPiece> pieces) {
    std::lock_guard lock(mutex_);
    for (const IoPiece& piece : pieces) ranges_.erase(piece.offset, piece.offset + piece.bytes);
  }
  void forget() {
    std::lock_guard lock(mutex_);
    ranges_ = {};
    end_ = lost_from_ = lost_to_ = 0;
    any_.store(false, std::memory_order_release);
  }

  // Puts what is known of [offset, ...) there.
  Status lay_over(i64 offset, std::span<std::byte> into) const {
    std::lock_guard lock(mutex_);
    const i64 last = offset + static_cast<i64>(into.size());
    if (std::max(offset, lost_from_) < std::min(last, lost_to_))
      return Error{ErrorClass::kUnsupportedOperation,
                   "bytes " + std::to_string(lost_from_) + " to " + std::to_string(lost_to_) + " have parts that this rank has written in collective calls, more than are kept (" +
                       std::to_string(most_bytes_ / MiB) + " MiB): call MPI_File_sync before they are read",
                   0, offset, last - offset};
    ranges_.visit(offset, last, [&](i64 begin, i64 end, const Place& place) {
      std::memcpy(into.data() + (begin - offset), place.data->data() + place.at, static_cast<size_t>(end - begin));
    });
    return ok_status();
  }

 private:
  struct Place {
    std::shared_ptr<const std::vector<std::byte>> data;
    i64 at = 0;
    bool operator==(const Place&) const = default;
    Place moved(i64 by) const { return {data, at + by}; }
  };

  // Too much: only from where to where it lies.
  void lose(std::span<const IoPiece> pieces) MERCUTIO_REQUIRES(mutex_) {
    const bool first = lost_from_ == lost_to_;
    if (first) lost_from_ = INT64_MAX;
    if (!ranges_.empty()) {
      lost_from_ = std::min(lost_from_, ranges_.all().begin()->first);
      lost_to_ = std::max(lost_to_, ranges_.end());
    }
    for (const IoPiece& piece : pieces) {
      lost_from_ = std::min(lost_from_, piece.offset);
      lost_to_ = std::max(lost_to_, piece.offset + piece.bytes);
    }
    ranges_ = {};
    end_ = std::max(end_, lost_to_);
  }

  const i64 most_bytes_;
  std::atomic<bool> any_{false};
  mutable std::mutex mutex_;
  Ranges<Place> ranges_ MERCUTIO_GUARDED_BY(mutex_);
  i64 end_ MERCUTIO_GUARDED_BY(mutex_) = 0;
  i64 lost_from_ MERCUTIO_GUARDED_BY(mutex_) = 0, lost_to_ MERCUTIO_GUARDED_BY(mutex_) = 0;
};

class Noting final : public Storage {
 public:
  using Note = std::function<void(std::span<const IoPiece>)>;
  Noting(Note note, Storage& file) : note_(std::move(note)), file_(file) {}
  Result<i64> write(std::span<const IoPiece> pieces) override {
    note_(pieces);
    return bytes_of(pieces);
  }
  Result<i64> read(std::span<const IoPiece>) override { return not_this(); }
  Result<i64> size() override { return not_this(); }
  Status set_size(i64) override { return not_this(); }
  Status preallocate(i64) override { return not_this(); }
  Status sync() override { return not_this(); }
  Status close() override { return ok_status(); }
  Result<std::unique_ptr<HeldLock>> lock(i64, i64, bool) override { return std::unique_ptr<HeldLock>(std::make_unique<NoLock>()); }
  const Traits& traits() const override { return file_.traits(); }
  Layout layout() override { return file_.layout(); }

 private:
  static Error not_this() { return Error{ErrorClass::kIntern, "own writes are only noted"}; }
  const Note note_;
  Storage& file_;
};

// An atomic access. Others see it when it ends.
class AtomicTurn final : public HeldLock {
 public:
  AtomicTurn(std::shared_ptr<Storage> alone, std::unique_ptr<HeldLock> turn) : alone_(std::move(alone)), turn_(std::move(turn)) {}
  ~AtomicTurn() override { (void)end(); }
  Status release() override { return end(); }

 private:
  Status end() {
    if (!turn_) return ok_status();
    const Status published = alone_ ? alone_->sync() : ok_status();
    const Status given_back = mercutio::release(std::exchange(turn_, nullptr));
    return published ? given_back : published;
  }
  const std::shared_ptr<Storage> alone_;   // null: the file is open on one rank
  std::unique_ptr<HeldLock> turn_;
};

}  // namespace

class PublishedFile final : public Published {
 public:
  PublishedFile(std::unique_ptr<Storage> inner, const PublishedOptions& options)
      : Published(std::move(inner)), own_(options.most_own_bytes), one_rank_(options.one_rank), number_(traits().file_number), files_(options.files) {
    if (files_) files_->add(*this);
  }
  ~PublishedFile() override { leave(); }

  std::unique_ptr<Storage> own_writes() override {
    return std::make_unique<Noting>([this](std::span<const IoPiece> pieces) {
      own_.note(pieces);
      others([&](PublishedFile& other) { other.own_.replace(pieces); });
    }, *inner_);
  }
  void note_end(i64 end) override { own_.note_end(end); }
  void lose_own(i64 begin, i64 end) override { own_.lose(begin, end); }

  Result<i64> read(std::span<const IoPiece> pieces) override {
    if (const auto alone = this->alone()) return alone->read(pieces);
    return any_own() ? read_with_own(pieces) : inner_->read(pieces);
  }
  Result<i64> write(std::span<const IoPiece> pieces) override {
    if (const auto alone = this->alone()) return alone->write(pieces);
    begin_write(pieces);
    return inner_->write(pieces);
  }
  std::unique_ptr<Transfer> start(Direction direction, std::vector<IoPiece> pieces) override {
    if (alone() || (direction == Direction::kRead && any_own())) return Storage::start(direction, std::move(pieces));
    if (direction == Direction::kWrite) begin_write(pieces);
    return inner_->start(direction, std::move(pieces));
  }
  Result<i64> size() override {
    if (const auto alone = this->alone()) {
      MERCUTIO_TRY(alone->refresh());
      return alone->size();
    }
    MERCUTIO_LET(i64 bytes, inner_->size());
    bytes = std::max(bytes, own_.end());
    others([&](PublishedFile& other) { bytes = std::max(bytes, other.own_.end()); });
    return bytes;
  }
  Status sync() override {
    Status done = ok_status();
    if (!one_rank_) others([&](PublishedFile& other) {
      if (other.one_rank_ && other.wrote_ && done) done = other.sync();
    });
    MERCUTIO_TRY(std::move(done));
    wrote_ = false;
    Status mine = inner_->sync();
    if (!mine) wrote_ = true;
    return mine;
  }
  bool written_alone() override {
    bool any = false;
    others([&](PublishedFile& other) { any |= other.one_rank_ && other.wrote_; });
    return any;
  }
  Status set_size(i64 bytes) override {
    own_.forget();   // everything has been published before
    wrote_ = true;
    return inner_->set_size(bytes);
  }
  Status refresh() override {
    own_.forget();
    MERCUTIO_TRY(inner_->refresh());
    const auto alone = this->alone();
    return alone ? alone->refresh() : ok_status();
  }
  Status close() override {
    leave();
    Status ended = end_atomic();
    Status closed = inner_->close();
    return ended ? closed : ended;
  }

  void begin_atomic(std::unique_ptr<Storage> alone, TakeTurn take_turn) override {
    exchange_alone(std::move(alone));
    begin_turns(std::move(take_turn));
  }
  // What atomic accesses have written is published. One that is still under way closes what it uses when it ends.
  Status end_atomic() override {
    end_turns();
    const std::shared_ptr<Storage> alone = exchange_alone(nullptr);
    return alone && alone.use_count() == 1 ? alone->close() : ok_status();
  }
  Result<std::unique_ptr<HeldLock>> lock(i64 begin, i64 end, bool exclusive) override {
    const std::shared_ptr<const TakeTurn> take = turn();
    if (!take) return inner_->lock(begin, end, exclusive);
    const std::shared_ptr<Storage> alone = this->alone();
    MERCUTIO_LET(auto turn, (*take)());
    auto held = std::make_unique<AtomicTurn>(alone, std::move(turn));
    if (alone) MERCUTIO_TRY(alone->refresh());
    return std::unique_ptr<HeldLock>(std::move(held));
  }

 private:
  // Own writes may lie beyond what the storage below takes for the end.
  Result<i64> read_with_own(std::span<const IoPiece> pieces) {
    MERCUTIO_LET(const i64 end, size());
    i64 moved = 0;
    for (const IoPiece& piece : pieces) {
      const i64 bytes = std::clamp<i64>(end - piece.offset, 0, piece.bytes);
      const IoPiece inside{piece.offset, piece.data, bytes};
      if (bytes > 0) {
        Result<i64> read = inner_->read(std::span(&inside, 1));
        if (!read) return std::move(read).error().of_nothing_moved();   // and nothing laid over it
        const i64 got = *read;
        std::memset(piece.data + got, 0, static_cast<size_t>(bytes - got));
        const std::span<std::byte> into(piece.data, static_cast<size_t>(bytes));
        Status laid = own_.lay_over(piece.offset, into);
        others([&](PublishedFile& other) {
          if (laid) laid = other.own_.lay_over(piece.offset, into);
        });
        MERCUTIO_TRY(std::move(laid));
      }
      moved += bytes;
      if (bytes < piece.bytes) break;
    }
    return moved;
  }

  std::shared_ptr<Storage> alone() const {
    std::lock_guard lock(alone_mutex_);
    return alone_;
  }
  std::shared_ptr<Storage> exchange_alone(std::shared_ptr<Storage> alone) {
    std::lock_guard lock(alone_mutex_);
    return std::exchange(alone_, std::move(alone));
  }

  friend class PublishedFiles;
  template <class Visit>
  void others(Visit visit) const {
    if (files_) files_->others(*this, visit);
  }
  void leave() {
    if (files_) files_->remove(*this);
  }
  bool any_own() const {
    bool any = !own_.empty();
    if (!any) others([&](PublishedFile& other) { any |= !other.own_.empty(); });
    return any;
  }
  void begin_write(std::span<const IoPiece> pieces) {
    wrote_ = true;
    if (!own_.empty()) own_.replace(pieces);
    others([&](PublishedFile& other) { other.own_.replace(pieces); });
  }

  OwnWrites own_;
  const bool one_rank_;
  const i64 number_;
  PublishedFiles* const files_;
  std::atomic<bool> wrote_{false};   // since it was published
  mutable std::mutex alone_mutex_;
  std::shared_ptr<Storage> alone_ MERCUTIO_GUARDED_BY(alone_mutex_);   // in atomic mode, unless this is the only rank
};

void PublishedFiles::add(PublishedFile& file) {
  std::lock_guard lock(mutex_);
  if (file.number_ != 0) files_.push_back(&file);
}

void PublishedFiles::remove(PublishedFile& file) {
  std::lock_guard lock(mutex_);
  std::erase(files_, &file);
}

template <class Visit>
void PublishedFiles::others(const PublishedFile& file, Visit visit) {
  std::lock_guard lock(mutex_);
  for (PublishedFile* const other : files_)
    if (other != &file && other->number_ == file.number_ && other->traits().file_system == file.traits().file_system) visit(*other);
}

std::unique_ptr<Published> make_published(std::unique_ptr<Storage> inner, const PublishedOptions& options) {
  return std::make_unique<PublishedFile>(std::move(inner), options);
}

}  // namespace mercutio
