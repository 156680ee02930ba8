// Moves the pieces of one thread's share: collects some, and hands them to the storage, which gathers neighbours in the
// file into one system call. Reads go on behind a piece that the end of file cut short, as the pieces of a list come in
// any order.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "omp/shares.h"

namespace mercutio::omp {

class Mover final : public PieceSink {
 public:
  // `moved` is told of the bytes by the number of their request.
  class Tally {
   public:
    virtual ~Tally() = default;
    virtual void add(size_t request, i64 bytes) = 0;  // any thread
  };

  Mover(Storage& storage, Direction direction, Tally& moved)
      : storage_(storage), direction_(direction), moved_(moved) {}

  Status take(size_t request, const IoPiece& piece) override;
  Status finish();  // moves what is left

 private:
  Status read_all();

  static constexpr size_t kPieces = 1024;  // what one gathering system call takes

  Storage& storage_;
  const Direction direction_;
  Tally& moved_;
  i64 end_of_file_ = std::numeric_limits<i64>::max();  // no byte was found there
  size_t count_ = 0;
  std::array<IoPiece, kPieces> pieces_;
  std::array<std::uint32_t, kPieces> requests_;
};

}  // namespace mercutio::omp
