#include "base/reserve.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <new>

namespace mercutio {
namespace {

// The largest is given back first: it holds any chunk or window of an exchange, and what 10,000 ranks tell each other.
constexpr std::array<i64, 5> kBlockBytes = {4 * MiB, 1 * MiB, 1 * MiB, 1 * MiB, 1 * MiB};

class Reserve {
 public:
  // True: some block has been given back, so that another try may succeed.
  bool give_back() {
    for (size_t i = 0; i < blocks_.size(); ++i) {
      void* const held = blocks_[i].exchange(nullptr);
      if (!held) continue;
      whole_.store(false);
      ::munmap(held, static_cast<size_t>(kBlockBytes[i]));
      return true;
    }
    return false;
  }

  bool hold() {
    if (whole_.load(std::memory_order_acquire)) return true;
    std::lock_guard lock(mutex_);
    if (!installed_) earlier_ = std::set_new_handler(no_memory);
    installed_ = true;
    bool all = true;
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_[i].load()) continue;
      void* const taken = ::mmap(nullptr, static_cast<size_t>(kBlockBytes[i]), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (taken == MAP_FAILED) all = false;
      else blocks_[i].store(taken);
    }
    whole_.store(all);
    // Another thread may have given back a block that was seen here.
    all = all && std::all_of(blocks_.begin(), blocks_.end(), [](const std::atomic<void*>& block) { return block.load() != nullptr; });
    if (!all) whole_.store(false);
    return all;
  }

 private:
  // Called by operator new where malloc fails: returns for another try, or throws.
  static void no_memory();

  std::array<std::atomic<void*>, kBlockBytes.size()> blocks_{};
  std::atomic<bool> whole_{false};
  std::mutex mutex_;
  bool installed_ = false;
  std::new_handler earlier_ = nullptr;
};

constinit Reserve reserve;

void Reserve::no_memory() {
  if (UsesReserve::here() && (reserve.give_back() || UsesReserve::tries_again())) return;
  if (reserve.earlier_) return reserve.earlier_();
  throw std::bad_alloc();
}

}  // namespace

UsesReserve::Uses& UsesReserve::of_this_thread() {
  static thread_local constinit Uses uses;
  return uses;
}

Status hold_reserve() {
  if (reserve.hold()) return ok_status();
  return Error{ErrorClass::kNoMem, "out of memory", ENOMEM};
}

}  // namespace mercutio
