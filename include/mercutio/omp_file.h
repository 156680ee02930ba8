/* Parallel file I/O for the threads of an OpenMP team: the omp_file routines of K. Mehta, E. Gabriel and B. Chapman,
 * "Specification and performance evaluation of parallel I/O interfaces for OpenMP" (IWOMP 2012). C11 and C++; no MPI is needed,
 * and in an MPI program each process is on its own. Link with -lmercutio-omp. omp_file(3) is the manual page.
 *
 * All routines are collective over the team of threads that opened the file: every thread of the parallel region calls the same
 * routine, in the same order. They must not be called in a worksharing construct, in `single`, `master` or a task, nor in a region
 * that a thread may leave by `cancel` (OMP_CANCELLATION) while the others are in a call: those would wait for ever. Between the
 * threads no lock is held while data moves.
 *
 * What applies to all of them:
 * - Lengths, offsets and the pointer count bytes. `hint` is kept for programs written for the prototype and changes nothing:
 *   pass OMP_FILE_NO_HINT.
 * - The value is the number of bytes of this thread's own data (com: of the whole data), or one of the negative codes below, the
 *   same on all threads; errno is set too, and omp_file_message() has the text. After an error the pointer is where it was, and
 *   the bytes that were to be written or read are undefined.
 * - A read at end of file gives the bytes that are there: fewer, or 0. Of a list every part is read as far as the file goes, and
 *   the value is the sum. What lies behind the end is left alone in the buffers. The pointer moves by what was read.
 * - Zero lengths and empty lists are fine on any thread; a buffer of no bytes may be NULL. Gaps read as zeros.
 * - Data that overlaps in the file within one writing call: either of it may win. Reads may overlap in the file, not in memory.
 * - A thread whose arguments are wrong takes part, nothing is moved, and all threads get the error: nobody waits for ever. That
 *   also holds where threads name different files or are in different routines of this header.
 * - A file belongs to teams of the size and nesting that opened it. Later parallel regions of the same number of threads, at the
 *   same place of the nesting, go on with it, also with other threads; any other call is refused with OMP_FILE_ERR_TEAM. Outside
 *   of parallel regions a team is one thread. Each nested team can open files of its own.
 * - One team at a time: where threads of the program run teams alike beside each other, and one of them is in a call on a file, a call
 *   of another one on it gets OMP_FILE_ERR_TEAM. Let them take turns, or open the file in each of them. */
#ifndef MERCUTIO_OMP_FILE_H
#define MERCUTIO_OMP_FILE_H

#include <fcntl.h>     /* O_RDONLY, O_CREAT, ... */
#include <sys/types.h> /* off_t, ssize_t */
#include <sys/uio.h>   /* struct iovec */

#ifdef __cplusplus
extern "C" {
#endif

#define OMP_FILE_NO_HINT (-1)

enum {
  OMP_FILE_SUCCESS = 0,
  OMP_FILE_ERR_ARG = -1,           /* a length, offset, buffer or flag that can't be */
  OMP_FILE_ERR_FILE = -2,          /* not the handle of an open file */
  OMP_FILE_ERR_NOT_SAME = -3,      /* threads differ where they must not: file, routine, common arguments */
  OMP_FILE_ERR_TEAM = -4,          /* not a team like the one that opened the file, another team's call, or an OpenMP runtime nobody knows */
  OMP_FILE_ERR_MODE = -5,          /* the file was not opened for this */
  OMP_FILE_ERR_NO_SUCH_FILE = -6,
  OMP_FILE_ERR_EXISTS = -7,        /* O_EXCL, and the file is there */
  OMP_FILE_ERR_ACCESS = -8,        /* permissions, or a read-only file system */
  OMP_FILE_ERR_NO_SPACE = -9,      /* file system, quota or file size limit */
  OMP_FILE_ERR_NO_MEMORY = -10,
  OMP_FILE_ERR_IO = -11,           /* the storage failed */
  OMP_FILE_ERR_OTHER = -12
};

/* Opens a file for the team: same name and flags on all threads. Each thread's *fd becomes the handle, the same on all and above
 * 0, or -1; it may be one shared variable. `flags` as for open(2): O_RDONLY, O_WRONLY or O_RDWR, with O_CREAT, O_EXCL, O_TRUNC,
 * O_APPEND (the pointer begins at the end; otherwise at 0). Names may have Mercutio's prefixes ("ufs:", "memory:", ...), and the
 * hints striping_factor, striping_unit and start_iodevice of MERCUTIO_HINTS count. Returns 0 or a code. */
int omp_file_open_all(int* fd, const char* filename, int flags);

/* Closes, and tells whether the system took everything that was written. The handle is gone in any case, but after NOT_SAME, TEAM
 * and FILE. omp_file_sync_all: everything that this process wrote is on stable storage, or a code says that it is not. */
int omp_file_close_all(int fd);
int omp_file_sync_all(int fd);

/* The text of the last error of an omp_file routine on the calling thread, with what to do about it; "" if there was none. Valid
 * until the thread's next call. Not collective. */
const char* omp_file_message(void);

/* Different data of each thread, thread after thread at the pointer that the threads share, which then moves by all of it. */
ssize_t omp_file_write_all(const void* buffer, long length, int fd, int hint);
ssize_t omp_file_read_all(void* buffer, long length, int fd, int hint);
/* Different data of each thread, each at its own offset in the file. The pointer stays. */
ssize_t omp_file_write_at_all(const void* buffer, long length, off_t offset, int fd, int hint);
ssize_t omp_file_read_at_all(void* buffer, long length, off_t offset, int fd, int hint);
/* As omp_file_write_all and omp_file_read_all; a thread's data are the `size` buffers of a list, one behind the other. */
ssize_t omp_file_write_list_all(const struct iovec* list, int size, int fd, int hint);
ssize_t omp_file_read_list_all(const struct iovec* list, int size, int fd, int hint);
/* Buffer list[i] at offsets[i] of the file. Where the threads' lists ascend in the file and interleave, they are moved together,
 * in long contiguous pieces. */
ssize_t omp_file_write_list_at_all(const struct iovec* list, const off_t* offsets, int size, int fd, int hint);
ssize_t omp_file_read_list_at_all(const struct iovec* list, const off_t* offsets, int size, int fd, int hint);
/* Common data: all threads give the same arguments, and the library divides the work over them. */
ssize_t omp_file_write_com_all(const void* buffer, long length, int fd, int hint);
ssize_t omp_file_read_com_all(void* buffer, long length, int fd, int hint);
ssize_t omp_file_write_com_at_all(const void* buffer, long length, off_t offset, int fd, int hint);
ssize_t omp_file_read_com_at_all(void* buffer, long length, off_t offset, int fd, int hint);
ssize_t omp_file_write_com_list_all(const struct iovec* list, int size, int fd, int hint);
ssize_t omp_file_read_com_list_all(const struct iovec* list, int size, int fd, int hint);
ssize_t omp_file_write_com_list_at_all(const struct iovec* list, const off_t* offsets, int size, int fd, int hint);
ssize_t omp_file_read_com_list_at_all(const struct iovec* list, const off_t* offsets, int size, int fd, int hint);

#ifdef __cplusplus
}
#endif

#endif
