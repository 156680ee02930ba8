// Level Zero (libze_loader.so). It asks for a context with every pointer. Intel's driver keeps what it has allocated for all
// contexts of a driver together, so one of our own for each driver serves, as in MPICH. Layouts and numbers are those of the
// Level Zero specification.
#include <mutex>
#include <vector>

#include "file/device.h"
#include "file/device_symbols.h"

namespace mercutio {
namespace {

using ZeHandle = void*;
enum ZeStructure : int { kContextDesc = 0xd, kQueueDesc = 0xe, kAllocationProperties = 0x17 };   // ZE_STRUCTURE_TYPE_*
constexpr int kDeviceType = 2;          // ZE_MEMORY_TYPE_DEVICE
constexpr int kSynchronousQueue = 1;    // ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS

struct ZeContextDesc {
  int structure;
  const void* next;
  unsigned flags;
};
struct ZeQueueDesc {
  int structure;
  const void* next;
  unsigned ordinal, index, flags;
  int mode, priority;
};
struct ZeAllocation {   // ze_memory_allocation_properties_t
  int structure;
  void* next;
  int type;
  unsigned long long id, page_bytes;
};
struct ZeRegion {   // ze_copy_region_t
  unsigned x, y, z, width, height, depth;
};

struct ZeFunctions {
  int (*drivers)(unsigned*, ZeHandle*);
  int (*make_context)(ZeHandle, const ZeContextDesc*, ZeHandle*);
  int (*allocation)(ZeHandle, const void*, ZeAllocation*, ZeHandle*);
  int (*make_list)(ZeHandle, ZeHandle, const ZeQueueDesc*, ZeHandle*);
  int (*destroy_list)(ZeHandle);
  int (*copy)(ZeHandle, void*, const void*, size_t, ZeHandle, unsigned, ZeHandle*);
  int (*copy_region)(ZeHandle, void*, const ZeRegion*, unsigned, unsigned, const void*, const ZeRegion*, unsigned, unsigned, ZeHandle,
                     unsigned, ZeHandle*);
};

class ZeMemory final : public DeviceMemory {
 public:
  ZeMemory(const ZeFunctions& ze, ZeHandle context, ZeHandle device) : ze_(ze), context_(context), device_(device) {}
  ~ZeMemory() override {
    if (list_) (void)ze_.destroy_list(list_);
  }

  Status copy(CopyTo to, std::span<const DeviceCopy> copies) override {
    if (!list_) {
      const ZeQueueDesc desc{kQueueDesc, nullptr, 0, 0, 0, kSynchronousQueue, 0};
      const int code = ze_.make_list(context_, device_, &desc, &list_);
      if (code != 0) return device_error("Level Zero", to, copies.front(), code);
    }
    for (const DeviceCopy& one : copies) {
      const int code = copy_one(to, one);
      if (code != 0) return device_error("Level Zero", to, one, code);
    }
    return ok_status();
  }

 private:
  int copy_one(CopyTo to, const DeviceCopy& one) const {
    const bool out = to == CopyTo::kHost;
    void* const into = reinterpret_cast<void*>(out ? one.host : one.device);
    const void* const from = reinterpret_cast<const void*>(out ? one.device : one.host);
    if (one.count == 1) return ze_.copy(list_, into, from, static_cast<size_t>(one.bytes), nullptr, 0, nullptr);
    const ZeRegion region{0, 0, 0, static_cast<unsigned>(one.bytes), static_cast<unsigned>(one.count), 1};
    const auto into_pitch = static_cast<unsigned>(out ? one.host_stride : one.device_stride);
    const auto from_pitch = static_cast<unsigned>(out ? one.device_stride : one.host_stride);
    return ze_.copy_region(list_, into, &region, into_pitch, 0, from, &region, from_pitch, 0, nullptr, 0, nullptr);
  }

  const ZeFunctions& ze_;
  ZeHandle context_, device_, list_ = nullptr;
};

class ZeRuntime final : public DeviceRuntime {
 public:
  explicit ZeRuntime(const ZeFunctions& ze) : ze_(ze) {}

  DeviceMemoryRef find(i64 address) override {
    std::lock_guard lock(mutex_);
    if (contexts_.empty()) make_contexts();
    for (ZeHandle context : contexts_) {
      ZeAllocation allocation{kAllocationProperties, nullptr, 0, 0, 0};
      ZeHandle device = nullptr;
      if (ze_.allocation(context, reinterpret_cast<const void*>(address), &allocation, &device) != 0) continue;
      if (allocation.type == kDeviceType && device) return std::make_shared<ZeMemory>(ze_, context, device);
    }
    return nullptr;
  }

 private:
  // None before the program has initialised the runtime. They are kept: the driver may be gone when the process ends.
  void make_contexts() {
    unsigned count = 0;
    if (ze_.drivers(&count, nullptr) != 0 || count == 0) return;
    std::vector<ZeHandle> drivers(count);
    if (ze_.drivers(&count, drivers.data()) != 0) return;
    drivers.resize(count);
    for (ZeHandle driver : drivers) {
      const ZeContextDesc desc{kContextDesc, nullptr, 0};
      ZeHandle context = nullptr;
      if (ze_.make_context(driver, &desc, &context) == 0) contexts_.push_back(context);
    }
  }

  const ZeFunctions ze_;
  std::mutex mutex_;
  std::vector<ZeHandle> contexts_;   // one a driver
};

}  // namespace

std::unique_ptr<DeviceRuntime> make_level_zero_runtime(void* library) {
  ZeFunctions ze{};
  FunctionFinder finder(library);
  finder.find(ze.drivers, "zeDriverGet");
  finder.find(ze.make_context, "zeContextCreate");
  finder.find(ze.allocation, "zeMemGetAllocProperties");
  finder.find(ze.make_list, "zeCommandListCreateImmediate");
  finder.find(ze.destroy_list, "zeCommandListDestroy");
  finder.find(ze.copy, "zeCommandListAppendMemoryCopy");
  finder.find(ze.copy_region, "zeCommandListAppendMemoryCopyRegion");
  return finder.complete() ? std::make_unique<ZeRuntime>(ze) : nullptr;
}

}  // namespace mercutio
