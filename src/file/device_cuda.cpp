// CUDA by its driver's interface (libcuda.so), which is below the CUDA runtime too, also where that is linked statically. Names,
// numbers and layouts are those of the CUDA Driver API's documentation; functions with a 64-bit form have _v2 in their name.
#include <mutex>
#include <vector>

#include "file/device.h"
#include "file/device_symbols.h"

namespace mercutio {
namespace {

using CuContext = void*;
enum CuAttribute : int { kContext = 1, kMemoryType = 2, kIsManaged = 8, kDeviceOrdinal = 9 };   // CU_POINTER_ATTRIBUTE_*
enum CuMemoryType : unsigned { kHostMemory = 1, kDeviceMemory = 2 };                             // CU_MEMORYTYPE_*

struct CuPlane {   // one side of CUDA_MEMCPY2D
  size_t x_bytes, y;
  unsigned type;
  void* host;
  unsigned long long device;
  void* array;
  size_t pitch;
};
struct CuCopy2d {   // CUDA_MEMCPY2D
  CuPlane from, to;
  size_t width_bytes, height;
};

struct CuFunctions {
  int (*pointer_attributes)(unsigned, int*, void**, unsigned long long);
  int (*push)(CuContext);
  int (*pop)(CuContext*);
  int (*current)(CuContext*);
  int (*retain_primary)(CuContext*, int);
  int (*to_host)(void*, unsigned long long, size_t);
  int (*to_device)(unsigned long long, const void*, size_t);
  int (*copy_2d)(const CuCopy2d*);
  int (*synchronize)(void*);
};

class CudaMemory final : public DeviceMemory {
 public:
  CudaMemory(const CuFunctions& cu, CuContext context) : cu_(cu), context_(context) {}

  Status copy(CopyTo to, std::span<const DeviceCopy> copies) override {
    if (const int code = cu_.push(context_); code != 0) return device_error("CUDA", to, copies.front(), code);
    Status copied = ok_status();
    for (const DeviceCopy& one : copies) {
      const int code = copy_one(to, one);
      if (code != 0) copied = device_error("CUDA", to, one, code);
      if (code != 0) break;
    }
    // A copy from pageable memory may return when the driver has a copy of its own.
    const int code = to == CopyTo::kDevice ? cu_.synchronize(nullptr) : 0;
    if (code != 0 && copied) copied = device_error("CUDA", to, copies.front(), code);
    CuContext popped = nullptr;
    (void)cu_.pop(&popped);
    return copied;
  }

 private:
  int copy_one(CopyTo to, const DeviceCopy& one) const {
    const auto device = static_cast<unsigned long long>(one.device);
    void* const host = reinterpret_cast<void*>(one.host);
    const auto bytes = static_cast<size_t>(one.bytes);
    if (one.count == 1) return to == CopyTo::kHost ? cu_.to_host(host, device, bytes) : cu_.to_device(device, host, bytes);
    const CuPlane at_host{0, 0, kHostMemory, host, 0, nullptr, static_cast<size_t>(one.host_stride)};
    const CuPlane at_device{0, 0, kDeviceMemory, nullptr, device, nullptr, static_cast<size_t>(one.device_stride)};
    const bool out = to == CopyTo::kHost;
    const CuCopy2d copy{out ? at_device : at_host, out ? at_host : at_device, bytes, static_cast<size_t>(one.count)};
    return cu_.copy_2d(&copy);
  }

  const CuFunctions& cu_;
  CuContext context_;
};

class CudaRuntime final : public DeviceRuntime {
 public:
  explicit CudaRuntime(const CuFunctions& cu) : cu_(cu) {}

  // With several attributes at once a pointer that CUDA does not know is no error.
  DeviceMemoryRef find(i64 address) override {
    CuContext context = nullptr;
    unsigned type = 0, managed = 0;
    int ordinal = -1;
    int asked[] = {kContext, kMemoryType, kIsManaged, kDeviceOrdinal};
    void* answers[] = {&context, &type, &managed, &ordinal};
    if (cu_.pointer_attributes(4, asked, answers, static_cast<unsigned long long>(address)) != 0) return nullptr;
    if (type != kDeviceMemory || managed != 0) return nullptr;
    if (!context) context = context_of(ordinal);
    return context ? std::make_shared<CudaMemory>(cu_, context) : nullptr;
  }

 private:
  // Memory from pools and from virtual memory management belongs to no context. The device's primary one is kept once retained.
  CuContext context_of(int ordinal) {
    CuContext context = nullptr;
    if (cu_.current(&context) == 0 && context) return context;
    std::lock_guard lock(mutex_);
    for (const Primary& known : primaries_)
      if (known.ordinal == ordinal) return known.context;
    if (ordinal < 0 || cu_.retain_primary(&context, ordinal) != 0) return nullptr;
    primaries_.push_back({ordinal, context});
    return context;
  }

  struct Primary {
    int ordinal;
    CuContext context;
  };
  const CuFunctions cu_;
  std::mutex mutex_;
  std::vector<Primary> primaries_;
};

}  // namespace

std::unique_ptr<DeviceRuntime> make_cuda_runtime(void* library) {
  CuFunctions cu{};
  FunctionFinder finder(library);
  finder.find(cu.pointer_attributes, "cuPointerGetAttributes");
  finder.find(cu.push, "cuCtxPushCurrent_v2");
  finder.find(cu.pop, "cuCtxPopCurrent_v2");
  finder.find(cu.current, "cuCtxGetCurrent");
  finder.find(cu.retain_primary, "cuDevicePrimaryCtxRetain");
  finder.find(cu.to_host, "cuMemcpyDtoH_v2");
  finder.find(cu.to_device, "cuMemcpyHtoD_v2");
  finder.find(cu.copy_2d, "cuMemcpy2D_v2");
  finder.find(cu.synchronize, "cuStreamSynchronize");
  return finder.complete() ? std::make_unique<CudaRuntime>(cu) : nullptr;
}

}  // namespace mercutio
