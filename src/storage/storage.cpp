// The default of Storage::start: the transfer runs at once and is done when start returns. Drivers that can overlap
// replace it.
#include "storage/storage.h"

#include "storage/finished_transfer.h"

namespace mercutio {

std::unique_ptr<Transfer> Storage::start(Direction direction, std::vector<IoPiece> pieces) {
  return finished_transfer(direction == Direction::kRead ? read(pieces) : write(pieces));
}

}  // namespace mercutio
