// Accesses through a data representation that converts: in chunks through a staging buffer of at most 4 MiB, cut
// between elements, so that every kind of access, collective and nonblocking ones included, is a loop over the ordinary
// one.
//
// In atomic mode every rank goes through its chunks alone, under one lock of the whole access: chunks of several ranks must
// not mix. Costs: two walks over the runs of the memory type, one copy of the data, and for collective accesses one
// reduction and one agreement more.
#include <algorithm>
#include <cstring>
#include <memory>

#include "base/attempt.h"
#include "file/elements.h"
#include "file/operation.h"

namespace mercutio {
namespace {

constexpr i64 kStagingBytes = 4 * MiB;
constexpr i64 kLargestElement = 256;  // bytes of one element in the file

class Staged {
 public:
  explicit Staged(Operation& operation) : operation_(operation) {}

  Status prepare() {
    if (operation_.file_bytes == 0) return ok_status();
    const FileView& view = *operation_.view;
    TypeSpecRef sized = operation_.memory_spec;
    if (view.registered) {
      MERCUTIO_LET(sized, with_file_sizes(sized, *view.registered));
    }
    MERCUTIO_LET(const FlatTypeRef kinds, FlatType::lower(*sized, Sizes::kNative, true));
    const i64 native_bytes = kinds->size() * operation_.memory.count;
    cursor_.emplace(kinds, reinterpret_cast<i64>(operation_.memory.base), 0, native_bytes);
    const i64 limit = std::clamp<i64>(operation_.hints->values.cb_buffer_size, 4 * kLargestElement, kStagingBytes);
    limit_ = std::min(limit, operation_.file_bytes);
    buffer_.resize(static_cast<size_t>(limit_));
    return ok_status();
  }

  // No chunk but the last is smaller than limit - kLargestElement, so this is never too few.
  i64 chunks() const {
    if (operation_.file_bytes == 0) return 0;
    if (operation_.file_bytes <= limit_) return 1;
    const i64 least = limit_ - kLargestElement;
    return (operation_.file_bytes + least - 1) / least;
  }

  // The next chunk as an access of plain bytes; empty when nothing is left. For writes the data is converted here.
  Result<Access> next() {
    Access access;
    access.direction = operation_.direction;
    access.view = operation_.view->view;
    access.position = operation_.first_etype * operation_.view->etype_bytes() + file_done_;
    chunk_ = ElementChunk{};
    if (!cursor_ || ended_ || cursor_->done()) return access;
    MERCUTIO_LET(chunk_, measure(*cursor_, limit_, kLargestElement));
    if (operation_.direction == Direction::kWrite) MERCUTIO_TRY(convert_out());
    access.bytes = chunk_.file_bytes;
    access.memory = Memory{buffer_.data(), contiguous_bytes(), chunk_.file_bytes};
    return access;
  }

  // `moved` bytes of the chunk were moved; what was read is converted.
  Status finish(i64 moved) {
    if (chunk_.elements == 0) return ok_status();
    if (moved < chunk_.file_bytes) {
      ended_ = true;
      MERCUTIO_LET(chunk_, measure(*cursor_, moved, kLargestElement));
    }
    if (operation_.direction == Direction::kRead) MERCUTIO_TRY(convert_in());
    cursor_->seek(cursor_->position() + chunk_.native_bytes);
    native_done_ += chunk_.native_bytes;
    elements_done_ += chunk_.elements;
    file_done_ += moved;
    return ok_status();
  }

  i64 native_done() const { return native_done_; }
  i64 file_done() const { return file_done_; }

 private:
  Bytes staged() { return Bytes(buffer_.data(), static_cast<size_t>(chunk_.file_bytes)); }

  Status convert_out() {
    const auto& registered = operation_.view->registered;
    if (registered && registered->write)
      return registered->write(operation_.memory.base, operation_.memory_spec, chunk_.elements, buffer_.data(),
                               elements_done_);
    Cursor from = *cursor_;
    return elements_to_file(from, staged(), registered ? ElementForm::kNative : ElementForm::kExternal32);
  }

  Status convert_in() {
    if (chunk_.elements == 0) return ok_status();
    const auto& registered = operation_.view->registered;
    if (registered && registered->read)
      return registered->read(operation_.memory.base, operation_.memory_spec, chunk_.elements, buffer_.data(),
                              elements_done_);
    Cursor to = *cursor_;
    return elements_from_file(to, staged(), registered ? ElementForm::kNative : ElementForm::kExternal32);
  }

  Operation& operation_;
  std::optional<Cursor> cursor_;
  std::vector<std::byte> buffer_;
  i64 limit_ = 0;
  ElementChunk chunk_;
  bool ended_ = false;  // end of file
  i64 native_done_ = 0, file_done_ = 0, elements_done_ = 0;
};

Result<i64> move_alone(Operation& operation) {
  MERCUTIO_TRY(operation.entry);
  Staged staged(operation);
  MERCUTIO_TRY(staged.prepare());
  IndependentOptions options;
  std::unique_ptr<HeldLock> lock;
  if (operation.atomic && operation.file_bytes > 0) {
    MERCUTIO_LET(lock, lock_extent(operation.engine, access_of(operation)));
    options.atomic = options.locked = true;
  }
  for (;;) {
    MERCUTIO_LET(const Access access, staged.next());
    if (access.bytes == 0) break;
    MERCUTIO_LET(const i64 moved, independent(operation.engine, access, options));
    MERCUTIO_TRY(staged.finish(moved));
  }
  operation.file_bytes_moved = staged.file_done();
  return staged.native_done();
}

// Nobody moves data if a rank failed before; all agree on the outcome.
Task<Result<i64>> perform_atomically(std::shared_ptr<Operation> operation) {
  Status entered = co_await agree(operation->channel, operation->entry);
  if (!entered) co_return entered.error();
  Result<i64> moved = attempt([&] { return move_alone(*operation); });
  Status mine = ok_status();
  if (!moved) mine = moved.error();
  Status all = co_await agree(operation->channel, std::move(mine));
  if (!all) co_return all.error();
  co_return moved;
}

// A rank whose conversion fails joins the next round with its Error; after the last round all agree once more.
Task<Result<i64>> perform_together(std::shared_ptr<Operation> operation) {
  Staged staged(*operation);
  CollectiveOptions options;
  options.entry = operation->entry;
  if (options.entry) options.entry = attempt([&] { return staged.prepare(); });
  i64 rounds = options.entry ? staged.chunks() : 0;
  Status counted = co_await all_reduce(operation->channel, std::span<i64>(&rounds, 1), Reduce::kMax);
  if (!counted) co_return counted.error();
  for (i64 round = 0; round < std::max<i64>(1, rounds); ++round) {
    Access access;
    access.direction = operation->direction;
    access.view = operation->view->view;
    if (options.entry) {
      Result<Access> next = attempt([&] { return staged.next(); });
      if (next) access = *next;
      if (!next) options.entry = next.error();
    }
    auto moving = collective(operation->engine, operation->channel, operation->view->peers, access, options);
    Result<i64> moved = co_await moving;
    if (!moved) co_return moved.error();
    options.entry = attempt([&] { return staged.finish(*moved); });
  }
  Status all = co_await agree(operation->channel, options.entry);
  if (!all) co_return all.error();
  operation->file_bytes_moved = staged.file_done();
  co_return staged.native_done();
}

}  // namespace

Result<i64> bytes_in_file(const FileView& view, const TypeSpecRef& memory_spec) {
  MERCUTIO_LET(const FlatTypeRef flat, lower_for_file(memory_spec, view.view->datarep, view.registered.get()));
  return flat->size();
}

Result<i64> convert_alone(Operation& operation) {
  return move_alone(operation);
}

Task<Result<i64>> convert_together(std::shared_ptr<Operation> operation) {
  if (operation->atomic) {
    auto atomically = perform_atomically(operation);
    co_return co_await atomically;
  }
  auto together = perform_together(operation);
  co_return co_await together;
}

}  // namespace mercutio
