// What tests/drivers/cephfs_test.cpp has for libcephfs: no cluster, one empty file of any name, and a directory "/folder". A client whose process is another one than the
// caller ends the program, as its threads would be missing. So does lazy I/O of a file that isn't open, or for another value than 0 and 1.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { WRONG_PROCESS = 99, WRONG_ARGUMENT = 98, MOST_FILES = 64 };
typedef struct { pid_t process; } Mount;
static int mounted, files, open_files, folder;   // now, by this process; folder: its descriptor
static int is_open[MOST_FILES], is_lazy[MOST_FILES], lazy_error, sync_error;
static int forgotten;   // calls after which nothing of a file was cached
static int64_t kept;   // bytes written under lazy I/O and not yet written out

static Mount *own(Mount *mount) {
  if (mount->process != getpid()) _exit(WRONG_PROCESS);
  return mount;
}

int cephfs_mounted(void) { return mounted; }
int cephfs_open_files(void) { return open_files; }
int cephfs_lazy_files(void) {
  int count = 0;
  for (int i = 0; i < MOST_FILES; i++) count += is_lazy[i];
  return count;
}
int cephfs_forgotten(void) { return forgotten; }
int cephfs_kept(void) { return (int)kept; }
void cephfs_fail(int lazy, int sync) { lazy_error = lazy, sync_error = sync; }   // what these calls return

static int opened(int fd) {
  if (fd < 1 || fd >= MOST_FILES || !is_open[fd]) _exit(WRONG_ARGUMENT);
  return fd;
}

int ceph_create(Mount **mount, const char *id) {
  (void)id;
  *mount = calloc(1, sizeof **mount);
  (*mount)->process = getpid();
  return 0;
}
int ceph_conf_read_file(Mount *mount, const char *path) { return (void)path, own(mount), 0; }
int ceph_conf_parse_env(Mount *mount, const char *name) { return (void)name, own(mount), 0; }
int ceph_mount(Mount *mount, const char *root) { return (void)root, own(mount), mounted++, 0; }
int ceph_unmount(Mount *mount) { return own(mount), mounted--, 0; }
int ceph_release(Mount *mount) { return free(own(mount)), 0; }
int ceph_open(Mount *mount, const char *path, int flags, mode_t mode) {
  (void)flags, (void)mode, own(mount), ++files, ++open_files;
  if (!strcmp(path, "/folder")) folder = files;
  if (files >= MOST_FILES) _exit(WRONG_ARGUMENT);
  is_open[files] = 1;
  return files;
}
int ceph_open_layout(Mount *mount, const char *path, int flags, mode_t mode, int unit, int count, int object, const char *pool) {
  return (void)unit, (void)count, (void)object, (void)pool, ceph_open(mount, path, flags, mode);
}
int ceph_close(Mount *mount, int fd) {
  own(mount), is_open[opened(fd)] = is_lazy[fd] = 0;
  return --open_files, 0;
}
// A lazy read may show what is old.
int ceph_read(Mount *mount, int fd, char *data, int64_t bytes, int64_t offset) {
  (void)data, (void)bytes, (void)offset, own(mount);
  if (is_lazy[opened(fd)]) _exit(WRONG_ARGUMENT);
  return 0;
}
int ceph_write(Mount *mount, int fd, const char *data, int64_t bytes, int64_t offset) {
  (void)data, (void)offset, own(mount);
  if (is_lazy[opened(fd)]) kept += bytes;
  return (int)bytes;
}
int ceph_lazyio(Mount *mount, int fd, int on) {
  own(mount);
  if (on != 0 && on != 1) _exit(WRONG_ARGUMENT);
  if (lazy_error) return lazy_error;
  if (!on && kept) _exit(WRONG_ARGUMENT);   // it would be left in a cache that nobody writes out
  is_lazy[opened(fd)] = on;
  return 0;
}
int ceph_lazyio_synchronize(Mount *mount, int fd, int64_t offset, size_t bytes) {
  own(mount), opened(fd);
  if (offset != 0 || bytes != 0) _exit(WRONG_ARGUMENT);   // these forget everything, too, but say something else
  return ++forgotten, sync_error;
}
int ceph_ftruncate(Mount *mount, int fd, int64_t bytes) { return (void)fd, (void)bytes, own(mount), 0; }
int ceph_fsync(Mount *mount, int fd, int only_data) {
  (void)only_data, own(mount), opened(fd);
  if (!sync_error) kept = 0;
  return sync_error;
}
int ceph_fstatx(Mount *mount, int fd, void *status, unsigned want, unsigned flags) {
  const uint16_t mode = fd == folder ? S_IFDIR : S_IFREG;
  if (want & 1) memcpy((char *)status + 20, &mode, sizeof mode);
  return (void)flags, own(mount), 0;
}
int ceph_unlink(Mount *mount, const char *path) { return (void)path, own(mount), 0; }
int ceph_get_file_layout(Mount *mount, int fd, int *unit, int *count, int *object, int *pool) {
  return (void)fd, (void)pool, own(mount), *unit = *object = 4096, *count = 1, 0;
}
void *ceph_mount_perms(Mount *mount) { return own(mount); }
int ceph_ll_walk(Mount *mount, const char *path, void **inode, void *status, unsigned want, unsigned flags, const void *rights) {
  return (void)path, (void)status, (void)want, (void)flags, (void)rights, *inode = own(mount), 0;
}
int ceph_ll_open(Mount *mount, void *inode, int flags, void **file, const void *rights) { return (void)inode, (void)flags, (void)rights, *file = own(mount), 0; }
int ceph_ll_setlk(Mount *mount, void *file, void *range, uint64_t owner, int wait) { return (void)file, (void)range, (void)owner, (void)wait, own(mount), 0; }
int ceph_ll_close(Mount *mount, void *file) { return (void)file, own(mount), 0; }
int ceph_ll_put(Mount *mount, void *inode) { return (void)inode, own(mount), 0; }
