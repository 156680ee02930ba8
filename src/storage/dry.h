// A storage of which only what it says of itself is real: to measure everything but the file access.
#pragma once

#include <memory>

#include "storage/storage.h"

namespace mercutio {

// Writes are dropped, reads give zeros up to the file's size, nothing is locked. What was written or set as the size moves
// the end that this object reports, not the file's.
std::unique_ptr<Storage> make_dry(std::unique_ptr<Storage> inner);

}  // namespace mercutio
