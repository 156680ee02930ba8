/* An MPI program whose processes have teams of threads: each process is on its own with its omp_file files, also while MPI-IO goes
 * on in the same process, on the same file. Prints ok or what is wrong. */
#include <mercutio/omp_file.h>
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kThreads = 3, kBytes = 5000 };

static char value(int rank, int thread, int i) { return (char)(31 * rank + 7 * thread + i); }

/* The team of this process writes its block of the file, and reads that of the next rank. */
static int threads_part(const char *name, int rank, int size, int reading) {
  int wrong = 0, fd = -1, other = reading ? (rank + 1) % size : rank;
#pragma omp parallel num_threads(kThreads) reduction(+ : wrong)
  {
    int me = omp_get_thread_num();
    char data[kBytes];
    off_t at = (off_t)kBytes * (kThreads * other + me);
    for (int i = 0; i < kBytes; ++i) data[i] = value(rank, me, i);
    wrong += omp_file_open_all(&fd, name, reading ? O_RDONLY : O_RDWR) != 0;
    if (reading) {
      wrong += omp_file_read_at_all(data, kBytes, at, fd, OMP_FILE_NO_HINT) != kBytes;
      for (int i = 0; i < kBytes; ++i) wrong += data[i] != value(other, me, i);
    } else {
      wrong += omp_file_write_at_all(data, kBytes, at, fd, OMP_FILE_NO_HINT) != kBytes;
    }
    wrong += omp_file_close_all(fd) != 0;
    if (wrong) fprintf(stderr, "rank %d thread %d: %d wrong; %s\n", rank, me, wrong, omp_file_message());
  }
  return wrong;
}

int main(int argc, char **argv) {
  const char *name = "omp_in_mpi.bin";
  int rank, size, level, wrong = 0, all = 0;
  MPI_File file;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  wrong += MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS;
  MPI_Barrier(MPI_COMM_WORLD);
  wrong += threads_part(name, rank, size, 0);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  wrong += threads_part(name, rank, size, 1);
  /* MPI-IO sees what the threads wrote. */
  char back[kBytes];
  MPI_Status status;
  int next = (rank + 1) % size, count = 0;
  MPI_File_read_at_all(file, (MPI_Offset)kBytes * (kThreads * next + 1), back, kBytes, MPI_BYTE, &status);
  MPI_Get_count(&status, MPI_BYTE, &count);
  wrong += count != kBytes;
  for (int i = 0; i < kBytes; ++i) wrong += back[i] != value(next, 1, i);
  MPI_File_close(&file);
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0 && all) printf("FAILED %d\n", all);
  if (rank == 0 && !all) printf("ok\n");
  MPI_Finalize();
  return all != 0;
}
