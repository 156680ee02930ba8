/* Regular patterns whose shares by rank are known: patterns NUMBER FILE. Four ranks, 20,000 calls each. Prints what each rank wrote to
   each file: "wrote RANK FILE BYTES". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kCalls = 20000, kBlock = 512 };

int main(int argc, char** argv) {
  MPI_File files[2];
  MPI_Offset wrote[2] = {0, 0};
  char names[2][4096], data[8192];
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int pattern = atoi(argv[1]), several = pattern == 7 ? 2 : 1;
  memset(data, 'a' + rank, sizeof data);
  for (int i = 0; i < several; ++i) {
    snprintf(names[i], sizeof names[i], "%s.%c", argv[2], 'a' + i);
    MPI_File_open(MPI_COMM_WORLD, names[i], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &files[i]);
  }
  for (long step = 0; step < kCalls; ++step) {
    const MPI_Offset turn = step * ranks + rank;
    MPI_Offset at = turn * kBlock;
    int bytes = kBlock, which = 0;
    if (pattern == 0) at = (rank * (MPI_Offset)kCalls + step) * kBlock;            /* a block for each rank */
    if (pattern == 2) at = ((kCalls - step) * ranks - rank - 1) * (MPI_Offset)kBlock;   /* from the end */
    if (pattern == 3) at = turn * 4096, bytes = 256 << rank;                       /* ranks of different weight */
    if (pattern == 4 && step % (1 << rank) != 0) continue;                         /* ranks of different rhythm */
    if (pattern == 5) at = turn * 4096, bytes = step % 2 == 0 ? 64 : 4096;
    if (pattern == 6) at = turn * 4096, bytes = step % 8 == 7 ? 4096 : 64;
    if (pattern == 7) which = step % 2, at = (step / 2 * ranks + rank) * kBlock;
    if (pattern == 8) at = ((rank + step) % ranks + step * ranks) * kBlock;        /* a different order each step */
    if (pattern == 9) at = turn * kBlock, bytes = step < kCalls / 2 ? kBlock : rank == 0 ? kBlock : 0;   /* in the end only one */
    MPI_File_write_at(files[which], at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    wrote[which] += bytes;
  }
  for (int i = 0; i < several; ++i) {
    printf("wrote %d %c %lld\n", rank, 'a' + i, (long long)wrote[i]);
    MPI_File_close(&files[i]);
  }
  MPI_Finalize();
  return 0;
}
