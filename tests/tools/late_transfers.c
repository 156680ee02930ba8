// Preload of the tests: now and then a transfer of a regular file comes late, by 0.3 or 2.5 ms, so that storage blocks and transfers end in
// another order than they began.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static __thread uint64_t state;

static void delay(int file) {
  struct stat what;
  if (fstat(file, &what) != 0 || !S_ISREG(what.st_mode)) return;
  if (state == 0) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    state = ((uint64_t)now.tv_nsec ^ (uint64_t)(uintptr_t)&state ^ (uint64_t)getpid()) | 1;
  }
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  const unsigned die = (unsigned)(state >> 40) % 64;
  const struct timespec time = {0, die == 0 ? 2500000 : die < 3 ? 300000 : 0};
  if (time.tv_nsec > 0) nanosleep(&time, NULL);
}

#define IN_FRONT_OF(name, First, Second)                                      \
  ssize_t name(int file, First first, Second second, off64_t offset) {        \
    static ssize_t (*real)(int, First, Second, off64_t);                      \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name);                     \
    delay(file);                                                              \
    return real(file, first, second, offset);                                 \
  }
IN_FRONT_OF(pread, void *, size_t)
IN_FRONT_OF(pread64, void *, size_t)
IN_FRONT_OF(pwrite, const void *, size_t)
IN_FRONT_OF(pwrite64, const void *, size_t)
IN_FRONT_OF(preadv, const struct iovec *, int)
IN_FRONT_OF(preadv64, const struct iovec *, int)
IN_FRONT_OF(pwritev, const struct iovec *, int)
IN_FRONT_OF(pwritev64, const struct iovec *, int)
