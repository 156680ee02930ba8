// Device memory, accessed through the runtime that the program has loaded: CUDA, HIP or Level Zero. Mercutio neither links nor loads
// a runtime; it looks functions up in libraries that are already loaded. Internal to file/.
//
// Only documented functions of each runtime are used: the kind of a pointer, and synchronous copies. Memory that the processor can
// access as well (managed, shared, pinned) does not count as device memory.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "model/flat_type.h"

namespace mercutio {

// A copy of `count` pieces of `bytes` each; both sides may have gaps between pieces.
struct DeviceCopy {
  i64 device = 0;   // address
  i64 device_stride = 0;
  i64 host = 0;     // address
  i64 host_stride = 0;
  i64 bytes = 0;
  i64 count = 1;
  bool operator==(const DeviceCopy&) const = default;
};

enum class CopyTo { kHost, kDevice };

// The device memory of one access. Not thread-safe.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // Synchronous. Strides of copies with several pieces are at least `bytes` and below 2^31.
  virtual Status copy(CopyTo to, std::span<const DeviceCopy> copies) = 0;
};
using DeviceMemoryRef = std::shared_ptr<DeviceMemory>;

// A runtime of the program. Thread-safe.
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;
  // Null: not device memory, as far as the runtime knows.
  virtual DeviceMemoryRef find(i64 address) = 0;
};

// `library`: a handle of dlopen. Returns null if functions are missing.
std::unique_ptr<DeviceRuntime> make_cuda_runtime(void* library);
std::unique_ptr<DeviceRuntime> make_hip_runtime(void* library);
std::unique_ptr<DeviceRuntime> make_level_zero_runtime(void* library);

Error device_error(std::string_view runtime, CopyTo to, const DeviceCopy& copy, i64 code);


// The location of a memory type's runs in the processor's memory: packed from `address` on, or, if `spread`, each at its device address
// plus `address`.
struct HostPlace {
  i64 address = 0;
  bool spread = false;
};
// Copies the next `bytes` data bytes of `runs`, whose addresses are the device's. Gaps in device memory are not written.
Status copy_runs(DeviceMemory& device, CopyTo to, Cursor runs, i64 bytes, HostPlace host);

}  // namespace mercutio
