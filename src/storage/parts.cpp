#include "storage/parts.h"

#include <memory>
#include <utility>
#include <vector>

namespace mercutio {
namespace {

class DividedPieces {
 public:
  DividedPieces(std::span<const IoPiece> pieces, i64 parts, const Layout& layout) : pieces_(pieces), lists_(static_cast<std::size_t>(parts)) {
    const bool striped = layout.stripe_bytes > 0 && layout.stripe_count > 1;
    for (i64 i = 0; i < end_; ++i) {
      const i64 part = striped ? at(i).offset / layout.stripe_bytes % layout.stripe_count % parts : i * parts / end_;
      lists_[static_cast<std::size_t>(part)].push_back(i);
    }
    std::erase_if(lists_, [](const std::vector<i64>& list) { return list.empty(); });
  }

  // The result of the whole list: the bytes up to the first piece that the end of the file truncates, or an Error.
  Result<i64> move(Storage& storage, Direction direction) {
    std::vector<std::unique_ptr<Transfer>> others;
    for (std::size_t i = 1; i < lists_.size(); ++i) others.push_back(storage.start(direction, pieces_of(lists_[i])));
    const std::vector<IoPiece> mine = pieces_of(lists_[0]);
    Result<i64> result = direction == Direction::kRead ? storage.read(mine) : storage.write(mine);
    note_end(lists_[0], moved_of(result));
    for (std::size_t i = 1; i < lists_.size(); ++i) {
      Result<i64> other = others[i - 1]->wait();   // wait for all, because they use the caller's memory
      note_end(lists_[i], moved_of(other));
      if (!other && result) result = std::move(other);
    }
    i64 moved = rest_;
    for (i64 i = 0; i < end_; ++i) moved += at(i).bytes;
    if (!result) return std::move(result).error().of_nothing_moved().behind(moved);
    return moved;
  }

 private:
  const IoPiece& at(i64 index) const { return pieces_[static_cast<std::size_t>(index)]; }
  std::vector<IoPiece> pieces_of(const std::vector<i64>& list) const {
    std::vector<IoPiece> pieces;
    pieces.reserve(list.size());
    for (const i64 index : list) pieces.push_back(at(index));
    return pieces;
  }
  static i64 moved_of(const Result<i64>& result) { return result ? *result : result.error().moved; }
  // A part has moved this many bytes. If it ended early, the result of the list ends there at the latest.
  void note_end(const std::vector<i64>& list, i64 moved) {
    for (const i64 index : list) {
      if (moved < at(index).bytes && index < end_) end_ = index, rest_ = moved;
      if (moved < at(index).bytes) return;
      moved -= at(index).bytes;
    }
  }

  const std::span<const IoPiece> pieces_;
  std::vector<std::vector<i64>> lists_;   // indices of pieces, ascending
  i64 end_ = static_cast<i64>(pieces_.size()), rest_ = 0;   // all pieces before end_ were moved, and rest_ bytes of the next one
};

}  // namespace

Result<i64> move_in_parts(Storage& storage, Direction direction, std::span<const IoPiece> pieces, i64 parts) {
  return DividedPieces(pieces, parts, storage.layout()).move(storage, direction);
}

}  // namespace mercutio
