/* Test drivers: files of the operating system, through include/mercutio/driver.h, in several forms.
 *   plain     every function; moves a few bytes at a time, keeps writes where it may, is interrupted again and again, and fails when told to
 *   least     the required functions only
 *   future    of another version of the interface
 *   partial   without `write`
 *   unwilling its initialisation fails
 * MERCUTIO_TEST_SYNC_AWAITS=PATH: `sync` of `plain` waits until there is such a file, and makes PATH.awaited.
 * MERCUTIO_TEST_FAIL=CALL:ERRNO[:RANK] makes a call of `plain` fail; CALL:wild gives a result that can't be. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mercutio/driver.h"

/* What `write` keeps: a few pieces, of which later ones count. */
enum { kKeptPieces = 7, kKeptBytes = 4096 };
typedef struct {
  int64_t offset, bytes;
  char data[kKeptBytes];
} Kept;

struct mercutio_driver_file {
  int fd, keeps, kept;
  pthread_mutex_t mutex;
  Kept *pieces;
  int64_t rank;
  char path[4096];
};

static _Thread_local char why[256];
static _Thread_local int interrupted;

/* 0, an errno value, or -1 for a wild result. EINTR every third time. */
static int told(const char *call, int64_t rank) {
  const char *plan = getenv("MERCUTIO_TEST_FAIL");
  char name[32], value[32];
  long long of = -1;
  why[0] = 0;
  if (plan && sscanf(plan, "%31[^:]:%31[^:]:%lld", name, value, &of) >= 2 && !strcmp(name, call) && (of < 0 || of == rank)) {
    snprintf(why, sizeof why, "%s was told to fail on rank %lld", call, (long long)rank);
    return strcmp(value, "wild") ? atoi(value) : -1;
  }
  return ++interrupted % 3 ? 0 : EINTR;
}

static int write_out_locked(mercutio_driver_file *file) {
  int error = 0;
  for (int i = 0; i < file->kept; i++) {
    const Kept *one = &file->pieces[i];
    if (pwrite(file->fd, one->data, (size_t)one->bytes, one->offset) != one->bytes && !error) error = errno ? errno : EIO;
  }
  file->kept = 0;
  return error;
}
/* Also what this process reads, and the sizes it sees, have what it keeps. */
static int write_out(mercutio_driver_file *file) {
  if (!file->keeps) return 0;
  pthread_mutex_lock(&file->mutex);
  const int error = write_out_locked(file);
  pthread_mutex_unlock(&file->mutex);
  return error;
}

static int plain_open(const char *path, const mercutio_driver_options *options, mercutio_driver_file **file) {
  const int failed = told("open", options->rank);
  if (failed == -1) return 0;   /* without a file */
  if (failed) return failed;
  const unsigned flags = options->flags;
  int wanted = O_CLOEXEC | (flags & MERCUTIO_DRIVER_WRITE ? flags & MERCUTIO_DRIVER_READ ? O_RDWR : O_WRONLY : O_RDONLY);
  if (flags & MERCUTIO_DRIVER_CREATE) wanted |= O_CREAT;
  if (flags & MERCUTIO_DRIVER_EXCLUSIVE) wanted |= O_EXCL;
  mercutio_driver_file *opened = calloc(1, sizeof *opened);
  if (!opened) return ENOMEM;
  opened->rank = options->rank;
  snprintf(opened->path, sizeof opened->path, "%s", path);
  opened->fd = open(path, wanted, options->permissions);
  int error = opened->fd < 0 ? errno : 0;
  /* The handle is the path once more: it must be what rank 0 gave. */
  if (options->handle && (options->handle_bytes != strlen(path) || memcmp(options->handle, path, strlen(path))) && !error) error = EBADMSG;
  if (options->rank > 0 && !options->handle && getenv("MERCUTIO_TEST_NEEDS_HANDLE")) error = EBADMSG;
  if (error) {
    if (opened->fd >= 0) close(opened->fd);
    free(opened);
    return error;
  }
  pthread_mutex_init(&opened->mutex, NULL);
  opened->keeps = (flags & MERCUTIO_DRIVER_KEEP_WRITES) != 0;
  if (opened->keeps) opened->pieces = calloc(kKeptPieces, sizeof *opened->pieces);
  opened->keeps = opened->pieces != NULL;
  *file = opened;
  return 0;
}

static int plain_close(mercutio_driver_file *file) {
  const int failed = told("close", file->rank), written = write_out(file);
  close(file->fd);
  pthread_mutex_destroy(&file->mutex);
  free(file->pieces);
  free(file);
  return failed && failed != EINTR ? failed : written;
}

enum { kMost = 4097 };   /* bytes of a call */

static int keep(mercutio_driver_file *file, const mercutio_driver_extent *extent, int64_t *moved) {
  pthread_mutex_lock(&file->mutex);
  const int error = file->kept == kKeptPieces ? write_out_locked(file) : 0;
  if (!error) {
    Kept *one = &file->pieces[file->kept++];
    one->offset = extent->offset;
    *moved = one->bytes = extent->bytes < kKeptBytes ? extent->bytes : kKeptBytes;
    memcpy(one->data, extent->data, (size_t)one->bytes);
  }
  pthread_mutex_unlock(&file->mutex);
  return error;
}

static int move(mercutio_driver_file *file, int writing, const mercutio_driver_extent *extents, size_t count, int64_t *moved) {
  const int failed = told(writing ? "write" : "read", file->rank);
  if (failed == -1) return *moved = INT64_MAX, 0;
  if (failed) return *moved = 17, failed;   /* what is set with an error doesn't count */
  int64_t left = kMost;
  *moved = 0;
  if (writing && file->keeps) return keep(file, extents, moved);
  const int written = write_out(file);
  if (written) return written;
  for (size_t i = 0; i < count && left > 0; i++) {
    const size_t bytes = extents[i].bytes < left ? (size_t)extents[i].bytes : (size_t)left;
    const ssize_t n = writing ? pwrite(file->fd, extents[i].data, bytes, extents[i].offset) : pread(file->fd, extents[i].data, bytes, extents[i].offset);
    if (n < 0) return errno;
    *moved += n;
    left -= n;
    if (n < extents[i].bytes) break;
  }
  return 0;
}
static int plain_read(mercutio_driver_file *file, const mercutio_driver_extent *extents, size_t count, int64_t *moved) {
  return move(file, 0, extents, count, moved);
}
#ifndef PARTIAL
static int plain_write(mercutio_driver_file *file, const mercutio_driver_extent *extents, size_t count, int64_t *moved) {
  return move(file, 1, extents, count, moved);
}
#endif

static int plain_get_size(mercutio_driver_file *file, int64_t *bytes) {
  const int failed = told("get_size", file->rank);
  struct stat status;
  if (failed == -1) return *bytes = -3, 0;
  const int written = failed ? failed : write_out(file);
  if (written) return written;
  if (fstat(file->fd, &status)) return errno;
  *bytes = status.st_size;
  return 0;
}

#if !defined LEAST
static int plain_set_size(mercutio_driver_file *file, int64_t bytes) {
  const int failed = told("set_size", file->rank);
  return failed ? failed : ftruncate(file->fd, bytes) ? errno : 0;
}
static int plain_preallocate(mercutio_driver_file *file, int64_t bytes) {
  struct stat status;
  const int failed = told("preallocate", file->rank), written = failed ? failed : write_out(file);
  if (written || bytes == 0) return written;
  const int refused = posix_fallocate(file->fd, 0, bytes);
  if (refused != ENOSYS && refused != EOPNOTSUPP) return refused;   // kernels and file systems without it: longer, at least
  if (fstat(file->fd, &status)) return errno;
  return status.st_size < bytes && ftruncate(file->fd, bytes) ? errno : 0;
}
static void await_file(const char *path) {
  char mark[4096];
  snprintf(mark, sizeof mark, "%s.awaited", path);
  close(open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  while (access(path, F_OK)) usleep(1000);
}
static int plain_sync(mercutio_driver_file *file) {
  if (getenv("MERCUTIO_TEST_SYNC_AWAITS")) await_file(getenv("MERCUTIO_TEST_SYNC_AWAITS"));
  const int failed = told("sync", file->rank), written = failed ? failed : write_out(file);
  return written ? written : fsync(file->fd) ? errno : 0;
}
static int plain_flush(mercutio_driver_file *file) {
  const int failed = told("flush", file->rank);
  return failed ? failed : write_out(file);
}
static int plain_refresh(mercutio_driver_file *file) { return told("refresh", file->rank); }
static int plain_publish(mercutio_driver_file *file, uint32_t flags) {
  (void)flags;   /* what is written is in the file at once */
  return told("publish", file->rank);
}
static int plain_begin_turn(mercutio_driver_file *file, int64_t turn) {
  (void)turn;
  return told("begin_turn", file->rank);
}
static int plain_remove(const char *path) {
  const int failed = told("remove", 0);
  return failed ? failed : unlink(path) ? errno : 0;
}
static int plain_get_traits(mercutio_driver_file *file, mercutio_driver_traits *traits) {
  const char *seen = getenv("MERCUTIO_TEST_SEEN"), *locks = getenv("MERCUTIO_TEST_LOCKS");
  const int failed = told("get_traits", file->rank);
  if (failed == -1) return -22;
  if (failed) return failed;
  traits->extents_per_call = 3;
  traits->block_bytes = 8192;
  traits->stripe_bytes = 65536;
  traits->stripe_count = 4;
  traits->first_server = 2;
  traits->advice = "Ask whoever wrote the driver";
  traits->keeps_writes = file->keeps;
  const char *member = getenv("MERCUTIO_TEST_TRAIT");   /* NAME=NUMBER */
  char name[32];
  long long number;
  if (member && sscanf(member, "%31[^=]=%lld", name, &number) == 2) {
    if (!strcmp(name, "extents_per_call")) traits->extents_per_call = (int32_t)number;
    if (!strcmp(name, "block_bytes")) traits->block_bytes = number;
    if (!strcmp(name, "stripe_bytes")) traits->stripe_bytes = number;
    if (!strcmp(name, "stripe_count")) traits->stripe_count = number;
    if (!strcmp(name, "first_server")) traits->first_server = number;
  }
  if (getenv("MERCUTIO_TEST_ADVICE")) traits->advice = getenv("MERCUTIO_TEST_ADVICE");
  if (seen) traits->seen = atoi(seen);
  if (locks) traits->locks = atoi(locks);
  return 0;
}

/* Each lock has an open of its own, so that the kernel keeps those of the threads apart, too. */
static int plain_lock(mercutio_driver_file *file, const mercutio_driver_range *wanted, void **lock) {
  const int failed = told("lock", file->rank);
  if (failed) return failed;
  struct flock range = {.l_type = wanted->exclusive ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET, .l_start = wanted->begin};
  if (wanted->end != INT64_MAX) range.l_len = wanted->end - wanted->begin;
  const int fd = open(file->path, (wanted->exclusive ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (fd < 0) return errno;
  if (fcntl(fd, wanted->wait ? F_OFD_SETLKW : F_OFD_SETLK, &range) == 0) return *lock = (void *)(intptr_t)fd, 0;
  const int error = errno == EACCES ? EAGAIN : errno;
  close(fd);
  return error;
}
static int plain_unlock(mercutio_driver_file *file, void *lock) {
  const int failed = told("unlock", file->rank);
  if (failed == EINTR) return failed;
  close((int)(intptr_t)lock);
  return failed;
}
static int plain_get_handle(mercutio_driver_file *file, void *bytes, size_t room, size_t *count) {
  const int failed = told("get_handle", file->rank);
  if (failed == -1) return *count = room + 1, 0;
  if (failed) return failed;
  *count = strlen(file->path);
  if (*count > room) return ERANGE;
  memcpy(bytes, file->path, *count);
  return 0;
}

static void describe(const struct stat *status, mercutio_driver_entry *entry) {
  entry->is_folder = S_ISDIR(status->st_mode);
  entry->bytes = status->st_size;
  entry->modified_ns = status->st_mtim.tv_sec * INT64_C(1000000000) + status->st_mtim.tv_nsec;
}
static int plain_look(const char *path, mercutio_driver_entry *entry) {
  const int failed = told("look", 0);
  struct stat status;
  if (failed == -1) return entry->bytes = -1, 0;
  if (failed) return failed;
  if (stat(path, &status)) return errno;
  describe(&status, entry);
  return 0;
}
static int plain_list(const char *path, int (*take)(void *to, const mercutio_driver_entry *entry), void *to) {
  const int failed = told("list", 0);
  const mercutio_driver_entry nameless = {.size = sizeof nameless};
  if (failed == -1) return take(to, &nameless), 0;
  DIR *folder = opendir(path);
  if (!folder) return errno;
  for (const struct dirent *one; (one = readdir(folder)) != NULL;) {
    struct stat status;
    mercutio_driver_entry entry = {.size = sizeof entry, .name = one->d_name};
    if (!strcmp(one->d_name, ".") || !strcmp(one->d_name, "..") || fstatat(dirfd(folder), one->d_name, &status, 0)) continue;
    describe(&status, &entry);
    if (take(to, &entry)) break;
    if (failed) break;   /* in the middle: it is made again after EINTR */
  }
  closedir(folder);
  return failed;
}
static int plain_rename(const char *path, const char *other, uint32_t flags) {
  const int failed = told("rename", 0);
  return failed ? failed : renameat2(AT_FDCWD, path, AT_FDCWD, other, flags & MERCUTIO_DRIVER_EXCLUSIVE ? RENAME_NOREPLACE : 0) ? errno : 0;
}
static int plain_make_folder(const char *path) {
  const int failed = told("make_folder", 0);
  return failed ? failed : mkdir(path, 0777) ? errno : 0;
}
static int plain_remove_folder(const char *path) {
  const int failed = told("remove_folder", 0);
  return failed ? failed : rmdir(path) ? errno : 0;
}
#endif
static const char *plain_explain(void) { return why; }

#ifndef ABI
#define ABI MERCUTIO_DRIVER_ABI
#endif

int mercutio_driver_init(const mercutio_driver_host *host, const mercutio_driver **driver) {
  static const mercutio_driver ours = {
      .abi = ABI,
      .size = sizeof ours,
      .open = plain_open,
      .close = plain_close,
      .read = plain_read,
#ifndef PARTIAL
      .write = plain_write,
#endif
      .get_size = plain_get_size,
#ifndef LEAST
      .set_size = plain_set_size,
      .preallocate = plain_preallocate,
      .sync = plain_sync,
      .refresh = plain_refresh,
      .remove = plain_remove,
      .get_traits = plain_get_traits,
      .lock = plain_lock,
      .unlock = plain_unlock,
      .get_handle = plain_get_handle,
      .publish = plain_publish,
      .begin_turn = plain_begin_turn,
      .look = plain_look,
      .list = plain_list,
      .rename = plain_rename,
      .make_folder = plain_make_folder,
      .remove_folder = plain_remove_folder,
      .flush = plain_flush,
#endif
      .explain = plain_explain,
  };
  *driver = &ours;
#ifdef UNWILLING
  snprintf(why, sizeof why, "the server of this driver is asleep");
  return EHOSTDOWN;
#endif
  return host->abi == MERCUTIO_DRIVER_ABI && host->size >= sizeof *host && host->version[0] ? 0 : EPROTO;
}
