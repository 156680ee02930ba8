// The accesses of IOR: many calls, each of one block, from 8 bytes to 1 MiB. Contents are checked, in the file by another rank.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"

enum { kMostCalls = 8192, kMostCollectiveCalls = 2048 };

// segmented: a rank's blocks lie together. strided: one block of each rank in turn. random: the same places, in another order.
// own: each rank has a file of its own, segmented.
typedef enum { kSegmented, kStrided, kRandom, kOwn, kKindCount } Kind;
static const char* const kKindNames[] = {"segmented", "strided", "random", "own"};
static const i64 kBlocks[] = {8, 512, 4096, 65536, 1048576};
enum { kBlockCount = sizeof kBlocks / sizeof *kBlocks };

typedef struct {
  const Run* run;
  Kind kind;
  int view, collective;   // through a view, else by offsets in bytes; by the calls of the _all family
  i64 block, blocks;      // of a rank
  char* buffer;           // block i of this rank at i * block
  i64* order;             // call i moves this rank's block order[i]
  char path[kNameBytes];
} Ior;

static void decode(int index, Ior* ior) {
  ior->collective = index % 2;
  ior->view = index / 2 % 2;
  ior->block = kBlocks[index / 4 % kBlockCount];
  ior->kind = (Kind)(index / 4 / kBlockCount);
}

int ior_name(int index, char* to) {
  Ior ior;
  if (index >= 4 * kBlockCount * kKindCount) return 0;
  decode(index, &ior);
  const char* const unit = ior.block >= 1 << 20 ? "MiB" : ior.block >= 1 << 10 ? "KiB" : "";
  const i64 size = ior.block >= 1 << 20 ? ior.block >> 20 : ior.block >= 1 << 10 ? ior.block >> 10 : ior.block;
  snprintf(to, kNameBytes, "ior-%s-%lld%s%s%s", kKindNames[ior.kind], (long long)size, unit, ior.view ? "-view" : "", ior.collective ? "-all" : "");
  return 1;
}

static int interleaved(const Ior* ior) {
  return ior->kind == kStrided || ior->kind == kRandom;
}

static i64* make_order(const Ior* ior) {
  i64* order = (i64*)must_alloc(ior->blocks * (i64)sizeof(i64));
  for (i64 i = 0; i < ior->blocks; ++i) {
    const i64 at = ior->kind == kRandom ? (i64)(mix(ior->run->salt + (u64)i) % (u64)(i + 1)) : i;
    if (at < i) order[i] = order[at];
    order[at] = i;
  }
  return order;
}

// Where block `index` of `rank` lies in its file.
static i64 place_of(const Ior* ior, int rank, i64 index) {
  if (interleaved(ior)) return (index * ior->run->ranks + rank) * ior->block;
  return ((ior->kind == kOwn ? 0 : rank * ior->blocks) + index) * ior->block;
}

static void name_of(const Ior* ior, int rank, char* to) {
  file_name(ior->run, "ior", ior->kind == kOwn ? rank : 0, to);
}

static void set_view(const Ior* ior, MPI_File file) {
  MPI_Datatype block, filetype;
  MPI_Type_contiguous((int)ior->block, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, interleaved(ior) ? ior->run->ranks * ior->block : ior->block, &filetype);
  MPI_Type_commit(&block);
  MPI_Type_commit(&filetype);
  check_mpi(MPI_File_set_view(file, place_of(ior, ior->run->rank, 0), block, filetype, "native", ior->run->info), "set_view");
  MPI_Type_free(&block);
  MPI_Type_free(&filetype);
}

static int access_at(const Ior* ior, MPI_File file, MPI_Offset offset, char* at, int write) {
  const int bytes = (int)ior->block;
  if (ior->collective && write) return MPI_File_write_at_all(file, offset, at, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  if (ior->collective) return MPI_File_read_at_all(file, offset, at, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  if (write) return MPI_File_write_at(file, offset, at, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  return MPI_File_read_at(file, offset, at, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static int access_next(const Ior* ior, MPI_File file, char* at, int write) {
  const int bytes = (int)ior->block;
  if (ior->collective && write) return MPI_File_write_all(file, at, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  if (ior->collective) return MPI_File_read_all(file, at, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  if (write) return MPI_File_write(file, at, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
  return MPI_File_read(file, at, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static Times measure(const Ior* ior, int write) {
  const Run* run = ior->run;
  MPI_File file;
  double begin = MPI_Wtime();
  check_mpi(MPI_File_open(ior->kind == kOwn ? MPI_COMM_SELF : run->members, ior->path,
                          write ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY, run->info, &file), ior->path);
  const double opened = MPI_Wtime() - begin;
  MPI_Barrier(run->members);
  begin = MPI_Wtime();
  if (ior->view) set_view(ior, file);
  const double viewed = MPI_Wtime() - begin;
  for (i64 i = 0; i < ior->blocks; ++i) {
    const i64 index = ior->order[i];
    char* const at = ior->buffer + index * ior->block;
    const i64 offset = ior->view ? index : place_of(ior, run->rank, index);
    check_mpi(ior->view && ior->kind != kRandom ? access_next(ior, file, at, write) : access_at(ior, file, offset, at, write), "access");
  }
  const double accessed = MPI_Wtime() - begin;
  check_mpi(MPI_File_close(&file), "close");
  const double whole = slowest(run, MPI_Wtime() - begin);
  Times times = {slowest(run, opened), slowest(run, viewed), slowest(run, accessed), 0, 0, 0, 0};
  times.close = whole - times.access;
  times.seconds = write ? whole : times.access;
  return times;
}

static void remove_files(const Ior* ior) {
  MPI_Barrier(ior->run->members);
  if (ior->kind == kOwn || ior->run->rank == 0) unlink(ior->path);
  MPI_Barrier(ior->run->members);
}

// Moves this rank's blocks, or those of another, between memory and file by plain system calls.
static void move_plainly(const Ior* ior, int rank, char* memory, int write) {
  char path[kNameBytes];
  name_of(ior, rank, path);
  const int fd = open(path, write ? O_WRONLY | O_CREAT : O_RDONLY, 0644);
  if (fd < 0) fail("open", path);
  for (i64 i = 0; i < ior->blocks; ++i) {
    const i64 place = place_of(ior, rank, i);
    if (write)
      pwrite_all(fd, memory + i * ior->block, ior->block, place);
    else
      pread_all(fd, memory + i * ior->block, ior->block, place);
  }
  close(fd);
}

static void fill(const Ior* ior) {
  for (i64 i = 0; i < ior->blocks; ++i)
    fill_words(ior->buffer + i * ior->block, place_of(ior, ior->run->rank, i), ior->block, ior->run->salt);
}

static i64 wrong_in(const Ior* ior, int rank, const char* memory) {
  i64 wrong = 0;
  for (i64 i = 0; i < ior->blocks; ++i) wrong += wrong_words(memory + i * ior->block, place_of(ior, rank, i), ior->block, ior->run->salt);
  return sum(ior->run, wrong);
}

static i64 check_file_of_next(const Ior* ior) {
  const int next = (ior->run->rank + 1) % ior->run->ranks;
  char* memory = must_alloc(ior->blocks * ior->block);
  poison(memory, ior->blocks * ior->block);
  move_plainly(ior, next, memory, 0);
  const i64 wrong = wrong_in(ior, next, memory);
  free(memory);
  return wrong;
}

static i64 run_half(const Ior* ior, const char* name, int write) {
  const char* const operation = write ? "write" : "read";
  if (write)
    fill(ior);
  else
    poison(ior->buffer, ior->blocks * ior->block);
  if (ior->run->rank == 0) print_begin(name, operation);
  MPI_Barrier(ior->run->members);
  arm(ior->run);
  const Times times = measure(ior, write);
  disarm();
  limit_storage(0);
  const i64 wrong = write ? check_file_of_next(ior) : wrong_in(ior, ior->run->rank, ior->buffer);
  limit_storage(1);
  const Layout layout = {.accesses = (int)ior->blocks, .members = ior->run->ranks, .collective = ior->collective};
  const Totals total = {ior->run->ranks * ior->blocks * ior->block, ior->blocks, {wrong, 0}};
  if (ior->run->rank == 0) print_bandwidth(name, operation, &layout, &times, &total);
  return wrong;
}

int run_ior(int index, const Run* run, Halves halves) {
  Ior ior = {.run = run};
  char name[kNameBytes];
  i64 wrong = 0;
  decode(index, &ior);
  ior_name(index, name);
  name_of(&ior, run->rank, ior.path);
  const i64 most = ior.collective ? kMostCollectiveCalls : kMostCalls, wanted = run->options->bytes / ior.block;
  ior.blocks = wanted < 1 ? 1 : wanted > most ? most : wanted;
  ior.buffer = must_alloc(ior.blocks * ior.block);
  ior.order = make_order(&ior);
  remove_files(&ior);
  if (!halves.skip_write) wrong = run_half(&ior, name, 1);
  if (!halves.skip_read) {
    limit_storage(0);
    fill(&ior);
    if (halves.skip_write || wrong) move_plainly(&ior, run->rank, ior.buffer, 1);
    limit_storage(1);
    wrong += run_half(&ior, name, 0);
  }
  remove_files(&ior);
  free(ior.buffer);
  free(ior.order);
  return wrong != 0;
}
