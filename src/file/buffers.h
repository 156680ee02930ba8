// Buffers determines, once per data access, what can access a program's buffer: the processor, a device, or nothing.
//
// If the program has loaded no known device runtime, a check compares the dynamic linker's counter of loaded libraries (16 ns), and
// looks up the clock and the pages that were found accessible before (7 ns). A new page costs a system call that reads 8 bytes of it,
// or rewrites 4 unchanged (0.1 to 0.3 microseconds; 0.4 and 0.9 in a virtual machine without nested paging). Where a system call moves the
// data, and refuses what the processor can't reach, it is the check, as long as no runtime is known.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "file/device.h"
#include "model/access.h"

namespace mercutio {

// Access rights of pages that were found in this tick of the kernel's clock (1 to 10 ms). Later the program may have changed them.
class TouchedPages {
 public:
  // EFAULT, or 0. `now`: the clock's tick. `anew`: ignore earlier findings.
  int touch(i64 address, Direction direction, std::uint64_t now, bool anew);

 private:
  std::array<std::atomic<std::uint64_t>, 64> pages_{};   // see entry_for()
};

class Buffers {
 public:
  // The device that owns the memory, or null for memory of the processor; an Error of class kBuffer if neither can move the data.
  // Checks the first and the last data byte: a buffer is in one kind of memory.
  Result<DeviceMemoryRef> find(const Memory& memory, Direction direction);
  // Whether a runtime has been found, by find() or here. If there is none, a system call may be given any memory: it refuses that of a device.
  bool any_runtime() const { return any_runtime_.load(std::memory_order_acquire); }
  void detect_new_runtimes();

 private:
  DeviceMemoryRef on_device(i64 address);
  void detect_once_a_tick(std::uint64_t now);
  void detect_runtimes();

  static constexpr i64 kLargeBytes = MiB;   // above it, pages are always checked again, as moving the data takes much longer
  TouchedPages touched_;
  std::atomic<std::uint64_t> detected_at_{~std::uint64_t{0}};   // the tick of the last search for runtimes
  std::atomic<unsigned long long> libraries_seen_{0};          // the linker's counter
  std::atomic<bool> any_runtime_{false};
  std::mutex mutex_;   // guards what follows
  struct Runtime {
    std::string path;
    std::unique_ptr<DeviceRuntime> runtime;
  };
  std::vector<Runtime> runtimes_;
};

}  // namespace mercutio
