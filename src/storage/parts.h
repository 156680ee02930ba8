// A list of pieces, moved by several threads of the transfer pool: storage that blocks serves several requests in the time of one.
#pragma once

#include <span>

#include "storage/storage.h"

namespace mercutio {

// Divides the list into at most that many parts. If the file is striped, each part has its own servers. Returns the bytes up to the first
// piece that the end of the file truncates, or an Error.
Result<i64> move_in_parts(Storage& storage, Direction direction, std::span<const IoPiece> pieces, i64 parts);

}  // namespace mercutio
