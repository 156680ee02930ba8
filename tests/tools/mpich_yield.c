// Preload of the tests and of `mercutio bench` for MPICH over UCX, which polls without ever yielding: on fewer cores than ranks
// every small collective then costs scheduler quanta. After 60 polls in a row that found nothing, sleep one microsecond a poll.
// Used for the host's own I/O and for ours alike; it changes nothing else.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

unsigned ucp_worker_progress(void *worker);

// An interpreter loads the MPI, and UCX with it, out of sight of preloads: there is no next one then, but UCX is loaded.
static void *next(const char *name) {
  void *symbol = dlsym(RTLD_NEXT, name);
  if (symbol) return symbol;
  void *ucx = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
  return ucx ? dlsym(ucx, name) : (void *)0;
}

unsigned ucp_worker_progress(void *worker) {
  static unsigned (*real)(void *);
  static __thread unsigned idle;
  const struct timespec pause = {0, 1000};
  if (!real) real = (unsigned (*)(void *))next("ucp_worker_progress");
  unsigned progressed = real(worker);
  if (progressed)
    idle = 0;
  else if (++idle > 60)
    nanosleep(&pause, (struct timespec *)0);
  return progressed;
}
