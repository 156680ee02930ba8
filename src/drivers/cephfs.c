/* The storage driver of CephFS without a mount: files called cephfs:/path/in/the/file/system, through libcephfs.so.2, which is loaded and
 * not linked. Each process is a client of its own. Where several write one file the metadata server takes their caches away, so that
 * writes are seen at once, and each waits for a storage daemon. The configuration is that of CEPH_CONF or /etc/ceph/ceph.conf, with CEPH_ARGS.
 *
 * Where writes may be kept (MERCUTIO_DRIVER_KEEP_WRITES) they stay in the client's cache all the same ("lazy I/O"), until `flush`. What is
 * flushed is ceph_fsync's data: ceph_lazyio_propagate does the same and loses its error. Reads are never lazy, as they are no faster: the first
 * read or lock ends it for this open of the file. Even so, this client could show pages that it cached before another client wrote (seen in
 * Ceph 16.2.15, without lazy I/O as well), so that each read of a file that several ranks have open first makes it forget them.
 *
 * A client is made when the first file is opened and ends with the last one: a process that ended without that would keep others
 * waiting for its capabilities until its session has expired. Cost: a connection, 0.1 s, where none is open. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "load.h"
#include "mercutio/driver.h"
#include "umask.h"

/* As in <cephfs/libcephfs.h>; struct ceph_statx only as far as it is needed. Results are 0 or more, or a negative errno. */
typedef struct { uint32_t mask, blksize, before[3]; uint16_t mode; uint64_t ino, size; unsigned char rest[448]; } Statx;
enum { WANT_MODE = 1, WANT_INO = 0x100, WANT_SIZE = 0x200 };
#define CALLS(CALL)                                                                                                           \
  CALL(int, create, (void **, const char *))                                                                                 \
  CALL(int, conf_read_file, (void *, const char *))                                                                          \
  CALL(int, conf_parse_env, (void *, const char *))                                                                          \
  CALL(int, mount, (void *, const char *))                                                                                   \
  CALL(int, unmount, (void *))                                                                                               \
  CALL(int, release, (void *))                                                                                               \
  CALL(int, open, (void *, const char *, int, mode_t))                                                                       \
  CALL(int, open_layout, (void *, const char *, int, mode_t, int, int, int, const char *))                                   \
  CALL(int, close, (void *, int))                                                                                            \
  CALL(int, read, (void *, int, char *, int64_t, int64_t))                                                                   \
  CALL(int, write, (void *, int, const char *, int64_t, int64_t))                                                            \
  CALL(int, ftruncate, (void *, int, int64_t))                                                                               \
  CALL(int, fsync, (void *, int, int))                                                                                       \
  CALL(int, lazyio, (void *, int, int))                                                                                      \
  CALL(int, lazyio_synchronize, (void *, int, int64_t, size_t))                                                              \
  CALL(int, fstatx, (void *, int, Statx *, unsigned, unsigned))                                                              \
  CALL(int, unlink, (void *, const char *))                                                                                  \
  CALL(int, get_file_layout, (void *, int, int *, int *, int *, int *))                                                      \
  CALL(void *, mount_perms, (void *))                                                                                        \
  CALL(int, ll_walk, (void *, const char *, void **, Statx *, unsigned, unsigned, const void *))                             \
  CALL(int, ll_open, (void *, void *, int, void **, const void *))                                                           \
  CALL(int, ll_setlk, (void *, void *, struct flock *, uint64_t, int))                                                       \
  CALL(int, ll_close, (void *, void *))                                                                                      \
  CALL(int, ll_put, (void *, void *))

#define POINTER(type, name, arguments) type(*name) arguments;
static struct { CALLS(POINTER) } ceph;

static _Thread_local char why[512];
static const char *cephfs_explain(void) { return why; }

/* A negative errno as a positive one. */
static int plain(int64_t result) { return result < 0 ? (int)-result : 0; }

static struct {
  pthread_mutex_t mutex;
  void *mount;
  int64_t users;
  pid_t process;   /* a child can't use its parent's: the threads aren't there */
} client = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int connect_client(void **mount) {
  int error = plain(ceph.create(mount, NULL));
  if (error) return error;
  error = plain(ceph.conf_read_file(*mount, NULL));
  if (error) {
    snprintf(why, sizeof why, "no configuration of Ceph: CEPH_CONF names one, or /etc/ceph/ceph.conf is there");
    error = EHOSTUNREACH;   /* the file that is asked for may be there: ENOENT would say that it is not */
  }
  if (!error) error = plain(ceph.conf_parse_env(*mount, NULL));
  if (!error) {
    error = plain(ceph.mount(*mount, "/"));
    if (error) snprintf(why, sizeof why, "CephFS can't be mounted: see that `ceph fs status` answers with this CEPH_CONF and CEPH_ARGS");
  }
  if (error) ceph.release(*mount);
  return error;
}

static int enter(void **mount) {
  int error = 0;
  why[0] = 0;
  pthread_mutex_lock(&client.mutex);
  if (client.process != getpid()) client.users = 0;
  client.process = getpid();
  if (client.users == 0) error = connect_client(&client.mount);
  if (!error) client.users++;
  *mount = client.mount;
  pthread_mutex_unlock(&client.mutex);
  return error;
}

static void leave(void) {
  pthread_mutex_lock(&client.mutex);
  if (--client.users == 0) {
    ceph.unmount(client.mount);
    ceph.release(client.mount);
    client.mount = NULL;
  }
  pthread_mutex_unlock(&client.mutex);
}

struct mercutio_driver_file {
  pid_t process;                 /* that has opened it */
  void *mount, *inode, *locks;   /* the last two for locks, from the first one on */
  pthread_mutex_t mutex;
  int fd, writable;
  int shared;         /* by several ranks, each with a client of its own */
  int keeps;          /* it was opened so that writes may be kept */
  _Atomic int lazy;   /* they are */
  uint64_t number;
  char path[];
};

/* At the beginning of a call. */
static int use(const mercutio_driver_file *f) {
  why[0] = 0;
  if (f->process == getpid()) return 0;
  snprintf(why, sizeof why, "the file was opened before the process was forked: open it again");
  return ENOTRECOVERABLE;
}

/* Data that this client keeps of the file, however it was opened. */
static int write_out(mercutio_driver_file *f) { return plain(ceph.fsync(f->mount, f->fd, 1)); }

/* At the beginning of a call that must see what others have written, or whose effect others must see. */
static int use_strictly(mercutio_driver_file *f) {
  int error = use(f);
  if (error || !f->lazy) return error;
  pthread_mutex_lock(&f->mutex);
  if (f->lazy) error = write_out(f);
  if (f->lazy && !error) error = plain(ceph.lazyio(f->mount, f->fd, 0));
  if (!error) f->lazy = 0;
  pthread_mutex_unlock(&f->mutex);
  return error;
}

static int bounded(int64_t value) { return value > INT_MAX ? INT_MAX : (int)value; }

static int cephfs_open(const char *path, const mercutio_driver_options *options, mercutio_driver_file **file) {
  const unsigned flags = options->flags;
  int way = flags & MERCUTIO_DRIVER_WRITE ? flags & MERCUTIO_DRIVER_READ ? O_RDWR : O_WRONLY : O_RDONLY;
  if (flags & MERCUTIO_DRIVER_CREATE) way |= O_CREAT;
  if (flags & MERCUTIO_DRIVER_EXCLUSIVE) way |= O_EXCL;
  mercutio_driver_file *f = calloc(1, sizeof *f + strlen(path) + 1);
  if (!f) return ENOMEM;
  int error = enter(&f->mount);
  if (error) return free(f), error;
  strcpy(f->path, path);
  f->process = getpid();
  pthread_mutex_init(&f->mutex, NULL);
  f->writable = (flags & MERCUTIO_DRIVER_WRITE) != 0;
  f->shared = options->ranks > 1;
  const int unit = bounded(options->stripe_bytes), count = bounded(options->stripe_count);
  const mode_t mode = with_umask(options->permissions);
  f->fd = (flags & MERCUTIO_DRIVER_CREATE) && (unit || count) ? ceph.open_layout(f->mount, path, way, mode, unit, count, unit, NULL)
                                                              : ceph.open(f->mount, path, way, mode);
  if (f->fd == -EINVAL && unit % 65536) snprintf(why, sizeof why, "striping_unit must be a multiple of 64 KiB on CephFS");
  Statx status = {0};
  error = plain(f->fd);
  if (!error) error = plain(ceph.fstatx(f->mount, f->fd, &status, WANT_MODE | WANT_INO, 0));
  if (!error && S_ISDIR(status.mode)) error = EISDIR;
  const int keep = f->writable && (flags & MERCUTIO_DRIVER_KEEP_WRITES) && options->ranks > 1;   /* the file of one client is cached anyway */
  if (!error) f->keeps = f->lazy = keep && ceph.lazyio(f->mount, f->fd, 1) == 0;
  if (!error) return f->number = status.ino, *file = f, 0;
  if (f->fd >= 0) ceph.close(f->mount, f->fd);
  pthread_mutex_destroy(&f->mutex);
  free(f);
  leave();
  return error;
}

static int cephfs_close(mercutio_driver_file *f) {
  if (f->process != getpid()) return free(f), 0;   /* the parent's */
  if (f->locks) ceph.ll_close(f->mount, f->locks);
  if (f->inode) ceph.ll_put(f->mount, f->inode);
  const int written = f->writable ? plain(ceph.fsync(f->mount, f->fd, 0)) : 0;   /* close doesn't tell what becomes of kept data */
  const int closed = plain(ceph.close(f->mount, f->fd));
  pthread_mutex_destroy(&f->mutex);
  free(f);
  leave();
  return written ? written : closed;
}

enum { MOST = 1 << 30 };   /* results are int */

static int cephfs_read(mercutio_driver_file *f, const mercutio_driver_extent *extent, size_t count, int64_t *moved) {
  (void)count;   /* 1 */
  int error = use_strictly(f);
  if (!error && f->shared) error = plain(ceph.lazyio_synchronize(f->mount, f->fd, 0, 0));   /* forgets what this client has cached */
  if (error) return error;
  *moved = ceph.read(f->mount, f->fd, extent->data, extent->bytes < MOST ? extent->bytes : MOST, extent->offset);
  return plain(*moved);
}
static int cephfs_write(mercutio_driver_file *f, const mercutio_driver_extent *extent, size_t count, int64_t *moved) {
  (void)count;
  const int error = use(f);
  if (error) return error;
  *moved = ceph.write(f->mount, f->fd, extent->data, extent->bytes < MOST ? extent->bytes : MOST, extent->offset);
  return plain(*moved);
}

static int cephfs_get_size(mercutio_driver_file *f, int64_t *bytes) {
  Statx status = {0};
  int error = use(f);
  if (!error) error = plain(ceph.fstatx(f->mount, f->fd, &status, WANT_SIZE, 0));
  *bytes = (int64_t)status.size;
  return error;
}
static int cephfs_set_size(mercutio_driver_file *f, int64_t bytes) {
  const int error = use(f);
  return error ? error : plain(ceph.ftruncate(f->mount, f->fd, bytes));
}
static int cephfs_sync(mercutio_driver_file *f) {
  const int error = use(f);
  return error ? error : plain(ceph.fsync(f->mount, f->fd, 0));
}

static int cephfs_flush(mercutio_driver_file *f) {
  const int error = use(f);
  return error || !f->keeps ? error : write_out(f);
}

static int cephfs_remove(const char *path) {
  void *mount;
  int error = enter(&mount);
  if (error) return error;
  error = plain(ceph.unlink(mount, path));
  leave();
  return error;
}

static int cephfs_get_traits(mercutio_driver_file *f, mercutio_driver_traits *traits) {
  int unit = 0, count = 0, object = 0, pool = 0;
  const int error = use(f);
  if (error) return error;
  traits->file_number = (int64_t)(f->number & INT64_MAX);
  if (f->keeps) traits->keeps_writes = 1;   /* so Mercutio knows that member */
  if (ceph.get_file_layout(f->mount, f->fd, &unit, &count, &object, &pool) < 0) return 0;
  traits->stripe_bytes = count > 1 ? unit : object;   /* one object after the other is on any server */
  traits->stripe_count = count;
  traits->block_bytes = unit;
  return 0;
}

/* Byte-range locks are calls of the lower layer. Each lock has an owner of its own, so that those of threads exclude each other. */
static int open_for_locks(mercutio_driver_file *f) {
  int error = 0;
  pthread_mutex_lock(&f->mutex);
  if (!f->locks) {
    const void *rights = ceph.mount_perms(f->mount);
    Statx status = {0};
    if (!f->inode) error = plain(ceph.ll_walk(f->mount, f->path, &f->inode, &status, WANT_INO, 0, rights));
    if (!error) error = plain(ceph.ll_open(f->mount, f->inode, f->writable ? O_RDWR : O_RDONLY, &f->locks, rights));
  }
  pthread_mutex_unlock(&f->mutex);
  return error;
}

typedef struct {
  struct flock bytes;
  uint64_t owner;
} Lock;

static int cephfs_lock(mercutio_driver_file *f, const mercutio_driver_range *range, void **lock) {
  static _Atomic uint64_t next_owner = 1;
  int error = use_strictly(f);
  if (!error) error = open_for_locks(f);
  Lock *held = error ? NULL : calloc(1, sizeof *held);
  if (!held) return error ? error : ENOMEM;
  held->owner = next_owner++;
  held->bytes = (struct flock){.l_type = range->exclusive ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET, .l_start = range->begin, .l_pid = getpid()};
  if (range->end != INT64_MAX) held->bytes.l_len = range->end - range->begin;   /* 0: however far it goes */
  error = plain(ceph.ll_setlk(f->mount, f->locks, &held->bytes, held->owner, range->wait));
  if (error) return free(held), error == EACCES ? EAGAIN : error;
  return *lock = held, 0;
}

static int cephfs_unlock(mercutio_driver_file *f, void *lock) {
  Lock *held = lock;
  if (use(f)) return free(held), 0;   /* the parent's */
  held->bytes.l_type = F_UNLCK;
  const int error = plain(ceph.ll_setlk(f->mount, f->locks, &held->bytes, held->owner, 0));
  if (error != EINTR) free(held);   /* Mercutio comes again */
  return error;
}

#define SYMBOL(type, name, arguments) {"ceph_" #name, (void **)&ceph.name},
static const Symbol kSymbols[] = {CALLS(SYMBOL)};
static const Library kLibrary = {"libcephfs.so.2", "libcephfs.so.2 (Debian: libcephfs2)", kSymbols, sizeof kSymbols / sizeof *kSymbols};

int mercutio_driver_init(const mercutio_driver_host *host, const mercutio_driver **driver) {
  static const mercutio_driver cephfs = {
      .abi = MERCUTIO_DRIVER_ABI, .size = sizeof cephfs, .open = cephfs_open, .close = cephfs_close, .read = cephfs_read,
      .write = cephfs_write, .get_size = cephfs_get_size, .set_size = cephfs_set_size, .sync = cephfs_sync, .remove = cephfs_remove,
      .get_traits = cephfs_get_traits, .lock = cephfs_lock, .unlock = cephfs_unlock, .explain = cephfs_explain, .flush = cephfs_flush};
  (void)host;
  *driver = &cephfs;
  return load_library(&kLibrary, NULL, why);
}
