/* What messages and copies cost between the nodes that it runs on, for bench/predict_nodes.py.

     link_costs FILE

   The last rank should be on another node than ranks 0 and 1. Prints one line of JSON: seconds that the first message between two nodes takes
   longer (connect); seconds of half a round trip of 8 bytes between nodes (latency); seconds of a message of 8 bytes in a stream of them (message); bytes a second of a stream of 1 MiB messages between nodes (stream)
   and within a node (node); bytes a second at which 1 MiB blocks are written to a new file and read again (write, read). Medians. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kRepetitions = 9, kRounds = 200, kBlock = 1 << 20, kBlocks = 32 };

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double median(double *values) {
  qsort(values, kRepetitions, sizeof values[0], ascending);
  return values[kRepetitions / 2];
}

static double half_round_trip(int rank, int other, int rounds) {
  char byte[8] = {0};
  const double begin = MPI_Wtime();
  for (int i = 0; i < rounds; i++) {
    if (rank == 0) MPI_Send(byte, sizeof byte, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    MPI_Recv(byte, sizeof byte, MPI_BYTE, rank == 0 ? other : 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) MPI_Send(byte, sizeof byte, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - begin) / (2 * rounds);
}

/* Seconds of a message in a stream of `count` of them. */
static double streamed(int rank, int other, char *data, int bytes, int count) {
  static MPI_Request requests[kRounds];
  static MPI_Status statuses[kRounds];
  const double begin = MPI_Wtime();
  for (int i = 0; i < count; i++) {
    char *const place = data + (bytes == kBlock ? (i % 4) * kBlock : 0);
    if (rank == 0) MPI_Isend(place, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, &requests[i]);
    if (rank == other) MPI_Irecv(place, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[i]);
  }
  MPI_Waitall(count, requests, statuses);
  if (rank == other) MPI_Send(data, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(data, 1, MPI_BYTE, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return (MPI_Wtime() - begin) / count;
}

static double copied(const char *path, char *data, int writing) {
  const int file = open(path, writing ? O_CREAT | O_TRUNC | O_WRONLY : O_RDONLY, 0666);
  const double begin = MPI_Wtime();
  for (int i = 0; i < kBlocks; i++) {
    const ssize_t moved = writing ? pwrite(file, data, kBlock, (off_t)i * kBlock) : pread(file, data, kBlock, (off_t)i * kBlock);
    if (moved != kBlock) MPI_Abort(MPI_COMM_WORLD, 3);
  }
  const double seconds = MPI_Wtime() - begin;
  close(file);
  return (double)kBlock * kBlocks / seconds;
}

int main(int argc, char **argv) {
  double latency[kRepetitions], message[kRepetitions], stream[kRepetitions], node[kRepetitions], written[kRepetitions], read[kRepetitions];
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char *const data = malloc(4 * kBlock);
  if (argc != 2 || ranks < 3 || !data) MPI_Abort(MPI_COMM_WORLD, 2);
  memset(data, 1, 4 * kBlock);
  const int far = ranks - 1;
  MPI_Barrier(MPI_COMM_WORLD);
  const double first = rank == 0 || rank == far ? 2 * half_round_trip(rank, far, 1) : 0;
  for (int i = 0; i < kRepetitions; i++) {
    if (rank == 0 || rank == far) {
      latency[i] = half_round_trip(rank, far, kRounds);
      message[i] = streamed(rank, far, data, 8, kRounds);
      stream[i] = kBlock / streamed(rank, far, data, kBlock, kBlocks);
    }
    if (rank == 0 || rank == 1) node[i] = kBlock / streamed(rank, 1, data, kBlock, kBlocks);
    if (rank == 0) {
      written[i] = copied(argv[1], data, 1);
      read[i] = copied(argv[1], data, 0);
      unlink(argv[1]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) {
    const double usual = median(latency);
    printf("{\"connect\": %.9f, \"latency\": %.9f, \"message\": %.9f, \"stream\": %.0f, \"node\": %.0f, \"write\": %.0f, \"read\": %.0f}\n", first > 2 * usual ? first - 2 * usual : 0,
           usual, median(message), median(stream), median(node), median(written), median(read));
  }
  MPI_Finalize();
  return 0;
}
