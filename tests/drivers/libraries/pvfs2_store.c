/* The servers of the stand-in for libpvfs2.so.2: files in the folder MERCUTIO_TEST_PVFS2, for all processes. Names are symbolic links at the
 * place of the same name, in folders that are there, to empty files "mercutio-pvfs2-HANDLE" of that folder, which have the permissions. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pvfs2.h"

enum { NAME = -2, META = -1 };   /* or the number of a datafile */

static const char *object_path(char *path, uint64_t handle, int datafile) {
  const char *folder = getenv("MERCUTIO_TEST_PVFS2");
  if (!folder) wrong("MERCUTIO_TEST_PVFS2 must name the folder of the servers");
  if (datafile == NAME) snprintf(path, PATH_MAX, "%s/mercutio-pvfs2-%016llx", folder, (unsigned long long)handle);
  else if (datafile == META) snprintf(path, PATH_MAX, "%s/%016llx", folder, (unsigned long long)handle);
  else snprintf(path, PATH_MAX, "%s/%016llx.%d", folder, (unsigned long long)handle, datafile);
  return path;
}

/* One process at a time. */
int store_lock(void) {
  char path[PATH_MAX];
  const int lock = open(object_path(path, 0, 0), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  (void)fchmod(lock, 0666);   /* servers serve all users */
  if (lock < 0 || flock(lock, LOCK_EX)) wrong("%s: %s", path, strerror(errno));
  return lock;
}
void store_unlock(int lock) { close(lock); }

static int put(const Meta *meta, int flags) {
  char path[PATH_MAX];
  const int fd = open(object_path(path, meta->handle, META), O_WRONLY | O_CLOEXEC | flags, 0666);
  if (fd < 0) return errno;
  (void)fchmod(fd, 0666);
  const ssize_t n = pwrite(fd, meta, sizeof *meta, 0);
  close(fd);
  return n == sizeof *meta ? 0 : EIO;
}

int store_get(uint64_t handle, Meta *meta) {
  char path[PATH_MAX];
  const int fd = open(object_path(path, handle, META), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const ssize_t n = pread(fd, meta, sizeof *meta, 0);
  close(fd);
  return n == sizeof *meta ? 0 : EIO;
}

int store_unstuff(uint64_t handle) {
  Meta meta;
  const int error = store_get(handle, &meta);
  meta.is_stuffed = 0;
  return error ? error : put(&meta, 0);
}

static void unlink_objects(uint64_t handle, int servers) {
  char path[PATH_MAX];
  for (int i = NAME; i < servers; i++) unlink(object_path(path, handle, i));
}

int store_create(Meta *meta, const char *path) {
  char target[PATH_MAX];
  if (getrandom(&meta->handle, sizeof meta->handle, 0) != sizeof meta->handle) return EIO;
  meta->handle = (meta->handle & INT64_MAX) | 1;
  int error = put(meta, O_CREAT | O_EXCL);
  const int name = error ? -1 : open(object_path(target, meta->handle, NAME), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (name >= 0) error = fchmod(name, meta->perms) || symlink(target, path) ? errno : 0, close(name);
  else if (!error) error = errno;
  if (error) unlink_objects(meta->handle, 0);
  return error;
}

int store_lookup(const char *path, bool follow, uint64_t *handle) {
  char target[PATH_MAX], next[PATH_MAX];
  struct stat status;
  unsigned long long number;
  const ssize_t n = readlink(path, target, sizeof target - 1);
  if (n >= 0) {
    target[n] = 0;
    if (sscanf(strrchr(target, '/') ? strrchr(target, '/') + 1 : target, "mercutio-pvfs2-%llx", &number) == 1) return *handle = number, 0;
    if (target[0] == '/') snprintf(next, sizeof next, "%s", target);
    else if (snprintf(next, sizeof next, "%.*s/%s", (int)(strrchr(path, '/') - path), path, target) >= PATH_MAX) return ENAMETOOLONG;
    if (follow) return store_lookup(next, true, handle);
  }
  if (lstat(path, &status)) return errno;
  *handle = (uint64_t)status.st_ino | 1ULL << 63 | (S_ISLNK(status.st_mode) ? 1ULL << 62 : 0);
  return S_ISDIR(status.st_mode) || S_ISLNK(status.st_mode) ? 0 : ENOENT;   /* the file system's own files aren't there */
}

int store_remove(const char *path, uint64_t *handle) {
  Meta meta;
  const int error = store_lookup(path, false, handle);
  if (error) return error;
  if (*handle >> 63 && !(*handle >> 62 & 1)) return rmdir(path) ? errno : 0;
  if (unlink(path)) return errno;
  if (store_get(*handle, &meta) == 0) unlink_objects(*handle, meta.servers);
  return 0;
}

/* simple_stripe: where a byte is, and how much of the strip begins there. */
static int64_t place(const Meta *meta, int64_t offset, int *datafile, int64_t *left) {
  const int64_t strip = offset / meta->strip, within = offset % meta->strip;
  *datafile = (int)(strip % meta->servers);
  *left = meta->strip - within;
  return strip / meta->servers * meta->strip + within;
}

static int64_t datafile_bytes(const Meta *meta, int i) {
  char path[PATH_MAX];
  struct stat status;
  return stat(object_path(path, meta->handle, i), &status) ? 0 : status.st_size;
}

int64_t store_size(const Meta *meta) {
  int64_t size = 0;
  for (int i = 0; i < meta->servers; i++) {
    const int64_t bytes = datafile_bytes(meta, i);
    if (!bytes) continue;
    const int64_t last = bytes - 1, end = (last / meta->strip * meta->servers + i) * meta->strip + last % meta->strip + 1;
    size = end > size ? end : size;
  }
  return size;
}

int store_truncate(const Meta *meta, int64_t bytes) {
  const int64_t row = meta->strip * meta->servers;
  for (int i = 0; i < meta->servers; i++) {
    char path[PATH_MAX];
    int64_t rest = bytes % row - i * meta->strip;
    rest = rest < 0 ? 0 : rest > meta->strip ? meta->strip : rest;
    const int64_t mine = bytes / row * meta->strip + rest;
    const int fd = open(object_path(path, meta->handle, i), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    const int error = fd < 0 || ftruncate(fd, mine) ? errno : 0;
    if (fd >= 0) close(fd);
    if (error) return error;
  }
  return 0;
}

/* While a file is stuffed all goes to datafile 0, where only the first strip will be found again. */
int store_write(const Meta *meta, int64_t offset, const char *data, int64_t bytes) {
  while (bytes > 0) {
    char path[PATH_MAX];
    int datafile = 0;
    int64_t left = INT64_MAX;
    const int64_t at = meta->is_stuffed ? offset : place(meta, offset, &datafile, &left), now = bytes < left ? bytes : left;
    const int fd = open(object_path(path, meta->handle, datafile), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return errno;
    const ssize_t n = pwrite(fd, data, (size_t)now, at);
    const int error = n < 0 ? errno : n < now ? ENOSPC : 0;
    close(fd);
    if (error) return error;
    offset += now, data += now, bytes -= now;
  }
  return 0;
}

int64_t store_read(const Meta *meta, int64_t offset, char *data, int64_t bytes) {
  const int64_t size = store_size(meta);
  bytes = offset >= size ? 0 : bytes > size - offset ? size - offset : bytes;
  for (int64_t done = 0; done < bytes;) {
    char path[PATH_MAX];
    int datafile;
    int64_t left;
    const int64_t at = place(meta, offset + done, &datafile, &left), now = bytes - done < left ? bytes - done : left;
    memset(data + done, 0, (size_t)now);
    const int fd = open(object_path(path, meta->handle, datafile), O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && pread(fd, data + done, (size_t)now, at) < 0) wrong("%s: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    done += now;
  }
  return bytes;
}
