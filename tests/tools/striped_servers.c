// Preload that lets the files below a directory lie in stripes on servers of a fixed rate, as on Lustre: to see where an
// MPI-IO library sends its bytes, and whether it keeps slow servers busy. For tests and measurements on one machine.
//
//   MERCUTIO_SERVERS_ROOT    the directory; it has to hold `.servers`, a file of zeros of at least 64 KiB (the state below)
//   MERCUTIO_SERVERS_COUNT   servers, 4
//   MERCUTIO_SERVERS_STRIPE  bytes of a stripe, 1 MiB
//   MERCUTIO_SERVERS_RATE    bytes a second that one server takes or gives; 0: no limit
//   MERCUTIO_SERVERS_ENDING  only files whose names end so; all
//   MERCUTIO_SERVERS_LATENCY microseconds that each request takes besides, 0
//   MERCUTIO_SERVERS_DEFAULT servers of a new file for which nobody asks for stripes; all of them
//   MERCUTIO_SERVERS_LOCKS   1: extent locks as on Lustre (striped_locks.h); 0
//   MERCUTIO_SERVERS_AHEAD   with locks: 0, clients know no lock-ahead; 1
//   MERCUTIO_SERVERS_MESSAGE with locks: microseconds that a message takes, 500
//   MERCUTIO_SERVERS_DIRTY   with locks: bytes for a server that a client may have without having written them, 32 MiB
//   MERCUTIO_SERVERS_CLIENT  process: each process is a client; node: all of a host together
//
// Bytes lie in stripes (striped_layouts.h) on the servers, at their place in the file in the sparse object ROOT/.server<k>/<name> (/ in it is
// +); the file itself only has the size. A server does one request after the other and buffers what it does in a millisecond: a transfer
// returns when its last piece has had its turn, or will within that time. All processes see the same servers through the mapped state, which also
// counts bytes by direction, server and client (host name). The file system says that it is Lustre, and takes its ioctls about locks; one with an argument that
// Lustre would not take ends the program; a layout that is set for a new file
// (lustre.lov) is kept in ROOT/.layout+<name>. Not seen: io_uring, mmap, descriptors that were duplicated.
#define _GNU_SOURCE
#include <aio.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { kServers = 16, kNodes = 16, kDescriptors = 1024, kNameBytes = 64, kRead = 0, kWrite = 1, kBufferNs = 1000000 };

#include "striped_layouts.h"
#include "striped_locks.h"

// What all processes share; bench/nodes.py and bench/ylib.py read it.
typedef struct {
  _Atomic int64_t free_at_ns[kServers];
  _Atomic int64_t bytes[2][kServers][kNodes];
  _Atomic int64_t requests[2][kServers][kNodes];
  char node_names[kNodes][kNameBytes];
  _Atomic int nodes_lock, unused;
  Locks locks;
} State;

typedef struct {
  int striped, object[kServers];
  long exact, group;   // its locks don't grow; whose group lock it holds, 0: none
  uint64_t inode;
  FileLayout layout;
} File;

static File files[kDescriptors];
static State *state;
static int node, clients_are_processes, knows_ahead;
static int64_t rate, latency_ns;
static atomic_int unlimited;
static char root[PATH_MAX];
static const char *ending = "";

#define REAL(result, name, ...) \
  static result (*real)(__VA_ARGS__); \
  if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int real_open(const char *path, int flags, int permissions) {
  REAL(int, "open64", const char *, int, ...);
  return real(path, flags, permissions);
}
static int real_close(int fd) {
  REAL(int, "close", int);
  return real(fd);
}
static int real_unlink(const char *path) {
  REAL(int, "unlink", const char *);
  return real(path);
}
static ssize_t real_pread(int fd, void *to, size_t bytes, off_t offset) {
  REAL(ssize_t, "pread64", int, void *, size_t, off_t);
  return real(fd, to, bytes, offset);
}
static ssize_t real_pwrite(int fd, const void *from, size_t bytes, off_t offset) {
  REAL(ssize_t, "pwrite64", int, const void *, size_t, off_t);
  return real(fd, from, bytes, offset);
}

static int64_t fstat_size(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 ? status.st_size : INT64_MAX;
}

static void grow(int fd, off_t bytes) {
  REAL(int, "ftruncate64", int, off_t);
  if (real(fd, bytes) != 0) perror("striped_servers");
}

static int64_t number(const char *name, int64_t otherwise) {
  const char *text = getenv(name);
  return text ? atoll(text) : otherwise;
}

// This client's place in the table of names.
static int find_node(void) {
  char name[kNameBytes] = "";
  int at = 0, expected = 0;
  gethostname(name, sizeof name / 2);
  if (clients_are_processes) snprintf(name + strlen(name), kNameBytes / 2, ".%d", (int)getpid());
  while (!atomic_compare_exchange_weak(&state->nodes_lock, &expected, 1)) expected = 0;
  while (at < kNodes - 1 && state->node_names[at][0] && strcmp(state->node_names[at], name) != 0) ++at;
  memcpy(state->node_names[at], name, sizeof name);
  atomic_store(&state->nodes_lock, 0);
  return at;
}

__attribute__((constructor)) static void begin(void) {
  char path[PATH_MAX + 16];
  const char *wanted = getenv("MERCUTIO_SERVERS_ROOT");
  if (!wanted || !realpath(wanted, root)) return;
  servers = (int)number("MERCUTIO_SERVERS_COUNT", servers);
  stripe = number("MERCUTIO_SERVERS_STRIPE", stripe);
  rate = number("MERCUTIO_SERVERS_RATE", 0);
  if (getenv("MERCUTIO_SERVERS_ENDING")) ending = getenv("MERCUTIO_SERVERS_ENDING");
  latency_ns = 1000 * number("MERCUTIO_SERVERS_LATENCY", 0);
  default_count = (int)number("MERCUTIO_SERVERS_DEFAULT", servers);
  locks_on = number("MERCUTIO_SERVERS_LOCKS", 0) != 0;
  knows_ahead = number("MERCUTIO_SERVERS_AHEAD", 1) != 0;
  message_ns = 1000 * number("MERCUTIO_SERVERS_MESSAGE", 500);
  dirty_limit = number("MERCUTIO_SERVERS_DIRTY", 32 << 20);
  const char *clients = getenv("MERCUTIO_SERVERS_CLIENT");
  clients_are_processes = clients && strcmp(clients, "process") == 0;
  snprintf(path, sizeof path, "%s/.servers", root);
  int fd = real_open(path, O_RDWR | O_CLOEXEC, 0);
  if (fd >= 0 && fstat_size(fd) < (int64_t)sizeof(State)) grow(fd, sizeof(State));
  void *at = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(State), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0) real_close(fd);
  if (at == MAP_FAILED || servers < 1 || servers > kServers) {
    fprintf(stderr, "striped_servers: %s can't be used\n", path);
    return;
  }
  state = at;
  node = clients_are_processes ? -1 : find_node();   // many processes never come to the servers
}

static int this_client(void) {
  static pthread_mutex_t finding = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&finding);
  if (node < 0) node = find_node();
  pthread_mutex_unlock(&finding);
  return node;
}

// The name below the root; NULL: another file.
static const char *below_root(const char *path) {
  size_t length = strlen(root);
  if (!state || !path || strncmp(path, root, length) != 0 || path[length] != '/') return NULL;
  size_t all = strlen(path), end = strlen(ending);
  return path[length + 1] == '.' || all < end || strcmp(path + all - end, ending) != 0 ? NULL : path + length + 1;
}

static File *striped(int fd) { return fd >= 0 && fd < kDescriptors && files[fd].striped ? &files[fd] : NULL; }

static void object_name(char *to, size_t bytes, int server, const char *name) {
  int length = snprintf(to, bytes, "%s/.server%d/", root, server);
  snprintf(to + length, bytes - (size_t)length, "%s", name);
  for (char *at = to + length; *at; ++at) {
    if (*at == '/') *at = '+';
  }
}

// The server's turn for `bytes`: queued behind what others asked for, and over when it returns; a write under a lock is over before, as
// long as the client has room for it.
static void serve(int direction, int server, int64_t bytes) {
  struct timespec now;
  const int client = this_client();
  atomic_fetch_add(&state->bytes[direction][server][client], bytes);
  atomic_fetch_add(&state->requests[direction][server][client], 1);
  if ((rate <= 0 && latency_ns <= 0) || atomic_load(&unlimited)) return;
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec, free_at = atomic_load(&state->free_at_ns[server]), end;
  do {
    end = (free_at > now_ns ? free_at : now_ns) + latency_ns + (rate > 0 ? bytes * 1000000000 / rate : 0);
  } while (!atomic_compare_exchange_weak(&state->free_at_ns[server], &free_at, end));
  if (locks_on && direction == kWrite && rate > 0) {
    atomic_store(&state->locks.dirty_until_ns[server][client], end);
    end -= dirty_limit / 1000 * 1000000000 / rate * 1000;
  }
  if (end - now_ns >= kBufferNs) sleep_until(end);
}

static void lock_stripe(const File *file, int direction, int server, int64_t begin, int64_t end) {
  if (!locks_on || atomic_load(&unlimited)) return;
  const Extent wanted = {begin, end, this_client(), direction == kWrite};
  int64_t granted = take_lock(&state->locks, file->inode, server, wanted, file->exact != 0, rate, &state->free_at_ns[server]);
  if (granted != 0) sleep_until(granted);
}

// For a program that prepares or checks its files between measurements: 0 moves this process's bytes at once and without locks, from 1 on the
// servers have done what they were asked for before.
void striped_servers_limit(int on) {
  atomic_store(&unlimited, !on);
  for (int i = 0; state && on && i < servers; ++i) sleep_until(atomic_load(&state->free_at_ns[i]));
}

static int move(const File *file, int direction, char *memory, int64_t bytes, int64_t offset) {
  for (int64_t done = 0; done < bytes;) {
    int64_t at = offset + done, end = stripe_end(&file->layout, at);
    int64_t part = end - at < bytes - done ? end - at : bytes - done, moved = 0;
    int server = server_at(&file->layout, at);
    while (moved < part) {
      ssize_t step = direction == kWrite ? real_pwrite(file->object[server], memory + done + moved, (size_t)(part - moved), at + moved)
                                         : real_pread(file->object[server], memory + done + moved, (size_t)(part - moved), at + moved);
      if (step < 0) return -1;
      if (step == 0) {   // a hole at the object's end
        memset(memory + done + moved, 0, (size_t)(part - moved));
        step = part - moved;
      }
      moved += step;
    }
    done += part;
  }
  return 0;
}

static ssize_t transfer(int fd, int direction, const struct iovec *parts, int count, int64_t offset) {
  struct stat status;
  int64_t total = 0, done = 0;
  if (fstat(fd, &status) != 0) return -1;
  for (int i = 0; i < count; ++i) total += (int64_t)parts[i].iov_len;
  if (direction == kRead) total = status.st_size <= offset ? 0 : total < status.st_size - offset ? total : status.st_size - offset;
  for (int i = 0; i < count && done < total; ++i) {
    int64_t bytes = (int64_t)parts[i].iov_len < total - done ? (int64_t)parts[i].iov_len : total - done;
    if (move(&files[fd], direction, parts[i].iov_base, bytes, offset + done) < 0) return -1;
    done += bytes;
  }
  // A server sees one request for what is contiguous in a stripe, in however many buffers it lies.
  for (int64_t served = 0, part; served < done; served += part) {
    int64_t at = offset + served, end = stripe_end(&files[fd].layout, at);
    int server = server_at(&files[fd].layout, at);
    part = end - at < done - served ? end - at : done - served;
    lock_stripe(&files[fd], direction, server, at, at + part);
    serve(direction, server, part);
  }
  // A byte at the end makes the file longer, and never shorter, whatever others do.
  if (direction == kWrite && done > 0 && offset + done > status.st_size && real_pwrite(fd, "", 1, offset + done - 1) != 1) return -1;
  return done;
}

static void layout_name(char *to, size_t bytes, const char *name) {
  int length = snprintf(to, bytes, "%s/.layout+", root);
  snprintf(to + length, bytes - (size_t)length, "%s", name);
  for (char *at = to + length; *at; ++at) {
    if (*at == '/') *at = '+';
  }
}

// That of a file that has one of its own; else the default.
static FileLayout layout_of(const char *name) {
  char path[2 * PATH_MAX];
  unsigned char lov[kLovBytes];
  FileLayout layout = default_layout();
  layout_name(path, sizeof path, name);
  int fd = real_open(path, O_RDONLY | O_CLOEXEC, 0);
  ssize_t bytes = fd < 0 ? 0 : real_pread(fd, lov, sizeof lov, 0);
  if (fd >= 0) real_close(fd);
  if (bytes > 0) take_layout(lov, (size_t)bytes, &layout);
  return layout;
}

static int open_striped(const char *path, int flags, int permissions) {
  char object[2 * PATH_MAX], full[PATH_MAX];
  const char *slash = strrchr(path, '/'), *name = below_root(path);
  if (!name && state && slash && slash != path) {   // another spelling of the directory
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    if (realpath(folder, full) && strncmp(full, root, strlen(root)) == 0) name = below_root(strcat(full, slash));
  }
  int readable = (flags & O_ACCMODE) == O_WRONLY ? (flags & ~O_ACCMODE) | O_RDWR : flags;
  int fd = real_open(path, name ? readable & ~(O_DIRECT | O_APPEND) : flags, permissions);
  struct stat status;
  if (fd < 0 || fd >= kDescriptors || !name || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return fd;
  for (int i = 0; i < servers; ++i) {
    object_name(object, sizeof object, i, name);
    files[fd].object[i] = real_open(object, O_RDWR | O_CREAT | O_CLOEXEC | (flags & O_TRUNC), 0666);
    if (files[fd].object[i] < 0) fprintf(stderr, "striped_servers: %s: %s\n", object, strerror(errno));
  }
  if (flags & O_EXCL && flags & O_CREAT) {   // what a file of that name had before
    layout_name(object, sizeof object, name);
    real_unlink(object);
  }
  files[fd].layout = layout_of(name);
  files[fd].inode = status.st_ino;
  files[fd].exact = files[fd].group = 0;
  files[fd].striped = 1;
  return fd;
}

// The interposed calls.
int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int permissions = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0;
  va_end(rest);
  return open_striped(path, flags, permissions);
}
int open64(const char *path, int flags, ...) __attribute__((alias("open")));

int close(int fd) {
  File *file = striped(fd);
  for (int i = 0; file && i < servers; ++i) real_close(file->object[i]);
  if (file) file->striped = 0;
  return real_close(fd);
}

ssize_t pread(int fd, void *to, size_t bytes, off_t offset) {
  struct iovec part = {to, bytes};
  return striped(fd) ? transfer(fd, kRead, &part, 1, offset) : real_pread(fd, to, bytes, offset);
}
ssize_t pread64(int fd, void *to, size_t bytes, off_t offset) __attribute__((alias("pread")));

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t offset) {
  struct iovec part = {(void *)from, bytes};
  return striped(fd) ? transfer(fd, kWrite, &part, 1, offset) : real_pwrite(fd, from, bytes, offset);
}
ssize_t pwrite64(int fd, const void *from, size_t bytes, off_t offset) __attribute__((alias("pwrite")));

ssize_t preadv(int fd, const struct iovec *parts, int count, off_t offset) {
  REAL(ssize_t, "preadv64", int, const struct iovec *, int, off_t);
  return striped(fd) ? transfer(fd, kRead, parts, count, offset) : real(fd, parts, count, offset);
}
ssize_t preadv64(int fd, const struct iovec *parts, int count, off_t offset) __attribute__((alias("preadv")));

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  REAL(ssize_t, "pwritev64", int, const struct iovec *, int, off_t);
  return striped(fd) ? transfer(fd, kWrite, parts, count, offset) : real(fd, parts, count, offset);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t offset) __attribute__((alias("pwritev")));

ssize_t preadv2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
  REAL(ssize_t, "preadv64v2", int, const struct iovec *, int, off_t, int);
  return striped(fd) ? transfer(fd, kRead, parts, count, offset) : real(fd, parts, count, offset, flags);
}
ssize_t preadv64v2(int fd, const struct iovec *parts, int count, off_t offset, int flags) __attribute__((alias("preadv2")));

ssize_t pwritev2(int fd, const struct iovec *parts, int count, off_t offset, int flags) {
  REAL(ssize_t, "pwritev64v2", int, const struct iovec *, int, off_t, int);
  return striped(fd) ? transfer(fd, kWrite, parts, count, offset) : real(fd, parts, count, offset, flags);
}
ssize_t pwritev64v2(int fd, const struct iovec *parts, int count, off_t offset, int flags) __attribute__((alias("pwritev2")));

ssize_t read(int fd, void *to, size_t bytes) {
  REAL(ssize_t, "read", int, void *, size_t);
  if (!striped(fd)) return real(fd, to, bytes);
  ssize_t moved = pread(fd, to, bytes, lseek(fd, 0, SEEK_CUR));
  if (moved > 0) lseek(fd, moved, SEEK_CUR);
  return moved;
}

ssize_t write(int fd, const void *from, size_t bytes) {
  REAL(ssize_t, "write", int, const void *, size_t);
  if (!striped(fd)) return real(fd, from, bytes);
  ssize_t moved = pwrite(fd, from, bytes, lseek(fd, 0, SEEK_CUR));
  if (moved > 0) lseek(fd, moved, SEEK_CUR);
  return moved;
}

// Asynchronous I/O of the C library, a thread for each request: aio_error, aio_return and aio_suspend look at these fields.
static void *run_request(void *given) {
  struct aiocb *request = given;
  struct iovec part = {(void *)request->aio_buf, request->aio_nbytes};
  int direction = request->aio_lio_opcode == LIO_WRITE ? kWrite : kRead;
  request->__return_value = transfer(request->aio_fildes, direction, &part, 1, request->aio_offset);
  __atomic_store_n(&request->__error_code, request->__return_value < 0 ? errno : 0, __ATOMIC_RELEASE);
  return NULL;
}

static int start_request(struct aiocb *request, int opcode) {
  pthread_t thread;
  request->aio_lio_opcode = opcode;
  request->__error_code = EINPROGRESS;
  if (pthread_create(&thread, NULL, run_request, request) != 0) return errno = EAGAIN, -1;
  pthread_detach(thread);
  return 0;
}

int aio_read(struct aiocb *request) {
  REAL(int, "aio_read64", struct aiocb *);
  return striped(request->aio_fildes) ? start_request(request, LIO_READ) : real(request);
}
int aio_read64(struct aiocb64 *request) { return aio_read((struct aiocb *)request); }

int aio_write(struct aiocb *request) {
  REAL(int, "aio_write64", struct aiocb *);
  return striped(request->aio_fildes) ? start_request(request, LIO_WRITE) : real(request);
}
int aio_write64(struct aiocb64 *request) { return aio_write((struct aiocb *)request); }

// The objects keep nothing behind the new end; what is below it stays.
int ftruncate(int fd, off_t bytes) {
  REAL(int, "ftruncate64", int, off_t);
  File *file = striped(fd);
  for (int i = 0; file && i < servers; ++i) {
    if (fstat_size(file->object[i]) > bytes && real(file->object[i], bytes) != 0) return -1;
  }
  return real(fd, bytes);
}
int ftruncate64(int fd, off_t bytes) __attribute__((alias("ftruncate")));

// MPICH calls unlink(NULL), which the declaration of unistd.h excludes: a name of its own.
int interposed_unlink(const char *path) __asm__("unlink");
int interposed_unlink(const char *path) {
  char object[2 * PATH_MAX];
  struct stat status;
  const char *name = below_root(path);
  if (name && locks_on && stat(path, &status) == 0) forget_locks(&state->locks, status.st_ino);
  for (int i = 0; name && i < servers; ++i) {
    object_name(object, sizeof object, i, name);
    real_unlink(object);
  }
  if (name) layout_name(object, sizeof object, name), real_unlink(object);
  return real_unlink(path);
}

// All that this client has written is on the servers.
static int sync_striped(int fd, int (*real)(int)) {
  for (int i = 0; striped(fd) && locks_on && i < servers; ++i) sleep_until(atomic_load(&state->locks.dirty_until_ns[i][this_client()]));
  return real(fd);
}
int fsync(int fd) {
  REAL(int, "fsync", int);
  return sync_striped(fd, real);
}
int fdatasync(int fd) {
  REAL(int, "fdatasync", int);
  return sync_striped(fd, real);
}

#include "striped_requests.h"
enum { kLustreMagic = 0x0BD00BD0 };

int fstatfs(int fd, struct statfs *to) {
  REAL(int, "fstatfs64", int, struct statfs *);
  int code = real(fd, to);
  if (code == 0 && striped(fd)) to->f_type = kLustreMagic;
  return code;
}
int fstatfs64(int fd, struct statfs64 *to) { return fstatfs(fd, (struct statfs *)to); }

int statfs(const char *path, struct statfs *to) {
  REAL(int, "statfs64", const char *, struct statfs *);
  int code = real(path, to);
  if (code == 0 && state && (below_root(path) || strcmp(path, root) == 0)) to->f_type = kLustreMagic;
  return code;
}
int statfs64(const char *path, struct statfs64 *to) { return statfs(path, (struct statfs *)to); }

ssize_t fgetxattr(int fd, const char *name, void *value, size_t bytes) {
  REAL(ssize_t, "fgetxattr", int, const char *, void *, size_t);
  const File *file = striped(fd);
  return file && strcmp(name, "lustre.lov") == 0 ? answer_with(&file->layout, fstat_size(fd), value, bytes) : real(fd, name, value, bytes);
}

// Of a directory: what new files get.
ssize_t getxattr(const char *path, const char *name, void *value, size_t bytes) {
  REAL(ssize_t, "getxattr", const char *, const char *, void *, size_t);
  const int here = state && strcmp(name, "lustre.lov") == 0 && strncmp(path, root, strlen(root)) == 0;
  const FileLayout layout = default_layout();
  return here ? answer_with(&layout, 0, value, bytes) : real(path, name, value, bytes);
}

// Once, for a file that was opened with the flags that put off its objects.
int fsetxattr(int fd, const char *name, const void *value, size_t bytes, int flags) {
  REAL(int, "fsetxattr", int, const char *, const void *, size_t, int);
  char link[64], path[PATH_MAX] = "", kept[2 * PATH_MAX];
  File *file = striped(fd);
  if (!file || strcmp(name, "lustre.lov") != 0) return real(fd, name, value, bytes, flags);
  if (!(fcntl(fd, F_GETFL) & O_ASYNC)) return errno = EEXIST, -1;
  if (!take_layout(value, bytes, &file->layout)) return errno = EINVAL, -1;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (readlink(link, path, sizeof path - 1) < 0 || !below_root(path)) return -1;
  layout_name(kept, sizeof kept, below_root(path));
  int to = real_open(kept, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (to < 0) return -1;
  ssize_t written = real_pwrite(to, value, bytes, 0);
  real_close(to);
  return written == (ssize_t)bytes ? 0 : -1;
}
