/* Files of other clusters for programs without MPI, by their names: mercutio://host/root/path, or host/root/path. `mercutio connect`
 * makes a host known. The library is libmercutio-remote.so; what calls it for you is Python's package mercutio. C11 and C++.
 *
 * A function that returns a number returns a negative errno where it fails; mercutio_remote_error() has the text then. Any thread may
 * call any function at any time, but for mercutio_remote_close(). After fork() the child needs a mercutio_remote, and files, of its own. */
#ifndef MERCUTIO_REMOTE_H
#define MERCUTIO_REMOTE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MERCUTIO_REMOTE_API __attribute__((visibility("default")))

/* Of the last call of this thread that failed. Valid until its next call. */
MERCUTIO_REMOTE_API const char* mercutio_remote_error(void);

/* Connections, which are made when they are needed and which all files of a host share. NULL: there is no memory for one. Files may
 * be used, and are closed, after their mercutio_remote was deleted. */
typedef struct mercutio_remote mercutio_remote;
MERCUTIO_REMOTE_API mercutio_remote* mercutio_remote_new(void);
MERCUTIO_REMOTE_API void mercutio_remote_delete(mercutio_remote* remote);

/* `flags` are those of open(2): O_RDONLY, O_WRONLY or O_RDWR, with O_CREAT, O_EXCL and O_TRUNC. The file is taken to be used by
 * nobody else meanwhile: reads that follow each other are made in advance, and a write returns while it is under way. Its error is
 * told by flush, sync or close, after which others see what was written. */
typedef struct mercutio_remote_file mercutio_remote_file;
MERCUTIO_REMOTE_API int mercutio_remote_open(mercutio_remote* remote, const char* name, int flags, unsigned permissions, mercutio_remote_file** file);
/* Frees it, also where it fails: once, when no other call on the file is under way, and none follows. */
MERCUTIO_REMOTE_API int mercutio_remote_close(mercutio_remote_file* file);
MERCUTIO_REMOTE_API int64_t mercutio_remote_read(mercutio_remote_file* file, void* data, int64_t bytes, int64_t offset);   /* less: the file ends */
MERCUTIO_REMOTE_API int64_t mercutio_remote_write(mercutio_remote_file* file, const void* data, int64_t bytes, int64_t offset);
MERCUTIO_REMOTE_API int64_t mercutio_remote_size(mercutio_remote_file* file);
MERCUTIO_REMOTE_API int64_t mercutio_remote_known_size(mercutio_remote_file* file);   /* when it was opened, or asked for last */
MERCUTIO_REMOTE_API int mercutio_remote_truncate(mercutio_remote_file* file, int64_t bytes);
MERCUTIO_REMOTE_API int mercutio_remote_flush(mercutio_remote_file* file);
MERCUTIO_REMOTE_API int mercutio_remote_sync(mercutio_remote_file* file);   /* to stable storage */

enum { MERCUTIO_REMOTE_REGULAR = 1, MERCUTIO_REMOTE_DIRECTORY = 2, MERCUTIO_REMOTE_LINK = 3, MERCUTIO_REMOTE_OTHER = 4 };
typedef struct mercutio_remote_status {
  uint32_t type, permissions;
  int64_t bytes, allocated_bytes, modified_ns;   /* since 1970 */
  uint64_t device, inode;
} mercutio_remote_status;
typedef struct mercutio_remote_entry {
  const char* name;
  mercutio_remote_status status;   /* of a symbolic link itself */
} mercutio_remote_entry;

/* A name that is a symbolic link stands for what it leads to. A host is a directory of its roots, and the empty name one of hosts. */
MERCUTIO_REMOTE_API int mercutio_remote_stat(mercutio_remote* remote, const char* name, mercutio_remote_status* status);
/* The number of entries, sorted; `entries` is the caller's, for mercutio_remote_free(). */
MERCUTIO_REMOTE_API int64_t mercutio_remote_list(mercutio_remote* remote, const char* name, mercutio_remote_entry** entries);
MERCUTIO_REMOTE_API void mercutio_remote_free(mercutio_remote_entry* entries);
MERCUTIO_REMOTE_API int mercutio_remote_mkdir(mercutio_remote* remote, const char* name, unsigned permissions);
MERCUTIO_REMOTE_API int mercutio_remote_rmdir(mercutio_remote* remote, const char* name);
MERCUTIO_REMOTE_API int mercutio_remote_unlink(mercutio_remote* remote, const char* name);
/* With `replace` in place of a file that has the name `other`, else EEXIST. EXDEV: the names are of two hosts. MERCUTIO_REMOTE_AS_WRITES: as if
 * that file was opened and written: its permissions stay, and where `other` is a symbolic link, it is what that leads to. */
enum { MERCUTIO_REMOTE_REPLACE = 1, MERCUTIO_REMOTE_AS_WRITES = 2 };
MERCUTIO_REMOTE_API int mercutio_remote_rename(mercutio_remote* remote, const char* name, const char* other, int replace);

/* A small file in one message: what it holds, or -EFBIG where that is more than `bytes` or MERCUTIO_REMOTE_SMALL. A file that is put
 * has its name when it is whole, in place of what had it: as MERCUTIO_REMOTE_AS_WRITES. `permissions` are those of a new file, but for what is
 * in the server's umask. */
enum { MERCUTIO_REMOTE_SMALL = 256 * 1024 };
MERCUTIO_REMOTE_API int64_t mercutio_remote_get(mercutio_remote* remote, const char* name, void* data, int64_t bytes);
MERCUTIO_REMOTE_API int mercutio_remote_put(mercutio_remote* remote, const char* name, const void* data, int64_t bytes, unsigned permissions);

#ifdef __cplusplus
}
#endif

#endif
