// A piece of work with a stack of its own, in the thread of whoever goes on with it: what waits in the middle of a call
// gives way to the others.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>

namespace mercutio::programs {

class Fiber {
 public:
  explicit Fiber(std::function<void()> body);
  ~Fiber();  // what lives on the stack of one that has not ended is lost
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  bool resume();           // until it gives way or ends: whether it has ended
  static void give_way();  // by the one that runs

 private:
  static void start();
  void enter();
  void leave(bool for_good);

  std::function<void()> body_;
  ucontext_t own_{}, back_{};
  std::byte* stack_ = nullptr;
  bool ended_ = false;
  // What a sanitizer keeps of the two stacks.
  void *own_fake_ = nullptr, *back_fake_ = nullptr;
  const void* back_bottom_ = nullptr;
  std::size_t back_bytes_ = 0;
};

}  // namespace mercutio::programs
