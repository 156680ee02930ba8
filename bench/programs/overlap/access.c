// One access, timed and checked. Contents are a hash of the place in the file, as everywhere in the bench; with a
// shared pointer the ranks' blocks may come in any order, each once.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "overlap.h"

// All ranks have the same view where they share a pointer: there, blocks of several ranks can't interleave.
int has_pattern(const Call* call, Pattern pattern) {
  return pattern == kContiguous || call->place == kPointer || call->place == kOffset;
}

const char* pattern_name(Pattern pattern) {
  return pattern == kContiguous ? "contiguous" : "interleaved";
}

// Piece `index` of a rank's share: the whole of it, or a block of 4 KiB.
static i64 pieces(const Setup* setup) {
  return setup->pattern == kContiguous ? 1 : setup->access.count / kBlock;
}

static i64 piece_offset(const Setup* setup, int rank, i64 index) {
  if (setup->pattern == kContiguous) return (i64)rank * setup->access.count;
  return (index * setup->run->ranks + rank) * kBlock;
}

static void fill_share(const Setup* setup, char* to, int rank) {
  i64 bytes = setup->access.count / pieces(setup);
  for (i64 i = 0; i < pieces(setup); ++i) fill_words(to + i * bytes, piece_offset(setup, rank, i), bytes, setup->salt);
}

static i64 check_share(const Setup* setup, const char* from, int rank) {
  i64 bytes = setup->access.count / pieces(setup), wrong = 0;
  for (i64 i = 0; i < pieces(setup); ++i) {
    wrong += wrong_words(from + i * bytes, piece_offset(setup, rank, i), bytes, setup->salt);
  }
  return wrong;
}

// Whose share `from` begins with; -1: nobody's.
static int owner_of(const Setup* setup, const char* from) {
  for (int rank = 0; rank < setup->run->ranks; ++rank) {
    if (wrong_words(from, piece_offset(setup, rank, 0), kWord, setup->salt) == 0) return rank;
  }
  return -1;
}

// The share in `from` as one that any rank's may be: counts words that are wrong, and owners that were seen twice.
static i64 check_any_share(const Setup* setup, const char* from) {
  const Run* run = setup->run;
  int owner = owner_of(setup, from), *owners = (int*)must_alloc((i64)sizeof(int) * run->ranks);
  i64 wrong = owner < 0 ? setup->access.count / kWord : check_share(setup, from, owner);
  MPI_Allgather(&owner, 1, MPI_INT, owners, 1, MPI_INT, run->members);
  for (int rank = 0; rank < run->rank; ++rank) wrong += owners[rank] == owner;
  free(owners);
  return wrong;
}

static i64 check_buffer(const Setup* setup, const char* from, int rank) {
  return setup->call->place == kSharedPointer ? check_any_share(setup, from) : check_share(setup, from, rank);
}

// Another rank's share, with plain reads.
static i64 check_written(const Setup* setup) {
  const Run* run = setup->run;
  int rank = (run->rank + 1) % run->ranks, fd = open(setup->path, O_RDONLY);
  i64 bytes = setup->access.count / pieces(setup), wrong = 0;
  char* share = must_alloc(setup->access.count);
  if (fd < 0) fail("open", setup->path);
  limit_storage(0);
  for (i64 i = 0; i < pieces(setup); ++i) pread_all(fd, share + i * bytes, bytes, piece_offset(setup, rank, i));
  limit_storage(1);
  wrong += lseek(fd, 0, SEEK_END) != setup->file_bytes;
  wrong += check_buffer(setup, share, rank);
  close(fd);
  free(share);
  return wrong;
}

static void write_plainly(const Setup* setup) {
  int fd = open(setup->path, O_RDWR | O_CREAT, 0644);
  i64 bytes = setup->access.count / pieces(setup);
  if (fd < 0) fail("open", setup->path);
  fill_share(setup, setup->access.buffer, setup->run->rank);
  limit_storage(0);
  for (i64 i = 0; i < pieces(setup); ++i) {
    pwrite_all(fd, setup->access.buffer + i * bytes, bytes, piece_offset(setup, setup->run->rank, i));
  }
  limit_storage(1);
  close(fd);
}

static void set_view(const Setup* setup) {
  MPI_Datatype block, spread;
  const Run* run = setup->run;
  if (setup->pattern == kContiguous) {
    MPI_Offset start = setup->call->place == kPointer ? (MPI_Offset)run->rank * setup->access.count : 0;
    check_mpi(MPI_File_set_view(setup->access.file, start, MPI_BYTE, MPI_BYTE, "native", run->info), "set_view");
    return;
  }
  MPI_Type_contiguous(kBlock, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, (MPI_Aint)kBlock * run->ranks, &spread);
  MPI_Type_commit(&spread);
  MPI_Offset start = (MPI_Offset)run->rank * kBlock;
  check_mpi(MPI_File_set_view(setup->access.file, start, MPI_BYTE, spread, "native", run->info), "set_view");
  MPI_Type_free(&block);
  MPI_Type_free(&spread);
}

void set_up(Setup* setup, const Run* run, const Call* call, Pattern pattern) {
  memset(setup, 0, sizeof *setup);
  setup->run = run, setup->call = call, setup->pattern = pattern;
  setup->access.count = (int)run->options->bytes;
  setup->access.buffer = must_alloc(setup->access.count);
  setup->access.request = MPI_REQUEST_NULL;
  setup->file_bytes = run->options->bytes * run->ranks;
  setup->salt = mix(run->salt + (u64)(call - kCalls) * 2 + pattern);
  if (call->place == kOffset && pattern == kContiguous) setup->access.offset = run->rank * run->options->bytes;
  snprintf(setup->path, kNameBytes, "%s/mercutio-overlap-%s-%s", run->options->dir, call->name, pattern_name(pattern));
  if (!call->write) write_plainly(setup);
  MPI_Barrier(run->members);
  int mode = call->write ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY;
  check_mpi(MPI_File_open(run->members, setup->path, mode, run->info, &setup->access.file), setup->path);
  set_view(setup);
}

void take_down(Setup* setup) {
  check_mpi(MPI_File_close(&setup->access.file), "close");
  free(setup->access.buffer);
  if (setup->run->rank == 0) unlink(setup->path);
  MPI_Barrier(setup->run->members);
}

// New contents to write, or a buffer in which what is not read shows; all pointers at the beginning; all ranks here.
static void prepare(Setup* setup) {
  Access* a = &setup->access;
  if (setup->call->write) {
    setup->salt = mix(setup->salt);
    fill_share(setup, a->buffer, setup->run->rank);
  } else {
    poison(a->buffer, a->count);
  }
  if (setup->call->place == kPointer) check_mpi(MPI_File_seek(a->file, 0, MPI_SEEK_SET), "seek");
  if (setup->call->place == kSharedPointer || setup->call->place == kOrdered) {
    check_mpi(MPI_File_seek_shared(a->file, 0, MPI_SEEK_SET), "seek_shared");
  }
  MPI_Barrier(setup->run->members);
  arm(setup->run);
}

static i64 check(Setup* setup) {
  int moved = 0;
  disarm();
  MPI_Get_count(&setup->access.status, MPI_BYTE, &moved);
  i64 wrong = moved != setup->access.count;
  if (setup->call->write) {
    check_mpi(MPI_File_sync(setup->access.file), "sync");
    MPI_Barrier(setup->run->members);
    wrong += check_written(setup);
  } else {
    wrong += check_buffer(setup, setup->access.buffer, setup->run->rank);
  }
  return sum(setup->run, wrong);
}

Timing blocking(Setup* setup) {
  Timing timing = {0, 0, 0, 0};
  prepare(setup);
  double begin = MPI_Wtime();
  check_mpi(setup->call->blocking(&setup->access), setup->call->name);
  timing.total = slowest(setup->run, MPI_Wtime() - begin);
  timing.wrong = check(setup);
  return timing;
}

Timing nonblocking(Setup* setup, Between between) {
  Timing timing;
  Access* a = &setup->access;
  prepare(setup);
  double begin = MPI_Wtime();
  check_mpi(setup->call->post(a), setup->call->name);
  double posted = MPI_Wtime();
  compute(between.work, between.testing ? a : NULL);
  double computed = MPI_Wtime();
  check_mpi(setup->call->complete(a), setup->call->name);
  double completed = MPI_Wtime();
  timing.total = slowest(setup->run, completed - begin);
  timing.post = slowest(setup->run, posted - begin);
  timing.complete = slowest(setup->run, completed - computed);
  timing.wrong = check(setup);
  return timing;
}
