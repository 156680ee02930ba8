#include "remote/shape.h"

#include <algorithm>
#include <cerrno>
#include <limits>

#include "model/type_spec.h"

namespace mercutio::remote {
namespace {

bool is_valid(const IoPiece& piece) {
  return piece.offset >= 0 && piece.bytes >= 0 && piece.offset <= std::numeric_limits<i64>::max() - piece.bytes;
}

}  // namespace

Result<Shape> Shape::of(std::vector<IoPiece> pieces) {
  Shape shape;
  Numbers lengths, displacements;
  shape.starts_.push_back(0);
  for (const IoPiece& piece : pieces) {
    if (!is_valid(piece))
      return Error{ErrorClass::kArg, "a transfer outside of what a file can hold", EINVAL, piece.offset, piece.bytes};
    if (piece.bytes == 0) continue;
    if (lengths.empty()) shape.displacement_ = shape.first_ = piece.offset;
    shape.ascending_ = shape.ascending_ && piece.offset >= shape.last_;
    shape.first_ = std::min(shape.first_, piece.offset);
    shape.last_ = std::max(shape.last_, piece.offset + piece.bytes);
    lengths.push_back(piece.bytes);
    displacements.push_back(piece.offset - shape.displacement_);
    shape.starts_.push_back(shape.starts_.back() + piece.bytes);
    shape.pieces_.push_back(piece);
  }
  if (shape.bytes() == shape.last_ - shape.first_ && shape.ascending_) return shape;
  MERCUTIO_LET(const FlatTypeRef type,
               FlatType::lower(*make_hindexed(std::move(lengths), std::move(displacements), byte_type())));
  std::vector<std::byte> definition;
  type->serialize(definition);
  shape.definition_.assign(definition.begin(), definition.end());
  shape.tree_ = std::max<u64>(1, checksum_of(shape.definition_));
  return shape;
}

template <class Copy>
void Shape::each_part(i64 begin, i64 bytes, Copy copy) const {
  size_t at = static_cast<size_t>(std::upper_bound(starts_.begin(), starts_.end(), begin) - starts_.begin()) - 1;
  for (i64 done = 0; done < bytes; ++at) {
    const i64 inside = begin + done - starts_[at];
    const i64 length = std::min(pieces_[at].bytes - inside, bytes - done);
    copy(pieces_[at].data + inside, done, static_cast<size_t>(length));
    done += length;
  }
}

std::span<std::byte> Shape::contiguous(i64 begin, i64 bytes) const {
  std::byte* first = nullptr;
  bool gap = false;
  each_part(begin, bytes, [&](std::byte* memory, i64 at, size_t) {
    if (at == 0) first = memory;
    gap = gap || memory != first + at;
  });
  return gap ? std::span<std::byte>() : std::span(first, static_cast<size_t>(bytes));
}

void Shape::gather(i64 begin, std::span<std::byte> out) const {
  each_part(begin, static_cast<i64>(out.size()),
            [&](std::byte* memory, i64 at, size_t bytes) { std::memcpy(out.data() + at, memory, bytes); });
}

void Shape::scatter(i64 begin, std::span<const std::byte> in) const {
  each_part(begin, static_cast<i64>(in.size()),
            [&](std::byte* memory, i64 at, size_t bytes) { std::memcpy(memory, in.data() + at, bytes); });
}

}  // namespace mercutio::remote
