// What a call costs when the data is tiny: each figure is the mean of many calls, slowest rank. The contents are
// checked too.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { kCalls = 200, kOpens = 40 };

enum { kWriteAtAll, kReadAtAll, kIwriteAtAll, kIreadAtAll, kSetView, kOpenClose, kWriteShared, kWriteOrdered };

const char* const kLatencies[] = {[kWriteAtAll] = "latency-write_at_all",
                                  [kReadAtAll] = "latency-read_at_all",
                                  [kIwriteAtAll] = "latency-iwrite_at_all",
                                  [kIreadAtAll] = "latency-iread_at_all",
                                  [kSetView] = "latency-set_view",
                                  [kOpenClose] = "latency-open-close",
                                  [kWriteShared] = "latency-write_shared",
                                  [kWriteOrdered] = "latency-write_ordered",
                                  [kWriteOrdered + 1] = NULL};

typedef struct {
  const Run* run;
  MPI_File file;
  char path[kNameBytes];
  u64 words[kCalls];  // what this rank wrote in each call
} Latency;

// The nonblocking ones are waited for at once.
static void small_collectives(Latency* l, int which) {
  MPI_Status status;
  MPI_Request request = MPI_REQUEST_NULL;
  for (int i = 0; i < kCalls; ++i) {
    MPI_Offset offset = ((MPI_Offset)i * l->run->ranks + l->run->rank) * kWord;
    u64* word = &l->words[i];
    int code = which == kWriteAtAll    ? MPI_File_write_at_all(l->file, offset, word, 1, MPI_UINT64_T, &status)
               : which == kReadAtAll   ? MPI_File_read_at_all(l->file, offset, word, 1, MPI_UINT64_T, &status)
               : which == kIwriteAtAll ? MPI_File_iwrite_at_all(l->file, offset, word, 1, MPI_UINT64_T, &request)
                                       : MPI_File_iread_at_all(l->file, offset, word, 1, MPI_UINT64_T, &request);
    check_mpi(code, "small collective access");
    check_mpi(MPI_Wait(&request, &status), "wait for a small collective access");
  }
}

static int reads(int which) {
  return which == kReadAtAll || which == kIreadAtAll;
}

static void set_views(Latency* l) {
  MPI_Datatype vector, resized;
  MPI_Aint extent = (MPI_Aint)l->run->ranks * 1024;
  MPI_Type_contiguous(128, MPI_DOUBLE, &vector);
  MPI_Type_create_resized(vector, 0, extent, &resized);
  MPI_Type_commit(&resized);
  for (int i = 0; i < kCalls; ++i) {
    MPI_Offset disp = (MPI_Offset)i * extent + l->run->rank * 1024;
    check_mpi(MPI_File_set_view(l->file, disp, MPI_DOUBLE, resized, "native", l->run->info), "set_view");
  }
  MPI_Type_free(&vector);
  MPI_Type_free(&resized);
}

static void appends(Latency* l, int ordered) {
  MPI_Status status;
  for (int i = 0; i < kCalls; ++i) {
    int code = ordered ? MPI_File_write_ordered(l->file, &l->words[i], 1, MPI_UINT64_T, &status)
                       : MPI_File_write_shared(l->file, &l->words[i], 1, MPI_UINT64_T, &status);
    check_mpi(code, "shared-pointer write");
  }
}

static u64 record(int call, int rank) {
  return ((u64)rank << 32 | (u64)call) + 1;
}

// Reads the file plainly: record (call, rank) stands at call * ranks + rank, or anywhere but exactly once if
// `anywhere`.
static i64 wrong_records(const Latency* l, int anywhere) {
  i64 count = (i64)kCalls * l->run->ranks, wrong = 0;
  u64* found = (u64*)must_alloc(count * kWord);
  char* seen = must_alloc(count);
  memset(found, 0, (size_t)count * kWord);
  memset(seen, 0, (size_t)count);
  FILE* file = fopen(l->path, "rb");
  if (!file || (i64)fread(found, kWord, (size_t)count, file) != count) wrong = 1;
  if (file) fclose(file);
  for (i64 i = 0; i < count; ++i) {
    u64 call = (found[i] - 1) & 0xffffffffu, rank = (found[i] - 1) >> 32;
    i64 place = (i64)call * l->run->ranks + (i64)rank;
    if (call >= kCalls || rank >= (u64)l->run->ranks || seen[place]++ || (!anywhere && place != i)) ++wrong;
  }
  free(found);
  free(seen);
  return wrong;
}

static void open_again(Latency* l, int mode) {
  l->file = open_file(l->run, l->path, mode);
}

static double opens(Latency* l) {
  double begin = MPI_Wtime();
  for (int i = 0; i < kOpens; ++i) {
    open_again(l, MPI_MODE_CREATE | MPI_MODE_RDWR);
    check_mpi(MPI_File_close(&l->file), "close");
  }
  return MPI_Wtime() - begin;
}

static i64 wrong_words_read(const Latency* l) {
  i64 wrong = 0;
  for (int i = 0; i < kCalls; ++i) wrong += l->words[i] != record(i, l->run->rank);
  return wrong;
}

static double timed_calls(Latency* l, int which) {
  MPI_Barrier(l->run->members);
  double begin = MPI_Wtime();
  if (which <= kIreadAtAll) small_collectives(l, which);
  if (which == kSetView) set_views(l);
  if (which >= kWriteShared) appends(l, which == kWriteOrdered);
  return MPI_Wtime() - begin;
}

int run_latency(const char* name, const Run* run) {
  Latency* l = (Latency*)must_alloc((i64)sizeof(Latency));
  int which = 0;
  i64 wrong = 0;
  while (strcmp(kLatencies[which], name) != 0) ++which;
  memset(l, 0, sizeof *l);
  l->run = run;
  file_name(run, name, 0, l->path);
  if (run->rank == 0) unlink(l->path), print_begin(name, "latency");
  for (int i = 0; i < kCalls; ++i) l->words[i] = record(i, run->rank);
  MPI_Barrier(run->members);
  arm(run);
  double seconds;
  if (which == kOpenClose) {
    seconds = opens(l);
  } else {
    open_again(l, MPI_MODE_CREATE | MPI_MODE_RDWR);
    if (reads(which)) small_collectives(l, kWriteAtAll), memset(l->words, 0, sizeof l->words);
    seconds = timed_calls(l, which);
    check_mpi(MPI_File_close(&l->file), "close");
  }
  disarm();
  MPI_Barrier(run->members);
  if (reads(which)) wrong = wrong_words_read(l);
  const int writes = which == kWriteAtAll || which == kIwriteAtAll || which >= kWriteShared;
  if (run->rank == 0 && writes) wrong = wrong_records(l, which == kWriteShared);
  i64 all_wrong;
  double worst;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT64_T, MPI_SUM, run->members);
  MPI_Allreduce(&seconds, &worst, 1, MPI_DOUBLE, MPI_MAX, run->members);
  if (run->rank == 0) print_latency(name, which == kOpenClose ? kOpens : kCalls, worst, all_wrong), unlink(l->path);
  MPI_Barrier(run->members);
  free(l);
  return all_wrong != 0;
}
