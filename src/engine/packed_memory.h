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
    std::unique_ptr<ScratchBuffer> buffer = spare_of(bytes);
    if (!buffer) buffer = ScratchBuffer::try_make(bytes);
    if (!buffer && held_ > 0) return nullptr;
    if (!buffer) buffer = std::make_unique<ScratchBuffer>(bytes);
    held_ += buffer->bytes;
    return buffer;
  }
  // Null: there was none.
  void give_back(std::unique_ptr<ScratchBuffer> buffer) {
    if (!buffer) return;
    held_ -= buffer->bytes;
    if (!spare_ || spare_->bytes < buffer->bytes) spare_ = std::move(buffer);
  }

 private:
  // The one that was given back, if it is large enough: pages that are new to the process cost as much as the copy into them.
  std::unique_ptr<ScratchBuffer> spare_of(i64 bytes) {
    if (!spare_ || spare_->bytes < bytes) return nullptr;
    return std::move(spare_);
  }

  static constexpr i64 kMostBytes = 4 * MiB;
  i64 held_ = 0;
  std::unique_ptr<ScratchBuffer> spare_;
};

}  // namespace mercutio
