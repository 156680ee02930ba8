/* How to write a storage driver for Mercutio: a shared library libmercutio-driver-NAME.so that moves the bytes of files called
 * NAME:path or NAME://path. NAME is a lower-case letter and then lower-case letters and digits, at least two. C11 and C++: nothing
 * of Mercutio is linked. docs/engineers/drivers.md is the guide, `mercutio driver check NAME:path` runs the contract.
 *
 * A driver exports one function, mercutio_driver_init. Mercutio loads the library, and calls that function, when the first file with
 * the prefix is opened or deleted (after MPI_Init, so after the launcher has forked). A process may call it more than once. The
 * library is never unloaded.
 *
 * Errors. Each call returns 0, or a value of <errno.h> such as ENOENT (positive). It becomes the error class of MPI: ENOENT
 * MPI_ERR_NO_SUCH_FILE, EEXIST MPI_ERR_FILE_EXISTS, EACCES MPI_ERR_ACCESS, ENOSPC MPI_ERR_NO_SPACE, EDQUOT MPI_ERR_QUOTA, EROFS
 * MPI_ERR_READ_ONLY, EISDIR MPI_ERR_BAD_FILE, EOPNOTSUPP MPI_ERR_UNSUPPORTED_OPERATION, ENOMEM MPI_ERR_NO_MEM, and most others
 * MPI_ERR_IO. A call that returned EINTR is made again. A driver must not end the process, raise signals or throw C++ exceptions
 * (Mercutio makes an error of those that it can catch). After an error what the call has set is ignored.
 *
 * Threads. Every call may come from any thread, and several calls may run at once, also on one file. Calls may block: Mercutio
 * has threads for what is to happen meanwhile.
 *
 * Processes. The ranks of a job open a file each for itself and write parts of it at once. These share no byte, but may begin and
 * end anywhere. A driver that reads, changes and writes back whole blocks has to keep the others out meanwhile, by its own means.
 *
 * Memory. Who allocates it frees it. What Mercutio passes (names, options, extents, buffers) belongs to Mercutio and is valid
 * during the call only: a driver copies what it keeps. What a driver returns as text belongs to the driver.
 *
 * Growth. Structures hold their size in bytes, as the side that made them knows it. Members are added at the end only, and whoever
 * reads or fills a structure of the other side looks at `size` before it touches a member that was added later
 * (MERCUTIO_DRIVER_HAS). MERCUTIO_DRIVER_ABI changes only if drivers of the older header can't be used any more. */
#ifndef MERCUTIO_DRIVER_H
#define MERCUTIO_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MERCUTIO_DRIVER_ABI 1

/* Whether the structure that `pointer` points to has that member. */
#define MERCUTIO_DRIVER_HAS(type, pointer, member) ((pointer)->size >= offsetof(type, member) + sizeof(((type*)0)->member))

/* A part of a file, and the memory it is read into or written from. */
typedef struct mercutio_driver_extent {
  int64_t offset;   /* in the file; not negative */
  void* data;       /* `write` must not change it */
  int64_t bytes;    /* above 0; offset + bytes is at most INT64_MAX */
} mercutio_driver_extent;

/* How a file is to be opened: bits of `flags`. READ or WRITE or both are set. */
#define MERCUTIO_DRIVER_READ 1u
#define MERCUTIO_DRIVER_WRITE 2u
#define MERCUTIO_DRIVER_CREATE 4u      /* make the file if it is not there; never truncate it */
#define MERCUTIO_DRIVER_EXCLUSIVE 8u   /* with CREATE: fail with EEXIST if it is there */
#define MERCUTIO_DRIVER_KEEP_WRITES 16u   /* `write` may keep data in this process until `flush`, for as long as the file is open */

typedef struct mercutio_driver_options {
  size_t size;
  uint32_t flags;
  uint32_t permissions;    /* of a new file, as for open(2), before the umask */
  int64_t rank, ranks;     /* of the process in the collective open of the file; 0 of 1 outside of one */
  int64_t stripe_bytes;    /* wanted for a new file; 0: as the driver likes */
  int64_t stripe_count;
  const void* handle;      /* what `get_handle` of rank 0 gave; NULL on rank 0, and where there is none */
  size_t handle_bytes;
} mercutio_driver_options;

/* When other processes see what one has written. */
enum {
  MERCUTIO_DRIVER_SEEN_AT_ONCE = 0,      /* when `write` has returned */
  MERCUTIO_DRIVER_SEEN_AFTER_OPEN = 1,   /* when the writer has closed the file and the reader has opened it afterwards. Mercutio
                                            then refuses to open it for writing on several ranks */
  MERCUTIO_DRIVER_SEEN_UNKNOWN = 2,      /* nobody knows. Mercutio warns */
  MERCUTIO_DRIVER_SEEN_AFTER_PUBLISH = 3 /* when `publish` has returned. Until then `read` and `get_size` show what was published before
                                            and what this file has written. A driver that needs it returns ENOSYS from
                                            mercutio_driver_init where MERCUTIO_DRIVER_HOST_KNOWS(host, publish) is false */
};

/* Whom `lock` keeps out, beside the threads and opens of this process. */
enum {
  MERCUTIO_DRIVER_LOCKS_NOBODY = 0,   /* it can't be used on this file */
  MERCUTIO_DRIVER_LOCKS_NODE = 1,     /* the processes of this node */
  MERCUTIO_DRIVER_LOCKS_ALL = 2       /* the processes of all nodes */
};

/* What an open file is like. Mercutio sets every member to its default, and the driver changes those that differ. Where a member has a
 * value that isn't named here (seen or locks of another number, a negative size) the open fails. */
typedef struct mercutio_driver_traits {
  size_t size;
  int32_t seen;               /* default: MERCUTIO_DRIVER_SEEN_AT_ONCE */
  int32_t locks;              /* default: MERCUTIO_DRIVER_LOCKS_ALL, and LOCKS_NOBODY where the driver has no `lock` */
  int32_t metadata_is_remote; /* to ask for the size or a lock is a message to a server; default: 1 */
  int32_t extents_per_call;   /* what `read` and `write` take in one call at the most; default: 1 */
  int64_t block_bytes;        /* aligned accesses of multiples of this are the fastest; 0: not known; default: 4096 */
  int64_t stripe_bytes;       /* byte x is in stripe x / stripe_bytes; default: 0, not striped or not known */
  int64_t stripe_count;       /* of so many servers, in turn */
  int64_t first_server;       /* that of stripe 0; default: -1, not known */
  int64_t file_number;        /* tells this file from others, the same on all ranks; default: 0, not known */
  const char* advice;         /* not seen at once: what to change, a sentence without a full stop; copied; default: NULL */
  int32_t keeps_writes;       /* 1: as MERCUTIO_DRIVER_KEEP_WRITES permits it; default: 0. `seen` is what holds after `flush` */
} mercutio_driver_traits;

/* What is to be locked. */
typedef struct mercutio_driver_range {
  size_t size;
  int64_t begin, end;   /* the bytes [begin, end); INT64_MAX: however far the file goes */
  int32_t exclusive;    /* 0: other locks that are not exclusive may overlap it. Only on files that are open for reading, and an
                           exclusive one only on files that are open for writing */
  int32_t wait;         /* 0: return EAGAIN where it would have to wait */
} mercutio_driver_range;

/* What has a name. Mercutio sets every member to its default. */
typedef struct mercutio_driver_entry {
  size_t size;
  const char* name;       /* for `list`: its last part, without slashes */
  int32_t is_folder;      /* default: 0, a file */
  int64_t bytes;          /* of a file */
  int64_t modified_ns;    /* since 1970; default: 0, not known */
  int64_t file_number;    /* as in mercutio_driver_traits */
} mercutio_driver_entry;

/* An open file. What is in it is the driver's. */
typedef struct mercutio_driver_file mercutio_driver_file;

/* The driver. It lives as long as the process and is not changed. The functions without "optional" are required. */
typedef struct mercutio_driver {
  uint32_t abi;   /* MERCUTIO_DRIVER_ABI */
  size_t size;    /* sizeof(mercutio_driver) */

  /* `path` is the file name without the prefix, as the program gave it; it stands for the same file on all ranks. */
  int (*open)(const char* path, const mercutio_driver_options* options, mercutio_driver_file** file);
  /* Writes what is kept, if there is any, and frees the file, also on an error. No other call is running on it then, and none
   * follows. */
  int (*close)(mercutio_driver_file* file);

  /* Move the bytes of `count` extents (at least 1, at most extents_per_call), in their order, and set *moved to how many they were.
   * Fewer than asked may be moved: Mercutio calls again for the rest. `read` moves 0 bytes only if the first extent begins at or
   * beyond the end of the file. Bytes that were never written read as zeros. `write` makes the file longer if needed, and 0 bytes
   * without an error count as EIO. The extents of a `write` don't overlap. */
  int (*read)(mercutio_driver_file* file, const mercutio_driver_extent* extents, size_t count, int64_t* moved);
  int (*write)(mercutio_driver_file* file, const mercutio_driver_extent* extents, size_t count, int64_t* moved);

  int (*get_size)(mercutio_driver_file* file, int64_t* bytes);

  /* Optional: cuts the file, or makes it longer with zeros. NULL: Mercutio writes a byte at the end of a longer file, and can't make
   * one shorter. */
  int (*set_size)(mercutio_driver_file* file, int64_t bytes);
  /* Optional: afterwards the size is at least `bytes`, space is there for it, and the content is the same. NULL: the file is only
   * made longer. */
  int (*preallocate)(mercutio_driver_file* file, int64_t bytes);
  /* Optional: returns when what this process has written is on stable storage. NULL: it is there when `write` returns. */
  int (*sync)(mercutio_driver_file* file);
  /* Optional: reads and sizes that follow see what other processes have written and synchronised before. NULL: nothing is kept
   * from earlier reads. */
  int (*refresh)(mercutio_driver_file* file);
  /* Optional: deletes a file that is not open here. NULL: no file can be deleted. */
  int (*remove)(const char* path);
  /* Optional: changes the traits that differ from the defaults. Called once, directly after `open`. */
  int (*get_traits)(mercutio_driver_file* file, mercutio_driver_traits* traits);

  /* Optional, both or none: locks a range against other locks, also those of other threads and of other opens in this process. Sets
   * *lock to what `unlock` then gets, once. Locks may end in any order. NULL: in atomic mode the ranks of an
   * open take turns. */
  int (*lock)(mercutio_driver_file* file, const mercutio_driver_range* range, void** lock);
  int (*unlock)(mercutio_driver_file* file, void* lock);

  /* Optional: at most `room` bytes with which the other ranks of a collective open can open the same file more cheaply (a file
   * handle, the identifier of a session). Rank 0 opens first, and the others, on all nodes, get the bytes in their options. */
  int (*get_handle)(mercutio_driver_file* file, void* bytes, size_t room, size_t* count);
  /* Optional: more about the last error of the calling thread than errno says; "" or NULL if there is nothing. The text is valid
   * until the thread's next call of the driver. */
  const char* (*explain)(void);

  /* Both, where `seen` is MERCUTIO_DRIVER_SEEN_AFTER_PUBLISH; otherwise never called.
   * publish: called on rank 0, when `sync` has returned on all ranks. Makes what they have written since the last time the content of
   * the file, all at once. With MERCUTIO_DRIVER_PUBLISH_DISCARD a rank has failed: all of that is forgotten. With
   * MERCUTIO_DRIVER_PUBLISH_LAST all ranks close the file next. `refresh` of the others follows. A file that is closed without a last
   * `publish` forgets likewise.
   * begin_turn: writes that follow are of turn `turn`. Of overlapping writes of two ranks those of the higher turn remain. Those of
   * one rank count in their order, whatever their turns. A collective write has the next even turn on all ranks, and what a rank
   * writes by itself the odd one after the last of these.
   * A process may open one file several times. Its reads through one of them show what it has written through the others, and of its
   * writes to one place the last one remains, once all of them are published. */
  int (*publish)(mercutio_driver_file* file, uint32_t flags);
  int (*begin_turn)(mercutio_driver_file* file, int64_t turn);

  /* Optional, all of them: names, for the files that mercutiod serves (`mercutio ls`, `cp`, `mv`, `mount`). Folders are the parts of a path
   * between slashes; Mercutio removes "." and refuses "..".
   * look: what has this name, or ENOENT. Symbolic links are followed.
   * list: calls `take` with `to` for each name in a folder, in any order, except "." and "..", until it returns another value than 0.
   *   Returns 0, or an errno value (ENOENT, ENOTDIR). Made again after EINTR, from the first name.
   * rename: gives a file another name. Another file of that name is replaced in one step; with MERCUTIO_DRIVER_EXCLUSIVE that is EEXIST.
   * make_folder, remove_folder: as mkdir and rmdir. */
  int (*look)(const char* path, mercutio_driver_entry* entry);
  int (*list)(const char* path, int (*take)(void* to, const mercutio_driver_entry* entry), void* to);
  int (*rename)(const char* path, const char* other, uint32_t flags);
  int (*make_folder)(const char* path);
  int (*remove_folder)(const char* path);

  /* Optional: what `write` has taken is seen by others as `seen` says. `sync` and `close` include it, and Mercutio calls it before `set_size`
   * and `unlock` too. An error is that of the data, which may be lost. Only a driver that has it is asked to keep writes
   * (MERCUTIO_DRIVER_KEEP_WRITES): for files that are written by several ranks, and whose others may see a write later. `read` and `get_size`
   * show what this process keeps, and what others have flushed. */
  int (*flush)(mercutio_driver_file* file);
} mercutio_driver;

#define MERCUTIO_DRIVER_PUBLISH_DISCARD 1u
#define MERCUTIO_DRIVER_PUBLISH_LAST 2u

/* What Mercutio tells a driver of itself. Valid as long as the process. */
typedef struct mercutio_driver_host {
  uint32_t abi;   /* MERCUTIO_DRIVER_ABI of this Mercutio */
  size_t size;
  const char* version;   /* "0.2.0" */
  size_t driver_size;    /* sizeof(mercutio_driver) there: it calls the functions that begin below */
} mercutio_driver_host;

/* Whether Mercutio calls that function of a driver. */
#define MERCUTIO_DRIVER_HOST_KNOWS(host, function)                   \
  (MERCUTIO_DRIVER_HAS(mercutio_driver_host, host, driver_size) &&   \
   (host)->driver_size >= offsetof(mercutio_driver, function) + sizeof(((mercutio_driver*)0)->function))

/* Sets *driver, or returns an errno value, ENOSYS where something that the driver needs is not installed: then the open or deletion
 * fails that wanted it, with explain's text if *driver was set all the same, and the next one calls it again. */
__attribute__((__visibility__("default"))) int mercutio_driver_init(const mercutio_driver_host* host, const mercutio_driver** driver);

#ifdef __cplusplus
}
#endif

#endif
