// Named checks for plain MPI programs. A case is a function that every rank of ck_comm runs; CHECK collects failures
// on each rank, and the end of the case adds them up over the ranks. Rank 0 prints one line a case:
//   run NAME / ok NAME / FAILED NAME n
// Options of every program: --dir D (where files go), --only NAME, --after NAME (continue behind a case that died).
// MERCUTIO_TEST_SKIP: shell patterns of cases to leave out; MERCUTIO_TEST_ONLY: of those to run.
// A case that hangs is killed by the alarm (MERCUTIO_TEST_ALARM seconds, default 50).
#ifndef MERCUTIO_TESTS_CHECK_H
#define MERCUTIO_TESTS_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CK_UNUSED __attribute__((unused))
#define CK_NAME_BYTES 512
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)   // which calls itself MPI 3.1
#define CK_HAS_SESSIONS 1
#else
#define CK_HAS_SESSIONS 0
#endif

#define CK_INITIALISED (-2)   // ck_init_level: the program has called MPI_Init or has sessions

static MPI_Comm ck_comm CK_UNUSED = MPI_COMM_WORLD;   // a program of sessions has its own
static int ck_rank CK_UNUSED, ck_size CK_UNUSED;
static int ck_failures;        // of this case, on this rank
static int ck_failed_cases;
static int ck_alarm_seconds = 50;
static int ck_waiting_for_after;
static const char *ck_case = "", *ck_dir = ".", *ck_program = "", *ck_only, *ck_after;

static void ck_say(const char *line, int length) {
  if (write(2, line, (size_t)length) < 0) _exit(125);
}

// From where this thread was interrupted to main(): each library with the offset in it, for addr2line.
static void ck_say_calls(void) {
  void *calls[40];
  backtrace_symbols_fd(calls, backtrace(calls, 40), 2);
}

// Where the threads of this process wait: the kernel's function and the system call with its arguments. Said by a child, as only that
// may open directories while a signal is handled.
static void ck_say_threads(void) {
  char path[64], line[CK_NAME_BYTES], where[64], call[160];
  const int process = (int)getpid();
  const pid_t child = fork();
  if (child > 0) waitpid(child, NULL, 0);
  if (child != 0) return;
  alarm(5);
  snprintf(path, sizeof path, "/proc/%d/task", process);
  DIR *threads = opendir(path);
  for (struct dirent *thread; threads && (thread = readdir(threads));) {
    char *texts[] = {where, call};
    const char *names[] = {"wchan", "syscall"};
    if (thread->d_name[0] == '.') continue;
    for (int i = 0; i < 2; i++) {
      snprintf(path, sizeof path, "/proc/%d/task/%.20s/%s", process, thread->d_name, names[i]);
      const int file = open(path, O_RDONLY);
      const ssize_t bytes = file < 0 ? 0 : read(file, texts[i], i ? sizeof call - 1 : sizeof where - 1);
      texts[i][bytes < 0 ? 0 : bytes] = 0;
      texts[i][strcspn(texts[i], "\n")] = 0;
      close(file);
    }
    ck_say(line, snprintf(line, sizeof line, "HANG %.200s on rank %d: thread %.20s in %s, system call %s\n", ck_case, ck_rank, thread->d_name, where, call));
  }
  _exit(0);
}

CK_UNUSED static void ck_on_alarm(int signal_number) {
  char line[256];
  (void)signal_number;
  ck_say(line, snprintf(line, sizeof line, "HANG %.200s on rank %d\n", ck_case, ck_rank));
  ck_say_calls();
  ck_say_threads();
  _exit(124);
}

CK_UNUSED static int ck_report(int good, const char *file, int line, const char *what) {
  if (!good) {
    if (ck_failures++ < 5) {
      fprintf(stderr, "%s:%d: %s, rank %d of %d: %s\n", file, line, ck_case, ck_rank, ck_size, what);
      fflush(stderr);
    }
  }
  return good;
}

CK_UNUSED static int ck_report_ints(long long got, long long want, const char *file, int line, const char *what) {
  char text[512];
  if (got == want) return 1;
  snprintf(text, sizeof text, "%s: got %lld, want %lld", what, got, want);
  return ck_report(0, file, line, text);
}

CK_UNUSED static int ck_class(int code) {
  int class = MPI_ERR_UNKNOWN;
  if (code == MPI_SUCCESS) return MPI_SUCCESS;
  MPI_Error_class(code, &class);
  return class;
}

CK_UNUSED static int ck_report_class(int code, int want, const char *file, int line, const char *what) {
  char text[512 + MPI_MAX_ERROR_STRING], message[MPI_MAX_ERROR_STRING] = "success";
  int length = 0;
  if (ck_class(code) == want) return 1;
  if (code != MPI_SUCCESS) MPI_Error_string(code, message, &length);
  snprintf(text, sizeof text, "%.200s: class %d, want %d (%s)", what, ck_class(code), want, message);
  return ck_report(0, file, line, text);
}

#define CHECK(condition) ck_report(!!(condition), __FILE__, __LINE__, #condition)
#define CHECK_INT(got, want) ck_report_ints((long long)(got), (long long)(want), __FILE__, __LINE__, #got)
#define CHECK_OK(call) ck_report_class((call), MPI_SUCCESS, __FILE__, __LINE__, #call)
#define CHECK_CLASS(call, class) ck_report_class((call), (class), __FILE__, __LINE__, #call)
#define CHECK_ERROR(call) ck_report((call) != MPI_SUCCESS, __FILE__, __LINE__, #call " must fail")
#define CHECK_COUNT(status, type, want) ck_report_ints(ck_count(&(status), (type)), (want), __FILE__, __LINE__, "count")
#define CHECK_BYTES(path, offset, want, bytes) ck_report_bytes((path), (offset), (want), (bytes), __FILE__, __LINE__)
#define CHECK_SAME(code) ck_report_same((code), __FILE__, __LINE__)

CK_UNUSED static long long ck_count(const MPI_Status *status, MPI_Datatype type) {
  int count = -77;
  if (MPI_Get_count(status, type, &count) != MPI_SUCCESS) return -78;
  return count;
}

// The same error class on every rank.
CK_UNUSED static int ck_report_same(int code, const char *file, int line) {
  int class = ck_class(code), low = 0, high = 0;
  MPI_Allreduce(&class, &low, 1, MPI_INT, MPI_MIN, ck_comm);
  MPI_Allreduce(&class, &high, 1, MPI_INT, MPI_MAX, ck_comm);
  return ck_report_ints(low, high, file, line, "error classes of the ranks");
}

CK_UNUSED static void ck_init_level(int *argc, char ***argv, int wanted, int *provided) {
  const char *seconds = getenv("MERCUTIO_TEST_ALARM");
  if (seconds) ck_alarm_seconds = atoi(seconds);
  signal(SIGALRM, ck_on_alarm);
  alarm((unsigned)ck_alarm_seconds);
  if (wanted == -1)
    MPI_Init(argc, argv);
  else if (wanted != CK_INITIALISED)
    MPI_Init_thread(argc, argv, wanted, provided);
  MPI_Comm_rank(ck_comm, &ck_rank);
  MPI_Comm_size(ck_comm, &ck_size);
  const char *slash = strrchr((*argv)[0], '/');
  ck_program = slash ? slash + 1 : (*argv)[0];
  for (int i = 1; i + 1 < *argc; i += 2) {
    if (!strcmp((*argv)[i], "--dir")) ck_dir = (*argv)[i + 1];
    if (!strcmp((*argv)[i], "--only")) ck_only = (*argv)[i + 1];
    if (!strcmp((*argv)[i], "--after")) ck_after = (*argv)[i + 1];
  }
  ck_waiting_for_after = ck_after != NULL;
}
CK_UNUSED static void ck_init(int *argc, char ***argv) { ck_init_level(argc, argv, -1, NULL); }

// Whether one of the patterns in an environment variable fits; `unset` where there is none.
CK_UNUSED static int ck_fits(const char *variable, const char *name, int unset) {
  char patterns[4096], *rest = patterns;
  const char *given = getenv(variable);
  if (!given) return unset;
  snprintf(patterns, sizeof patterns, "%s", given);
  for (char *pattern; (pattern = strsep(&rest, " ")) != NULL;)
    if (fnmatch(pattern, name, 0) == 0) return 1;
  return 0;
}

CK_UNUSED static int ck_skipped(const char *name) {
  return ck_fits("MERCUTIO_TEST_SKIP", name, 0) || !ck_fits("MERCUTIO_TEST_ONLY", name, 1);
}

CK_UNUSED static int ck_begin(const char *name) {
  if (ck_waiting_for_after) {
    if (!strcmp(name, ck_after)) ck_waiting_for_after = 0;
    return 0;
  }
  if ((ck_only && strcmp(name, ck_only)) || ck_skipped(name)) return 0;
  ck_case = name;
  ck_failures = 0;
  if (ck_rank == 0) {
    printf("run %s\n", name);
    fflush(stdout);
  }
  alarm((unsigned)ck_alarm_seconds);
  return 1;
}

CK_UNUSED static void ck_end(void) {
  int sum = 0;
  MPI_Allreduce(&ck_failures, &sum, 1, MPI_INT, MPI_SUM, ck_comm);
  if (sum) ck_failed_cases++;
  if (ck_rank == 0) {
    if (sum)
      printf("FAILED %s %d\n", ck_case, sum);
    else
      printf("ok %s\n", ck_case);
    fflush(stdout);
  }
}

#define RUN(function) \
  do { \
    if (ck_begin(#function)) { \
      function(); \
      ck_end(); \
    } \
  } while (0)

// The same body for every value of an argument: the case is named function.name.
#define RUN_FOR(function, name, argument) \
  do { \
    static char ck_full_name_[256]; \
    snprintf(ck_full_name_, sizeof ck_full_name_, #function ".%s", (name)); \
    if (ck_begin(ck_full_name_)) { \
      function(argument); \
      ck_end(); \
    } \
  } while (0)

CK_UNUSED static int ck_done(void) {
  alarm((unsigned)ck_alarm_seconds);
  if (ck_rank == 0) {
    printf("done %s\n", ck_program);
    fflush(stdout);
  }
  return ck_failed_cases != 0;
}

CK_UNUSED static int ck_finish(void) {
  int failed = ck_done();
  MPI_Finalize();
  return failed;
}

// A file name of this case. Valid until the next call but three.
CK_UNUSED static const char *ck_path(const char *tag) {
  static char names[4][CK_NAME_BYTES];
  static int next;
  char *name = names[next++ % 4];
  snprintf(name, CK_NAME_BYTES, "%s/%s_%s_%s", ck_dir, ck_program, ck_case, tag);
  return name;
}

// Where the file is for POSIX: run.py puts a prefix before all names (--remote, --driver).
CK_UNUSED static const char *ck_on_disk(const char *name) {
  const char *prefix = getenv("MERCUTIO_TEST_PREFIX");
  const size_t length = prefix ? strlen(prefix) : 0;
  return length && !strncmp(name, prefix, length) ? name + length : name;
}

// Whether what lies on the disk is not what the file holds (run.py --opaque): then the files are looked at by MPI, too.
CK_UNUSED static int ck_opaque(void) { return getenv("MERCUTIO_TEST_OPAQUE") != NULL; }

CK_UNUSED static void ck_remove(const char *name) {
  if (ck_opaque())
    MPI_File_delete((char *)name, MPI_INFO_NULL);
  else
    unlink(ck_on_disk(name));
}

// The bytes of the file from `offset` on, at most `bytes` of them; -1: it can't be opened.
CK_UNUSED static long long ck_read_alone(const char *name, long long offset, void *buffer, size_t bytes) {
  MPI_File fh;
  MPI_Status status;
  if (MPI_File_open(MPI_COMM_SELF, (char *)name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh) != MPI_SUCCESS) return -1;
  MPI_File_read_at(fh, offset, buffer, (int)bytes, MPI_BYTE, &status);
  MPI_File_close(&fh);
  return ck_count(&status, MPI_BYTE);
}

CK_UNUSED static long long ck_disk_size(const char *name) {
  struct stat s;
  MPI_File fh;
  MPI_Offset bytes = -1;
  if (!ck_opaque()) return stat(ck_on_disk(name), &s) == 0 ? (long long)s.st_size : -1;
  if (MPI_File_open(MPI_COMM_SELF, (char *)name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh) != MPI_SUCCESS) return -1;
  MPI_File_get_size(fh, &bytes);
  MPI_File_close(&fh);
  return bytes;
}

// The file as a stream of the C library, to be closed; NULL: there is none.
CK_UNUSED static FILE *ck_look(const char *name) {
  if (!ck_opaque()) return fopen(ck_on_disk(name), "rb");
  const long long bytes = ck_disk_size(name);
  char *content = bytes > 0 ? malloc((size_t)bytes) : NULL;
  FILE *f = content && ck_read_alone(name, 0, content, (size_t)bytes) == bytes ? tmpfile() : NULL;
  if (f) fwrite(content, 1, (size_t)bytes, f);
  if (f) rewind(f);
  free(content);
  return f;
}

// The name again, sure that no file is there.
CK_UNUSED static const char *ck_fresh(const char *tag) {
  const char *name = ck_path(tag);
  MPI_Barrier(ck_comm);
  if (ck_rank == 0) ck_remove(name);
  MPI_Barrier(ck_comm);
  return name;
}

// The name again, with a file of `bytes` bytes f(i), written by rank 0 through POSIX.
CK_UNUSED static unsigned char ck_byte_at(long long i) { return (unsigned char)(i * 7 + (i >> 8) * 13 + 3); }

CK_UNUSED static int ck_write_alone(const char *name, long long bytes) {
  MPI_File fh;
  unsigned char *content = malloc((size_t)bytes + 1);
  for (long long i = 0; i < bytes; i++) content[i] = ck_byte_at(i);
  int code = MPI_File_open(MPI_COMM_SELF, (char *)name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &fh);
  if (code == MPI_SUCCESS) code = MPI_File_write_at(fh, 0, content, (int)bytes, MPI_BYTE, MPI_STATUS_IGNORE) | MPI_File_close(&fh);
  free(content);
  return code;
}

CK_UNUSED static const char *ck_filled(const char *tag, long long bytes) {
  const char *name = ck_fresh(tag);
  if (ck_rank == 0 && ck_opaque()) {
    CHECK_OK(ck_write_alone(name, bytes));
  } else if (ck_rank == 0) {
    FILE *f = fopen(ck_on_disk(name), "wb");
    for (long long i = 0; f && i < bytes; i++) fputc(ck_byte_at(i), f);
    if (!CHECK(f != NULL && fclose(f) == 0)) return name;
  }
  MPI_Barrier(ck_comm);
  return name;
}

CK_UNUSED static MPI_File ck_open(const char *name, int amode) {
  MPI_File fh = MPI_FILE_NULL;
  if (!CHECK_OK(MPI_File_open(ck_comm, (char *)name, amode, MPI_INFO_NULL, &fh))) {
    fprintf(stderr, "cannot open %s: the rest of the program would not make sense\n", name);
    MPI_Abort(ck_comm, 1);
  }
  return fh;
}

CK_UNUSED static MPI_File ck_create(const char *tag) {
  return ck_open(ck_fresh(tag), MPI_MODE_CREATE | MPI_MODE_RDWR);
}

CK_UNUSED static int ck_report_bytes(const char *name, long long offset, const void *want, size_t bytes, const char *file,
                                     int line) {
  unsigned char *got = malloc(bytes + 1);
  int fd = ck_opaque() ? -1 : open(ck_on_disk(name), O_RDONLY);
  long long n = ck_opaque() ? ck_read_alone(name, offset, got, bytes) : fd < 0 ? -1 : (long long)pread(fd, got, bytes, (off_t)offset);
  int good = n == (long long)bytes && memcmp(got, want, bytes) == 0;
  if (!good) {
    char text[200];
    long long i = 0;
    while (i < n && got[i] == ((const unsigned char *)want)[i]) i++;
    snprintf(text, sizeof text, "bytes on disk at %lld: %lld of %zu read, first difference at +%lld: %02x, want %02x", offset,
             n, bytes, i, i < n ? got[i] : 0, i < (long long)bytes ? ((const unsigned char *)want)[i] : 0);
    ck_report(0, file, line, text);
  }
  if (fd >= 0) close(fd);
  free(got);
  return good;
}

CK_UNUSED static int ck_is_mercutio(void) { return dlsym(RTLD_DEFAULT, "mercutio_version") != NULL; }

#endif
