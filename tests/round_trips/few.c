/* Ranks that leave their data to the aggregators, and ranks that move their own, on remote files. After each step it says so, and waits until
   the file STEPS/NUMBER is there: meanwhile the caller counts connections, or lets nobody connect any more. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kBytes = 1000, kFiles = 3 };

static int rank, size, wrong;

static void step(const char* steps, int number) {
  char path[4096];
  int waits;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    printf("step %d\n", number);
    fflush(stdout);
    snprintf(path, sizeof path, "%s/%d", steps, number);
    for (waits = 0; access(path, F_OK) != 0 && waits < 6000; ++waits) usleep(10000);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The shares of the ranks lie together: an aggregator has them all. */
static void together(const char* name, int amode) {
  char mine[kBytes], got[kBytes];
  const MPI_Offset at = (MPI_Offset)rank * kBytes;
  MPI_File file;
  wrong += MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file) != MPI_SUCCESS;
  memset(mine, 'a' + rank, sizeof mine);
  if (amode & MPI_MODE_CREATE) wrong += MPI_File_write_at_all(file, at, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  wrong += MPI_File_read_at_all(file, at, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  wrong += memcmp(mine, got, kBytes) != 0;
  wrong += MPI_File_close(&file) != MPI_SUCCESS;
}

int main(int argc, char** argv) {
  char name[4096], mine[kBytes], got[kBytes], text[MPI_MAX_ERROR_STRING];
  const char* steps;
  int i, code, class = MPI_SUCCESS, length;
  MPI_File file;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  steps = argv[2];
  for (i = 0; i < kFiles; ++i) {
    snprintf(name, sizeof name, "%s.%d", argv[1], i);
    together(name, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR);
    together(name, MPI_MODE_RDONLY);
  }
  step(steps, 1);

  /* The upper half of the ranks moves data of its own, in turn with the others. */
  wrong += MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file) != MPI_SUCCESS;
  memset(mine, 'A' + rank, sizeof mine);
  wrong += MPI_File_write_at_all(file, (MPI_Offset)rank * kBytes, mine, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  if (rank == size - 2) {
    wrong += MPI_File_write_at(file, (MPI_Offset)rank * kBytes, "own", 3, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    memcpy(mine, "own", 3);
  }
  wrong += MPI_File_sync(file) != MPI_SUCCESS;
  step(steps, 2);

  /* Nobody can connect now: the last rank's access fails, with a reason, and what goes through aggregators does not. */
  memset(got, 0, sizeof got);
  if (rank == size - 1) {
    code = MPI_File_read_at(file, 0, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    wrong += code == MPI_SUCCESS || !strstr(text, "opens the file only now") || !strstr(text, "can't be made");
    printf("refused, class MPI_ERR_IO: %d: %s\n", class == MPI_ERR_IO, text);
    fflush(stdout);
  }
  wrong += MPI_File_read_at_all(file, (MPI_Offset)rank * kBytes, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  wrong += memcmp(mine, got, kBytes) != 0;
  step(steps, 3);

  /* The connection can be made again, and the next access makes it. */
  if (rank == size - 1) {
    wrong += MPI_File_read_at(file, (MPI_Offset)rank * kBytes, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    wrong += memcmp(mine, got, kBytes) != 0;
  }
  step(steps, 4);

  /* The name stands for another file now, which is not what the others have open. */
  if (rank == size - 3) {
    code = MPI_File_read_at(file, 0, got, kBytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    wrong += class != MPI_ERR_NOT_SAME || !strstr(text, "another file");
  }
  wrong += MPI_File_close(&file) != MPI_SUCCESS;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", wrong);
  MPI_Finalize();
  return wrong != 0;
}
