/* A storage driver for Mercutio: files called cipher:path lie encrypted on the disk, and programs don't notice.
 *
 * Byte p of the file is byte HEAD + p on the disk, changed by byte p of a key stream (AES-256 in counter mode; the key is the 32 bytes
 * of the file that CIPHER_KEY_FILE names, and each file has a number of its own). A stream suits MPI-IO: any byte can be written
 * without its neighbours, so ranks never disturb each other. A byte 0 stays 0, or holes would not read as zeros. An example and no
 * product: who sees the disk sees where zeros are, and what two versions of a byte have in common. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mercutio/driver.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 4096, CHUNK = 65536 };
static const int64_t LAST = INT64_MAX - HEAD - CHUNK;   /* beyond it a place on the disk could not be told */

struct mercutio_driver_file {
  int fd;
  unsigned char key[32];
  struct { char mark[8]; unsigned char number[8]; } head;
};
static const char mark[8] = "CIPHER1";
static _Thread_local const char *why = "";
static const char *cipher_explain(void) { return why; }

/* The same way there and back: x becomes x ^ k, but 0 and k stay as they are. */
static int change(mercutio_driver_file *f, int64_t position, unsigned char *data, size_t bytes) {
  static const unsigned char zeros[CHUNK + 16];
  unsigned char stream[CHUNK + 16], start[16];
  int length, skip = (int)(position % 16), good;
  memcpy(start, f->head.number, 8);
  for (int i = 0; i < 8; i++) start[15 - i] = (unsigned char)(position / 16 >> 8 * i);
  EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
  good = context && EVP_EncryptInit_ex(context, EVP_aes_256_ctr(), NULL, f->key, start) &&
         EVP_EncryptUpdate(context, stream, &length, zeros, (int)bytes + skip);
  EVP_CIPHER_CTX_free(context);
  for (size_t i = 0; good && i < bytes; i++)
    if (data[i] != 0 && data[i] != stream[skip + i]) data[i] ^= stream[skip + i];
  return good ? 0 : ENOMEM;
}

static int read_key(unsigned char *key) {
  const char *name = getenv("CIPHER_KEY_FILE");
  FILE *in = name ? fopen(name, "rb") : NULL;
  const int good = in && fread(key, 1, 32, in) == 32;
  if (in) fclose(in);
  why = good ? "" : "CIPHER_KEY_FILE must name a file of 32 bytes";
  return good ? 0 : EACCES;
}

/* Whoever opens an empty file first gives it its number; the lock is for those who do so at once. */
static int read_head(mercutio_driver_file *f, int writable) {
  if (flock(f->fd, LOCK_EX)) return errno;
  ssize_t n = pread(f->fd, &f->head, sizeof f->head, 0);
  if (n == 0 && writable && RAND_bytes(f->head.number, 8) == 1) {
    memcpy(f->head.mark, mark, 8);
    n = ftruncate(f->fd, HEAD) ? -1 : pwrite(f->fd, &f->head, sizeof f->head, 0);
  }
  const int error = n < 0 ? errno : 0;
  flock(f->fd, LOCK_UN);
  const int good = n == sizeof f->head && !memcmp(f->head.mark, mark, 8);
  why = good || error ? "" : "this is no file of the cipher driver";
  return good ? 0 : error ? error : EINVAL;
}

static int cipher_open(const char *path, const mercutio_driver_options *options, mercutio_driver_file **file) {
  const int writable = (options->flags & MERCUTIO_DRIVER_WRITE) != 0;
  int flags = O_CLOEXEC | (writable ? O_RDWR : O_RDONLY);   /* the head is read in any case */
  if (options->flags & MERCUTIO_DRIVER_CREATE) flags |= O_CREAT;
  if (options->flags & MERCUTIO_DRIVER_EXCLUSIVE) flags |= O_EXCL;
  mercutio_driver_file *f = calloc(1, sizeof *f);
  if (!f) return ENOMEM;
  int error = read_key(f->key);
  f->fd = error ? -1 : open(path, flags, options->permissions);
  if (!error) error = f->fd < 0 ? errno : read_head(f, writable);
  if (!error) return *file = f, 0;
  if (f->fd >= 0) close(f->fd);
  free(f);
  return error;
}

static int cipher_close(mercutio_driver_file *f) {
  const int error = close(f->fd) ? errno : 0;
  free(f);
  return error;
}

static int cipher_read(mercutio_driver_file *f, const mercutio_driver_extent *extent, size_t count, int64_t *moved) {
  (void)count;   /* 1: extents_per_call is left as it is */
  if (extent->offset > LAST) return *moved = 0, 0;
  const ssize_t n = pread(f->fd, extent->data, extent->bytes < CHUNK ? (size_t)extent->bytes : CHUNK, HEAD + extent->offset);
  if (n < 0) return errno;
  *moved = n;   /* fewer than asked: Mercutio comes again */
  return change(f, extent->offset, extent->data, (size_t)n);
}

static int cipher_write(mercutio_driver_file *f, const mercutio_driver_extent *extent, size_t count, int64_t *moved) {
  unsigned char chunk[CHUNK];
  const size_t bytes = extent->bytes < CHUNK ? (size_t)extent->bytes : CHUNK;
  (void)count;
  if (extent->offset > LAST) return EFBIG;
  memcpy(chunk, extent->data, bytes);   /* the program's own data must not change */
  const int error = change(f, extent->offset, chunk, bytes);
  const ssize_t n = error ? 0 : pwrite(f->fd, chunk, bytes, HEAD + extent->offset);
  *moved = n;
  return n < 0 ? errno : error;
}

static int cipher_get_size(mercutio_driver_file *f, int64_t *bytes) {
  struct stat status;
  if (fstat(f->fd, &status)) return errno;
  *bytes = status.st_size - HEAD;
  return 0;
}
static int cipher_set_size(mercutio_driver_file *f, int64_t bytes) { return bytes > LAST ? EFBIG : ftruncate(f->fd, HEAD + bytes) ? errno : 0; }
static int cipher_sync(mercutio_driver_file *f) { return fsync(f->fd) ? errno : 0; }
static int cipher_remove(const char *path) { return unlink(path) ? errno : 0; }

/* Each lock is an open of its own, as locks of one open don't exclude each other. */
static int cipher_lock(mercutio_driver_file *f, const mercutio_driver_range *range, void **lock) {
  struct flock bytes = {.l_type = range->exclusive ? F_WRLCK : F_RDLCK, .l_start = range->begin};
  if (range->end != INT64_MAX) bytes.l_len = range->end - range->begin;   /* 0: however far it goes */
  char self[64];
  snprintf(self, sizeof self, "/proc/self/fd/%d", f->fd);
  const int fd = open(self, (range->exclusive ? O_RDWR : O_RDONLY) | O_CLOEXEC);
  if (fd < 0) return errno;
  if (!fcntl(fd, range->wait ? F_OFD_SETLKW : F_OFD_SETLK, &bytes)) return *lock = (void *)(intptr_t)fd, 0;
  const int error = errno == EACCES ? EAGAIN : errno;
  close(fd);
  return error;
}
static int cipher_unlock(mercutio_driver_file *f, void *lock) { return (void)f, close((int)(intptr_t)lock) ? errno : 0; }

static int cipher_get_traits(mercutio_driver_file *f, mercutio_driver_traits *traits) {
  (void)f;
  traits->metadata_is_remote = 0;   /* the files of the example are local */
  return 0;
}

int mercutio_driver_init(const mercutio_driver_host *host, const mercutio_driver **driver) {
  static const mercutio_driver cipher = {
      .abi = MERCUTIO_DRIVER_ABI, .size = sizeof cipher, .open = cipher_open, .close = cipher_close, .read = cipher_read,
      .write = cipher_write, .get_size = cipher_get_size, .set_size = cipher_set_size, .sync = cipher_sync, .remove = cipher_remove,
      .get_traits = cipher_get_traits, .lock = cipher_lock, .unlock = cipher_unlock, .explain = cipher_explain};
  (void)host;
  *driver = &cipher;
  return 0;
}
