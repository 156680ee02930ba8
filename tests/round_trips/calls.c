/* Fifty small collective calls on one file, of each kind as many: data, order, atomic mode, ranks whose bytes take turns. Prints when open
   began, when the calls did, and when they ended, by the clock of the machine. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { kCalls = 5, kBytes = 1000, kRun = 4 };

static double all_are_here(void) {
  struct timespec now;
  MPI_Barrier(MPI_COMM_WORLD);
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Writes and reads at explicit offsets, in the view that is set; how many reads found something else. */
static int there_and_back(MPI_File file, MPI_Offset first, MPI_Offset step, const char* mine) {
  char got[kBytes];
  int i, wrong = 0;
  for (i = 0; i < kCalls; ++i) MPI_File_write_at_all(file, first + i * step, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  for (i = 0; i < kCalls; ++i) {
    MPI_File_read_at_all(file, first + i * step, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    wrong += memcmp(mine, got, sizeof got) != 0;
  }
  return wrong;
}

int main(int argc, char** argv) {
  int rank, size, i, atomic, wrong = argc != 2;
  char mine[kBytes], got[kBytes];
  double opens, calls, ends;
  MPI_Datatype runs, in_turn;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  memset(mine, 'a' + rank, sizeof mine);
  MPI_Type_vector(kBytes / kRun, kRun, kRun * size, MPI_BYTE, &runs);
  MPI_Type_create_resized(runs, 0, (MPI_Aint)kBytes * size, &in_turn);
  MPI_Type_commit(&in_turn);
  opens = all_are_here();
  MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  calls = all_are_here();
  for (atomic = 0; atomic < 2; ++atomic) {
    MPI_File_set_atomicity(file, atomic);
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    wrong += there_and_back(file, (MPI_Offset)rank * kBytes, (MPI_Offset)size * kBytes, mine);
    MPI_File_set_view(file, (MPI_Offset)kRun * rank, MPI_BYTE, in_turn, "native", MPI_INFO_NULL);
    wrong += there_and_back(file, 0, kBytes, mine);
  }
  MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
  for (i = 0; i < kCalls; ++i) MPI_File_write_ordered(file, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  for (i = 0; i < kCalls; ++i) {
    MPI_File_read_ordered(file, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    wrong += memcmp(mine, got, sizeof got) != 0;
  }
  ends = all_are_here();
  MPI_File_close(&file);
  MPI_Type_free(&runs);
  MPI_Type_free(&in_turn);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong, opens at %.6f, calls at %.6f, ends at %.6f\n", wrong, opens, calls, ends);
  MPI_Finalize();
  return wrong != 0;
}
