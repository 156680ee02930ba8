// Preload for user-mode Linux. It keeps of a process's extended state (SSE, AVX) as much as the kernel it was made for knew. A
// newer processor has more, and the host's kernel refuses to set a part only: PTRACE_SETREGSET fails, and user-mode Linux panics.
// Here such a request reads the whole state, puts the given bytes over its beginning, and sets all of it.
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kExtendedState = 0x202, kStateBytes = 1 << 16 };   // NT_X86_XSTATE; no processor has as much

static long set_extended_state(long process, const struct iovec *given) {
  static _Alignas(64) char state[kStateBytes];
  struct iovec whole = {state, sizeof state};
  if (syscall(SYS_ptrace, PTRACE_GETREGSET, process, kExtendedState, &whole) < 0) return -1;
  size_t bytes = given->iov_len < whole.iov_len ? given->iov_len : whole.iov_len;
  memcpy(state, given->iov_base, bytes);
  return syscall(SYS_ptrace, PTRACE_SETREGSET, process, kExtendedState, &whole);
}

// The system call stores the word that a peek is for; the C library's function returns it.
static long peek(long request, long process, void *address) {
  long word = 0;
  if (syscall(SYS_ptrace, request, process, address, &word) < 0) return -1;
  errno = 0;
  return word;
}

long ptrace(enum __ptrace_request request, ...) {
  va_list words;
  va_start(words, request);
  long process = va_arg(words, pid_t);
  void *address = va_arg(words, void *);
  void *data = va_arg(words, void *);
  va_end(words);
  if (request == PTRACE_PEEKTEXT || request == PTRACE_PEEKDATA || request == PTRACE_PEEKUSER) return peek(request, process, address);
  if (request == PTRACE_SETREGSET && (long)address == kExtendedState) return set_extended_state(process, data);
  return syscall(SYS_ptrace, request, process, address, data);
}
