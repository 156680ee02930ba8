// Preload that lets files lie on a Lustre that keeps the striping they are made with; that is all of Lustre that there is.
//   MERCUTIO_LUSTRE   paths that contain this lie there
// As there, a file that is opened gets the default, 4 stripes of 1 MiB from server 0 on, unless it is opened with the flags that put
// it off (O_NOCTTY | FASYNC); then the first setting of "lustre.lov" counts, with the default for what it leaves open. A setting
// is kept in the file .stripes-NAME beside the file, which all processes see.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { kLustreMagic = 0x0BD00BD0, kLovMagic = 0x0BD10BD0, kServers = 8, kHeaderBytes = 32, kObjectBytes = 24 };

#define REAL(result, name, ...) \
  static result (*real)(__VA_ARGS__); \
  if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

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
  if (strcmp(name, "lustre.lov") != 0 || !setting_of(fd, setting)) return real(fd, name, value, bytes, flags);
  if (bytes != kHeaderBytes) return errno = EINVAL, -1;
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
  unsigned char lov[kHeaderBytes + kServers * kObjectBytes] = {0};
  uint32_t magic = kLovMagic, raid0 = 1, unit;
  uint16_t count, first;
  if (strcmp(name, "lustre.lov") != 0 || !setting_of(fd, setting)) return real(fd, name, value, bytes);
  int kept = open(setting, O_RDONLY | O_CLOEXEC);
  ssize_t found = kept < 0 ? 0 : read(kept, lov, kHeaderBytes);
  if (kept >= 0) close(kept);
  memcpy(&unit, lov + 24, 4), memcpy(&count, lov + 28, 2), memcpy(&first, lov + 30, 2);
  if (unit == 0) unit = 1 << 20;
  if (count == 0) count = 4;
  if (count > kServers) count = kServers;
  if (found == 0 || first == 0xffff) first = 0;
  memcpy(lov, &magic, 4), memcpy(lov + 4, &raid0, 4), memcpy(lov + 24, &unit, 4), memcpy(lov + 28, &count, 2);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t server = (first + i) % kServers;
    memcpy(lov + kHeaderBytes + i * kObjectBytes + 20, &server, 4);
  }
  size_t length = kHeaderBytes + (size_t)count * kObjectBytes;
  if (bytes == 0) return (ssize_t)length;
  if (bytes < length) return errno = ERANGE, -1;
  memcpy(value, lov, length);
  return (ssize_t)length;
}
