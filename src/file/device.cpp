// What all runtimes have in common: runs of a memory type become copies, many a call.
#include "file/device.h"

#include <string>
#include <vector>

namespace mercutio {
namespace {

constexpr size_t kCopiesPerCall = 512;
constexpr i64 kLargestStride = INT32_MAX;   // of one copy of several pieces, in every runtime

}  // namespace

Error device_error(std::string_view runtime, CopyTo to, const DeviceCopy& copy, i64 code) {
  const char* const way = to == CopyTo::kHost ? " from" : " to";
  return Error{ErrorClass::kBuffer, std::string(runtime) + " cannot copy " + std::to_string(copy.bytes * copy.count) + " bytes" + way +
                                        " the device: its error " + std::to_string(code)};
}

Status copy_runs(DeviceMemory& device, CopyTo to, Cursor runs, i64 bytes, HostPlace host) {
  std::vector<DeviceCopy> copies;
  const auto flush = [&]() -> Status {
    Status copied = copies.empty() ? ok_status() : device.copy(to, copies);
    copies.clear();
    return copied;
  };
  for (i64 done = 0; done < bytes;) {
    const StridedRun run = runs.next(bytes - done);
    const bool together = run.count > 1 && run.stride >= run.bytes && run.stride <= kLargestStride;
    for (i64 piece = 0; piece < run.count; piece += together ? run.count : 1) {
      DeviceCopy copy;
      copy.device = run.offset + piece * run.stride;
      copy.device_stride = run.stride;
      copy.host = host.spread ? host.address + copy.device : host.address + done + piece * run.bytes;
      copy.host_stride = host.spread ? run.stride : run.bytes;
      copy.bytes = run.bytes;
      copy.count = together ? run.count : 1;
      copies.push_back(copy);
      if (copies.size() >= kCopiesPerCall) MERCUTIO_TRY(flush());
    }
    done += run.bytes * run.count;
  }
  return flush();
}

}  // namespace mercutio
