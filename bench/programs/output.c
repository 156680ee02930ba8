// One JSON object a line, written at once: `mercutio bench` reads them also when a case is ended by its time limit.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "bench.h"

static double mebi(double bytes, double seconds) {
  return seconds > 0 ? bytes / seconds / (1 << 20) : 0;
}

void print_header(const Run* run) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  Dl_info where;
  void* symbol = dlsym(RTLD_DEFAULT, "MPI_File_open");
  memset(&where, 0, sizeof where);
  MPI_Get_library_version(version, &length);
  version[strcspn(version, "\n\r\"\\")] = 0;
  for (char* at = version; *at; ++at) *at = *at == '\t' ? ' ' : *at;
  if (!symbol || !dladdr(symbol, &where) || !where.dli_fname) where.dli_fname = "";
  printf("{\"mpi\": \"%s\", \"io\": \"%s\", \"ranks\": %d, \"bytes\": %lld}\n", version, where.dli_fname, run->ranks,
         (long long)run->options->bytes);
  fflush(stdout);
}

void print_begin(const char* name, const char* operation) {
  printf("{\"begin\": \"%s\", \"op\": \"%s\"}\n", name, operation);
  fflush(stdout);
}

void print_bandwidth(const char* name, const char* operation, const Layout* layout, const Times* times,
                     const Totals* total) {
  printf("{\"case\": \"%s\", \"op\": \"%s\", \"ranks\": %d, \"bytes\": %lld, \"pieces\": %lld, \"accesses\": %d, ",
         name, operation, layout->members, (long long)total->bytes, (long long)total->pieces, layout->accesses);
  printf("\"open\": %.6f, \"view\": %.6f, \"access\": %.6f, \"close\": %.6f, \"first\": %.6f, \"later\": %.6f, ",
         times->open, times->view, times->access, times->close, times->first, times->later);
  printf("\"seconds\": %.6f, \"mib_s\": %.2f, \"wrong\": %lld, \"holes\": %lld}\n", times->seconds,
         mebi((double)total->bytes, times->seconds), (long long)total->check.wrong, (long long)total->check.holes);
  fflush(stdout);
}

void print_limit(i64 bytes, const double limit[2]) {
  printf("{\"limit\": %lld, \"write\": %.6f, \"read\": %.6f, \"write_mib_s\": %.2f, \"read_mib_s\": %.2f}\n",
         (long long)bytes, limit[0], limit[1], mebi((double)bytes, limit[0]), mebi((double)bytes, limit[1]));
  fflush(stdout);
}

void print_latency(const char* name, i64 calls, double seconds, i64 errors) {
  printf("{\"case\": \"%s\", \"op\": \"latency\", \"calls\": %lld, \"seconds\": %.6f, \"us\": %.3f, \"wrong\": %lld}\n",
         name, (long long)calls, seconds, seconds / (double)calls * 1e6, (long long)errors);
  fflush(stdout);
}

void print_moved(const char* name, const Moved* moved) {
  printf("{\"case\": \"%s\", \"op\": \"moved\", \"bytes\": %lld, \"moved\": %lld, \"members\": %d, \"mode\": \"%s\", \"wrong\": %lld}\n",
         name, (long long)moved->asked, (long long)moved->moved, moved->ranks, moved->mode, (long long)moved->wrong);
  fflush(stdout);
}

static void on_alarm(int signal_number) {
  static const char text[] = "{\"timeout\": true}\n";
  (void)signal_number;
  if (write(1, text, sizeof text - 1) < 0) _exit(4);
  _exit(3);
}

static void set_clock(double seconds) {
  struct itimerval clock = {{0, 0}, {(time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6)}};
  setitimer(ITIMER_REAL, &clock, NULL);
}

// Rank 0 goes first, so that "timeout" comes behind the "begin" it printed: launchers keep the order of one rank's lines.
void arm(const Run* run) {
  const double limit = run->options->limit_seconds, grace = run->rank == 0 ? 0 : 5;
  if (limit <= 0) return;
  signal(SIGALRM, on_alarm);
  set_clock(limit + grace);
}

void disarm(void) {
  set_clock(0);
}
