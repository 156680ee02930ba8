/* A stand-in for libpvfs2.so.2, as there is no package of OrangeFS: the calls that src/drivers/pvfs2*.c make, with what was measured on OrangeFS
 * 2.10. Each argument is checked; a driver that steps into one of these ends with a word on stderr:
 *  1. it is started once in a process, before any other call, and isn't used by children;    2. two calls at once don't work;
 *  3. names are those below the mount point of PVFS2TAB_FILE;    4. memory for a credential must be zeros, and credentials expire;
 *  5. a request of more than 100 elements never returns;    6. the offset of sys_io is a place in the endless repetition of the request;
 *  7. noncontiguous writes to a stuffed file go to datafile 0, as offset and length of the memory decide;    8. names and attributes are
 *  kept for 5 s;    9. codes aren't errno, `done` is left alone on errors;    10. sys_create wants all attributes;    11. order and
 *  overlap in a request of the file aren't known, so ascending is asked for.
 * MERCUTIO_TEST_PVFS2_FAIL=CALL:ERRNO[:CALLS before][:once] makes a call fail; ERRNO nN is the code without an errno N.
 * MERCUTIO_TEST_PVFS2_MOST=BYTES: sys_io moves no more. MERCUTIO_TEST_PVFS2_LIFETIME=SECONDS of credentials. */
#define _GNU_SOURCE
#include "pvfs2.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef OTHER_STRUCTURES   /* a release in which attributes lie elsewhere */
#define SHIFT uint64_t shift;
#else
#define SHIFT
#endif
#ifdef OLD   /* PVFS 2.8 */
#define PVFS_util_gen_credential_defaults PVFS_util_gen_credentials
#endif
typedef struct { uint64_t handle; int32_t fs, pad; } Ref;
typedef struct { uint32_t uid, groups; uint32_t *group; char *issuer; uint64_t timeout; uint32_t sig_size; void *signature; struct { uint32_t size; void *buffer; } certificate; } Cred;
typedef struct {
  uint32_t owner, group, perms;
  SHIFT uint64_t atime, mtime, ctime;
  int64_t size;
  char *link_target;
  int32_t dfile_count, dir[3];
  uint32_t copies;
  char *dist_name, *dist_params;
  int64_t dirents;
  int32_t objtype;
  uint64_t flags;
  uint32_t mask;
  int64_t blksize;
} Attr;
typedef struct { Ref ref; char *error_path; int32_t error; } Lookup;
typedef struct Request { uint32_t magic; int32_t elements, pieces; int64_t *at, *bytes; int64_t extent, total; } Request;
typedef struct { uint32_t magic; int64_t strip; } Dist;

enum { FS = 77, SERVERS = 4, REQUEST = 0x51ab, DIST = 0x1d15 };
enum { ALL = 0x3f30007f, SETTABLE = 0x3f, TYPE = 64, DFILES = 1 << 25 };
static const int64_t kStrip = 65536;

void wrong(const char *format, ...) {
  va_list list;
  va_start(list, format);
  fputs("stand-in for libpvfs2: ", stderr);
  vfprintf(stderr, format, list);
  fputs("\n", stderr);
  abort();
}

static char asked[1 << 16];
#define NOTE(...) ((void)snprintf(asked + strlen(asked), sizeof asked - strlen(asked), __VA_ARGS__))
const char *standin_asked(void) { return asked; }
void standin_forget(void) { asked[0] = 0; }
static _Atomic int live;   /* requests and distributions */
int standin_live(void) { return live; }

/* The numbers are the library's own: those that were seen, and for the rest any. */
static int number_of(int error) { return error == ENOENT ? 2 : error == EEXIST ? 11 : error == ECONNREFUSED ? 54 : 127 - error; }
static int32_t code_of(int error) {
  const int connection = error == ECONNREFUSED || error == ETIMEDOUT ? 0x80 : 0;
  return error ? -(0x40000000 | connection | number_of(error)) : 0;
}
int32_t PVFS_get_errno_mapping(int32_t code) {
  if (code <= 0) wrong("the mapping wants codes above 0");
  const int number = code & 0x7f;
  return code & 0x20000000 ? number : number == 2 ? ENOENT : number == 11 ? EEXIST : number == 54 ? ECONNREFUSED : 127 - number;
}
int PVFS_strerror_r(int code, char *text, int bytes) { return snprintf(text, (size_t)bytes, "code %x of PVFS2", (unsigned)-code), 0; }

static pid_t started_in;
static _Atomic int inside;
static unsigned name_ms = 5000, attribute_ms = 5000;
static char mount_point[PATH_MAX];

static int32_t planned(const char *call) {
  static int calls;
  static char last[128];
  const char *plan = getenv("MERCUTIO_TEST_PVFS2_FAIL");
  char name[32], value[32], once[8] = "";
  int before = 0;
  if (!plan) return last[0] = 0, 0;
  if (strcmp(plan, last) != 0) calls = 0, snprintf(last, sizeof last, "%s", plan);
  if (sscanf(plan, "%31[^:]:%31[^:]:%d:%7s", name, value, &before, once) < 2 || strcmp(name, call) || calls++ < before) return 0;
  if (once[0] && calls > before + 1) return 0;
  return value[0] == 'n' ? -(0x40000000 | 0x20000000 | atoi(value + 1)) : code_of(atoi(value));
}

/* Of calls that use the library's state. */
static void in(const char *call) {
  if (atomic_fetch_add(&inside, 1)) wrong("%s beside another call: threads don't work with the library", call);
  if (!started_in) wrong("%s before PVFS_util_init_defaults", call);
  if (started_in != getpid()) wrong("%s in a child of the process that started the library", call);
}
static int32_t out(int32_t code) { return atomic_fetch_sub(&inside, 1), code; }

static const char kIssuer[] = "stand-in";
static uint64_t oldest_good;   /* the servers take no credential that ends before */
void standin_revoke(void) { oldest_good = UINT64_MAX; }

static int32_t check(const char *call, const Cred *cred, const void *hints) {
  in(call);
  if (!cred || cred->issuer != kIssuer) wrong("%s without a credential", call);
  if (hints) wrong("%s with hints", call);
  if (cred->timeout < (uint64_t)time(NULL) || cred->timeout < oldest_good) return oldest_good == UINT64_MAX ? code_of(EACCES) : -(0x60000000 | 9);
  return planned(call);
}

void *PVFS_BYTE;
static const int64_t kZero = 0, kOne = 1;
static Request byte_type = {REQUEST, 1, 1, (int64_t *)&kZero, (int64_t *)&kOne, 1, 1};

int32_t PVFS_util_init_defaults(void) {
  if (started_in) wrong("PVFS_util_init_defaults again");
  started_in = getpid();
  PVFS_BYTE = &byte_type;
  const char *tab = getenv("PVFS2TAB_FILE");
  FILE *file = fopen(tab ? tab : "/etc/fstab", "re");
  const int found = file && fscanf(file, "tcp://%*s %4000s pvfs2 ", mount_point) == 1;
  if (file) fclose(file);
  const int32_t code = planned("init_defaults");
  return code ? code : code_of(found ? 0 : ENOENT);
}

int32_t PVFS_util_resolve(const char *path, int32_t *fs, char *name, int most) {
  in("util_resolve");
  if (!path || path[0] != '/' || !fs || !name || most < 2) wrong("PVFS_util_resolve of %s", path ? path : "nothing");
  const size_t length = strcmp(mount_point, "/") ? strlen(mount_point) : 0;
  if (strncmp(path, mount_point, length) || (path[length] && path[length] != '/')) return out(-(0x60000000 | 8));
  *fs = FS;
  return out(snprintf(name, (size_t)most, "%s", path[length] ? path + length : "/") >= most ? code_of(ENAMETOOLONG) : 0);
}

int32_t PVFS_util_gen_credential_defaults(Cred *cred) {
  static const char zeros[sizeof(Cred)];
  static uint32_t groups[1];
  const char *lifetime = getenv("MERCUTIO_TEST_PVFS2_LIFETIME");
  if (memcmp(cred, zeros, sizeof *cred)) wrong("the memory of a new credential isn't zeros");
  groups[0] = (uint32_t)getegid();
  *cred = (Cred){.uid = (uint32_t)geteuid(), .groups = 1, .group = groups, .issuer = (char *)kIssuer, .timeout = (uint64_t)time(NULL) + (uint64_t)(lifetime ? atoi(lifetime) : 3600)};
  NOTE("credential\n");
  return planned("credential");
}
int32_t PVFS_util_refresh_credential(Cred *cred) {
  if (cred->issuer != kIssuer) wrong("PVFS_util_refresh_credential of no credential");
  if ((uint64_t)time(NULL) <= cred->timeout - 3) return 0;
  memset(cred, 0, sizeof *cred);
  if (oldest_good == UINT64_MAX) oldest_good = 0;
  return PVFS_util_gen_credential_defaults(cred);
}

int32_t PVFS_sys_set_info(int option, unsigned value) {
  in("sys_set_info");
  if (option == 1) name_ms = value;
  if (option == 2) attribute_ms = value;
  if (option < 1 || option > 2) wrong("PVFS_sys_set_info(%d)", option);
  return out(planned("set_info"));
}

/* What the client keeps: a few names and attributes. */
typedef struct { char path[PATH_MAX]; uint64_t handle; int64_t until; } Name;
typedef struct { Meta meta; int64_t size, until; } Kept;
static Name names[32];
static Kept attributes[32];
static int64_t now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int get(uint64_t handle, Kept *kept) {
  Kept *slot = &attributes[handle % 32];
  if (slot->meta.handle == handle && slot->until > now_ms()) return *kept = *slot, 0;
  const int error = store_get(handle, &slot->meta);
  if (error) return slot->meta.handle = 0, error;
  slot->size = store_size(&slot->meta);
  slot->until = now_ms() + attribute_ms;
  return *kept = *slot, 0;
}
static void forget(uint64_t handle) { attributes[handle % 32].until = 0; }

static const char *whole(char *path, const char *name) {
  if (!name || name[0] != '/') wrong("%s isn't a path in the file system", name ? name : "nothing");
  snprintf(path, PATH_MAX, "%.2000s%.2000s", strcmp(mount_point, "/") ? mount_point : "", name);
  return path;
}

int32_t PVFS_sys_lookup(int32_t fs, char *name, const Cred *cred, Lookup *found, int32_t follow, void *hints) {
  int32_t code = check("sys_lookup", cred, hints);
  char path[PATH_MAX];
  if (fs != FS || (follow != 0 && follow != 1)) wrong("PVFS_sys_lookup(%d, %d)", fs, follow);
  NOTE("lookup %s\n", name);
  if (code) return out(code);
  whole(path, name);
  unsigned slot = 0;
  for (const char *c = path; *c; c++) slot = slot * 31 + (unsigned char)*c;
  Name *kept = &names[slot % 32];
  uint64_t handle = kept->handle;
  if (strcmp(kept->path, path) || kept->until <= now_ms()) {
    const int error = store_lookup(path, follow, &handle);
    if (error) return out(code_of(error));
    for (int i = 0; i < 32; i++)   /* a folder that is gone may have had this number */
      if (names[i].handle == handle) names[i].handle = 0, names[i].until = 0;
    snprintf(kept->path, sizeof kept->path, "%s", path);
    kept->handle = handle;
    kept->until = now_ms() + name_ms;
  }
  *found = (Lookup){{handle, FS, 0}, NULL, 0};
  return out(0);
}

/* The path of a name in a folder that has been looked up. */
static const char *below(char *path, Ref parent, const char *name) {
  if (parent.fs != FS || !(parent.handle >> 63) || !name || !name[0] || strchr(name, '/')) wrong("the name %s in no folder", name ? name : "nothing");
  for (int i = 0; i < 32; i++)
    if (names[i].handle == parent.handle) return snprintf(path, PATH_MAX, "%.2000s/%.2000s", strcmp(names[i].path, "/") ? names[i].path : "", name), path;
  wrong("a folder that hasn't been looked up");
}

int32_t PVFS_sys_create(char *name, Ref parent, Attr attr, const Cred *cred, Dist *dist, Ref *made, void *layout, void *hints) {
  int32_t code = check("sys_create", cred, hints);
  char path[PATH_MAX];
#ifdef OTHER_STRUCTURES
  attr.mask = 0;
#else
  if ((attr.mask & SETTABLE) != SETTABLE || attr.mask & ~(uint32_t)(SETTABLE | DFILES)) wrong("PVFS_sys_create with mask %x", attr.mask);
  if (attr.owner != geteuid() || attr.group != getegid() || attr.perms > 07777 || !attr.mtime || !attr.atime || !attr.ctime) wrong("PVFS_sys_create with wrong attributes");
  if (attr.mask & DFILES && (attr.dfile_count < 1 || attr.dfile_count > 1024)) return out(code_of(EINVAL));
#endif
  if (layout || (dist && dist->magic != DIST)) wrong("PVFS_sys_create with a wrong layout or distribution");
  below(path, parent, name);
  Meta meta = {.owner = attr.owner, .group = attr.group, .perms = attr.perms, .servers = SERVERS, .strip = dist ? dist->strip : kStrip, .is_stuffed = 1};
  if (attr.mask & DFILES && attr.dfile_count < SERVERS) meta.servers = attr.dfile_count;
  NOTE("create %s %o %d %lld\n", name, attr.perms, meta.servers, (long long)meta.strip);
  if (code) return out(code);
  code = code_of(store_create(&meta, path));
  if (!code) *made = (Ref){meta.handle, FS, 0};
  return out(code);
}

int32_t PVFS_sys_remove(char *name, Ref parent, const Cred *cred, void *hints) {
  const int32_t code = check("sys_remove", cred, hints);
  char path[PATH_MAX];
  uint64_t handle;
  NOTE("remove %s\n", name);
  if (code) return out(code);
  const int lock = store_lock(), error = store_remove(below(path, parent, name), &handle);
  store_unlock(lock);
  for (int i = 0; i < 32; i++) names[i].until = strcmp(names[i].path, path) ? names[i].until : 0;
  if (!error) forget(handle);
  return out(code_of(error));
}

int32_t PVFS_sys_getattr(Ref ref, uint32_t mask, const Cred *cred, Attr *attr, void *hints) {
  const int32_t code = check("sys_getattr", cred, hints);
  Kept kept;
  if (ref.fs != FS || !ref.handle || !mask || mask & ~(uint32_t)ALL) wrong("PVFS_sys_getattr with mask %x", mask);
  NOTE("getattr %x\n", mask);
  usleep(1);   /* for others to come in between */
  if (code) return out(code);
  if (ref.handle >> 63) return *attr = (Attr){.perms = 0755, .objtype = ref.handle >> 62 & 1 ? 8 : 4, .mask = mask & 0x7f}, out(0);
  const int lock = store_lock(), error = get(ref.handle, &kept);
  store_unlock(lock);
  if (error) return out(code_of(error));
  const Meta *m = &kept.meta;
  *attr = (Attr){.owner = m->owner, .group = m->group, .perms = m->perms, .atime = 1, .mtime = 1, .ctime = 1, .size = kept.size, .dfile_count = m->servers, .objtype = 1,
                 .mask = mask, .blksize = m->strip * m->servers};
  return out(0);
}

int32_t PVFS_sys_truncate(Ref ref, int64_t bytes, const Cred *cred, void *hints) {
  const int32_t code = check("sys_truncate", cred, hints);
  Kept kept;
  if (ref.fs != FS || ref.handle >> 63 || bytes < 0) wrong("PVFS_sys_truncate to %lld", (long long)bytes);
  NOTE("truncate %lld\n", (long long)bytes);
  if (code) return out(code);
  const int lock = store_lock();
  int error = get(ref.handle, &kept);
  if (!error && kept.meta.is_stuffed && bytes > kept.meta.strip) error = store_unstuff(ref.handle), kept.meta.is_stuffed = 0;
  if (!error) error = store_truncate(&kept.meta, bytes);
  forget(ref.handle);
  store_unlock(lock);
  return out(code_of(error));
}

int32_t PVFS_sys_flush(Ref ref, const Cred *cred, void *hints) {
  const int32_t code = check("sys_flush", cred, hints);
  if (ref.fs != FS || ref.handle >> 63) wrong("PVFS_sys_flush of no file");
  NOTE("flush\n");
  return out(code);
}

Dist *PVFS_sys_dist_lookup(const char *name) {
  if (strcmp(name, "simple_stripe")) return NULL;
  Dist *made = malloc(sizeof *made);
  *made = (Dist){DIST, kStrip};
  live++;
  return made;
}
int32_t PVFS_sys_dist_setparam(Dist *dist, const char *name, void *value) {
  if (!dist || dist->magic != DIST || strcmp(name, "strip_size") || *(int64_t *)value <= 0) wrong("PVFS_sys_dist_setparam of %s", name);
  dist->strip = *(int64_t *)value;
  return planned("setparam");
}
int32_t PVFS_sys_dist_free(Dist *dist) {
  if (!dist || dist->magic != DIST) wrong("PVFS_sys_dist_free of no distribution");
  dist->magic = 0;
  free(dist);
  live--;
  return 0;
}

/* Requests are kept as the pieces of one repetition. */
static int32_t build(int32_t n, const int32_t *lengths, const int64_t *places, const Request *base, int32_t elements, Request **made) {
  if (n <= 0 || !base || base->magic != REQUEST || !made) wrong("a request of nothing");
  const int32_t code = planned("request");
  if (code) return code;
  Request *request = calloc(1, sizeof *request);
  int64_t first = INT64_MAX, end = INT64_MIN;
  request->magic = REQUEST;
  request->elements = elements;
  for (int32_t i = 0; i < n; i++) request->pieces += base == &byte_type ? 1 : base->pieces * lengths[i];
  request->at = calloc((size_t)request->pieces, sizeof(int64_t));
  request->bytes = calloc((size_t)request->pieces, sizeof(int64_t));
  for (int32_t i = 0, k = 0; i < n; i++) {
    if (lengths[i] <= 0) wrong("a block of %d", lengths[i]);
    for (int32_t j = 0; j < (base == &byte_type ? 1 : lengths[i]); j++)
      for (int32_t p = 0; p < base->pieces; p++, k++) {
        request->at[k] = places[i] + j * base->extent + base->at[p];
        request->bytes[k] = base == &byte_type ? lengths[i] : base->bytes[p];
        request->total += request->bytes[k];
        first = request->at[k] < first ? request->at[k] : first;
        end = request->at[k] + request->bytes[k] > end ? request->at[k] + request->bytes[k] : end;
      }
  }
  request->extent = end - first;
  live++;
  return *made = request, 0;
}
int32_t PVFS_Request_contiguous(int32_t n, Request *base, Request **made) { return build(1, &n, &kZero, base, base->elements, made); }
int32_t PVFS_Request_hvector(int32_t n, int32_t length, int64_t stride, Request *base, Request **made) {
  if (n <= 0) wrong("a vector of %d", n);
  int32_t *lengths = calloc((size_t)n, sizeof *lengths);
  int64_t *places = calloc((size_t)n, sizeof *places);
  for (int32_t i = 0; i < n; i++) lengths[i] = length, places[i] = i * stride;
  const int32_t code = build(n, lengths, places, base, 1 + base->elements, made);
  free(lengths);
  free(places);
  return code;
}
int32_t PVFS_Request_hindexed(int32_t n, int32_t *lengths, int64_t *places, Request *base, Request **made) {
  return build(n, lengths, places, base, base == &byte_type ? n : n + base->elements, made);
}
int32_t PVFS_Request_free(Request **request) {
  if (!request || !*request || (*request)->magic != REQUEST || *request == &byte_type) wrong("PVFS_Request_free of no request");
  (*request)->magic = 0;
  free((*request)->at);
  free((*request)->bytes);
  free(*request);
  *request = NULL;
  live--;
  return 0;
}

/* A place in a request that is repeated without end. */
typedef struct { const Request *request; int64_t repetition, within; int32_t piece; } Cursor;
static Cursor cursor_at(const Request *request, int64_t place) {
  Cursor c = {request, place / request->extent, 0, 0};
  if (place == 0) return c;
  while (request->at[c.piece] + c.repetition * request->extent + request->bytes[c.piece] <= place)
    if (++c.piece == request->pieces) c.piece = 0, c.repetition++;
  const int64_t begin = request->at[c.piece] + c.repetition * request->extent;
  c.within = place > begin ? place - begin : 0;
  return c;
}
static int64_t place_of(const Cursor *c) { return c->request->at[c->piece] + c->repetition * c->request->extent + c->within; }
static int64_t left_of(const Cursor *c) { return c->request->bytes[c->piece] - c->within; }
static void advance(Cursor *c, int64_t bytes) {
  if ((c->within += bytes) < c->request->bytes[c->piece]) return;
  c->within = 0;
  if (++c->piece == c->request->pieces) c->piece = 0, c->repetition++;
}

static void check_io(const Request *file, int64_t offset, const char *buffer, const Request *memory, int way) {
  if (!file || file->magic != REQUEST || !memory || memory->magic != REQUEST || (way != 1 && way != 2) || offset < 0) wrong("PVFS_sys_io with wrong arguments");
  if (file->elements > 100 || memory->elements > 100) wrong("linearize_PVFS_Request: more than 100 elements: the call would never return");
  if (file->total != memory->total || !file->total) wrong("PVFS_sys_io of %lld bytes with %lld of memory", (long long)file->total, (long long)memory->total);
  if (!buffer && memory->at[0] < 4096) wrong("PVFS_sys_io without memory");
  for (int32_t i = 1; i < file->pieces; i++)
    if (file->at[i] < file->at[i - 1] + file->bytes[i - 1]) wrong("PVFS_sys_io with a request that isn't ascending");
}

int32_t PVFS_sys_io(Ref ref, Request *file, int64_t offset, char *buffer, Request *memory, const Cred *cred, int64_t *done, int way, void *hints) {
  const int32_t code = check("sys_io", cred, hints);
  Kept kept;
  if (ref.fs != FS || ref.handle >> 63) wrong("PVFS_sys_io of no file");
  check_io(file, offset, buffer, memory, way);
  NOTE("%s %lld+%lld in %d of %d at %lld\n", way == 1 ? "read" : "write", (long long)file->at[0], (long long)file->total, file->pieces, file->elements, (long long)offset);
  if (code) return out(code);
  const int lock = store_lock();
  int error = get(ref.handle, &kept);
  if (!error && way == 2 && kept.meta.is_stuffed && offset + memory->total > kept.meta.strip) error = store_unstuff(ref.handle), kept.meta.is_stuffed = 0;
  if (way == 2) forget(ref.handle);
  const char *most = getenv("MERCUTIO_TEST_PVFS2_MOST");
  int64_t moved = 0, left = most && atoll(most) < memory->total ? atoll(most) : memory->total;
  Cursor f = cursor_at(file, offset), m = cursor_at(memory, 0);
  while (!error && left > 0) {
    int64_t now = left_of(&f) < left_of(&m) ? left_of(&f) : left_of(&m);
    now = now < left ? now : left;
    char *data = buffer + place_of(&m);
    const int64_t got = way == 1 ? store_read(&kept.meta, place_of(&f), data, now) : now;
    if (way == 2) error = store_write(&kept.meta, place_of(&f), data, now);
    moved += error ? 0 : got;
    if (got < now) break;
    left -= now;
    advance(&f, now);
    advance(&m, now);
  }
  store_unlock(lock);
  if (error) return out(code_of(error));
  return *done = moved, out(0);
}
