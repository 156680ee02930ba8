#include "faults/fiber.h"

#include <sys/mman.h>

#include <cstdlib>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace mercutio::programs {
namespace {

constexpr std::size_t kStackBytes = 2 << 20, kGuardBytes = 64 << 10;

Fiber* running = nullptr;

// Between the two the thread goes from one stack to another one.
void before_switch(void** fake, const void* bottom, std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(fake, bottom, bytes);
#else
  static_cast<void>(fake), static_cast<void>(bottom), static_cast<void>(bytes);
#endif
}
void after_switch(void* fake, const void** bottom, std::size_t* bytes) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, bottom, bytes);
#else
  static_cast<void>(fake), static_cast<void>(bottom), static_cast<void>(bytes);
#endif
}

}  // namespace

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)) {
  void* at = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED || mprotect(at, kGuardBytes, PROT_NONE) != 0) std::abort();
  stack_ = static_cast<std::byte*>(at);
  getcontext(&own_);
  own_.uc_stack.ss_sp = stack_ + kGuardBytes;
  own_.uc_stack.ss_size = kStackBytes - kGuardBytes;
  own_.uc_link = nullptr;
  makecontext(&own_, &Fiber::start, 0);
}

Fiber::~Fiber() { munmap(stack_, kStackBytes); }

void Fiber::start() { running->enter(); }

void Fiber::enter() {
  after_switch(nullptr, &back_bottom_, &back_bytes_);
  body_();
  ended_ = true;
  leave(true);
}

void Fiber::leave(bool for_good) {
  running = nullptr;
  before_switch(for_good ? nullptr : &own_fake_, back_bottom_, back_bytes_);
  swapcontext(&own_, &back_);
  after_switch(own_fake_, &back_bottom_, &back_bytes_);
}

bool Fiber::resume() {
  if (ended_) return true;
  running = this;
  before_switch(&back_fake_, own_.uc_stack.ss_sp, own_.uc_stack.ss_size);
  swapcontext(&back_, &own_);
  after_switch(back_fake_, nullptr, nullptr);
  return ended_;
}

void Fiber::give_way() { running->leave(false); }

}  // namespace mercutio::programs
