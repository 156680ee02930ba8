/* Many small accesses of every rank, and how much memory the process had at most: `tracing_memory FILE ACCESSES`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long peak_kib(void) {
  char line[256];
  long kib = 0;
  FILE* status = fopen("/proc/self/status", "r");
  if (!status) return 0;
  while (fgets(line, sizeof line, status)) {
    if (strncmp(line, "VmHWM:", 6) == 0) kib = atol(line + 6);
  }
  fclose(status);
  return kib;
}

int main(int argc, char** argv) {
  char piece[64];
  int rank, ranks;
  double seconds, slowest;
  MPI_File file;
  MPI_Init(&argc, &argv);
  if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  memset(piece, 'm', sizeof piece);
  if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)) MPI_Abort(MPI_COMM_WORLD, 1);
  seconds = MPI_Wtime();
  for (long i = 0; i < atol(argv[2]); ++i) {   /* all over a file of 64 KiB for each rank */
    MPI_Offset at = ((MPI_Offset)(i * 7 % 1024) * ranks + rank) * (MPI_Offset)sizeof piece;
    if (MPI_File_write_at(file, at, piece, sizeof piece, MPI_BYTE, MPI_STATUS_IGNORE)) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  seconds = MPI_Wtime() - seconds;
  MPI_File_close(&file);
  MPI_Reduce(&seconds, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  long mine = peak_kib(), most = 0;
  MPI_Reduce(&mine, &most, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("peak_kib %ld seconds %.6f\n", most, slowest);
  MPI_Finalize();
  return 0;
}
