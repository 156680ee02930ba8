/* without CALL... -- PROGRAM ARGUMENT...: runs the program in a sandbox where these system calls answer ENOSYS, as in
 * containers and on old kernels. 77: no sandbox can be made here. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SKIPPED 77
#define MAX_CALLS 16

static const struct {
  const char* name;
  unsigned number;
} kKnown[] = {
    {"io_uring_setup", SYS_io_uring_setup}, {"io_uring_enter", SYS_io_uring_enter}, {"preadv", SYS_preadv},
    {"pwritev", SYS_pwritev},               {"preadv2", SYS_preadv2},               {"pwritev2", SYS_pwritev2},
    {"fallocate", SYS_fallocate},
};

static int number_of(const char* name) {
  for (size_t i = 0; i < sizeof kKnown / sizeof *kKnown; ++i)
    if (strcmp(kKnown[i].name, name) == 0) return (int)kKnown[i].number;
  return -1;
}

static int forbid(const unsigned* calls, unsigned count) {
  struct sock_filter code[MAX_CALLS + 4];
  unsigned n = 0;
  code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (unsigned i = 0; i < count; ++i)
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], (unsigned char)(count - i), 0);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
  struct sock_fprog program = {(unsigned short)n, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

int main(int argc, char** argv) {
  unsigned calls[MAX_CALLS];
  unsigned count = 0;
  int i = 1;
  for (; i < argc && strcmp(argv[i], "--") != 0; ++i) {
    const int number = number_of(argv[i]);
    if (number < 0 || count == MAX_CALLS) {
      fprintf(stderr, "without: %s: no call that is known here\n", argv[i]);
      return 2;
    }
    calls[count++] = (unsigned)number;
  }
  if (count == 0 || i + 1 >= argc) {
    fprintf(stderr, "usage: without CALL... -- PROGRAM ARGUMENT...\n");
    return 2;
  }
  if (forbid(calls, count) != 0) {
    fprintf(stderr, "without: no sandbox here: %s\n", strerror(errno));
    return SKIPPED;
  }
  errno = 0;
  if (syscall(calls[0], -1, 0, 0, 0, 0, 0) != -1 || errno != ENOSYS) {
    fprintf(stderr, "without: the sandbox lets the call through\n");
    return 2;
  }
  execvp(argv[i + 1], argv + i + 1);
  fprintf(stderr, "without: %s: %s\n", argv[i + 1], strerror(errno));
  return 2;
}
