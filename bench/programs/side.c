// Contents and checks. Every 8-byte word of a file is a hash of its offset, so that a byte in a wrong place shows. The
// memory side is filled and checked by walking both sides together; nothing here asks the MPI library where a byte
// goes.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static const u64 kPoison = 0xa5a5a5a5a5a5a5a5u;

void fail(const char* what, const char* detail) {
  fprintf(stderr, "mercutio-bench: %s: %s\n", what, detail);
  MPI_Abort(MPI_COMM_WORLD, 4);
  exit(4);
}

void check_mpi(int code, const char* what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (code == MPI_SUCCESS) return;
  MPI_Error_string(code, text, &length);
  fail(what, text);
}

// At the begin of a page, as the speed of a copy depends on where in a page it begins.
char* must_alloc(i64 bytes) {
  const size_t page = 4096, whole_pages = ((size_t)(bytes > 0 ? bytes : 1) + page - 1) / page * page;
  char* memory = (char*)aligned_alloc(page, whole_pages);
  if (!memory) fail("aligned_alloc", "no memory");
  return memory;
}

Side nested_side(int nests, i64 block) {
  Side side;
  memset(&side, 0, sizeof side);
  side.block = block;
  side.nest_count = nests;
  side.nests = (Nest*)must_alloc((i64)sizeof(Nest) * nests);
  memset(side.nests, 0, sizeof(Nest) * (size_t)nests);
  for (int n = 0; n < nests; ++n) {
    for (int d = 0; d < kNestDims; ++d) side.nests[n].count[d] = 1;
  }
  return side;
}

Piece side_piece(const Side* side, i64 index) {
  Piece piece = {0, side->block};
  if (side->offsets) {
    piece.offset = side->offsets[index];
    if (side->lengths) piece.bytes = side->lengths[index];
    return piece;
  }
  const Nest* nest = &side->nests[index / side->pieces_per_nest];
  i64 rest = index % side->pieces_per_nest;
  piece.offset = nest->base;
  for (int d = kNestDims - 1; d >= 0 && rest > 0; --d) {
    piece.offset += rest % nest->count[d] * nest->stride[d];
    rest /= nest->count[d];
  }
  return piece;
}

static void free_side(Side* side) {
  free(side->nests);
  free(side->offsets);
  free(side->lengths);
}

void free_layout(Layout* layout) {
  free_side(&layout->file);
  free_side(&layout->memory);
  if (layout->filetype != MPI_DATATYPE_NULL) MPI_Type_free(&layout->filetype);
  if (layout->memtype != MPI_DATATYPE_NULL) MPI_Type_free(&layout->memtype);
}

u64 mix(u64 value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

// Cheap enough not to matter: one multiplication a word.
static u64 word_at(i64 offset, u64 salt) {
  u64 value = ((u64)offset / kWord + salt) * 0x9e3779b97f4a7c15u;
  return value ^ (value >> 29);
}

u64 file_salt(const Layout* layout, int access, u64 salt) {
  int own_file = layout->position == kFiles || layout->position == kElements;
  return own_file ? mix(salt + (u64)access) : salt;
}

void fill_words(char* to, i64 offset, i64 bytes, u64 salt) {
  for (i64 at = 0; at < bytes; at += kWord) {
    u64 word = word_at(offset + at, salt);
    memcpy(to + at, &word, kWord);
  }
}

i64 wrong_words(const char* from, i64 offset, i64 bytes, u64 salt) {
  i64 wrong = 0;
  for (i64 at = 0; at < bytes; at += kWord) {
    u64 word;
    memcpy(&word, from + at, kWord);
    wrong += word != word_at(offset + at, salt);
  }
  return wrong;
}

// Walks the file and the memory side of an access together, in stretches that are contiguous in both; fills (wrong is
// NULL) or counts what is wrong.
static void walk(const Layout* layout, int access, char* buffer, u64 salt, i64* wrong) {
  i64 left = layout->bytes, file_at = 0, memory_at = 0;
  Piece file = {0, 0}, memory = {0, 0};
  buffer += access * layout->memory_stride;
  salt = file_salt(layout, access, salt);
  while (left > 0) {
    if (file.bytes == 0) file = side_piece(&layout->file, file_at++);
    if (memory.bytes == 0) memory = side_piece(&layout->memory, memory_at++);
    i64 bytes = file.bytes < memory.bytes ? file.bytes : memory.bytes;
    i64 offset = file.offset + access * layout->file_stride;
    if (wrong)
      *wrong += wrong_words(buffer + memory.offset, offset, bytes, salt);
    else
      fill_words(buffer + memory.offset, offset, bytes, salt);
    file.offset += bytes, file.bytes -= bytes;
    memory.offset += bytes, memory.bytes -= bytes;
    left -= bytes;
  }
}

void poison(char* buffer, i64 bytes) {
  memset(buffer, (int)(kPoison & 0xff), (size_t)bytes);
}

void fill_memory(const Layout* layout, char* buffer, u64 salt) {
  poison(buffer, layout->memory_bytes);
  for (int access = 0; access < layout->accesses; ++access) walk(layout, access, buffer, salt, NULL);
}

// Also that nothing beside the pieces was touched.
i64 check_memory(const Layout* layout, const char* buffer, u64 salt) {
  i64 wrong = 0, untouched = 0;
  for (int access = 0; access < layout->accesses; ++access) walk(layout, access, (char*)buffer, salt, &wrong);
  for (i64 at = 0; at < layout->memory_bytes; at += kWord) {
    u64 word;
    memcpy(&word, buffer + at, kWord);
    untouched += word == kPoison;
  }
  i64 expected = (layout->memory_bytes - layout->accesses * layout->bytes) / kWord;
  return wrong + (untouched > expected ? untouched - expected : expected - untouched);
}

void pread_all(int fd, char* to, i64 bytes, i64 offset) {
  while (bytes > 0) {
    ssize_t got = pread(fd, to, (size_t)bytes, (off_t)offset);
    if (got <= 0) break;
    to += got, bytes -= got, offset += got;
  }
  if (bytes > 0) memset(to, 0xee, (size_t)bytes);
}

void pwrite_all(int fd, const char* from, i64 bytes, i64 offset) {
  while (bytes > 0) {
    ssize_t put = pwrite(fd, from, (size_t)bytes, (off_t)offset);
    if (put <= 0) fail("pwrite", "failed");
    from += put, bytes -= put, offset += put;
  }
}

// Checks what the rank of `layout` should have written, with plain reads of large windows; the gap behind a piece must
// still be zero (counted apart: some MPIs leave rubbish there). Pieces come in the order of the file.
Check check_file(const Layout* layout, const char* path, int access, u64 salt) {
  enum { kWindow = 4 << 20 };
  i64 start = 0, end = 0, shift = access * layout->file_stride;
  Check check = {0, 0};
  int fd = open(path, O_RDONLY);
  if (fd < 0) return (Check){layout->bytes, 0};
  if (lseek(fd, 0, SEEK_END) != layout->file_bytes) check.wrong += 1;
  char* window = must_alloc(kWindow);
  salt = file_salt(layout, access, salt);
  for (i64 i = 0; i < layout->file.pieces; ++i) {
    Piece piece = side_piece(&layout->file, i);
    for (i64 at = piece.offset + shift, left = piece.bytes + layout->gap; left > 0;) {
      if (at < start || at >= end) {
        start = at;
        end = start + kWindow < layout->file_bytes ? start + kWindow : layout->file_bytes;
        if (start >= end) break;
        pread_all(fd, window, end - start, start);
      }
      i64 bytes = left < end - at ? left : end - at;
      i64 data = left - layout->gap < bytes ? left - layout->gap : bytes;
      if (data > 0) check.wrong += wrong_words(window + (at - start), at, data, salt);
      for (i64 k = data > 0 ? data : 0; k < bytes; ++k) check.holes += window[at - start + k] != 0;
      at += bytes, left -= bytes;
    }
  }
  free(window);
  close(fd);
  return check;
}
