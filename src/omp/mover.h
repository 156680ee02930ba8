// Moves the pieces of one thread's share: collects pieces and passes them to the storage, which moves those that are adjacent in
// the file with one system call. After a piece that the end of the file truncates, reads continue, because the pieces of a list are
// in any order.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "omp/shares.h"

namespace mercutio::omp {

class Mover final : public PieceSink {
 public:
  // Counts the bytes moved, by the number of their request.
  class Tally {
   public:
    virtual ~Tally() = default;
    virtual void add(size_t request, i64 bytes) = 0;  // thread-safe
  };

  Mover(Storage& storage, Direction direction, Tally& moved)
      : storage_(storage), direction_(direction), moved_(moved) {}

  Status take(size_t request, const IoPiece& piece) override;
  Status finish();  // moves the remaining pieces

 private:
  Status read_all();

  static constexpr size_t kPieces = 1024;  // maximum of one vectored system call

  Storage& storage_;
  const Direction direction_;
  Tally& moved_;
  i64 end_of_file_ = std::numeric_limits<i64>::max();  // lowest offset known to be beyond the end of the file
  size_t count_ = 0;
  std::array<IoPiece, kPieces> pieces_;
  std::array<std::uint32_t, kPieces> requests_;
};

}  // namespace mercutio::omp
