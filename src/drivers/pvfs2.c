/* The storage driver of PVFS2, which is also called OrangeFS, without a mount: files called pvfs2:/MOUNT/POINT/path, through libpvfs2.so.2
 * of OrangeFS 2.9 or newer, which is loaded and not linked. The mount point is that of the table of file systems (PVFS2TAB_FILE, else
 * /etc/fstab). Nothing has to be mounted there. Servers keep nothing of an open file: it is its number, for which rank 0 asks.
 *
 * What the library can't do, and what is done about it:
 * - it isn't safe in threads: one call at a time (pvfs2_client.h);
 * - it keeps names and attributes for seconds: these caches are switched off, so that sizes and new files are seen at once;
 * - requests of more than 100 elements never return, but a vector is one of few (pvfs2_requests.h);
 * - writes with gaps may go to the wrong server while a file is small: spread(). */
#define _GNU_SOURCE
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mercutio/driver.h"
#include "pvfs2_client.h"
#include "pvfs2_requests.h"
#include "umask.h"

static const char *pvfs2_explain(void) { return pvfs2_why; }

struct mercutio_driver_file {
  Ref ref;
  int64_t strip, stripe;   /* bytes on one server, and on all until it is the first one's turn again; 0: not known */
  int32_t servers;
  bool is_spread;   /* it certainly lies on all its servers. Guarded as the library is */
};

static int other_structures(void) {
  snprintf(pvfs2_why, WHY_BYTES, "this libpvfs2.so.2 has other structures than those of OrangeFS 2.9 and 2.10");
  return ENOSYS;
}

/* What was asked for is there, and can be true. A library with other structures doesn't get so far. */
static int look(Ref ref, uint32_t mask, Attributes *found) {
  struct { Attributes all; uint64_t behind[8]; } got;
  memset(&got, 0, sizeof got);
  const int error = ASK(sys_getattr(ref, mask, pvfs2_credential(), &got.all, NULL));
  if (error) return error;
  *found = got.all;
  const uint32_t needed = found->type == FILE_TYPE ? mask : TYPE;
  bool sane = (found->mask & needed) == needed && found->size >= 0 && (found->perms & ~07777U) == 0 && found->type > 0;
  for (size_t i = 0; i < sizeof got.behind / sizeof *got.behind; i++) sane = sane && got.behind[i] == 0;
  return sane ? 0 : other_structures();
}

static int lookup(int32_t fs, const char *path, bool follow, Ref *ref) {
  Found found = {{0, 0, 0}, NULL, {0}};
  char name[PATH_MAX];
  strcpy(name, path);   /* the library's argument isn't const */
  const int error = ASK(sys_lookup(fs, name, pvfs2_credential(), &found, follow, NULL));
  *ref = found.ref;
  return error;
}

/* The folder of a path, and the name in it. */
static int lookup_parent(int32_t fs, const char *path, Ref *parent, char *name) {
  char folder[PATH_MAX];
  strcpy(folder, path);
  char *slash = strrchr(folder, '/');
  if (!slash || !slash[1]) return EISDIR;
  strcpy(name, slash + 1);
  slash[slash == folder] = 0;
  return lookup(fs, folder, true, parent);
}

/* The layout that the options ask for; NULL: the folder's. */
static int make_dist(const mercutio_driver_options *options, void **dist) {
  int64_t strip = options->stripe_bytes;
  *dist = NULL;
  if (strip <= 0) return 0;
  *dist = pvfs.sys_dist_lookup("simple_stripe");
  if (!*dist) return ENOMEM;
  const int error = pvfs2_error(pvfs.sys_dist_setparam(*dist, "strip_size", &strip));
  if (error) pvfs.sys_dist_free(*dist);
  return error;
}

static Attributes attributes_of(const mercutio_driver_options *options) {
  const Credential *me = pvfs2_credential();
  const uint64_t now = (uint64_t)time(NULL);
  Attributes wanted = {.owner = me->uid, .group = me->groups && me->group_count ? me->groups[0] : (uint32_t)getegid(), .perms = with_umask(options->permissions),
                       .atime = now, .mtime = now, .ctime = now, .mask = UID | GID | PERM | TIMES};
  if (options->stripe_count <= 0) return wanted;
  wanted.servers = options->stripe_count < MOST_SERVERS ? (int32_t)options->stripe_count : MOST_SERVERS;
  wanted.mask |= SERVERS;
  return wanted;
}

/* The attributes are passed by value, so they are looked at before, at the folder, too. A file that doesn't come out as asked for isn't left
 * behind. */
static int make(int32_t fs, const char *path, const mercutio_driver_options *options, Ref *made) {
  const Attributes wanted = attributes_of(options);
  Attributes got;
  char name[PATH_MAX];
  Ref parent;
  void *dist;
  int error = lookup_parent(fs, path, &parent, name);
  if (!error) error = look(parent, TYPE | PERM, &got);
  if (!error && got.type != FOLDER_TYPE) error = ENOTDIR;
  if (!error) error = make_dist(options, &dist);
  if (error) return error;
  Found found = {{0, 0, 0}, NULL, {0}};
  error = ASK(sys_create(name, parent, wanted, pvfs2_credential(), dist, &found, NULL, NULL));
  if (dist) pvfs.sys_dist_free(dist);
  if (error) return error;
  *made = found.ref;
  error = look(*made, TYPE | PERM, &got);
  if (!error && (got.type != FILE_TYPE || (got.perms & 0777) != (wanted.perms & 0777))) error = other_structures();
  if (error == ENOSYS) (void)pvfs.sys_remove(name, parent, pvfs2_credential(), NULL);
  return error;
}

static int find_or_make(int32_t fs, const char *path, const mercutio_driver_options *options, Ref *ref) {
  enum { TRIES = 8 };   /* others may make and delete it meanwhile */
  const bool create = options->flags & MERCUTIO_DRIVER_CREATE, exclusive = create && (options->flags & MERCUTIO_DRIVER_EXCLUSIVE);
  int error = ENOENT;
  for (int tries = 0; tries < TRIES && (error == ENOENT || error == EEXIST); tries++) {
    error = exclusive ? ENOENT : lookup(fs, path, true, ref);
    if (error == ENOENT && create) error = make(fs, path, options, ref);
    if (!create || exclusive || error == ENOENT) break;   /* no folder */
  }
  return error;
}

/* The absolute name without empty parts and ".". */
static int absolute_name(const char *path, char *absolute) {
  size_t length = 0;
  if (!path[0]) return EINVAL;
  if (path[0] != '/' && !getcwd(absolute, PATH_MAX)) return errno;
  if (path[0] != '/' && absolute[1]) length = strlen(absolute);
  while (*path) {
    const size_t part = strcspn(path, "/");
    if (part && !(part == 1 && path[0] == '.')) {
      if (length + part + 2 > PATH_MAX) return ENAMETOOLONG;
      absolute[length++] = '/';
      memcpy(absolute + length, path, part);
      length += part;
    }
    path += part + (path[part] == '/');
  }
  absolute[length] = 0;
  return 0;
}

static int resolve(const char *path, int32_t *fs, char *inside) {
  char absolute[PATH_MAX];
  const int error = absolute_name(path, absolute);
  if (error) return error;
  memset(inside, 0, PATH_MAX);
  if (pvfs.util_resolve(absolute, fs, inside, PATH_MAX) == 0 && inside[0] == '/') return 0;
  snprintf(pvfs2_why, WHY_BYTES, "%.200s lies in no file system of PVFS2TAB_FILE or /etc/fstab: a file of PVFS2 is called pvfs2:/MOUNT/POINT/path", absolute);
  return EINVAL;
}

/* What rank 0 tells the others, so that they ask no server. */
typedef struct {
  char mark[8];
  struct mercutio_driver_file file;
} Handle;
static const char kMark[8] = "pvfs2 1";

static bool take_handle(mercutio_driver_file *f, int32_t fs, const mercutio_driver_options *options) {
  Handle given;
  if (!options->handle || options->handle_bytes != sizeof given) return false;
  memcpy(&given, options->handle, sizeof given);
  if (memcmp(given.mark, kMark, sizeof kMark) != 0 || given.file.ref.fs != fs) return false;   /* here the name is that of another file system */
  *f = given.file;
  return true;
}

static int pvfs2_get_handle(mercutio_driver_file *f, void *bytes, size_t room, size_t *count) {
  Handle given;
  memset(&given, 0, sizeof given);
  memcpy(given.mark, kMark, sizeof kMark);
  given.file = *f;
  *count = room < sizeof given ? 0 : sizeof given;
  memcpy(bytes, &given, *count);
  return 0;
}

/* Nothing is opened at the servers, which would refuse the first access only. */
static bool is_allowed(const Attributes *file, unsigned flags) {
  const Credential *me = pvfs2_credential();
  const unsigned wanted = (flags & MERCUTIO_DRIVER_READ ? 4 : 0) | (flags & MERCUTIO_DRIVER_WRITE ? 2 : 0);
  bool in_group = false;
  for (uint32_t i = 0; me->groups && i < me->group_count; i++) in_group |= me->groups[i] == file->group;
  const unsigned shift = me->uid == file->owner ? 6 : in_group ? 3 : 0;
  return me->uid == 0 || (file->perms >> shift & wanted) == wanted;
}

static int query_file(mercutio_driver_file *f, unsigned flags) {
  Attributes found;
  const int error = look(f->ref, UID | GID | PERM | TYPE | SIZE | SERVERS | BLOCK, &found);
  if (error) return error;
  if (found.type != FILE_TYPE) return found.type == FOLDER_TYPE ? EISDIR : EINVAL;
  if (!is_allowed(&found, flags)) return EACCES;
  if (found.servers <= 0 || found.block <= 0 || found.block % found.servers != 0) return 0;
  f->servers = found.servers;
  f->stripe = found.block;
  f->strip = found.block / found.servers;
  f->is_spread = found.size > f->stripe;
  return 0;
}

static int pvfs2_open(const char *path, const mercutio_driver_options *options, mercutio_driver_file **file) {
  char inside[PATH_MAX];
  int32_t fs = 0;
  int error = pvfs2_enter();
  if (error) return error;
  mercutio_driver_file *f = calloc(1, sizeof *f);
  if (!f) return pvfs2_leave(ENOMEM);
  error = resolve(path, &fs, inside);
  if (!error && !take_handle(f, fs, options)) {
    const bool made_or_found = (error = find_or_make(fs, inside, options, &f->ref)) == 0;
    if (made_or_found) error = query_file(f, options->flags);
  }
  if (error) free(f);
  else *file = f;
  return pvfs2_leave(error);
}

static int pvfs2_close(mercutio_driver_file *f) {
  free(f);
  pvfs2_why[0] = 0;
  return 0;
}

/* A new file lies on one server, beside its attributes, until a write goes beyond the first strip. The library knows such a write by the
 * offset and the length of the memory alone, so one with gaps may take place on the first server wholly, without an error. Before it the
 * last of its bytes is written for itself. */
static int spread(mercutio_driver_file *f, const Batch *batch, const mercutio_driver_extent *last) {
  const int64_t end = pvfs2_end(batch);
  if (f->is_spread || pvfs2_is_contiguous(batch) || (f->strip && end <= f->strip)) return 0;
  return pvfs2_write_byte(f->ref, end - 1, (char *)last->data + (end - 1 - last->offset));
}

static int transfer(mercutio_driver_file *f, enum Way way, const mercutio_driver_extent *extents, size_t count, int64_t *moved) {
  Batch batch;
  *moved = 0;
  int error = pvfs2_enter();
  if (error) return error;
  for (size_t i = 0; i < count; i += batch.extents) {
    int64_t now = 0;
    pvfs2_fill(&batch, extents + i, count - i);
    if (way == WRITING) error = spread(f, &batch, &extents[i + batch.extents - 1]);
    if (!error) error = pvfs2_move(f->ref, way, &batch, &now);
    if (error) break;
    *moved += now;
    if (now < batch.bytes || !batch.is_whole) break;
    if (way == WRITING && f->stripe && pvfs2_end(&batch) > f->stripe) f->is_spread = true;
  }
  return pvfs2_leave(*moved > 0 ? 0 : error);   /* an error comes again with the rest */
}

static int pvfs2_read(mercutio_driver_file *f, const mercutio_driver_extent *extents, size_t count, int64_t *moved) {
  return transfer(f, READING, extents, count, moved);
}
static int pvfs2_write(mercutio_driver_file *f, const mercutio_driver_extent *extents, size_t count, int64_t *moved) {
  return transfer(f, WRITING, extents, count, moved);
}

static int pvfs2_get_size(mercutio_driver_file *f, int64_t *bytes) {
  Attributes found;
  int error = pvfs2_enter();
  if (error) return error;
  error = look(f->ref, TYPE | SIZE, &found);
  *bytes = found.size;
  return pvfs2_leave(error);
}
static int pvfs2_set_size(mercutio_driver_file *f, int64_t bytes) {
  const int error = pvfs2_enter();
  return error ? error : pvfs2_leave(ASK(sys_truncate(f->ref, bytes, pvfs2_credential(), NULL)));
}
static int pvfs2_sync(mercutio_driver_file *f) {
  const int error = pvfs2_enter();
  return error ? error : pvfs2_leave(ASK(sys_flush(f->ref, pvfs2_credential(), NULL)));
}

/* The library's call removes empty folders, too. */
static int remove_file(const char *path) {
  char inside[PATH_MAX], name[PATH_MAX];
  int32_t fs = 0;
  Ref ref, parent;
  Attributes found;
  int error = resolve(path, &fs, inside);
  if (!error) error = lookup(fs, inside, false, &ref);
  if (!error) error = look(ref, TYPE, &found);
  if (!error && found.type == FOLDER_TYPE) error = EISDIR;
  if (!error) error = lookup_parent(fs, inside, &parent, name);
  return error ? error : ASK(sys_remove(name, parent, pvfs2_credential(), NULL));
}
static int pvfs2_remove(const char *path) {
  const int error = pvfs2_enter();
  return error ? error : pvfs2_leave(remove_file(path));
}

static int pvfs2_get_traits(mercutio_driver_file *f, mercutio_driver_traits *traits) {
  traits->file_number = (int64_t)(f->ref.handle & INT64_MAX);
  traits->extents_per_call = 16384;
  if (!f->strip) return 0;
  traits->stripe_bytes = traits->block_bytes = f->strip;
  traits->stripe_count = f->servers;
  return 0;
}

int mercutio_driver_init(const mercutio_driver_host *host, const mercutio_driver **driver) {
  static const mercutio_driver pvfs2 = {
      .abi = MERCUTIO_DRIVER_ABI, .size = sizeof pvfs2, .open = pvfs2_open, .close = pvfs2_close, .read = pvfs2_read,
      .write = pvfs2_write, .get_size = pvfs2_get_size, .set_size = pvfs2_set_size, .sync = pvfs2_sync, .remove = pvfs2_remove,
      .get_traits = pvfs2_get_traits, .get_handle = pvfs2_get_handle, .explain = pvfs2_explain};
  (void)host;
  *driver = &pvfs2;
  return pvfs2_load();
}
