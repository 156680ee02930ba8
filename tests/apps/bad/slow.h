/* For bad.c: storage that is slow on one rank. This program's pwrite comes before that of the C library, and takes longer there. */
#ifndef BAD_SLOW_H
#define BAD_SLOW_H

#include <sys/syscall.h>

static unsigned longer_us;

static ssize_t written(int file, const void* data, size_t bytes, off_t at) {
  if (longer_us) usleep(longer_us);
  return syscall(SYS_pwrite64, file, data, bytes, at);
}
ssize_t pwrite(int file, const void* data, size_t bytes, off_t at) { return written(file, data, bytes, at); }
ssize_t pwrite64(int file, const void* data, size_t bytes, off_t at) { return written(file, data, bytes, at); }

static void write_slowly(int together) {
  char* data = filled(MEBI);
  MPI_File file = open_all(MPI_INFO_NULL);
  longer_us = rank == 1 && !fixed ? 100000 : 0;
  for (int i = 0; i < 6; ++i) {
    const MPI_Offset at = ((MPI_Offset)i * ranks + rank) * MEBI;
    if (together) MPI_File_write_at_all(file, at, data, MEBI, MPI_BYTE, MPI_STATUS_IGNORE);
    else MPI_File_write_at(file, at, data, MEBI, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  longer_us = 0;
  MPI_File_close(&file);
  free(data);
}
static void slow_together(void) { write_slowly(1); }
static void slow_alone(void) { write_slowly(0); }

#endif
