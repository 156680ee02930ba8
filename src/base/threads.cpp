#include "base/threads.h"

#include <pthread.h>
#include <signal.h>

#include <cerrno>

#include "base/attempt.h"
#include "base/reserve.h"

namespace mercutio {

Result<std::thread> start_thread(std::function<void()> work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Result<std::thread> started = attempt([&]() -> Result<std::thread> {
    return std::thread([work = std::move(work)] {
      const UsesReserve uses;
      (void)attempt([&] {
        work();
        return ok_status();
      });
    });
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started && started.error().sys_errno == EAGAIN) {
    return Error{ErrorClass::kOther, "no thread can be started: raise 'ulimit -u' or the batch system's limit", EAGAIN};
  }
  return started;
}

}  // namespace mercutio
