#include "file/buffers.h"

#include <dlfcn.h>
#include <link.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>

namespace mercutio {
namespace {

constexpr i64 kPageBytes = 4096;   // the smallest there are

// The kernel fetches a signal mask from there before it finds that it is not told what to do with it. NULL would be no mask.
bool can_read(i64 address) {
  return ::syscall(SYS_rt_sigprocmask, ~0, std::max<i64>(address & ~i64{7}, 8), nullptr, 8) == 0 || errno != EFAULT;
}

// The kernel adds nothing to the word there, in one step, so that nobody notices.
bool can_write(i64 address) {
  int nobody = 0;
  const auto add_nothing = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0);
  return ::syscall(SYS_futex, &nobody, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, nullptr, address & ~i64{3}, add_nothing) >= 0 || errno != EFAULT;
}

// Changes with each tick of the kernel's clock, which takes 6 ns to read; comes round after minutes.
constexpr unsigned kTickBits = 18;
std::uint64_t tick() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (static_cast<std::uint64_t>(now.tv_sec) << 10 | static_cast<std::uint64_t>(now.tv_nsec) >> 20) & ((1u << kTickBits) - 1);
}

// A page that may be read at that tick, or written, too.
std::uint64_t entry_for(std::uint64_t page, std::uint64_t when, bool writable) {
  return page << (kTickBits + 1) | when << 1 | (writable ? 1 : 0);
}

unsigned long long libraries_loaded() {
  unsigned long long loaded = 0;
  ::dl_iterate_phdr([](dl_phdr_info* info, size_t, void* out) {
    *static_cast<unsigned long long*>(out) = info->dlpi_adds;
    return 1;
  }, &loaded);
  return loaded;
}

using MakeRuntime = std::unique_ptr<DeviceRuntime> (*)(void*);
MakeRuntime maker_for(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("libcuda.so")) return make_cuda_runtime;
  if (name.starts_with("libamdhip64.so")) return make_hip_runtime;
  if (name.starts_with("libze_loader.so")) return make_level_zero_runtime;
  return nullptr;
}

}  // namespace

int TouchedPages::touch(i64 address, Direction direction, std::uint64_t now, bool anew) {
  const bool writes = direction == Direction::kRead;   // of the file: memory is written
  const std::uint64_t page = static_cast<std::uint64_t>(address) / kPageBytes;
  std::atomic<std::uint64_t>& entry = pages_[page % pages_.size()];
  const std::uint64_t known = entry.load(std::memory_order_relaxed);
  if (!anew && (known == entry_for(page, now, true) || (!writes && known == entry_for(page, now, false)))) return 0;
  const int before = errno;
  const bool can = writes ? can_write(address) : can_read(address);
  errno = before;
  if (!can) return EFAULT;
  entry.store(entry_for(page, now, writes), std::memory_order_relaxed);
  return 0;
}

Result<DeviceMemoryRef> Buffers::find(const Memory& memory, Direction direction) {
  const FlatType& type = *memory.type;
  const i64 shift = (memory.count - 1) * type.extent();
  const i64 base = reinterpret_cast<i64>(memory.base);
  const i64 first = base + type.true_lb() + std::min<i64>(0, shift);
  const i64 last = base + type.true_lb() + type.true_extent() - 1 + std::max<i64>(0, shift);
  const std::uint64_t now = tick();
  detect_once_a_tick(now);
  if (DeviceMemoryRef device = on_device(first)) return device;
  const bool large = memory.bytes() >= kLargeBytes;
  int fault = touched_.touch(first, direction, now, large);
  if (fault == 0 && last / kPageBytes != first / kPageBytes) fault = touched_.touch(last, direction, now, large);
  if (fault == 0) return DeviceMemoryRef();
  detect_new_runtimes();   // one may have been loaded since the last search
  if (DeviceMemoryRef device = on_device(first)) return device;
  char address[32];
  std::snprintf(address, sizeof address, "0x%llx", static_cast<unsigned long long>(first));
  return Error{ErrorClass::kBuffer,
               std::string("the processor may not ") + (direction == Direction::kRead ? "write" : "read") + " the buffer at " + address +
                   ", and no CUDA, HIP or Level Zero runtime that the program has loaded knows it",
               fault};
}

void Buffers::detect_once_a_tick(std::uint64_t now) {
  if (detected_at_.load(std::memory_order_relaxed) == now) return;
  detected_at_.store(now, std::memory_order_relaxed);
  detect_new_runtimes();
}

DeviceMemoryRef Buffers::on_device(i64 address) {
  if (!any_runtime()) return nullptr;
  std::lock_guard lock(mutex_);
  for (const Runtime& known : runtimes_)
    if (DeviceMemoryRef device = known.runtime->find(address)) return device;
  return nullptr;
}

void Buffers::detect_new_runtimes() {
  if (libraries_loaded() != libraries_seen_.load(std::memory_order_acquire)) detect_runtimes();
}

// The linker's lock is held while it goes through the libraries, so they are opened afterwards. They are never closed.
void Buffers::detect_runtimes() {
  const unsigned long long loaded = libraries_loaded();
  std::vector<std::string> paths;
  ::dl_iterate_phdr([](dl_phdr_info* info, size_t, void* out) {
    if (info->dlpi_name && maker_for(info->dlpi_name)) static_cast<std::vector<std::string>*>(out)->emplace_back(info->dlpi_name);
    return 0;
  }, &paths);
  std::lock_guard lock(mutex_);
  for (const std::string& path : paths) {
    const bool known = std::any_of(runtimes_.begin(), runtimes_.end(), [&](const Runtime& one) { return one.path == path; });
    void* const library = known ? nullptr : ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    std::unique_ptr<DeviceRuntime> runtime = library ? maker_for(path)(library) : nullptr;
    if (runtime) runtimes_.push_back({path, std::move(runtime)});
  }
  any_runtime_.store(!runtimes_.empty(), std::memory_order_release);
  libraries_seen_.store(loaded, std::memory_order_release);
}

}  // namespace mercutio
