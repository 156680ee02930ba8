// Preload of the tests for Open MPI with more threads than cores, where each that waits calls sched_yield without end. Linux
// 6.18 was seen to keep the others from running for many seconds then. Sleep a microsecond instead. Used for the host's own
// I/O and for ours alike; it changes nothing else.
#include <time.h>

int sched_yield(void);

int sched_yield(void) {
  const struct timespec pause = {0, 1000};
  nanosleep(&pause, (struct timespec *)0);
  return 0;
}
