// Preload of the tests and of `mercutio bench` for MPICH over UCX, which polls without ever yielding: on fewer cores than ranks
// every small collective then costs scheduler quanta. After 60 polls in a row that found nothing, sleep one microsecond a poll. Where
// the kernel has no timers for that (user-mode Linux), a sleep takes 10 ms: wait for a message of another node instead.
// Used for the host's own I/O and for ours alike; it changes nothing else.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kMostSets = 8, kCoarseNs = 1000000, kPolls = 60, kCoarsePolls = 4 };   // a poll takes longer there, too

unsigned ucp_worker_progress(void *worker);

// An interpreter loads the MPI, and UCX with it, out of sight of preloads: there is no next one then, but UCX is loaded.
static void *next(const char *name) {
  void *symbol = dlsym(RTLD_NEXT, name);
  if (symbol) return symbol;
  void *ucx = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
  return ucx ? dlsym(ucx, name) : (void *)0;
}

// UCX watches the sockets of its connections by sets of epoll.
static int find_sets(struct pollfd *sets) {
  int count = 0;
  DIR *all = opendir("/proc/self/fd");
  for (struct dirent *one; all && count < kMostSets && (one = readdir(all));) {
    char target[64];
    const ssize_t length = readlinkat(dirfd(all), one->d_name, target, sizeof target - 1);
    if (length <= 0) continue;
    target[length] = 0;
    if (!strcmp(target, "anon_inode:[eventpoll]")) sets[count++] = (struct pollfd){atoi(one->d_name), POLLIN, 0};
  }
  if (all) closedir(all);
  return count;
}

static void wait_for_message(unsigned idle) {
  static __thread struct pollfd sets[kMostSets];
  static __thread int count;
  if (idle % 64 == kCoarsePolls + 1) count = find_sets(sets);
  poll(sets, (nfds_t)count, 1);
}

unsigned ucp_worker_progress(void *worker) {
  static unsigned (*real)(void *);
  static struct timespec shortest;
  static __thread unsigned idle;
  const struct timespec pause = {0, 1000};
  if (!real) real = (unsigned (*)(void *))next("ucp_worker_progress");
  if (!shortest.tv_nsec) clock_getres(CLOCK_MONOTONIC, &shortest);
  const int coarse = shortest.tv_nsec > kCoarseNs;
  unsigned progressed = real(worker);
  if (progressed)
    idle = 0;
  else if (++idle > kCoarsePolls && coarse)
    wait_for_message(idle);
  else if (idle > kPolls)
    nanosleep(&pause, (struct timespec *)0);
  return progressed;
}
