#include "remote/threads.h"

#include <pthread.h>
#include <signal.h>

namespace mercutio::remote {

std::thread start_thread(std::function<void()> work) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(work));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace mercutio::remote
