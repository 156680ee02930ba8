// Preload of the tests for Open MPI with more threads than cores, where each that waits calls sched_yield without end. Linux
// 6.18 was seen to keep the others from running for many seconds then. Sleep a microsecond instead, unless the kernel has no timers
// for that (user-mode Linux), where it would be 10 ms. Used for the host's own I/O and for ours alike; it changes nothing else.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int sched_yield(void);

int sched_yield(void) {
  const struct timespec pause = {0, 1000};
  static struct timespec shortest;
  if ((shortest.tv_nsec || clock_getres(CLOCK_MONOTONIC, &shortest) == 0) && shortest.tv_nsec > 1000000) return (int)syscall(SYS_sched_yield);
  nanosleep(&pause, (struct timespec *)0);
  return 0;
}
