// A process of its own for what ends a process or can't be undone: it runs this program again, as a job of one rank, with
// --child NAME. The launcher's variables are taken away, so that it doesn't meet the job it comes from.
#ifndef MERCUTIO_TESTS_CHILD_H
#define MERCUTIO_TESTS_CHILD_H

#include "check.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;

static int ck_of_launcher(const char *variable) {
  static const char *const prefixes[] = {"PMI", "PMIX", "MPI_", "MPIR_", "HYDI", "HYDRA", "OMPI_", "PRTE", "ORTE"};
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
    if (!strncmp(variable, prefixes[i], strlen(prefixes[i])) && strncmp(variable, "OMPI_ALLOW", 10)) return 1;
  return 0;
}

// The exit code of the child, 128 + the signal that ended it, or -1. What it printed on stderr goes to `text`.
CK_UNUSED static int ck_run_child(const char *name, char *text, size_t bytes) {
  int pipe_ends[2], status = -1;
  size_t used = 0;
  fflush(NULL);
  if (pipe(pipe_ends) != 0) return -1;
  pid_t pid = fork();
  if (pid == 0) {
    char seconds[20], *kept[1024];
    int n = 0;
    snprintf(seconds, sizeof seconds, "%d", ck_alarm_seconds / 2 + 1);
    setenv("MERCUTIO_TEST_ALARM", seconds, 1);
    for (char **v = environ; *v && n < 1023; v++)
      if (!ck_of_launcher(*v)) kept[n++] = *v;
    kept[n] = NULL;
    if (text) dup2(pipe_ends[1], 2);
    dup2(pipe_ends[1], 1);
    for (int fd = 3; fd < 1024; fd++) close(fd);
    const char *emulator = getenv("MERCUTIO_TEST_EMULATOR");   // which has to be named: the kernel can't run this program
    char path[CK_NAME_BYTES] = "", command[4 * CK_NAME_BYTES];
    if (emulator && *emulator && readlink("/proc/self/exe", path, sizeof path - 1) > 0) {
      snprintf(command, sizeof command, "exec %s '%s' --dir '%s' --child %s", emulator, path, ck_dir, name);
      execle("/bin/sh", "sh", "-c", command, (char *)NULL, kept);
    }
    execle("/proc/self/exe", ck_program, "--dir", ck_dir, "--child", name, (char *)NULL, kept);
    _exit(127);
  }
  close(pipe_ends[1]);
  char piece[512];
  for (ssize_t got; (got = read(pipe_ends[0], piece, sizeof piece)) > 0;)
    for (ssize_t i = 0; text && i < got && used + 1 < bytes; i++) text[used++] = piece[i];
  if (text && bytes) text[used] = 0;
  close(pipe_ends[0]);
  if (pid < 0 || waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

CK_UNUSED static const char *ck_child_name(int argc, char **argv) {
  for (int i = 1; i + 1 < argc; i += 2)
    if (!strcmp(argv[i], "--child")) return argv[i + 1];
  return NULL;
}

// From now on every write at an offset fails with this errno; a later call overrides an earlier one. 0: not possible here.
CK_UNUSED static int ck_fail_writes(int number) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwritev, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwritev2, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)number)};
  struct sock_fprog program = {sizeof code / sizeof *code, code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 0;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0;
}

#endif
