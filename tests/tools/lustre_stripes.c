// Preload that lets files lie on a Lustre that keeps the striping they are made with; that is all of Lustre that there is.
//   MERCUTIO_LUSTRE          paths that contain this lie there
//   MERCUTIO_LUSTRE_DEFAULT  stripes of a file for which nobody asks for any, 4
// As there, a file that is opened gets the default, stripes of 1 MiB from server 0 on, unless it is opened with the flags that put
// it off (O_NOCTTY | FASYNC); then the first setting of "lustre.lov" counts, with the default for what it leaves open. A setting
// is kept in the file .stripes-NAME beside the file, which all processes see. Ranges that the file doesn't reach have no servers yet.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "striped_layouts.h"

enum { kLustreMagic = 0x0BD00BD0 };

#define REAL(result, name, ...) \
  static result (*real)(__VA_ARGS__); \
  if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

__attribute__((constructor)) static void begin(void) {
  const char *wanted = getenv("MERCUTIO_LUSTRE_DEFAULT");
  servers = 8;
  default_count = wanted ? atoi(wanted) : 4;
}

static int is_there(const char *path) {
  const char *part = getenv("MERCUTIO_LUSTRE");
  return part && *part && path && strstr(path, part);
}

static int path_of(int fd, char path[PATH_MAX]) {
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, PATH_MAX - 1);
  path[length < 0 ? 0 : length] = 0;
  return length > 0;
}

// Where the setting of the file is kept; 0: the file is elsewhere.
static int setting_of(int fd, char setting[2 * PATH_MAX]) {
  char path[PATH_MAX];
  if (!path_of(fd, path) || !is_there(path)) return 0;
  const char *slash = strrchr(path, '/');
  snprintf(setting, 2 * PATH_MAX, "%.*s/.stripes-%s", (int)(slash - path), path, slash + 1);
  return 1;
}

int fstatfs(int fd, struct statfs *to) {
  REAL(int, "fstatfs", int, struct statfs *);
  char path[PATH_MAX];
  int code = real(fd, to);
  if (code == 0 && path_of(fd, path) && is_there(path)) to->f_type = kLustreMagic;
  return code;
}
int fstatfs64(int fd, struct statfs64 *to) { return fstatfs(fd, (struct statfs *)to); }

int statfs(const char *path, struct statfs *to) {
  REAL(int, "statfs", const char *, struct statfs *);
  int code = real(path, to);
  if (code == 0 && is_there(path)) to->f_type = kLustreMagic;
  return code;
}
int statfs64(const char *path, struct statfs64 *to) { return statfs(path, (struct statfs *)to); }

int fsetxattr(int fd, const char *name, const void *value, size_t bytes, int flags) {
  REAL(int, "fsetxattr", int, const char *, const void *, size_t, int);
  char setting[2 * PATH_MAX];
  FileLayout layout;
  if (strcmp(name, "lustre.lov") != 0 || !setting_of(fd, setting)) return real(fd, name, value, bytes, flags);
  if (!take_layout(value, bytes, &layout)) return errno = EINVAL, -1;
  if (!(fcntl(fd, F_GETFL) & O_ASYNC)) return errno = EEXIST, -1;   // it has its objects
  int kept = open(setting, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (kept < 0) return -1;
  ssize_t written = write(kept, value, bytes);
  close(kept);
  return written == (ssize_t)bytes ? 0 : -1;
}

ssize_t fgetxattr(int fd, const char *name, void *value, size_t bytes) {
  REAL(ssize_t, "fgetxattr", int, const char *, void *, size_t);
  char setting[2 * PATH_MAX];
  unsigned char lov[kLovBytes];
  struct stat status;
  if (strcmp(name, "lustre.lov") != 0 || !setting_of(fd, setting)) return real(fd, name, value, bytes);
  FileLayout layout = default_layout();
  int kept = open(setting, O_RDONLY | O_CLOEXEC);
  ssize_t found = kept < 0 ? 0 : read(kept, lov, sizeof lov);
  if (kept >= 0) close(kept);
  if (found > 0) take_layout(lov, (size_t)found, &layout);
  return fstat(fd, &status) == 0 ? answer_with(&layout, status.st_size, value, bytes) : -1;
}

// Of a directory: what new files get.
ssize_t getxattr(const char *path, const char *name, void *value, size_t bytes) {
  REAL(ssize_t, "getxattr", const char *, const char *, void *, size_t);
  const FileLayout layout = default_layout();
  return strcmp(name, "lustre.lov") == 0 && is_there(path) ? answer_with(&layout, 0, value, bytes) : real(path, name, value, bytes);
}
