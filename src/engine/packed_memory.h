// PackedMemory: buffers for windows that travel packed, up to a limit for all streams of one end. One of them may always have a
// buffer, and takes from the reserve what it needs: others may depend on it. Inside engine/ only.
#pragma once

#include <memory>

#include "engine/pieces.h"

namespace mercutio {

class PackedMemory {
 public:
  // Null: not now; those who hold some give it back.
  std::unique_ptr<ScratchBuffer> take(i64 bytes) {
    if (held_ > 0 && held_ + bytes > kMostBytes) return nullptr;
    auto buffer = ScratchBuffer::try_make(bytes);
    if (!buffer && held_ > 0) return nullptr;
    if (!buffer) buffer = std::make_unique<ScratchBuffer>(bytes);
    held_ += bytes;
    return buffer;
  }
  // Null: there was none.
  void give_back(std::unique_ptr<ScratchBuffer> buffer) {
    if (buffer) held_ -= buffer->bytes;
  }

 private:
  static constexpr i64 kMostBytes = 4 * MiB;
  i64 held_ = 0;
};

}  // namespace mercutio
