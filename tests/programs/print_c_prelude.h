// What a printed C program begins with.
#pragma once

namespace mercutio::programs {

inline constexpr const char* kPrelude = R"C(#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ANYTHING 0xFFFFFFFFu /* a byte that is not determined */
typedef struct { int n; long extent; const long (*at)[2]; } Map;          /* the typemap of a memory type: place, bytes */
typedef struct { long bytes; unsigned key, source; } Want;                /* a run of bytes that must be there */
typedef struct { const Map *map; long count; unsigned char *raw, *origin; long size; const Want *wants; int n; long least, most; int step, write; unsigned key; } Access;
static int rank, ranks, wrong;
static long read_before;
static MPI_Comm halves, parity;

/* Byte k of what is written under a key; never 0. */
static unsigned char pattern(unsigned key, unsigned k) {
  unsigned x = key * 2654435761u + k * 0x9E3779B1u;
  if (key == 0) return 0;
  x ^= x >> 15, x *= 0x85EBCA77u, x ^= x >> 13;
  return (unsigned char)(1 + (x >> 8) % 255);
}
static void pause_us(long us) {
  struct timespec t = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&t, NULL);
}
static void ok(int step, int code) {
  char text[MPI_MAX_ERROR_STRING];
  int n;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &n);
  printf("WRONG step %d rank %d: %s\n", step, rank, text), wrong = 1;
}
static unsigned char guard(long i) { return (unsigned char)(0xC0 + i % 61); }
static void *make(Access *a) {
  long low = 0, high = 0, k = 0;
  for (long c = 0; c < a->count; c++)
    for (int i = 0; i < a->map->n; i++) {
      long at = c * a->map->extent + a->map->at[i][0];
      if (at < low) low = at;
      if (at + a->map->at[i][1] > high) high = at + a->map->at[i][1];
    }
  low = low / 16 * 16 - 16;
  a->size = high - low + 16, a->raw = malloc((size_t)a->size), a->origin = a->raw - low;
  for (long i = 0; i < a->size; i++) a->raw[i] = guard(i);
  for (long c = 0; c < a->count && a->write; c++)
    for (int i = 0; i < a->map->n; i++)
      for (long j = 0; j < a->map->at[i][1]; j++) a->origin[c * a->map->extent + a->map->at[i][0] + j] = pattern(a->key, (unsigned)k++);
  return a->origin;
}
static void check(Access *a, MPI_Status *status) {
  int moved, run = 0;
  long k = 0, in_run = 0, bad = 0, first = -1;
  unsigned char *data = calloc(1, (size_t)a->size);
  MPI_Get_elements(status, MPI_BYTE, &moved);
  if (moved < a->least || moved > a->most) printf("WRONG step %d rank %d: status of %d bytes, not %ld to %ld\n", a->step, rank, moved, a->least, a->most), wrong = 1;
  for (long c = 0; c < a->count; c++)
    for (int i = 0; i < a->map->n; i++)
      for (long j = 0; j < a->map->at[i][1]; j++, k++) {
        unsigned char *p = a->origin + c * a->map->extent + a->map->at[i][0] + j;
        unsigned key = a->key, source = (unsigned)k;
        data[p - a->raw] = 1;
        if (!a->write) {
          while (in_run == a->wants[run].bytes) run++, in_run = 0;
          key = a->wants[run].key, source = a->wants[run].source + (unsigned)in_run++;
        }
        if (key != ANYTHING && *p != pattern(key, source) && bad++ == 0) first = k;
      }
  for (long i = 0; i < a->size; i++)
    if (!data[i] && a->raw[i] != guard(i)) printf("WRONG step %d rank %d: memory outside of the type was changed\n", a->step, rank), wrong = 1, i = a->size;
  if (bad) printf("WRONG step %d rank %d: %ld bytes, the first is byte %ld of the access\n", a->step, rank, bad, first), wrong = 1;
  free(a->raw), free(data);
}
static void verify(const char *name, long least, long most, const Want *wants, int n) {
  FILE *f = fopen(name, "rb");
  long size = 0, at = 0, bad = 0, first = -1;
  if (f) fseek(f, 0, SEEK_END), size = ftell(f), rewind(f);
  if (size < least || size > most) printf("WRONG: %s has %ld bytes, not %ld to %ld\n", name, size, least, most), wrong = 1;
  for (int i = 0; i < n && f; i++)
    for (long j = 0; j < wants[i].bytes && at < size; j++, at++)
      if (fgetc(f) != pattern(wants[i].key, wants[i].source + (unsigned)j) && wants[i].key != ANYTHING && bad++ == 0) first = at;
  if (bad) printf("WRONG: %ld bytes of %s, the first is byte %ld\n", bad, name, first), wrong = 1;
  if (f) fclose(f);
}
static void same(int step, const char *what, long long found, long long least, long long most) {
  if (found < least || found > most) printf("WRONG step %d rank %d: %s %lld, not %lld to %lld\n", step, rank, what, found, least, most), wrong = 1;
}
static void initial(const char *name, long bytes, unsigned key) {
  FILE *f;
  unlink(name);
  if (bytes < 0) return;
  f = fopen(name, "wb");
  for (long i = 0; i < bytes; i++) fputc(pattern(key, (unsigned)i), f);
  fclose(f);
}
static void meter(long asked) {
  char text[512] = {0};
  long now = 0;
  double mine, all;
  FILE *f = fopen("/proc/self/io", "r");
  if (f && fread(text, 1, sizeof text - 1, f) > 0) sscanf(text, "rchar: %ld", &now);
  if (f) fclose(f);
  MPI_Barrier(MPI_COMM_WORLD);
  mine = (double)(now - read_before), read_before = now;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (asked > 0 && all > 1.1 * (double)asked + 192 * 1024 && rank == 0) printf("WRONG: %.0f bytes read for %ld asked for\n", all, asked), wrong = 1;
}
enum { WAIT_EACH, TEST_EACH, WAIT_ALL, TEST_ALL, WAIT_ANY, TEST_ANY, WAIT_SOME, TEST_SOME, STATUS_FIRST };
static void complete(int step, int kind, int n, MPI_Request *q, Access **a) {
  MPI_Status s[256];
  int left = n, flag, which, count, list[256];
  while (left > 0) {
    int i = 0, code = MPI_SUCCESS;
    while (i < n && q[i] == MPI_REQUEST_NULL) i++;
    if (i == n) return;
    flag = kind != STATUS_FIRST, which = i, count = 0;
    while (!flag && code == MPI_SUCCESS) code = MPI_Request_get_status(q[i], &flag, s);
    if (kind == WAIT_EACH || kind == STATUS_FIRST) code = MPI_Wait(&q[i], s);
    if (kind == TEST_EACH) code = MPI_Test(&q[i], &flag, s);
    if (kind == WAIT_ANY) code = MPI_Waitany(n, q, &which, s);
    if (kind == TEST_ANY) code = MPI_Testany(n, q, &which, &flag, s);
    if (kind == WAIT_ALL) code = MPI_Waitall(n, q, s);
    if (kind == TEST_ALL) code = MPI_Testall(n, q, &flag, s);
    if (kind == WAIT_SOME) code = MPI_Waitsome(n, q, &count, list, s);
    if (kind == TEST_SOME) code = MPI_Testsome(n, q, &count, list, s);
    ok(step, code);
    if (code != MPI_SUCCESS) return;
    if (kind == WAIT_ALL || kind == TEST_ALL) {
      for (i = 0; i < n && flag; i++) check(a[i], &s[i]);
      left = flag ? 0 : left;
    } else if (kind == WAIT_SOME || kind == TEST_SOME) {
      for (i = 0; i < count; i++) check(a[list[i]], &s[i]), left--;
    } else if (flag && which != MPI_UNDEFINED) {
      check(a[which], s), left--;
    }
  }
}
)C";

}  // namespace mercutio::programs
