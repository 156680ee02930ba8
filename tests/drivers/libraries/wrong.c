/* A test driver with a defect, for `mercutio driver check`: that of plain.c, but for the one that MERCUTIO_TEST_WRONG names. */
#define _GNU_SOURCE
#include "mercutio/driver.h"

#define mercutio_driver_init plain_init
#include "plain.c"
#undef mercutio_driver_init

#include <signal.h>

static const mercutio_driver *plain;

static int wrong(const char *defect) {
  const char *wanted = getenv("MERCUTIO_TEST_WRONG");
  return wanted && !strcmp(wanted, defect);
}

/* The third check's file. */
static int in_third(const char *path) {
  const size_t length = strlen(path);
  return length > 2 && !strcmp(path + length - 2, "-3");
}

/* One descriptor for all opens of a file. */
static pthread_mutex_t shared_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  char path[4096];
  int fd;
} shared;

static int wrong_open(const char *path, const mercutio_driver_options *options, mercutio_driver_file **file) {
  mercutio_driver_options other = *options;
  if (wrong("permissions")) other.permissions = 0777;
  const int error = plain->open(path, &other, file);
  if (error || !*file) return error;
  if (wrong("truncates") && options->flags & MERCUTIO_DRIVER_CREATE && ftruncate((*file)->fd, 0)) return errno;
  if (wrong("hangs") && in_third(path)) pause();
  if (wrong("crashes") && in_third(path)) raise(SIGSEGV);
  if (wrong("exits") && in_third(path)) exit(5);
  if (wrong("all_crash")) raise(SIGSEGV);
  if (wrong("rank_crashes") && options->rank == 2) raise(SIGSEGV);
  if (!wrong("shares")) return 0;
  pthread_mutex_lock(&shared_mutex);
  if (strcmp(shared.path, path)) {
    snprintf(shared.path, sizeof shared.path, "%s", path);
    shared.fd = (*file)->fd;
  } else {
    close((*file)->fd);
    (*file)->fd = shared.fd;
  }
  pthread_mutex_unlock(&shared_mutex);
  return 0;
}
static int wrong_close(mercutio_driver_file *file) {
  if (wrong("forgets_at_close")) file->kept = 0;
  if (wrong("shares")) {
    pthread_mutex_lock(&shared_mutex);
    shared.path[0] = 0;
    pthread_mutex_unlock(&shared_mutex);
  }
  return plain->close(file);
}
static int wrong_sync(mercutio_driver_file *file) { return wrong("forgets_to_sync") ? 0 : plain->sync(file); }

static int wrong_read(mercutio_driver_file *file, const mercutio_driver_extent *extents, size_t count, int64_t *moved) {
  mercutio_driver_extent one = extents[0];
  if (wrong("far")) one.offset = (uint32_t)one.offset, extents = &one, count = 1;
  if (wrong("flips") && one.bytes > 1000000) {
    const ssize_t n = pread(file->fd, one.data, (size_t)one.bytes, one.offset);
    if (n > 1000000) ((char *)one.data)[n - 1] ^= 1;
    return *moved = n, n < 0 ? errno : 0;
  }
  if (wrong("seeks")) {
    lseek(file->fd, one.offset, SEEK_SET);
    const ssize_t n = read(file->fd, one.data, (size_t)one.bytes);
    return *moved = n, n < 0 ? errno : 0;
  }
  return plain->read(file, extents, count, moved);
}
static int wrong_write(mercutio_driver_file *file, const mercutio_driver_extent *extents, size_t count, int64_t *moved) {
  mercutio_driver_extent one = extents[0];
  if (wrong("far")) one.offset = (uint32_t)one.offset, extents = &one, count = 1;
  if (wrong("short") && one.bytes > 1 << 20) {
    const ssize_t n = pwrite(file->fd, one.data, (size_t)one.bytes - 1, one.offset);
    return *moved = n + 1, n < 0 ? errno : 0;
  }
  if (wrong("seeks")) {
    lseek(file->fd, one.offset, SEEK_SET);
    const ssize_t n = write(file->fd, one.data, (size_t)one.bytes);
    return *moved = n, n < 0 ? errno : 0;
  }
  return plain->write(file, extents, count, moved);
}

static int wrong_traits(mercutio_driver_file *file, mercutio_driver_traits *traits) {
  const int error = wrong("traits_fail") ? EIO : plain->get_traits(file, traits);
  if (wrong("numbers")) traits->file_number = 100 + file->rank;
  if (wrong("one_number")) traits->file_number = 100;
  if (wrong("seen_of_ranks")) traits->seen = file->rank > 0 ? MERCUTIO_DRIVER_SEEN_AFTER_OPEN : MERCUTIO_DRIVER_SEEN_AT_ONCE;
  return error;
}
static int wrong_lock(mercutio_driver_file *file, const mercutio_driver_range *range, void **lock) {
  mercutio_driver_range other = *range;
  if (wrong("locks_short") && other.end - other.begin > 1) --other.end;
  if (wrong("locks_end") && other.end == INT64_MAX) other.end = other.begin + (1 << 20);
  return plain->lock(file, &other, lock);
}

static int wrong_look(const char *path, mercutio_driver_entry *entry) {
  const int error = plain->look(path, entry);
  if (wrong("looks_longer")) ++entry->bytes;
  if (wrong("looks_flat")) entry->is_folder = 0;
  return error;
}
static int wrong_list(const char *path, int (*take)(void *to, const mercutio_driver_entry *entry), void *to) {
  char whole[8192];
  snprintf(whole, sizeof whole, "%s/one", path);
  const mercutio_driver_entry dot = {.size = sizeof dot, .name = ".", .is_folder = 1}, path_entry = {.size = sizeof path_entry, .name = whole};
  if (wrong("lists_dots") && take(to, &dot)) return 0;
  if (wrong("lists_paths") && take(to, &path_entry)) return 0;
  return plain->list(path, take, to);
}
static int wrong_rename(const char *path, const char *other, uint32_t flags) { return plain->rename(path, other, wrong("replaces") ? 0 : flags); }
static int wrong_make_folder(const char *path) {
  const int error = plain->make_folder(path);
  return wrong("makes_twice") && error == EEXIST ? 0 : error;
}
static int wrong_remove_folder(const char *path) {
  char whole[8192];
  for (int i = 0; wrong("removes_files") && i < 2; i++) {
    snprintf(whole, sizeof whole, "%s/%s", path, i ? "one" : "two");
    unlink(whole);
  }
  if (wrong("removes_files")) snprintf(whole, sizeof whole, "%s/folder", path), rmdir(whole);
  return plain->remove_folder(path);
}

int mercutio_driver_init(const mercutio_driver_host *host, const mercutio_driver **driver) {
  static mercutio_driver ours;
  if (wrong("exits_at_once")) exit(7);
  const int error = plain_init(host, &plain);
  ours = *plain;
  ours.open = wrong_open;
  ours.close = wrong_close;
  ours.read = wrong_read;
  ours.write = wrong_write;
  ours.sync = wrong_sync;
  ours.get_traits = wrong_traits;
  ours.lock = wrong_lock;
  ours.look = wrong_look;
  ours.list = wrong_list;
  ours.rename = wrong_rename;
  ours.make_folder = wrong_make_folder;
  ours.remove_folder = wrong_remove_folder;
  *driver = &ours;
  return error;
}
