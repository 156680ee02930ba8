/* The storage driver of GlusterFS without a mount: files called gluster://HOST/VOLUME/path or gluster://HOST:PORT/VOLUME/path, through
 * libgfapi.so.0, which is loaded and not linked. HOST is any server of the volume, PORT that of its glusterd.
 *
 * Each process is a client of its own for each volume, from the first file it opens there to its end: glfs_fini of GlusterFS 10 may wait
 * for ever. Nothing but the connection is lost by that, as the servers release the locks of a client that has gone. Whatever caches data,
 * sizes or attributes in the client is passed by, so that writes are seen at once. The volume's options don't matter for that. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "load.h"
#include "mercutio/driver.h"
#include "umask.h"

/* As in <glusterfs/api/glfs.h> since GlusterFS 6. The last pointers of pread, pwrite, ftruncate and fsync are attributes that nobody wants here. */
#define CALLS(CALL)                                                                  \
  CALL(void *, new, (const char *))                                                  \
  CALL(int, set_volfile_server, (void *, const char *, const char *, int))           \
  CALL(int, set_logging, (void *, const char *, int))                                \
  CALL(int, set_xlator_option, (void *, const char *, const char *, const char *))   \
  CALL(int, init, (void *))                                                          \
  CALL(int, fini, (void *))                                                          \
  CALL(ssize_t, get_volfile, (void *, void *, size_t))                               \
  CALL(void *, open, (void *, const char *, int))                                    \
  CALL(void *, creat, (void *, const char *, int, mode_t))                           \
  CALL(void *, dup, (void *))                                                        \
  CALL(int, close, (void *))                                                         \
  CALL(ssize_t, pread, (void *, void *, size_t, off_t, int, void *))                 \
  CALL(ssize_t, pwrite, (void *, const void *, size_t, off_t, int, void *, void *))  \
  CALL(int, ftruncate, (void *, off_t, void *, void *))                              \
  CALL(int, fsync, (void *, void *, void *))                                         \
  CALL(int, fstat, (void *, struct stat *))                                          \
  CALL(int, unlink, (void *, const char *))                                          \
  CALL(int, fd_set_lkowner, (void *, void *, int))                                   \
  CALL(int, posix_lock, (void *, int, struct flock *))

#define POINTER(type, name, arguments) type(*name) arguments;
static struct { CALLS(POINTER) } glfs;

static _Thread_local char why[512];
static const char *gluster_explain(void) { return why; }

/* The error of a call that has failed, before which errno was 0: now and then the library leaves it alone. */
static int last_error(void) {
  if (errno > 0) return errno;
  if (!why[0]) snprintf(why, sizeof why, "libgfapi failed and gave no error number");
  return EIO;
}
static int plain(int64_t result) { return result < 0 ? last_error() : 0; }
#define TRY(call) (errno = 0, plain(call))

/* HOST[:PORT]/VOLUME/path. An IPv6 address is in brackets. */
typedef struct {
  char host[256], volume[256], key[520];   /* the key tells clients apart */
  int port;                                /* 0: that of glusterd */
  const char *path;                        /* in the volume, with its slash */
} Name;

static int split_host(const char *text, size_t length, Name *name) {
  const char *end = text + length, *colon = memchr(text, ':', length), *host_end = colon ? colon : end;
  if (length && *text == '[') {
    const char *bracket = memchr(text, ']', length);
    if (!bracket || (bracket + 1 != end && bracket[1] != ':')) return 0;
    colon = bracket + 1 < end ? bracket + 1 : NULL;
    host_end = bracket;
    text++;
  }
  if (host_end <= text || host_end - text >= (ptrdiff_t)sizeof name->host) return 0;
  memcpy(name->host, text, (size_t)(host_end - text));
  for (const char *c = colon ? colon + 1 : end; c < end; c++) {
    if (*c < '0' || *c > '9' || (name->port = name->port * 10 + (*c - '0')) > 65535) return 0;
  }
  return !colon || name->port > 0;
}

static int split_name(const char *text, Name *name) {
  memset(name, 0, sizeof *name);
  why[0] = 0;
  const size_t host = strcspn(text, "/");
  const char *volume = text + host + (text[host] == '/');
  const size_t length = strcspn(volume, "/");
  name->path = volume + length;
  if (split_host(text, host, name) && length > 0 && length < sizeof name->volume && name->path[0] && name->path[1]) {
    memcpy(name->volume, volume, length);
    snprintf(name->key, sizeof name->key, "%s:%d/%s", name->host, name->port, name->volume);
    return 0;
  }
  snprintf(why, sizeof why, "a file of GlusterFS is called gluster://HOST/VOLUME/path or gluster://HOST:PORT/VOLUME/path");
  return EINVAL;
}

typedef struct Client {
  struct Client *next;
  void *volume;
  bool sharded, dispersed;
  pid_t process;   /* a child can't use its parent's: the threads aren't there */
  char key[];
} Client;

static struct {
  pthread_mutex_t mutex;
  Client *first;
} clients = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* What caches in a client: the end of its name in the client's graph, and how it is passed by. Options of what isn't there do nothing. */
static const char *const kCaches[][3] = {
    {"*-write-behind", "pass-through", "on"}, {"*-read-ahead", "pass-through", "on"}, {"*-io-cache", "pass-through", "on"},
    {"*-open-behind", "pass-through", "on"},  {"*-md-cache", "pass-through", "on"},   {"*-nl-cache", "pass-through", "on"},
    {"*-quick-read", "max-file-size", "0"}};

static int connect_client(const Name *name, void **volume) {
  errno = 0;
  *volume = glfs.new(name->volume);
  if (!*volume) return last_error();
  int error = TRY(glfs.set_volfile_server(*volume, "tcp", name->host, name->port));
  if (!error) error = TRY(glfs.set_logging(*volume, "/dev/null", 0));   /* else a file for each process in /var/log/glusterfs */
  for (size_t i = 0; !error && i < sizeof kCaches / sizeof *kCaches; i++)
    error = TRY(glfs.set_xlator_option(*volume, kCaches[i][0], kCaches[i][1], kCaches[i][2]));
  if (!error) {
    errno = 0;
    error = glfs.init(*volume) ? last_error() : 0;
    if (error == ENOENT) error = ENODEV;   /* the volume isn't there, which says nothing of the file */
    if (error)
      snprintf(why, sizeof why, "volume %.100s of %.200s can't be reached: see that `gluster volume status %.100s` answers there", name->volume, name->host,
               name->volume);
  }
  if (error) glfs.fini(*volume);
  return error;
}

/* How long the volume's volfile is. The library connects with it, and stores it a moment later: glfs_init may return before. 0: it never came. */
static size_t volfile_bytes(void *volume) {
  enum { MOST_SECONDS = 10 };
  struct timespec now, end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += MOST_SECONDS;
  do {
    const ssize_t lacking = glfs.get_volfile(volume, NULL, 0);
    if (lacking < 0) return (size_t)-lacking;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec < end.tv_sec);
  return 0;
}

/* What the volume is made of: parts of its volfile, the graph of the client. */
static int query_volume(Client *client) {
  const size_t bytes = volfile_bytes(client->volume);
  if (!bytes) return snprintf(why, sizeof why, "libgfapi doesn't say what the volume is made of"), EIO;
  char *graph = calloc(1, bytes + 1);
  if (!graph) return ENOMEM;
  const int error = TRY(glfs.get_volfile(client->volume, graph, bytes));
  client->sharded = strstr(graph, "type features/shard\n") != NULL;
  client->dispersed = strstr(graph, "type cluster/disperse\n") != NULL;
  free(graph);
  return error;
}

static int make_client(const Name *name, Client **made) {
  Client *client = calloc(1, sizeof *client + strlen(name->key) + 1);
  if (!client) return ENOMEM;
  int error = connect_client(name, &client->volume);
  if (!error) {
    error = query_volume(client);
    if (error) glfs.fini(client->volume);
  }
  if (error) return free(client), error;
  strcpy(client->key, name->key);
  client->process = getpid();
  client->next = clients.first;
  *made = clients.first = client;
  return 0;
}

static int find_client(const Name *name, Client **found) {
  int error = 0;
  pthread_mutex_lock(&clients.mutex);
  Client *client = clients.first;
  while (client && (client->process != getpid() || strcmp(client->key, name->key) != 0)) client = client->next;
  if (!client) error = make_client(name, &client);
  *found = client;
  pthread_mutex_unlock(&clients.mutex);
  return error;
}

struct mercutio_driver_file {
  const Client *client;
  void *fd;
  uint64_t number;
};

/* At the beginning of a call. */
static int use(const mercutio_driver_file *f) {
  why[0] = 0;
  if (f->client->process == getpid()) return 0;
  snprintf(why, sizeof why, "the file was opened before the process was forked: open it again");
  return ENOTRECOVERABLE;
}

/* Each descriptor has an owner of locks of its own. Without one it would use that which the thread used last, and closing a descriptor
 * releases the locks of its owner. */
static int own_locks(void *fd) {
  static _Atomic uint64_t next_owner = 1;
  uint64_t owner = next_owner++;
  return TRY(glfs.fd_set_lkowner(fd, &owner, sizeof owner));
}

static void *open_or_make(void *volume, const char *path, const mercutio_driver_options *options) {
  const unsigned flags = options->flags;
  const int way = flags & MERCUTIO_DRIVER_WRITE ? flags & MERCUTIO_DRIVER_READ ? O_RDWR : O_WRONLY : O_RDONLY;
  const int exclusive = flags & MERCUTIO_DRIVER_EXCLUSIVE ? O_EXCL : 0;
  const mode_t mode = with_umask(options->permissions);
  errno = 0;
  if (!(flags & MERCUTIO_DRIVER_CREATE)) return glfs.open(volume, path, way);
  void *fd = glfs.creat(volume, path, way | O_CREAT | exclusive, mode);
  if (fd || exclusive || errno != EEXIST) return fd;
  errno = 0;
  return glfs.open(volume, path, way);   /* another client has made it meanwhile */
}

static int gluster_open(const char *text, const mercutio_driver_options *options, mercutio_driver_file **file) {
  Name name;
  Client *client;
  int error = split_name(text, &name);
  if (!error) error = find_client(&name, &client);
  if (error) return error;
  mercutio_driver_file *f = calloc(1, sizeof *f);
  if (!f) return ENOMEM;
  f->client = client;
  f->fd = open_or_make(client->volume, name.path, options);
  error = f->fd ? own_locks(f->fd) : last_error();
  struct stat status;
  if (!error) error = TRY(glfs.fstat(f->fd, &status));
  if (!error && S_ISDIR(status.st_mode)) error = EISDIR;
  if (!error) return f->number = status.st_ino, *file = f, 0;
  if (f->fd) glfs.close(f->fd);
  free(f);
  return error;
}

static int gluster_close(mercutio_driver_file *f) {
  const int error = use(f) ? 0 : TRY(glfs.close(f->fd));   /* or the parent's */
  free(f);
  return error;
}

enum { MOST = 8 << 20 };   /* client and server have memory for all of a call */

static size_t bounded(int64_t bytes) { return bytes < MOST ? (size_t)bytes : MOST; }

static int gluster_read(mercutio_driver_file *f, const mercutio_driver_extent *extent, size_t count, int64_t *moved) {
  (void)count;   /* 1 */
  const int error = use(f);
  return error ? error : TRY(*moved = glfs.pread(f->fd, extent->data, bounded(extent->bytes), extent->offset, 0, NULL));
}
static int gluster_write(mercutio_driver_file *f, const mercutio_driver_extent *extent, size_t count, int64_t *moved) {
  (void)count;
  const int error = use(f);
  return error ? error : TRY(*moved = glfs.pwrite(f->fd, extent->data, bounded(extent->bytes), extent->offset, 0, NULL, NULL));
}

static int gluster_get_size(mercutio_driver_file *f, int64_t *bytes) {
  struct stat status = {0};
  int error = use(f);
  if (!error) error = TRY(glfs.fstat(f->fd, &status));
  *bytes = status.st_size;
  return error;
}
static int gluster_set_size(mercutio_driver_file *f, int64_t bytes) {
  const int error = use(f);
  return error ? error : TRY(glfs.ftruncate(f->fd, bytes, NULL, NULL));
}
static int gluster_sync(mercutio_driver_file *f) {
  const int error = use(f);
  return error ? error : TRY(glfs.fsync(f->fd, NULL, NULL));
}

static int gluster_remove(const char *text) {
  Name name;
  Client *client;
  int error = split_name(text, &name);
  if (!error) error = find_client(&name, &client);
  return error ? error : TRY(glfs.unlink(client->volume, name.path));
}

static int gluster_get_traits(mercutio_driver_file *f, mercutio_driver_traits *traits) {
  traits->file_number = (int64_t)(f->number & INT64_MAX);
  if (f->client->sharded) {   /* each client has a size of its own, which others' writes don't change */
    traits->seen = MERCUTIO_DRIVER_SEEN_AFTER_OPEN;
    traits->advice = "Use a volume without features.shard";
  }
  if (f->client->dispersed) traits->locks = MERCUTIO_DRIVER_LOCKS_NOBODY;   /* two that want one at once may both get EIO */
  return 0;
}

typedef struct {
  struct flock bytes;
  void *fd;   /* the lock's own, whose owner excludes those of other threads */
} Lock;

static int gluster_lock(mercutio_driver_file *f, const mercutio_driver_range *range, void **lock) {
  int error = use(f);
  Lock *held = error ? NULL : calloc(1, sizeof *held);
  if (!held) return error ? error : ENOMEM;
  held->bytes = (struct flock){.l_type = range->exclusive ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET, .l_start = range->begin, .l_pid = getpid()};
  if (range->end != INT64_MAX) held->bytes.l_len = range->end - range->begin;   /* 0: however far it goes */
  errno = 0;
  held->fd = glfs.dup(f->fd);
  error = held->fd ? own_locks(held->fd) : last_error();
  if (!error) error = TRY(glfs.posix_lock(held->fd, range->wait ? F_SETLKW : F_SETLK, &held->bytes));
  if (!error) return *lock = held, 0;
  if (held->fd) glfs.close(held->fd);
  free(held);
  return error == EACCES ? EAGAIN : error;
}

static int gluster_unlock(mercutio_driver_file *f, void *lock) {
  Lock *held = lock;
  if (use(f)) return free(held), 0;   /* the parent's */
  held->bytes.l_type = F_UNLCK;
  const int error = TRY(glfs.posix_lock(held->fd, F_SETLK, &held->bytes));
  if (error == EINTR) return error;   /* Mercutio comes again */
  glfs.close(held->fd);
  free(held);
  return error;
}

/* Caches of older versions can't be passed by, and would be used without an error. */
static const char *too_old(void *library) { return dlvsym(library, "glfs_pread", "GFAPI_6.0") ? NULL : "it is older than GlusterFS 6"; }

#define SYMBOL(type, name, arguments) {"glfs_" #name, (void **)&glfs.name},
static const Symbol kSymbols[] = {CALLS(SYMBOL)};
static const Library kLibrary = {"libgfapi.so.0", "libgfapi.so.0 (Debian: libgfapi0)", kSymbols, sizeof kSymbols / sizeof *kSymbols};

int mercutio_driver_init(const mercutio_driver_host *host, const mercutio_driver **driver) {
  static const mercutio_driver gluster = {
      .abi = MERCUTIO_DRIVER_ABI, .size = sizeof gluster, .open = gluster_open, .close = gluster_close, .read = gluster_read,
      .write = gluster_write, .get_size = gluster_get_size, .set_size = gluster_set_size, .sync = gluster_sync, .remove = gluster_remove,
      .get_traits = gluster_get_traits, .lock = gluster_lock, .unlock = gluster_unlock, .explain = gluster_explain};
  (void)host;
  *driver = &gluster;
  return load_library(&kLibrary, too_old, why);
}
