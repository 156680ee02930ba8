// A storage that moves no data, to measure everything but the file access. Only its self-description is real.
#pragma once

#include <memory>

#include "storage/storage.h"

namespace mercutio {

// Writes are discarded, reads return zeros up to the file's size, locks do nothing. Writes and set_size() change the size that this
// object reports, not the file's.
std::unique_ptr<Storage> make_dry(std::unique_ptr<Storage> inner);

}  // namespace mercutio
