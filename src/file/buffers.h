// Buffers: who can touch a program's buffer, asked once for each data access: the processor, a device, or nobody.
//
// Where the program has loaded no runtime of a device that is known here, asking costs a comparison of the counter that the
// dynamic linker keeps of the libraries it has loaded (16 ns), and a look at the clock and at the pages found touchable before (7 ns).
// A page that is new costs a system call, which reads 8 bytes of it, or writes 4 as they were (0.1 to 0.3 microseconds; in a virtual
// machine without help of the processor 0.4 and 0.9).
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

// What the processor has been found to be allowed on a page, in this tick of the kernel's clock (1 to 10 ms): the program may change it.
class TouchedPages {
 public:
  // EFAULT, or 0. `anew`: whatever has been found before.
  int touch(i64 address, Direction direction, bool anew);

 private:
  std::array<std::atomic<std::uint64_t>, 64> pages_{};   // see entry_for()
};

class Buffers {
 public:
  // The device whose memory it is, null for memory of the processor; kBuffer where neither can move the data. Looks at the first and
  // the last data byte: one buffer lies in one kind of memory.
  Result<DeviceMemoryRef> find(const Memory& memory, Direction direction);

 private:
  DeviceMemoryRef on_device(i64 address);
  void look_for_new_runtimes();
  void look_for_runtimes();

  static constexpr i64 kLargeBytes = MiB;   // moving them takes so long that their pages are asked anew
  TouchedPages touched_;
  std::atomic<std::uint64_t> looked_at_{~std::uint64_t{0}};   // the tick of the last look for runtimes
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
