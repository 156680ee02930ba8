#include "pvfs2_requests.h"

#include <string.h>

static bool is_beside(const Parts *parts, int64_t begin) {
  return parts->count && parts->begin[parts->count - 1] + parts->bytes[parts->count - 1] == begin;
}
static bool has_room(const Parts *parts, int64_t begin) { return parts->count < MOST_ELEMENTS || is_beside(parts, begin); }

static void add_part(Parts *parts, int64_t begin, int64_t bytes) {
  if (is_beside(parts, begin)) {
    parts->bytes[parts->count - 1] += (int32_t)bytes;
    return;
  }
  parts->begin[parts->count] = begin;
  parts->bytes[parts->count++] = (int32_t)bytes;
}

static int64_t address(const void *data) { return (int64_t)(intptr_t)data; }

/* How many extents at the front have the same length and the same distance, and memory without gaps. */
static size_t vector_length(const mercutio_driver_extent *extents, size_t count) {
  const int64_t bytes = extents[0].bytes, stride = count > 1 ? extents[1].offset - extents[0].offset : 0;
  const size_t most = (size_t)(MOST_BYTES / (bytes < MOST_BYTES ? bytes : MOST_BYTES));
  size_t n = 1;
  if (stride <= bytes) return 1;
  while (n < count && n < most && extents[n].bytes == bytes && extents[n].offset - extents[n - 1].offset == stride &&
         address(extents[n].data) == address(extents[n - 1].data) + bytes)
    n++;
  return n;
}

void pvfs2_fill(Batch *batch, const mercutio_driver_extent *extents, size_t count) {
  batch->file.count = batch->memory.count = 0;
  batch->bytes = batch->stride = 0;
  batch->is_whole = true;
  batch->extents = vector_length(extents, count);
  if (batch->extents > MOST_ELEMENTS) {
    batch->stride = extents[1].offset - extents[0].offset;
    batch->bytes = (int64_t)batch->extents * extents[0].bytes;
    add_part(&batch->file, extents[0].offset, extents[0].bytes);
    add_part(&batch->memory, address(extents[0].data), batch->bytes);
    return;
  }
  int64_t end = 0;
  for (batch->extents = 0; batch->extents < count && batch->bytes < MOST_BYTES; batch->extents++) {
    const mercutio_driver_extent *next = &extents[batch->extents];
    const int64_t room = MOST_BYTES - batch->bytes, bytes = next->bytes < room ? next->bytes : room;
    if (next->offset < end || !has_room(&batch->file, next->offset) || !has_room(&batch->memory, address(next->data))) return;
    add_part(&batch->file, next->offset, bytes);
    add_part(&batch->memory, address(next->data), bytes);
    batch->bytes += bytes;
    batch->is_whole = bytes == next->bytes;
    end = next->offset + bytes;
  }
}

bool pvfs2_is_contiguous(const Batch *batch) { return !batch->stride && batch->file.count == 1; }

int64_t pvfs2_end(const Batch *batch) {
  const int last = batch->file.count - 1;
  return batch->file.begin[last] + batch->file.bytes[last] + (batch->stride ? batch->stride * ((int64_t)batch->extents - 1) : 0);
}

/* Displacements belong into the request: a request is repeated without end from byte 0 of the file, and the offset that the call has for
 * itself is where to begin in that. For contiguous bytes this is the same. */
static int make_file_request(const Batch *batch, void **request) {
  Parts parts = batch->file;   /* the library's arguments aren't const */
  if (pvfs2_is_contiguous(batch)) return pvfs2_error(pvfs.Request_contiguous(parts.bytes[0], *pvfs.byte, request));
  if (!batch->stride) return pvfs2_error(pvfs.Request_hindexed(parts.count, parts.bytes, parts.begin, *pvfs.byte, request));
  void *vector = NULL;
  int32_t one = 1;
  int error = pvfs2_error(pvfs.Request_hvector((int32_t)batch->extents, parts.bytes[0], batch->stride, *pvfs.byte, &vector));
  if (!error) error = pvfs2_error(pvfs.Request_hindexed(1, &one, parts.begin, vector, request));
  if (vector) pvfs.Request_free(&vector);
  return error;
}

/* One part, or several by their addresses. */
static int make_memory_request(const Batch *batch, void **request, void **buffer) {
  Parts parts = batch->memory;
  *buffer = parts.count == 1 ? (void *)(intptr_t)parts.begin[0] : NULL;
  if (*buffer) return pvfs2_error(pvfs.Request_contiguous(parts.bytes[0], *pvfs.byte, request));
  return pvfs2_error(pvfs.Request_hindexed(parts.count, parts.bytes, parts.begin, *pvfs.byte, request));
}

int pvfs2_move(Ref ref, enum Way way, const Batch *batch, int64_t *moved) {
  void *file = NULL, *memory = NULL, *buffer = NULL;
  const int64_t offset = pvfs2_is_contiguous(batch) ? batch->file.begin[0] : 0;
  *moved = 0;
  int error = make_file_request(batch, &file);
  if (!error) error = make_memory_request(batch, &memory, &buffer);
  if (!error) error = ASK(sys_io(ref, file, offset, buffer, memory, pvfs2_credential(), moved, way, NULL));
  if (file) pvfs.Request_free(&file);
  if (memory) pvfs.Request_free(&memory);
  if (!error && (*moved < 0 || *moved > batch->bytes)) error = EIO;
  if (error) *moved = 0;
  return error;
}

int pvfs2_write_byte(Ref file, int64_t offset, void *byte) {
  Batch batch;
  int64_t moved;
  const mercutio_driver_extent extent = {.offset = offset, .data = byte, .bytes = 1};
  pvfs2_fill(&batch, &extent, 1);
  const int error = pvfs2_move(file, WRITING, &batch, &moved);
  return error ? error : moved == 1 ? 0 : EIO;
}
