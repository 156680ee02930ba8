// Runs one case: writes into a new file, checks every byte with plain reads by another rank, reads it back through the
// same layout and checks memory. Times run from a barrier to the slowest rank. The limit is the same ranks writing and
// reading one contiguous share each of one file, with one pwrite or pread.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

void file_name(const Run* run, const char* what, int index, char* to) {
  snprintf(to, kNameBytes, "%s/mercutio-bench-%s.%d", run->options->dir, what, index);
}

MPI_File open_file(const Run* run, const char* path, int mode) {
  MPI_File file;
  check_mpi(MPI_File_open(run->members, path, mode, run->info, &file), path);
  return file;
}

static Layout make_layout(const Case* self, const Run* run, int rank, int types) {
  Layout layout;
  i64 bytes = run->options->bytes / (run->options->full ? 1 : self->divisor);
  Shape shape = {rank, run->ranks, (bytes + 7) / 8 * 8, types};
  memset(&layout, 0, sizeof layout);
  layout.etype = MPI_DOUBLE;
  layout.filetype = layout.memtype = MPI_DATATYPE_NULL;
  layout.accesses = layout.collective = 1;
  layout.position = kView;
  layout.members = run->ranks;
  self->build(self, &shape, &layout);
  return layout;
}

static int files_of(const Layout* layout) {
  return layout->position == kFiles || layout->position == kElements ? layout->accesses : 1;
}

typedef struct {
  const Layout* layout;
  MPI_File file;
  char* buffer;
  int access, write;
} Action;

static int transfer_at(const Action* a, MPI_Offset offset, MPI_Status* status) {
  MPI_Datatype type = a->layout->memtype;
  if (a->layout->collective && a->write) return MPI_File_write_at_all(a->file, offset, a->buffer, 1, type, status);
  if (a->layout->collective) return MPI_File_read_at_all(a->file, offset, a->buffer, 1, type, status);
  if (a->write) return MPI_File_write_at(a->file, offset, a->buffer, 1, type, status);
  return MPI_File_read_at(a->file, offset, a->buffer, 1, type, status);
}

static int transfer_next(const Action* a, MPI_Status* status) {
  MPI_Datatype type = a->layout->memtype;
  if (a->layout->collective && a->write) return MPI_File_write_all(a->file, a->buffer, 1, type, status);
  if (a->layout->collective) return MPI_File_read_all(a->file, a->buffer, 1, type, status);
  if (a->write) return MPI_File_write(a->file, a->buffer, 1, type, status);
  return MPI_File_read(a->file, a->buffer, 1, type, status);
}

static void transfer_elements(const Action* a) {
  const Side *memory = &a->layout->memory, *file = &a->layout->file;
  MPI_Status status;
  i64 m = 0;
  Piece from = {0, 0};
  for (i64 i = 0; i < file->pieces; ++i) {
    Piece to = side_piece(file, i);
    for (i64 at = 0; at < to.bytes; at += kWord, from.offset += kWord, from.bytes -= kWord) {
      if (from.bytes == 0) from = side_piece(memory, m++);
      int code = a->write ? MPI_File_write_at(a->file, to.offset + at, a->buffer + from.offset, 1, MPI_DOUBLE, &status)
                          : MPI_File_read_at(a->file, to.offset + at, a->buffer + from.offset, 1, MPI_DOUBLE, &status);
      check_mpi(code, "access of an element");
    }
  }
}

// One access; returns the seconds its set_view took.
static double transfer(const Action* a, MPI_Info info) {
  const Layout* layout = a->layout;
  double begin = MPI_Wtime(), view = 0;
  MPI_Status status;
  MPI_Count got = 0;
  if (layout->position == kElements) return transfer_elements(a), 0;
  if (layout->position == kPlain) {
    check_mpi(transfer_at(a, layout->file.nests[0].base, &status), "access");
  } else {
    if (layout->position != kView || a->access == 0) {
      MPI_Offset disp = a->access * layout->file_stride;
      check_mpi(MPI_File_set_view(a->file, disp, layout->etype, layout->filetype, "native", info), "set_view");
      view = MPI_Wtime() - begin;
    }
    check_mpi(transfer_next(a, &status), "access");
  }
  MPI_Get_elements_x(&status, MPI_BYTE, &got);
  if (got != layout->bytes) fail("access", "the status says that bytes are missing");
  return view;
}

static Times measure(const Case* self, const Run* run, const Layout* layout, char* buffer, int write) {
  MPI_File files[4];
  char path[kNameBytes];
  double view = 0, first = 0, begin = MPI_Wtime(), opened, accessed, closed;
  int count = files_of(layout), mode = write ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
  for (int i = 0; i < count; ++i) {
    file_name(run, self->name, i, path);
    files[i] = open_file(run, path, mode);
  }
  opened = MPI_Wtime() - begin;
  MPI_Barrier(run->members);
  begin = MPI_Wtime();
  for (int access = 0; access < layout->accesses; ++access) {
    Action action = {layout, files[count > 1 ? access : 0], buffer + access * layout->memory_stride, access, write};
    view += transfer(&action, run->info);
    if (access == 0) first = MPI_Wtime() - begin;
  }
  accessed = MPI_Wtime() - begin;
  for (int i = 0; i < count; ++i) check_mpi(MPI_File_close(&files[i]), "close");
  closed = MPI_Wtime() - begin;
  Times times = {slowest(run, opened), slowest(run, view), slowest(run, accessed), 0, 0, slowest(run, first), 0};
  double whole = slowest(run, closed);
  times.close = whole - times.access;
  times.seconds = write ? whole : times.access;
  times.later = layout->accesses > 1 ? (times.access - times.first) / (layout->accesses - 1) : 0;
  return times;
}

static void remove_files(const Case* self, const Run* run, const Layout* layout) {
  char path[kNameBytes];
  MPI_Barrier(run->members);
  for (int i = 0; run->rank == 0 && i < files_of(layout); ++i) {
    file_name(run, self->name, i, path);
    unlink(path);
  }
  MPI_Barrier(run->members);
}

// The file as a finished write would leave it (and with something in the gaps), without the library's help.
static void make_files(const Case* self, const Run* run, const Layout* layout) {
  enum { kChunk = 4 << 20 };
  char path[kNameBytes], *chunk = must_alloc(kChunk);
  i64 share = (layout->file_bytes / run->ranks + kChunk) / kChunk * kChunk;
  i64 begin = share * run->rank, end = begin + share < layout->file_bytes ? begin + share : layout->file_bytes;
  for (int i = 0; i < files_of(layout); ++i) {
    file_name(run, self->name, i, path);
    int fd = open(path, O_WRONLY | O_CREAT, 0644);
    if (fd < 0) fail("open", path);
    for (i64 at = begin; at < end; at += kChunk) {
      i64 bytes = end - at < kChunk ? end - at : kChunk;
      fill_words(chunk, at, bytes, file_salt(layout, i, run->salt));
      pwrite_all(fd, chunk, bytes, at);
    }
    close(fd);
  }
  free(chunk);
}

static Check check_files(const Case* self, const Run* run, const Layout* layout) {
  Layout other = make_layout(self, run, (run->rank + 1) % run->ranks, 0);
  char path[kNameBytes];
  Check all = {0, 0};
  MPI_Barrier(run->members);
  for (int access = 0; access < layout->accesses; ++access) {
    file_name(run, self->name, files_of(layout) > 1 ? access : 0, path);
    Check one = check_file(&other, path, access, run->salt);
    all.wrong += one.wrong, all.holes += one.holes;
  }
  free_layout(&other);
  return (Check){sum(run, all.wrong), sum(run, all.holes)};
}

// What all ranks moved, and what is wrong with it.
static Totals totals(const Run* run, const Layout* layout, Check check) {
  return (Totals){sum(run, layout->bytes * layout->accesses), layout->file.pieces * layout->accesses, check};
}

// Returns 0 if all bytes were right. Without the writing half, reading gets a file made plainly.
int run_case(const Case* self, const Run* run, Halves halves) {
  if (run->members == MPI_COMM_NULL) return 0;
  Layout layout = make_layout(self, run, run->rank, 1);
  char* buffer = must_alloc(layout.memory_bytes);
  Check check = {0, 0};
  i64 bad = 0;
  int root = run->rank == 0;
  remove_files(self, run, &layout);
  if (!halves.skip_write) {
    fill_memory(&layout, buffer, run->salt);
    if (root) print_begin(self->name, "write");
    MPI_Barrier(run->members);
    arm(run);
    Times times = measure(self, run, &layout, buffer, 1);
    disarm();
    limit_storage(0);
    check = check_files(self, run, &layout);
    limit_storage(1);
    bad = check.wrong;
    Totals total = totals(run, &layout, check);
    if (root) print_bandwidth(self->name, "write", &layout, &times, &total);
  }
  if (halves.skip_read) {
    remove_files(self, run, &layout);
    free(buffer);
    free_layout(&layout);
    return bad != 0;
  }
  limit_storage(0);
  if (halves.skip_write || bad) make_files(self, run, &layout);
  limit_storage(1);
  poison(buffer, layout.memory_bytes);
  if (root) print_begin(self->name, "read");
  MPI_Barrier(run->members);
  arm(run);
  Times times = measure(self, run, &layout, buffer, 0);
  disarm();
  check = (Check){sum(run, check_memory(&layout, buffer, run->salt)), 0};
  Totals total = totals(run, &layout, check);
  if (root) print_bandwidth(self->name, "read", &layout, &times, &total);
  remove_files(self, run, &layout);
  free(buffer);
  free_layout(&layout);
  return bad + check.wrong != 0;
}

typedef struct {
  char* data;
  i64 bytes;
} Buffer;

// Seconds to write (or read) `bytes` of each rank.
static double plain_seconds(const Run* run, const char* path, Buffer buffer, int write) {
  if (write && run->rank == 0) unlink(path);
  MPI_Barrier(run->members);
  int fd = open(path, write ? O_WRONLY | O_CREAT : O_RDONLY, 0644);
  if (fd < 0) fail("open", path);
  MPI_Barrier(run->members);
  double begin = MPI_Wtime();
  if (write)
    pwrite_all(fd, buffer.data, buffer.bytes, run->rank * buffer.bytes);
  else
    pread_all(fd, buffer.data, buffer.bytes, run->rank * buffer.bytes);
  if (write) close(fd);
  double seconds = slowest(run, MPI_Wtime() - begin);
  if (!write) close(fd);
  return seconds;
}

static double median(double* values, int count) {
  for (int i = 1; i < count; ++i) {
    for (int k = i; k > 0 && values[k] < values[k - 1]; --k) {
      double kept = values[k];
      values[k] = values[k - 1];
      values[k - 1] = kept;
    }
  }
  return values[count / 2];
}

// limit[0] writing, limit[1] reading: medians of a few measurements, each with a new file.
void measure_limit(const Run* run, i64 bytes, double limit[2]) {
  char path[kNameBytes];
  Buffer buffer = {must_alloc(bytes), bytes};
  double writes[kLimitSamples], reads[kLimitSamples];
  file_name(run, "limit", 0, path);
  fill_words(buffer.data, run->rank * bytes, bytes, run->salt);
  for (int i = 0; i < kLimitSamples; ++i) {
    writes[i] = plain_seconds(run, path, buffer, 1);
    reads[i] = plain_seconds(run, path, buffer, 0);
  }
  limit[0] = median(writes, kLimitSamples);
  limit[1] = median(reads, kLimitSamples);
  MPI_Barrier(run->members);
  if (run->rank == 0) unlink(path);
  free(buffer.data);
}
