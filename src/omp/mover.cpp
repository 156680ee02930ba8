#include "omp/mover.h"

#include <algorithm>

namespace mercutio::omp {

Status Mover::take(size_t request, const IoPiece& piece) {
  if (piece.offset >= end_of_file_) return ok_status();
  if (count_ == kPieces) MERCUTIO_TRY(finish());
  pieces_[count_] = piece;
  requests_[count_++] = static_cast<std::uint32_t>(request);
  return ok_status();
}

Status Mover::finish() {
  if (direction_ == Direction::kRead) return read_all();
  MERCUTIO_TRY(storage_.write(std::span(pieces_).first(count_)));
  for (size_t i = 0; i < count_; ++i) moved_.add(requests_[i], pieces_[i].bytes);
  count_ = 0;
  return ok_status();
}

Status Mover::read_all() {
  for (size_t at = 0; at < count_;) {
    if (pieces_[at].offset >= end_of_file_) {
      ++at;
      continue;
    }
    MERCUTIO_LET(i64 left, storage_.read(std::span(pieces_).subspan(at, count_ - at)));
    for (bool whole = true; whole && at < count_; ++at) {
      const i64 here = std::min(left, pieces_[at].bytes);
      moved_.add(requests_[at], here);
      left -= here;
      whole = here == pieces_[at].bytes;
      if (!whole) end_of_file_ = std::min(end_of_file_, pieces_[at].offset + here);
    }
  }
  count_ = 0;
  return ok_status();
}

}  // namespace mercutio::omp
