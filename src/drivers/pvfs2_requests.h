/* Extents as requests of PVFS2: noncontiguous in the file and in memory, many in one call. */
#ifndef MERCUTIO_DRIVERS_PVFS2_REQUESTS_H
#define MERCUTIO_DRIVERS_PVFS2_REQUESTS_H

#include <stddef.h>

#include "mercutio/driver.h"
#include "pvfs2_client.h"

/* A request of more than 100 elements never returns. Others wait while one runs. */
enum { MOST_ELEMENTS = 64, MOST_BYTES = 64 << 20 };

/* What a request moves in the file, or in memory: parts in order, none beside the one before. */
typedef struct {
  int32_t count, bytes[MOST_ELEMENTS];
  int64_t begin[MOST_ELEMENTS];
} Parts;

typedef struct {
  Parts file, memory;
  int64_t bytes;
  size_t extents;
  bool is_whole;    /* the last extent is in it wholly */
  int64_t stride;   /* not 0: a vector of `extents` blocks, of which `file` has the first one */
} Batch;

/* The extents at the front that fit into one request. The order in the file is ascending in a request. */
void pvfs2_fill(Batch *batch, const mercutio_driver_extent *extents, size_t count);
bool pvfs2_is_contiguous(const Batch *batch);   /* in the file */
int64_t pvfs2_end(const Batch *batch);          /* in the file */
/* 0 or errno. *moved is 0 on an error. */
int pvfs2_move(Ref file, enum Way way, const Batch *batch, int64_t *moved);
int pvfs2_write_byte(Ref file, int64_t offset, void *byte);

#endif
