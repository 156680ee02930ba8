// Shared by storages without data.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "storage/storage.h"

namespace mercutio {

// Reads from a file of `end` zero bytes.
inline Result<i64> read_zeros(i64 end, std::span<const IoPiece> pieces) {
  i64 total = 0;
  for (const IoPiece& piece : pieces) {
    if (piece.offset < 0 || piece.bytes < 0) return error_from_errno("read", EINVAL, piece.offset, piece.bytes);
    const i64 length = std::clamp<i64>(end - piece.offset, 0, piece.bytes);
    if (length > 0) std::memset(piece.data, 0, static_cast<size_t>(length));
    total += length;
    if (length < piece.bytes) break;
  }
  return total;
}

// A write that is discarded: the number of bytes, and one past the last offset.
struct Dropped {
  i64 bytes = 0, end = 0;
};
inline Result<Dropped> drop(std::span<const IoPiece> pieces) {
  Dropped dropped;
  for (const IoPiece& piece : pieces) {
    if (piece.offset < 0 || piece.bytes < 0) return error_from_errno("write", EINVAL, piece.offset, piece.bytes);
    dropped.bytes += piece.bytes;
    if (piece.bytes > 0) dropped.end = std::max(dropped.end, piece.offset + piece.bytes);
  }
  return dropped;
}

}  // namespace mercutio
