// Accesses whose data is staged: data representations that convert, and memory of a device. They go in chunks through buffers of
// at most 4 MiB, cut between elements, so that every kind of access, collective and nonblocking ones included, is a loop over the
// ordinary one.
//
// Memory of a device has two such buffers: the next chunk is copied from the device, or the last one to it, while another is being
// written or read. The copies are made by a thread, as a runtime overlaps copies of pinned memory only. Where elements of
// a device are converted, a third buffer, the mirror, holds a chunk as it lies on the device, gaps included.
//
// Collectively each rank has the rounds that it needs and says with each whether another one follows. A rank that stages
// nothing moves all its bytes in the first. What is read is delivered after its round, so that an empty round follows the
// last one, with what became of it.
//
// In atomic mode every rank goes through its chunks alone, under one lock of the whole access: chunks of several ranks must
// not mix. Costs: two walks over the runs of the memory type, one copy of the data, and for collective reads one gather more.
#include <algorithm>
#include <array>
#include <memory>
#include <new>

#include "base/attempt.h"
#include "base/threads.h"
#include "file/elements.h"
#include "file/operation.h"

namespace mercutio {
namespace {

// A copy that a thread makes; the caller does where none can be had.
class Copying {
 public:
  ~Copying() { (void)take(); }
  void start(std::function<Status()> copy) {
    auto run = [this, copy = std::move(copy)] { result_ = attempt(copy); };
    if (Result<std::thread> started = start_thread(run)) thread_ = std::move(*started);
    else run();
  }
  // Waits for it. What became of it, once.
  Status take() {
    if (thread_.joinable()) thread_.join();
    return std::exchange(result_, ok_status());
  }

 private:
  std::thread thread_;
  Status result_ = ok_status();
};

constexpr i64 kStagingBytes = 4 * MiB;
constexpr i64 kLeastStagingBytes = 1024;
constexpr i64 kMirrorBytes = 64 * MiB;

using Buffer = std::unique_ptr<std::byte[]>;   // not cleared first

Result<Buffer> make_buffer(i64 bytes) {
  Buffer buffer(new (std::nothrow) std::byte[static_cast<size_t>(bytes)]);
  if (!buffer) return Error{ErrorClass::kNoMem, "no memory for " + std::to_string(bytes) + " bytes to stage data in"};
  return buffer;
}

class Staged {
 public:
  explicit Staged(Operation& operation) : operation_(operation), converts_(operation.view->converts()) {}

  Status prepare() {
    if (operation_.file_bytes == 0) return ok_status();
    FlatTypeRef type = operation_.memory.type;
    if (converts_) {
      const FileView& view = *operation_.view;
      TypeSpecRef sized = operation_.memory_spec;
      if (view.registered) {
        MERCUTIO_LET(sized, with_file_sizes(sized, *view.registered));
      }
      MERCUTIO_LET(type, FlatType::lower(*sized, Sizes::kNative, true));
    }
    type_ = std::move(type);
    native_bytes_ = type_->size() * operation_.memory.count;
    cursor_.emplace(runs_from(0, 0));
    const i64 limit = std::clamp<i64>(operation_.hints->values.cb_buffer_size, kLeastStagingBytes, kStagingBytes);
    limit_ = std::min(limit, operation_.file_bytes);
    MERCUTIO_LET(chunks_[0].buffer, make_buffer(limit_));
    if (overlaps()) {
      MERCUTIO_LET(chunks_[1].buffer, make_buffer(limit_));
    }
    return ok_status();
  }

  // The next chunk as an access of plain bytes; empty when nothing is left and all that was read is where it belongs. For writes
  // the data is in the buffer.
  Result<Access> next() {
    const PhaseScope phase(operation_.engine.counters, Phase::kCopy);
    Access access;
    access.direction = operation_.direction;
    access.view = operation_.view->view;
    access.position = operation_.first_etype * operation_.view->etype_bytes() + file_done_;
    const bool ahead = current().filled;
    if (!ahead) MERCUTIO_TRY(cut(current()));
    if (writing()) MERCUTIO_TRY(ahead ? copied() : fill(current()));
    if (current().part.elements == 0) {
      MERCUTIO_TRY(copied());
      return access;
    }
    if (writing() && overlaps()) {
      MERCUTIO_TRY(cut(other()));
      other().filled = other().part.elements > 0;
      if (other().filled) copying_.start([this, &chunk = other()] { return fill(chunk); });
    }
    access.bytes = current().part.file_bytes;
    access.memory = Memory{current().buffer.get(), contiguous_bytes(), access.bytes};
    return access;
  }

  // Whether another round follows the one whose access was taken.
  bool more() const {
    if (current().part.elements == 0) return false;
    return !writing() || other().filled || (cursor_ && !cursor_->done());
  }

  // `moved` bytes of the chunk were moved; what was read is delivered, at the latest when next() returns.
  Status finish(i64 moved) {
    Chunk& chunk = current();
    if (chunk.part.elements == 0) return ok_status();
    const PhaseScope phase(operation_.engine.counters, Phase::kCopy);
    if (moved < chunk.part.file_bytes) {
      ended_ = true;
      MERCUTIO_LET(chunk.part, part_of(runs_of(chunk, 0), moved));
    }
    native_done_ += chunk.part.native_bytes;
    file_done_ += writing() ? moved : chunk.part.file_bytes;   // a part of an element that is read is not delivered
    chunk.filled = false;
    if (writing()) {
      turn_ ^= overlaps() ? 1 : 0;
      return ok_status();
    }
    MERCUTIO_TRY(copied());
    if (!overlaps() || ended_ || cursor_->done()) return deliver(chunk);
    copying_.start([this, &chunk] { return deliver(chunk); });
    turn_ ^= 1;
    return ok_status();
  }

  i64 native_done() const { return native_done_; }
  i64 file_done() const { return file_done_; }

 private:
  struct Chunk {
    Buffer buffer;
    i64 begin = 0;   // data bytes of memory before it
    ElementChunk part;
    i64 elements_before = 0;
    bool filled = false;   // ahead of its turn
  };

  bool writing() const { return operation_.direction == Direction::kWrite; }
  // Functions of the program are not called by a thread that it does not know.
  bool overlaps() const { return operation_.device && !converts_ && limit_ < operation_.file_bytes; }
  Chunk& current() { return chunks_[turn_]; }
  const Chunk& current() const { return chunks_[turn_]; }
  Chunk& other() { return chunks_[turn_ ^ 1]; }
  const Chunk& other() const { return chunks_[turn_ ^ 1]; }

  Status copied() { return copying_.take(); }

  // As much as fits into `file_bytes`.
  Result<ElementChunk> part_of(const Cursor& from, i64 file_bytes) const {
    if (converts_) return measure(from, file_bytes);
    const i64 bytes = std::min(file_bytes, from.remaining());
    return ElementChunk{bytes, bytes, bytes};
  }

  // Takes the next chunk off what is left; with no elements if nothing is.
  Status cut(Chunk& chunk) {
    chunk.part = ElementChunk{};
    if (!cursor_ || ended_ || cursor_->done()) return ok_status();
    chunk.begin = cursor_->position();
    chunk.elements_before = elements_cut_;
    MERCUTIO_LET(chunk.part, part_of(*cursor_, limit_));
    if (chunk.part.elements == 0) {   // the next element is larger than the buffer
      limit_ = Cursor(*cursor_).next().basic.external_bytes;
      MERCUTIO_LET(chunk.buffer, make_buffer(limit_));
      MERCUTIO_LET(chunk.part, part_of(*cursor_, limit_));
    }
    for (i64 limit = limit_ / 2; operation_.device && converts_ && span_of(chunk).bytes > kMirrorBytes; limit /= 2) {
      MERCUTIO_LET(const ElementChunk less, part_of(*cursor_, limit));
      if (less.elements == 0) break;
      chunk.part = less;
    }
    elements_cut_ += chunk.part.elements;
    cursor_->seek(cursor_->position() + chunk.part.native_bytes);
    return ok_status();
  }

  struct Span {
    i64 begin = 0, bytes = 0;
  };
  // Where a chunk lies in memory.
  Span span_of(const Chunk& chunk) const {
    Cursor runs = runs_of(chunk, 0);
    i64 begin = INT64_MAX, end = INT64_MIN;
    for (i64 left = chunk.part.native_bytes; left > 0;) {
      const StridedRun run = runs.next(left);
      const i64 last = run.offset + (run.count - 1) * run.stride;
      begin = std::min({begin, run.offset, last});
      end = std::max({end, run.offset + run.bytes, last + run.bytes});
      left -= run.bytes * run.count;
    }
    return {begin, end - begin};
  }

  Status fill(Chunk& chunk) {
    if (chunk.part.elements == 0) return ok_status();
    if (!operation_.device) return convert_out(chunk, 0);
    if (!converts_) return copy(CopyTo::kHost, chunk, packed(chunk));
    const Span span = span_of(chunk);
    MERCUTIO_LET(const Buffer mirror, make_buffer(span.bytes));
    const i64 shift = reinterpret_cast<i64>(mirror.get()) - span.begin;
    MERCUTIO_TRY(copy(CopyTo::kHost, chunk, {shift, true}));
    return convert_out(chunk, shift);
  }

  Status deliver(Chunk& chunk) {
    if (chunk.part.elements == 0) return ok_status();
    if (!operation_.device) return convert_in(chunk, 0);
    if (!converts_) return copy(CopyTo::kDevice, chunk, packed(chunk));
    const Span span = span_of(chunk);
    MERCUTIO_LET(const Buffer mirror, make_buffer(span.bytes));
    const i64 shift = reinterpret_cast<i64>(mirror.get()) - span.begin;
    MERCUTIO_TRY(convert_in(chunk, shift));
    return copy(CopyTo::kDevice, chunk, {shift, true});
  }

  static HostPlace packed(const Chunk& chunk) { return {reinterpret_cast<i64>(chunk.buffer.get()), false}; }
  Status copy(CopyTo to, const Chunk& chunk, HostPlace host) const {
    return copy_runs(*operation_.device, to, runs_of(chunk, 0), chunk.part.native_bytes, host);
  }

  static Bytes staged(const Chunk& chunk) { return Bytes(chunk.buffer.get(), static_cast<size_t>(chunk.part.file_bytes)); }

  // Between the buffer and the memory `shift` bytes behind the program's.
  Status convert_out(const Chunk& chunk, i64 shift) const {
    const auto& registered = operation_.view->registered;
    if (registered && registered->write)
      return registered->write(base(shift), operation_.memory_spec, chunk.part.elements, chunk.buffer.get(), chunk.elements_before);
    Cursor from = runs_of(chunk, shift);
    return elements_to_file(from, staged(chunk), registered ? ElementForm::kNative : ElementForm::kExternal32);
  }

  Status convert_in(const Chunk& chunk, i64 shift) const {
    const auto& registered = operation_.view->registered;
    if (registered && registered->read)
      return registered->read(base(shift), operation_.memory_spec, chunk.part.elements, chunk.buffer.get(), chunk.elements_before);
    Cursor to = runs_of(chunk, shift);
    return elements_from_file(to, staged(chunk), registered ? ElementForm::kNative : ElementForm::kExternal32);
  }

  std::byte* base(i64 shift) const { return reinterpret_cast<std::byte*>(reinterpret_cast<i64>(operation_.memory.base) + shift); }
  Cursor runs_from(i64 begin, i64 shift) const { return Cursor(type_, reinterpret_cast<i64>(base(shift)), begin, native_bytes_); }
  Cursor runs_of(const Chunk& chunk, i64 shift) const { return runs_from(chunk.begin, shift); }

  Operation& operation_;
  const bool converts_;
  FlatTypeRef type_;               // of memory
  i64 native_bytes_ = 0;
  std::optional<Cursor> cursor_;   // where the next chunk is cut
  i64 limit_ = 0;
  std::array<Chunk, 2> chunks_;
  size_t turn_ = 0;
  bool ended_ = false;  // end of file
  i64 native_done_ = 0, file_done_ = 0, elements_cut_ = 0;
  Copying copying_;   // last: its destruction waits
};

// Nobody moves data if a rank failed before; all agree on the outcome.
Task<Result<i64>> convert_atomically(std::shared_ptr<Operation> operation) {
  begin_together(*operation);
  Status entered = co_await agree(operation->channel, operation->entry);
  if (!entered) co_return end_together(*operation, entered.error());
  Result<i64> moved = attempt([&] { return move_staged(*operation); });
  Status mine = ok_status();
  if (!moved) mine = moved.error();
  Status all = co_await agree(operation->channel, std::move(mine));
  if (!all) moved = all.error();
  co_return end_together(*operation, std::move(moved));
}

// One rank's rounds of a collective access.
class Rounds {
 public:
  explicit Rounds(Operation& operation) : operation_(operation), entry_(operation.entry) {
    if (!entry_ || !operation.staged()) return;
    if (operation.atomic) {   // nobody else moves data before this rank enters
      Result<i64> moved = attempt([&] { return move_staged(operation); });
      entered_ = true;
      native_done_ = moved ? *moved : 0;
      if (!moved) entry_ = std::move(moved).error();
      return;
    }
    staged_.emplace(operation);
    entry_ = attempt([&] { return staged_->prepare(); });
  }

  // Of a rank that has failed, or has nothing left: empty.
  Access next() {
    if (entry_ && !staged_ && !entered_) return access_of(operation_);
    Access access;
    access.direction = operation_.direction;
    access.view = operation_.view->view;
    if (!entry_ || !staged_) return access;
    Result<Access> chunk = attempt([&] { return staged_->next(); });
    if (chunk) return std::move(*chunk);
    entry_ = std::move(chunk).error();
    return access;
  }

  void finish(i64 moved) {
    if (!staged_ && !entered_) operation_.file_bytes_moved = native_done_ = moved;
    entered_ = true;
    if (!staged_) return;
    if (entry_) entry_ = attempt([&] { return staged_->finish(moved); });
    operation_.file_bytes_moved = staged_->file_done();
    native_done_ = staged_->native_done();
  }

  bool more() const { return entry_.ok() && staged_ && staged_->more(); }
  const Status& entry() const { return entry_; }
  i64 native_done() const { return native_done_; }

 private:
  Operation& operation_;
  Status entry_;
  std::optional<Staged> staged_;
  bool entered_ = false;
  i64 native_done_ = 0;
};

// A rank whose staging fails joins the next round with its Error. Only reads can fail after their round, and another one follows
// theirs.
Task<Result<i64>> move_in_rounds(std::shared_ptr<Operation> operation) {
  begin_together(*operation);
  Rounds rounds(*operation);
  for (bool more = true; more;) {
    Access access = rounds.next();
    more = rounds.more();
    CollectiveOptions options;
    options.atomic = operation->atomic;
    options.alone = operation->alone;
    options.entry = rounds.entry();
    options.individual = operation->individual;
    options.more = operation->individual ? nullptr : &more;
    auto moving = collective(operation->engine, operation->channel, std::move(access), std::move(options));
    Result<i64> moved = co_await moving;
    if (!moved) co_return end_together(*operation, std::move(moved));
    rounds.finish(*moved);
  }
  co_return end_together(*operation, rounds.native_done());
}

}  // namespace

Result<i64> bytes_in_file(const FileView& view, const TypeSpecRef& memory_spec) {
  MERCUTIO_LET(const FlatTypeRef flat, lower_for_file(memory_spec, view.view->datarep, view.registered.get()));
  return flat->size();
}

Result<i64> move_staged(Operation& operation) {
  Staged staged(operation);
  MERCUTIO_TRY(staged.prepare());
  Locking locking = Locking::kNone;
  std::unique_ptr<HeldLock> lock;
  if (operation.atomic && operation.file_bytes > 0) {
    MERCUTIO_LET(lock, lock_extent(operation.engine, access_of(operation)));
    locking = Locking::kHeld;
  }
  for (;;) {
    MERCUTIO_LET(const Access access, staged.next());
    if (access.bytes == 0) break;
    Result<i64> moved = independent(operation.engine, access, locking);
    const i64 before = operation.direction == Direction::kWrite ? staged.native_done() : 0;   // what was read may not be converted yet
    if (!moved) return std::move(moved).error().of_nothing_moved().behind(before);
    MERCUTIO_TRY(staged.finish(*moved));
  }
  MERCUTIO_TRY(release(std::move(lock)));
  operation.file_bytes_moved = staged.file_done();
  return staged.native_done();
}

Task<Result<i64>> move_together(std::shared_ptr<Operation> operation) {
  const bool atomically = operation->atomic && operation->view->converts();
  return atomically ? convert_atomically(std::move(operation)) : move_in_rounds(std::move(operation));
}

}  // namespace mercutio
