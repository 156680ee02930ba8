/* The parts of the stand-in for libpvfs2.so.2 (pvfs2.c: the calls, pvfs2_store.c: the servers). */
#ifndef MERCUTIO_TESTS_PVFS2_H
#define MERCUTIO_TESTS_PVFS2_H

#include <stdbool.h>
#include <stdint.h>

/* A defect of the driver: said on stderr, and the process ends. */
__attribute__((format(printf, 1, 2), noreturn, visibility("hidden"))) void wrong(const char *format, ...);

/* A file as its servers have it: datafile i is on server i, and writes go to datafile 0 while it is stuffed. */
typedef struct {
  uint64_t handle;
  uint32_t owner, group, perms;
  int32_t servers;
  int64_t strip;
  int32_t is_stuffed;
} Meta;

#pragma GCC visibility push(hidden)
int store_create(Meta *meta, const char *path);                 /* 0 or errno; gives it a handle */
int store_lookup(const char *path, bool follow, uint64_t *handle);   /* 0 or errno; folders and links have bit 63 */
int store_remove(const char *path, uint64_t *handle);
int store_get(uint64_t handle, Meta *meta);
int store_unstuff(uint64_t handle);
int64_t store_size(const Meta *meta);
int store_truncate(const Meta *meta, int64_t bytes);
/* The number of bytes that there were, holes as zeros; 0 or errno. */
int64_t store_read(const Meta *meta, int64_t offset, char *data, int64_t bytes);
int store_write(const Meta *meta, int64_t offset, const char *data, int64_t bytes);
int store_lock(void);
void store_unlock(int lock);
#pragma GCC visibility pop

#endif
