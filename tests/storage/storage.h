// Files on storage whose nodes have caches of their own. A case knows at every moment what the file must hold (St_Model), on every
// rank, and looks at it with MPI-IO. What the file holds when the case is over it leaves in the folder MERCUTIO_TEST_EXPECTED,
// for run.py to compare with the server's own file.
#ifndef MERCUTIO_TESTS_STORAGE_H
#define MERCUTIO_TESTS_STORAGE_H

#include "check.h"

// What ranks have written so far; bytes that nobody wrote are zero.
typedef struct {
  unsigned char *bytes;
  long long size, room;
} St_Model;

// Never zero, which is what lost bytes become; another one in each generation.
CK_UNUSED static unsigned char st_byte(int generation, int writer, long long offset) {
  unsigned long long h = (unsigned long long)offset * 0x9E3779B97F4A7C15ull + (unsigned long long)generation * 0xC2B2AE3D27D4EB4Full +
                         (unsigned long long)writer * 0x165667B19E3779F9ull;
  h ^= h >> 29;
  h *= 0xBF58476D1CE4E5B9ull;
  return (unsigned char)(1 + (h >> 32) % 255);
}

CK_UNUSED static void st_grow(St_Model *model, long long size) {
  if (size > model->room) {
    long long room = 2 * size;
    model->bytes = realloc(model->bytes, (size_t)room);
    memset(model->bytes + model->room, 0, (size_t)(room - model->room));
    model->room = room;
  }
  if (size > model->size) model->size = size;
}

CK_UNUSED static void st_put(St_Model *model, long long offset, const void *bytes, long long count) {
  if (count == 0) return;
  st_grow(model, offset + count);
  memcpy(model->bytes + offset, bytes, (size_t)count);
}

CK_UNUSED static void st_truncate(St_Model *model, long long size) {
  st_grow(model, size);
  memset(model->bytes + size, 0, (size_t)(model->room - size));
  model->size = size;
}

CK_UNUSED static void st_free(St_Model *model) {
  free(model->bytes);
  *model = (St_Model){0};
}

// Where a rank's bytes lie: `records` of `bytes`, each `stride` after the one before, the first one at `first`.
typedef struct {
  long long first, bytes, stride, records;
} St_Part;

CK_UNUSED static long long st_part_bytes(const St_Part *part) { return part->bytes * part->records; }

// The rank's buffer for a generation.
CK_UNUSED static unsigned char *st_fill(const St_Part *part, int generation, int writer) {
  unsigned char *buffer = malloc((size_t)st_part_bytes(part) + 1);
  for (long long r = 0; r < part->records; r++)
    for (long long i = 0; i < part->bytes; i++)
      buffer[r * part->bytes + i] = st_byte(generation, writer, part->first + r * part->stride + i);
  return buffer;
}

CK_UNUSED static void st_put_part(St_Model *model, const St_Part *part, int generation, int writer) {
  unsigned char *buffer = st_fill(part, generation, writer);
  for (long long r = 0; r < part->records; r++) st_put(model, part->first + r * part->stride, buffer + r * part->bytes, part->bytes);
  free(buffer);
}

// Reports the first wrong byte and how many are wrong, zero or beyond the file's end.
CK_UNUSED static int st_report(const St_Model *model, long long offset, const unsigned char *got, long long count, int line, const char *what) {
  long long wrong = 0, zero = 0, first = -1;
  char text[300];
  for (long long i = 0; i < count; i++) {
    unsigned char want = offset + i < model->size ? model->bytes[offset + i] : 0;
    if (got[i] == want) continue;
    if (first < 0) first = i;
    wrong++;
    zero += got[i] == 0;
  }
  if (!wrong) return 1;
  snprintf(text, sizeof text, "%s: %lld of %lld bytes wrong, %lld of them zero; the first at %lld: want %02x, got %02x", what, wrong, count, zero,
           offset + first, offset + first < model->size ? model->bytes[offset + first] : 0, got[first]);
  return ck_report(0, ck_program, line, text);
}

// Reads `count` bytes at `offset` of the file, with all ranks or alone, and compares.
CK_UNUSED static int st_read(MPI_File fh, const St_Model *model, long long offset, long long count, int collective, int line, const char *what) {
  unsigned char *got = malloc((size_t)count + 1);
  MPI_Status status;
  memset(got, 0xEE, (size_t)count + 1);
  int code = collective ? MPI_File_read_at_all(fh, offset, got, (int)count, MPI_BYTE, &status)
                        : MPI_File_read_at(fh, offset, got, (int)count, MPI_BYTE, &status);
  int good = ck_report_class(code, MPI_SUCCESS, ck_program, line, what) &&
             ck_report_ints(ck_count(&status, MPI_BYTE), count, ck_program, line, what) && st_report(model, offset, got, count, line, what);
  free(got);
  return good;
}

#define ST_READ_ALL(fh, model, what) st_read((fh), (model), 0, (model)->size, 1, __LINE__, (what))
#define ST_READ(fh, model, what) st_read((fh), (model), 0, (model)->size, 0, __LINE__, (what))
#define ST_READ_AT(fh, model, offset, count, what) st_read((fh), (model), (offset), (count), 0, __LINE__, (what))

// What the standard asks for between a write of one rank and a read of another.
CK_UNUSED static void st_sync_barrier_sync(MPI_File fh) {
  CHECK_OK(MPI_File_sync(fh));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_sync(fh));
}

// The library says that right results can't be had here; run.py looks whether it may, and whether it says what to change.
CK_UNUSED static void st_refused(int code) {
  char message[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, message, &length);
  if (ck_rank == 0) fprintf(stderr, "REFUSED %s, %s\n", ck_case, message);
}

// All ranks get a handle, or none does; where only some do, the others can't be told and the program ends.
CK_UNUSED static int st_open(const char *name, int amode, MPI_Info info, MPI_File *fh) {
  int code = MPI_File_open(MPI_COMM_WORLD, (char *)name, amode, info, fh);
  int mine[] = {code != MPI_SUCCESS, code == MPI_SUCCESS, ck_class(code) != MPI_ERR_UNSUPPORTED_OPERATION}, any[3];
  MPI_Allreduce(mine, any, 3, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (!any[2])
    st_refused(code);
  else
    ck_report_class(code, MPI_SUCCESS, ck_program, __LINE__, "MPI_File_open");
  if (any[0] && any[1]) {
    if (mine[0]) fprintf(stderr, "only some ranks could open %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return !any[0];
}

// After the last close: what the server has to hold.
CK_UNUSED static void st_expect(const char *name, const St_Model *model) {
  const char *folder = getenv("MERCUTIO_TEST_EXPECTED");
  char path[2 * CK_NAME_BYTES];
  if (ck_rank != 0 || !folder) return;
  snprintf(path, sizeof path, "%s/%s", folder, strrchr(name, '/') + 1);
  FILE *file = fopen(path, "wb");
  size_t written = file && model->size ? fwrite(model->bytes, 1, (size_t)model->size, file) : 0;
  if (!file || fclose(file) != 0 || written != (size_t)model->size) fprintf(stderr, "%s can't be written\n", path);
}

// The file again, opened anew by all: by then every rank has closed it.
CK_UNUSED static void st_reopened(const char *name, const St_Model *model, const char *what) {
  MPI_File fh;
  MPI_Offset size = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  if (!st_open(name, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh)) return;
  CHECK_OK(MPI_File_get_size(fh, &size));
  ck_report_ints(size, model->size, ck_program, __LINE__, what);
  st_read(fh, model, 0, model->size, 1, __LINE__, what);
  CHECK_OK(MPI_File_close(&fh));
}

// Both, at the end of most cases.
CK_UNUSED static void st_closed(const char *name, St_Model *model) {
  st_reopened(name, model, "reopened");
  st_expect(name, model);
  st_free(model);
}

#endif
