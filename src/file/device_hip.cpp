// HIP (libamdhip64.so). ROCm 6 changed the numbers of hipMemoryType; the places of what is read here are the same in both forms of
// hipPointerAttribute_t.
#include "file/device.h"
#include "file/device_symbols.h"

namespace mercutio {
namespace {

enum HipCopyKind : int { kHostToDevice = 1, kDeviceToHost = 2 };   // hipMemcpyKind
constexpr int kRocm6 = 60000000;                                   // of hipRuntimeGetVersion

struct HipAttributes {   // hipPointerAttribute_t, with room for what is added to it
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned flags;
  char more[64];
};

struct HipFunctions {
  int (*attributes)(HipAttributes*, const void*);
  int (*peek_error)();
  int (*take_error)();
  int (*version)(int*);
  int (*get_device)(int*);
  int (*set_device)(int);
  int (*copy)(void*, const void*, size_t, int);
  int (*copy_2d)(void*, size_t, const void*, size_t, size_t, size_t, int);
  int (*synchronize)(void*);
};

class HipMemory final : public DeviceMemory {
 public:
  HipMemory(const HipFunctions& hip, int device) : hip_(hip), device_(device) {}

  Status copy(CopyTo to, std::span<const DeviceCopy> copies) override {
    int before = device_;
    (void)hip_.get_device(&before);
    if (before != device_) (void)hip_.set_device(device_);
    Status copied = ok_status();
    for (const DeviceCopy& one : copies) {
      const int code = copy_one(to, one);
      if (code != 0) copied = device_error("HIP", to, one, code);
      if (code != 0) break;
    }
    const int code = to == CopyTo::kDevice ? hip_.synchronize(nullptr) : 0;
    if (code != 0 && copied) copied = device_error("HIP", to, copies.front(), code);
    if (before != device_) (void)hip_.set_device(before);
    return copied;
  }

 private:
  int copy_one(CopyTo to, const DeviceCopy& one) const {
    const bool out = to == CopyTo::kHost;
    void* const into = reinterpret_cast<void*>(out ? one.host : one.device);
    const void* const from = reinterpret_cast<const void*>(out ? one.device : one.host);
    const int kind = out ? kDeviceToHost : kHostToDevice;
    const auto bytes = static_cast<size_t>(one.bytes);
    if (one.count == 1) return hip_.copy(into, from, bytes, kind);
    const auto into_pitch = static_cast<size_t>(out ? one.host_stride : one.device_stride);
    const auto from_pitch = static_cast<size_t>(out ? one.device_stride : one.host_stride);
    return hip_.copy_2d(into, into_pitch, from, from_pitch, bytes, static_cast<size_t>(one.count), kind);
  }

  const HipFunctions& hip_;
  int device_;
};

class HipRuntime final : public DeviceRuntime {
 public:
  explicit HipRuntime(const HipFunctions& hip) : hip_(hip) {
    int version = 0;
    if (hip_.version(&version) == 0 && version < kRocm6) device_type_ = 1;
  }

  // A pointer that HIP does not know is an error to it, which the program must not find later.
  DeviceMemoryRef find(i64 address) override {
    const bool was_clear = hip_.peek_error() == 0;
    HipAttributes attributes{};
    const int code = hip_.attributes(&attributes, reinterpret_cast<const void*>(address));
    if (code != 0 && was_clear) (void)hip_.take_error();
    if (code != 0 || attributes.type != device_type_ || attributes.is_managed != 0) return nullptr;
    return std::make_shared<HipMemory>(hip_, attributes.device);
  }

 private:
  const HipFunctions hip_;
  int device_type_ = 2;   // hipMemoryTypeDevice
};

}  // namespace

std::unique_ptr<DeviceRuntime> make_hip_runtime(void* library) {
  HipFunctions hip{};
  FunctionFinder finder(library);
  finder.find(hip.attributes, "hipPointerGetAttributes");
  finder.find(hip.peek_error, "hipPeekAtLastError");
  finder.find(hip.take_error, "hipGetLastError");
  finder.find(hip.version, "hipRuntimeGetVersion");
  finder.find(hip.get_device, "hipGetDevice");
  finder.find(hip.set_device, "hipSetDevice");
  finder.find(hip.copy, "hipMemcpy");
  finder.find(hip.copy_2d, "hipMemcpy2D");
  finder.find(hip.synchronize, "hipStreamSynchronize");
  return finder.complete() ? std::make_unique<HipRuntime>(hip) : nullptr;
}

}  // namespace mercutio
