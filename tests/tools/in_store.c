// in_store.so, preloaded before Mercutio: programs that know nothing of stores have their files in one. Names below the folders of
// MERCUTIO_TEST_STORE_FOLDERS (separated by colons) get MERCUTIO_TEST_STORE_NAME put before them in MPI's calls. Those of POSIX that look at such
// files get what the store has: by plain HTTP from the port MERCUTIO_TEST_STORE_PORT (tests/drivers/s3_store.py run), or of the stand-in for
// libpvfs2 in the folder MERCUTIO_TEST_PVFS2. Where neither is set, the store is mounted at these names.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../drivers/libraries/pvfs2.h"

enum { kName = 2 * PATH_MAX, kHead = 8192 };

static __thread int in_stand_in;

static void *next_of(const char *name) { return dlsym(RTLD_NEXT, name); }

// The key of a file that is in the store; NULL: another file. Relative names begin at the working directory.
static const char *key_of(const char *name, char *key) {
  const char *folders = getenv("MERCUTIO_TEST_STORE_FOLDERS");
  char here[PATH_MAX] = "", *text, *rest, *folder;
  int found = 0;
  if (!folders || in_stand_in || !name || !getenv("MERCUTIO_TEST_STORE_NAME")) return NULL;
  if (!strncmp(name, "ufs:", 4)) name += 4;
  if (*name != '/' && !getcwd(here, sizeof here)) return NULL;
  while (!strncmp(name, "./", 2)) name += 2;
  snprintf(key, kName, "%s%s%s", here, *here ? "/" : "", name);
  text = rest = strdup(folders);
  while (!found && (folder = strsep(&rest, ":")) != NULL) found = !strncmp(key, folder, strlen(folder)) && key[strlen(folder)] == '/';
  free(text);
  return found ? key : NULL;
}

static int ask_by_http(const char *method, const char *key, int into, long long *bytes) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(getenv("MERCUTIO_TEST_STORE_PORT")))};
  char head[kHead + 1], *body = NULL;
  size_t filled = 0;
  int status = 0, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof address)) return fd >= 0 ? close(fd), 0 : 0;
  dprintf(fd, "%s /bucket%s HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nAuthorization: AWS4-HMAC-SHA256 "
              "Credential=testing-key/20200101/us-east-1/s3/aws4_request\r\n\r\n", method, key);
  for (ssize_t n; !body && filled < kHead && (n = read(fd, head + filled, kHead - filled)) > 0;) {
    filled += (size_t)n;
    head[filled] = 0;
    body = strstr(head, "\r\n\r\n");
  }
  if (body && sscanf(head, "HTTP/%*s %d", &status) == 1) {
    const char *length = strcasestr(head, "\r\ncontent-length:");
    body += 4;
    if (bytes) *bytes = length && length < body ? atoll(length + 17) : 0;
    if (into >= 0 && status == 200) {
      size_t have = filled - (size_t)(body - head);
      char more[65536];
      if (write(into, body, have) < 0) status = 0;
      for (ssize_t n; (n = read(fd, more, sizeof more)) > 0;)
        if (write(into, more, (size_t)n) < 0) status = 0;
    }
  }
  close(fd);
  return status;
}

void wrong(const char *format, ...) {   // of the stand-in
  va_list list;
  va_start(list, format);
  vfprintf(stderr, format, list);
  abort();
}

// Its own calls come here, too, under its lock: so there is none here, and what it calls is not looked up in it again.
static int ask_stand_in(const char *method, const char *path, int into, long long *bytes) {
  Meta meta;
  uint64_t handle;
  in_stand_in = 1;
  int status = store_lookup(path, true, &handle) == 0 && handle >> 63 == 0 && store_get(handle, &meta) == 0 ? 200 : 404;
  if (status == 200 && bytes) *bytes = store_size(&meta);
  if (status == 200 && into >= 0) {
    char data[65536];
    int64_t at = 0;
    for (int64_t n; (n = store_read(&meta, at, data, sizeof data)) > 0; at += n)
      if (write(into, data, (size_t)n) != n) status = 0;
  }
  if (status == 200 && *method == 'D' && store_remove(path, &handle)) status = 0;
  if (status == 200 && *method == 'P' && store_truncate(&meta, 0)) status = 0;
  in_stand_in = 0;
  return status;
}

// GET, HEAD, DELETE, or PUT of nothing: as HTTP answers, 0 where there is no store. `into`: a file for the bytes, or -1. Sets how many there are.
static int ask(const char *method, const char *key, int into, long long *bytes) {
  if (getenv("MERCUTIO_TEST_STORE_PORT")) return ask_by_http(method, key, into, bytes);
  return getenv("MERCUTIO_TEST_PVFS2") ? ask_stand_in(method, key, into, bytes) : 0;
}

static int is_there(const char *key) {
  if (ask("HEAD", key, -1, NULL) == 200) return 1;
  errno = ENOENT;
  return 0;
}

// A copy, for those who only read; -2: not one of the store's files.
static int open_copy(const char *name, int flags) {
  char key[kName];
  if (!key_of(name, key) || (flags & O_DIRECTORY)) return -2;
  const int copy = memfd_create("in_store", flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
  const int status = ask("GET", key, copy, NULL);
  if (status != 200) {
    close(copy);
    return -2;   // a folder, or what is really on the disk
  }
  lseek(copy, 0, SEEK_SET);
  return copy;
}

#define OPEN(function)                                                     \
  int function(const char *name, int flags, ...) {                         \
    va_list arguments;                                                     \
    va_start(arguments, flags);                                            \
    const int mode = flags & O_CREAT ? va_arg(arguments, int) : 0;         \
    va_end(arguments);                                                     \
    const int copy = open_copy(name, flags);                               \
    return copy != -2 ? copy : ((int (*)(const char *, int, ...))next_of(#function))(name, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define FOPEN(function)                                                    \
  FILE *function(const char *name, const char *mode) {                     \
    const int copy = *mode == 'r' ? open_copy(name, 0) : -2;               \
    return copy != -2 ? fdopen(copy, mode) : ((FILE * (*)(const char *, const char *)) next_of(#function))(name, mode); \
  }
FOPEN(fopen)
FOPEN(fopen64)

int access(const char *name, int mode) {
  char key[kName];
  if (key_of(name, key) && is_there(key)) return 0;
  return ((int (*)(const char *, int))next_of("access"))(name, mode);
}

#define STAT(function, structure)                                          \
  int function(const char *name, struct structure *status) {               \
    char key[kName];                                                       \
    long long bytes = 0;                                                   \
    if (key_of(name, key) && ask("HEAD", key, -1, &bytes) == 200) {        \
      memset(status, 0, sizeof *status);                                   \
      status->st_mode = S_IFREG | 0644;                                    \
      status->st_nlink = 1;                                                \
      status->st_size = bytes;                                             \
      return 0;                                                            \
    }                                                                      \
    return ((int (*)(const char *, struct structure *))next_of(#function))(name, status); \
  }
STAT(stat, stat)
STAT(lstat, stat)
STAT(stat64, stat64)
STAT(lstat64, stat64)

int unlink(const char *name) {
  char key[kName];
  const int there = key_of(name, key) && is_there(key);
  if (there) ask("DELETE", key, -1, NULL);
  const int here = ((int (*)(const char *))next_of("unlink"))(name);
  return there ? 0 : here;
}
int unlinkat(int folder, const char *name, int flags) {
  char key[kName];
  const int there = folder == AT_FDCWD && key_of(name, key) && is_there(key);
  if (there) ask("DELETE", key, -1, NULL);
  const int here = ((int (*)(int, const char *, int))next_of("unlinkat"))(folder, name, flags);
  return there ? 0 : here;
}
int truncate(const char *name, off_t bytes) {
  char key[kName];
  if (bytes == 0 && key_of(name, key) && is_there(key)) return ask("PUT", key, -1, NULL) == 200 ? 0 : (errno = EIO, -1);
  return ((int (*)(const char *, off_t))next_of("truncate"))(name, bytes);
}

// A file that POSIX has made (mkstemp) isn't in the stand-in, and makes room where it is made there. In all MPIs MPI_MODE_CREATE is 1.
static void make_room(const char *path, int amode) {
  struct stat status;
  if (!getenv("MERCUTIO_TEST_PVFS2") || !(amode & 1)) return;
  in_stand_in = 1;
  if (lstat(path, &status) == 0 && S_ISREG(status.st_mode)) unlink(path);
  in_stand_in = 0;
}

// Handles of all MPIs fit into a word. Each open in the store is a line in the file MERCUTIO_TEST_STORE_OPENS.
int MPI_File_open(uintptr_t comm, const char *name, int amode, uintptr_t info, void *file) {
  char key[kName], there[2 * kName];
  if (key_of(name, key)) {
    const char *opens = getenv("MERCUTIO_TEST_STORE_OPENS");
    const int fd = opens ? ((int (*)(const char *, int, ...))next_of("open"))(opens, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (fd >= 0) dprintf(fd, "%s\n", key), close(fd);
    make_room(key, amode);
    snprintf(there, sizeof there, "%s%s", getenv("MERCUTIO_TEST_STORE_NAME"), key);
    name = there;
  }
  return ((int (*)(uintptr_t, const char *, int, uintptr_t, void *))next_of("MPI_File_open"))(comm, name, amode, info, file);
}
int MPI_File_delete(const char *name, uintptr_t info) {
  char key[kName], there[2 * kName];
  if (key_of(name, key)) snprintf(there, sizeof there, "%s%s", getenv("MERCUTIO_TEST_STORE_NAME"), key), name = there;
  return ((int (*)(const char *, uintptr_t))next_of("MPI_File_delete"))(name, info);
}
