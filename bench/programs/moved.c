// How much storage reads for what is asked for. The kernel counts what system calls have read (rchar in /proc/self/io), whatever
// the MPI library says; what a library maps instead of reading it isn't seen. Blocks are whole pages at places of whole pages, so
// that no storage has a reason to read more. Contents are checked.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

enum { kShareBytes = 1 << 20, kLeastBlocks = 4 };

// In a sequential case each call reads one block, and a rank's next one follows at once (independent) or behind those of the other
// ranks (collective). In a strided one each call reads several blocks, between which lie those of the other ranks and one of nobody.
typedef struct {
  const char* name;
  int view, strided, collective;
} Kind;

static const Kind kKinds[] = {{"sequential-independent", 0, 0, 0}, {"sequential-collective", 0, 0, 1},
                              {"view-independent", 1, 0, 0},       {"view-collective", 1, 0, 1},
                              {"strided-independent", 1, 1, 0},    {"strided-collective", 1, 1, 1}};
static const i64 kBlocks[] = {4096, 16384, 65536, 131072, 262144, 1048576};
enum { kKindCount = sizeof kKinds / sizeof *kKinds, kBlockCount = sizeof kBlocks / sizeof *kBlocks };

int moved_name(int index, char* to) {
  if (index >= kKindCount * kBlockCount) return 0;
  const i64 block = kBlocks[index % kBlockCount];
  snprintf(to, kNameBytes, "moved-%s-%lld%s", kKinds[index / kBlockCount].name,
           (long long)(block >= 1 << 20 ? block >> 20 : block >> 10), block >= 1 << 20 ? "MiB" : "KiB");
  return 1;
}

typedef struct {
  const Run* run;  // of the ranks that read
  const Kind* kind;
  i64 block, blocks;  // of a rank
  int mode;
  char path[kNameBytes];
} Reading;

static i64 share_of(const Run* run, i64 block) {
  const i64 share = run->options->bytes < kShareBytes ? run->options->bytes : kShareBytes;
  return share < kLeastBlocks * block ? kLeastBlocks * block : share / block * block;
}

// Where block `index` of this rank lies in the file.
static i64 place_of(const Reading* r, i64 index) {
  const i64 parts = r->kind->strided ? r->run->ranks + 1 : r->run->ranks;
  if (r->kind->strided || r->kind->collective) return (index * parts + r->run->rank) * r->block;
  return (r->run->rank * r->blocks + index) * r->block;
}

static i64 read_so_far(void) {
  long long bytes = -1;
  FILE* file = fopen("/proc/self/io", "r");
  if (!file || fscanf(file, "rchar: %lld", &bytes) != 1) fail("/proc/self/io", "this kernel doesn't count what processes read");
  fclose(file);
  return bytes;
}

static void set_view(const Reading* r, MPI_File file) {
  const i64 stride = place_of(r, 1) - place_of(r, 0);
  MPI_Datatype blocks, filetype;
  MPI_Type_contiguous((int)r->block, MPI_BYTE, &blocks);
  MPI_Type_create_resized(blocks, 0, stride, &filetype);
  MPI_Type_commit(&filetype);
  check_mpi(MPI_File_set_view(file, place_of(r, 0), MPI_BYTE, filetype, "native", r->run->info), "set_view");
  MPI_Type_free(&blocks);
  MPI_Type_free(&filetype);
}

static void read_once(const Reading* r, MPI_File file, i64 index, char* to) {
  const int bytes = (int)(r->kind->strided ? r->blocks / 2 * r->block : r->block);
  MPI_Status status;
  int code;
  if (r->kind->view && r->kind->collective)
    code = MPI_File_read_all(file, to, bytes, MPI_BYTE, &status);
  else if (r->kind->view)
    code = MPI_File_read(file, to, bytes, MPI_BYTE, &status);
  else if (r->kind->collective)
    code = MPI_File_read_at_all(file, place_of(r, index), to, bytes, MPI_BYTE, &status);
  else
    code = MPI_File_read_at(file, place_of(r, index), to, bytes, MPI_BYTE, &status);
  check_mpi(code, "read");
}

// The bytes that this rank's process read meanwhile; `wrong` counts words.
static i64 measure(const Reading* r, i64* wrong) {
  const i64 step = r->kind->strided ? r->blocks / 2 : 1;
  char* buffer = must_alloc(r->blocks * r->block);
  poison(buffer, r->blocks * r->block);
  MPI_File file = open_file(r->run, r->path, r->mode);
  if (r->kind->view) set_view(r, file);
  arm(r->run);
  const i64 before = read_so_far();
  for (i64 i = 0; i < r->blocks; i += step) read_once(r, file, i, buffer + i * r->block);
  const i64 moved = read_so_far() - before;
  disarm();
  check_mpi(MPI_File_close(&file), "close");
  for (i64 i = 0; i < r->blocks; ++i) *wrong += wrong_words(buffer + i * r->block, place_of(r, i), r->block, r->run->salt);
  free(buffer);
  return moved;
}

static void make_file(const Run* run, const char* path, i64 bytes) {
  char* data = must_alloc(bytes);
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (fd < 0) fail("open", path);
  fill_words(data, 0, bytes, run->salt);
  pwrite_all(fd, data, bytes, 0);
  close(fd);
  free(data);
}

// With 1, 2, 4, ... of the ranks, for reading only and for both: what moved most for what was asked for.
int run_moved(int index, const Run* run) {
  static const struct { int amode; const char* name; } kModes[] = {{MPI_MODE_RDONLY, "rdonly"}, {MPI_MODE_RDWR, "rdwr"}};
  char name[kNameBytes];
  Moved worst = {0, 0, 0, 0, ""};
  moved_name(index, name);
  if (run->rank == 0) print_begin(name, "moved");
  for (int members = 1; members <= run->ranks; members *= 2) {
    Run part = *run;
    MPI_Comm_split(run->members, run->rank < members ? 0 : MPI_UNDEFINED, run->rank, &part.members);
    part.ranks = members;
    for (int m = 0; m < 2; ++m) {
      Reading reading = {&part, &kKinds[index / kBlockCount], kBlocks[index % kBlockCount], 0, kModes[m].amode, ""};
      i64 wrong = 0, moved = 0;
      reading.blocks = share_of(run, reading.block) / reading.block / 2 * 2;
      file_name(run, name, 0, reading.path);
      if (run->rank == 0) make_file(run, reading.path, (members + 1) * reading.blocks * reading.block);
      MPI_Barrier(run->members);
      if (part.members != MPI_COMM_NULL) moved = measure(&reading, &wrong);
      Moved here = {members * reading.blocks * reading.block, sum(run, moved), sum(run, wrong), members, kModes[m].name};
      here.wrong += worst.wrong;
      if (worst.asked == 0 || (double)here.moved / (double)here.asked > (double)worst.moved / (double)worst.asked) worst = here;
      worst.wrong = here.wrong;
    }
    if (part.members != MPI_COMM_NULL) MPI_Comm_free(&part.members);
  }
  if (run->rank == 0) {
    char path[kNameBytes];
    file_name(run, name, 0, path);
    unlink(path);
    print_moved(name, &worst);
  }
  return worst.wrong != 0;
}
