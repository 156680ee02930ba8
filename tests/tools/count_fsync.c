// Test-only preload that counts calls of fsync, fdatasync and syncfs in this process, for programs that want to
// know whether MPI_File_sync reaches the disk. A program finds the counter by dlsym("test_fsync_calls"). Syncs submitted
// through io_uring are not seen here.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

static int calls;

int test_fsync_calls(void);
int test_fsync_calls(void) { return __atomic_load_n(&calls, __ATOMIC_SEQ_CST); }

static int count_and_call(const char *name, int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  return real(fd);
}

int fsync(int fd) { return count_and_call("fsync", fd); }
int fdatasync(int fd) { return count_and_call("fdatasync", fd); }
int syncfs(int fd) { return count_and_call("syncfs", fd); }
