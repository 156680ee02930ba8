// Memory of devices, reached through the runtime that the program has loaded: CUDA, HIP or Level Zero. Nothing is linked and no
// runtime is loaded here: the functions are looked up in libraries that are there already. Inside file/ only.
//
// Of each runtime only what its documentation states is used: what a pointer is, and synchronous copies. Memory that the
// processor may touch as well (managed, shared, pinned) is none of a device's here.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"
#include "model/flat_type.h"

namespace mercutio {

// `count` pieces of `bytes` each; both sides may have gaps between them.
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

// The device memory that one access uses. One thread at a time.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // Over when it returns. Strides of copies of several pieces are at least `bytes` and below 2^31.
  virtual Status copy(CopyTo to, std::span<const DeviceCopy> copies) = 0;
};
using DeviceMemoryRef = std::shared_ptr<DeviceMemory>;

// A runtime of the program. Any thread.
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;
  // Null: not memory of a device, or the runtime does not say so.
  virtual DeviceMemoryRef find(i64 address) = 0;
};

// `library`: a handle of dlopen. Null: functions are missing.
std::unique_ptr<DeviceRuntime> make_cuda_runtime(void* library);
std::unique_ptr<DeviceRuntime> make_hip_runtime(void* library);
std::unique_ptr<DeviceRuntime> make_level_zero_runtime(void* library);

Error device_error(std::string_view runtime, CopyTo to, const DeviceCopy& copy, i64 code);


// Where the runs of a memory type lie in the processor's memory: one behind the other from `address` on, or, where they are `spread`,
// each `address` behind its place on the device.
struct HostPlace {
  i64 address = 0;
  bool spread = false;
};
// Copies the next `bytes` data bytes of `runs`, whose addresses are the device's. Gaps in device memory are left alone.
Status copy_runs(DeviceMemory& device, CopyTo to, Cursor runs, i64 bytes, HostPlace host);

}  // namespace mercutio
