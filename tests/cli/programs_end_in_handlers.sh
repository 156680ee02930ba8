#!/usr/bin/env bash
# A program may end in an error handler, which MPICH calls while it holds its lock. A thread of the library that waits for the lock does not
# keep the process. The shared file pointer is in a window here, for which rank 0 has such a thread under MPICH.
. "$(dirname "$0")/lib.sh"
cat >"$scratch/main.c" <<'C'
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

static void leave(MPI_Comm *comm, int *code, ...) {
  (void)comm, (void)code;
  close(creat("left", 0600));
  exit(4);
}

int main(int argc, char **argv) {
  int rank, size;
  MPI_File file;
  MPI_Errhandler handler;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS) return 1;
  for (int i = 0; i < 50; ++i) {   // the thread looks often meanwhile
    usleep(1000);
    MPI_File_write_shared(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  }
  MPI_Comm_create_errhandler(leave, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  if (rank == 0) MPI_Send(&rank, 1, MPI_INT, size, 0, MPI_COMM_WORLD);   // no such rank
  MPI_Barrier(MPI_COMM_WORLD);
  return 1;
}
C
ran=0
cd "$scratch"
for flavour in mpich openmpi; do
  use_mpi "$flavour" || continue
  "mpicc.$flavour" "$scratch/main.c" -o "$scratch/app.$flavour"
  for _ in 1 2 3 4 5 6; do
    rm -f left
    code=0
    MERCUTIO_SHARED_POINTER=window timeout 60 "$MERCUTIO" run -- "mpirun.$flavour" "${flags[@]}" "$scratch/app.$flavour" "$scratch/file" >/dev/null 2>&1 || code=$?
    [ "$code" -ne 124 ] || fail "$flavour: the program did not end"   # MPICH's mpirun may kill the others first
    [ -e left ] || fail "$flavour: the handler was not called"
  done
done
[ "$ran" -gt 0 ] || skip "no MPI"
