// DenseView: where an access at an explicit offset lies in the file, found without a lock. It is for views without holes on all ranks and without
// conversion: two numbers say all that such an access must know of them. One thread at a time sets it, any thread may ask meanwhile.
//
// The edition is odd while it is set. An answer counts only if the edition was the same, and even, before and after the numbers were read. All stores
// are releases and all loads acquires, which are plain moves on x86-64.
#pragma once

#include <algorithm>
#include <atomic>

#include "file/operation.h"

namespace mercutio {

// An access that is one run of the file.
struct FileRun {
  i64 offset = -1;   // in bytes; -1: it isn't one, or something is wrong with it
  i64 etypes = 0, etype_bytes = 1;
};

inline i64 etypes_in(i64 bytes, i64 etype_bytes) {   // a division may take as long as all the rest
  return etype_bytes == 1 ? bytes : etype_bytes == bytes ? 1 : bytes / etype_bytes;
}

class DenseView {
 public:
  void set(const FileView& view) {
    const bool dense = !view.scattered && !view.converts() && view.view->filetype->contiguous();
    const i64 edition = edition_.load(std::memory_order_relaxed);
    edition_.store(edition + 1, std::memory_order_release);
    displacement_.store(view.view->displacement, std::memory_order_release);
    etype_bytes_.store(view.etype_bytes(), std::memory_order_release);
    bytes_.store(dense ? std::min(view.view->filetype->stream_bytes(), kMostFileBytes - view.view->displacement) : 0, std::memory_order_release);
    edition_.store(edition + 2, std::memory_order_release);
  }

  // Of `bytes` > 0 bytes from an etype on. Without an offset where the view itself must be asked.
  FileRun run_of(i64 etype, i64 bytes) const {
    const i64 edition = edition_.load(std::memory_order_acquire);
    const i64 displacement = displacement_.load(std::memory_order_acquire);
    const i64 etype_bytes = etype_bytes_.load(std::memory_order_acquire);
    const i64 most = bytes_.load(std::memory_order_acquire);
    if (edition % 2 != 0 || edition_.load(std::memory_order_relaxed) != edition) return {};
    const i64 etypes = etypes_in(bytes, etype_bytes);
    i64 position = 0, end = 0;
    if (etype < 0 || __builtin_mul_overflow(etype, etype_bytes, &position) || __builtin_add_overflow(position, bytes, &end)) return {};
    return end <= most && etypes * etype_bytes == bytes ? FileRun{displacement + position, etypes, etype_bytes} : FileRun{};
  }

 private:
  std::atomic<i64> edition_{0}, displacement_{0}, etype_bytes_{1}, bytes_{0};
};

}  // namespace mercutio
