// A long message to a rank that waits in a collective access: messages FILE BYTES ROUNDS. Prints the seconds of a round with a blocking access
// and with a started one. Rank 0 has posted the receive and waits for rank 1 in the access, which rank 1 joins when it has sent.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kBlock = 4096 };
static int rank;
static char *message, block[kBlock];
static MPI_File fh;

static void round_of(int bytes, int started) {
  MPI_Request received = MPI_REQUEST_NULL, written;
  if (rank == 0) MPI_Irecv(message, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &received);
  if (rank == 1) MPI_Send(message, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  if (started) {
    MPI_File_iwrite_at_all(fh, (MPI_Offset)rank * kBlock, block, kBlock, MPI_BYTE, &written);
    MPI_Wait(&written, MPI_STATUS_IGNORE);
  } else {
    MPI_File_write_at_all(fh, (MPI_Offset)rank * kBlock, block, kBlock, MPI_BYTE, MPI_STATUS_IGNORE);
  }
  MPI_Wait(&received, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  MPI_Info collective;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 4) MPI_Abort(MPI_COMM_WORLD, 2);
  const int bytes = atoi(argv[2]), rounds = atoi(argv[3]);
  message = malloc((size_t)bytes);
  memset(message, rank, (size_t)bytes);
  MPI_Info_create(&collective);
  MPI_Info_set(collective, "romio_cb_write", "enable");   // so that all wait for each other
  if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, collective, &fh) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Info_free(&collective);
  for (int started = 0; started < 2; started++) {
    round_of(bytes, started);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int i = 0; i < rounds; i++) {
      round_of(bytes, started);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0) printf("%.9f\n", (MPI_Wtime() - begin) / rounds);
  }
  MPI_File_close(&fh);
  free(message);
  MPI_Finalize();
  return 0;
}
