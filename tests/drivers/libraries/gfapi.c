// What tests/drivers/gluster_test.cpp has for GlusterFS's library: no server, one empty file of any name, and a text of what was asked of it. A client
// whose process is another one than the caller ends the program, as its threads would be missing.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRONG_PROCESS = 99 };
typedef struct { char volume[64]; pid_t process; int early; } Volume;   // early: questions so far
typedef struct { char path[64]; unsigned long owner; pid_t process; } Descriptor;
static char asked[8192];
static int failing;   // every call fails, without an errno

#define NOTE(...) snprintf(asked + strlen(asked), sizeof asked - strlen(asked), __VA_ARGS__)

const char *glfs_asked(void) { return asked; }
void glfs_forget(void) { asked[0] = 0; }
void glfs_fail(int from_now) { failing = from_now; }

// The result of a call on a volume or descriptor.
static int result(pid_t process) {
  if (process != getpid()) _exit(WRONG_PROCESS);
  return -failing;
}

Volume *glfs_new(const char *volume) {
  Volume *made = failing ? NULL : calloc(1, sizeof *made);
  if (!made) return NULL;
  made->process = getpid();
  snprintf(made->volume, sizeof made->volume, "%s", volume);
  NOTE("new %s\n", volume);
  return made;
}
int glfs_set_volfile_server(Volume *v, const char *transport, const char *host, int port) { return (void)v, NOTE("server %s %s %d\n", transport, host, port), 0; }
int glfs_set_logging(Volume *v, const char *file, int level) { return (void)v, NOTE("log %s %d\n", file, level), 0; }
int glfs_set_xlator_option(Volume *v, const char *who, const char *key, const char *value) { return (void)v, NOTE("option %s %s %s\n", who, key, value), 0; }
int glfs_init(Volume *v) {
  NOTE("init %s\n", v->volume);
  errno = ENOENT;
  return strcmp(v->volume, "absent") ? 0 : -1;
}
ssize_t glfs_get_volfile(Volume *v, void *graph, size_t bytes) {
  char made[200];
  if (!strcmp(v->volume, "late") && v->early++ < 3) return 0;   // as glfs_init may return before the volfile is stored
  const int count = snprintf(made, sizeof made, "volume a\n    type %s\nend-volume\n", !strcmp(v->volume, "sharded") ? "features/shard" : !strcmp(v->volume, "dispersed") ? "cluster/disperse" : "protocol/client");
  if (bytes < (size_t)count) return (ssize_t)bytes - count;
  return memcpy(graph, made, (size_t)count), count;
}
int glfs_fini(Volume *v) { return NOTE("fini\n"), free(v), 0; }

static Descriptor *descriptor(pid_t process, const char *path) {
  Descriptor *made = result(process) < 0 ? NULL : calloc(1, sizeof *made);
  if (!made) return NULL;
  made->process = process;
  snprintf(made->path, sizeof made->path, "%s", path);
  return made;
}
Descriptor *glfs_open(Volume *v, const char *path, int flags) { return NOTE("open %s %d\n", path, flags), descriptor(v->process, path); }
Descriptor *glfs_creat(Volume *v, const char *path, int flags, mode_t mode) {
  NOTE("creat %s %d %o\n", path, flags & ~(O_CREAT | O_EXCL), mode);
  if (strcmp(path, "/made_meanwhile")) return descriptor(v->process, path);
  errno = EEXIST;
  return NULL;
}
Descriptor *glfs_dup(Descriptor *d) { return descriptor(d->process, d->path); }
int glfs_close(Descriptor *d) {
  const int closed = result(d->process);
  NOTE("close %s\n", d->path);
  free(d);
  return closed;
}
ssize_t glfs_pread(Descriptor *d, void *data, size_t count, off_t offset, int flags, void *after) {
  return (void)data, (void)count, (void)offset, (void)flags, (void)after, result(d->process);
}
ssize_t glfs_pwrite(Descriptor *d, const void *data, size_t count, off_t offset, int flags, void *before, void *after) {
  return (void)data, (void)offset, (void)flags, (void)before, (void)after, result(d->process) < 0 ? -1 : (ssize_t)count;
}
int glfs_ftruncate(Descriptor *d, off_t bytes, void *before, void *after) { return (void)bytes, (void)before, (void)after, result(d->process); }
int glfs_fsync(Descriptor *d, void *before, void *after) { return (void)before, (void)after, result(d->process); }
int glfs_fstat(Descriptor *d, struct stat *status) {
  memset(status, 0, sizeof *status);
  status->st_mode = strcmp(d->path, "/folder") ? S_IFREG : S_IFDIR;
  status->st_ino = 77;
  return result(d->process);
}
int glfs_unlink(Volume *v, const char *path) { return NOTE("unlink %s %s\n", v->volume, path), result(v->process); }
int glfs_fd_set_lkowner(Descriptor *d, void *owner, int length) { return memcpy(&d->owner, owner, (size_t)length), 0; }
int glfs_posix_lock(Descriptor *d, int how, struct flock *bytes) {
  (void)how;
  NOTE("lock %lu %d %ld+%ld\n", d->owner, bytes->l_type, (long)bytes->l_start, (long)bytes->l_len);
  if (bytes->l_start != 1000) return result(d->process);
  errno = EACCES;
  return -1;
}
