// PackedMemory: buffers for windows that are sent packed, with a limit over all streams of one end. One buffer is always granted,
// from the reserve if necessary, because the progress of other streams may depend on it. Inside engine/ only.
#pragma once

#include <memory>

#include "engine/io/pieces.h"

namespace mercutio {

class PackedMemory {
 public:
  // Null: the limit is reached or memory is short; call again after a buffer has been given back.
  std::unique_ptr<ScratchBuffer> take(i64 bytes) {
    if (held_ > 0 && held_ + bytes > kMostBytes) return nullptr;
    std::unique_ptr<ScratchBuffer> buffer = spare_of(bytes);
    if (!buffer) buffer = ScratchBuffer::try_make(bytes);
    if (!buffer && held_ > 0) return nullptr;
    if (!buffer) buffer = std::make_unique<ScratchBuffer>(bytes);
    held_ += buffer->bytes;
    return buffer;
  }
  // `buffer` may be null.
  void give_back(std::unique_ptr<ScratchBuffer> buffer) {
    if (!buffer) return;
    held_ -= buffer->bytes;
    if (!spare_ || spare_->bytes < buffer->bytes) spare_ = std::move(buffer);
  }

 private:
  // The buffer that was given back last, if it is large enough. Touching new pages costs as much as copying into them. One that is far too
  // large would take up the limit.
  std::unique_ptr<ScratchBuffer> spare_of(i64 bytes) {
    if (!spare_ || spare_->bytes < bytes || spare_->bytes / 2 > bytes) return nullptr;
    return std::move(spare_);
  }

  static constexpr i64 kMostBytes = 4 * MiB;
  i64 held_ = 0;
  std::unique_ptr<ScratchBuffer> spare_;
};

}  // namespace mercutio
