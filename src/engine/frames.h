// Memory of coroutine frames. A collective access needs some ten of them, most larger than what malloc keeps ready for a thread, so each
// thread keeps a few of each size that it has freed. A frame may be freed by another thread than the one that took it.
#pragma once

#include <cstddef>

namespace mercutio {

void* take_frame(std::size_t bytes);   // throws std::bad_alloc
void free_frame(void* frame, std::size_t bytes) noexcept;

}  // namespace mercutio
