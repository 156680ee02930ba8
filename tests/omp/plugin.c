/* A plugin with OpenMP, as a Python module is: late_runtime.c calls it. Each of four threads writes 8 bytes of its number to the file. Returns
   the number of failed calls. */
#include <fcntl.h>
#include <omp.h>
#include <string.h>
#include <sys/types.h>

#include "plugin.h"

int write_by_four(const struct Routines *omp_file, const char *name) {
  int file = -1, failed = 0;
#pragma omp parallel num_threads(4) shared(file) reduction(+ : failed)
  {
    char own[8];
    memset(own, 'A' + omp_get_thread_num(), sizeof own);
    failed += omp_file->open_all(&file, name, O_WRONLY | O_CREAT | O_TRUNC) != 0;
    failed += omp_file->write_all(own, sizeof own, file, -1) != (ssize_t)sizeof own;
    failed += omp_file->close_all(file) != 0;
  }
  return failed;
}
