#!/usr/bin/env bash
# Under Open MPI 4, one-sided operations over TCP refuse MPI_THREAD_MULTIPLE: programs that can make windows, by themselves or by a library,
# keep their level.
. "$(dirname "$0")/lib.sh"
cat >"$scratch/main.c" <<'C'
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int makes_window(void);

/* The MPI's own, as the program is told of what it asked for. */
static int level_of_mpi(void) {
  int level = -1;
  int (*const query)(int *) = (int (*)(int *))dlsym(dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD), "PMPI_Query_thread");
  if (query) query(&level);
  return level;
}

int main(int argc, char **argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("%s\n", level_of_mpi() == MPI_THREAD_SINGLE ? "kept" : "raised");
#ifdef CALLS
  if (argc > 1) makes_window();
#endif
  MPI_Finalize();
}
C
cat >"$scratch/window.c" <<'C'
#include <mpi.h>

int makes_window(void) {
  MPI_Win window;
  return MPI_Win_create(MPI_BOTTOM, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
}
C
ran=0
use_mpi openmpi || skip "no Open MPI"
case "$(mpirun.openmpi --version)" in *"(Open MPI) 4."* | *"(OpenRTE) 4."*) ;; *) skip "not Open MPI 4" ;; esac
cd "$scratch"
level_of() { "$MERCUTIO" run -- mpirun.openmpi "${flags[@]}" "$1"; }
mpicc.openmpi main.c -o none
equals "$(level_of ./none)" raised
for style in gnu sysv both; do
  mpicc.openmpi -Wl,--hash-style=$style -DCALLS main.c window.c -o itself
  equals "$(level_of ./itself)" kept
done
mpicc.openmpi -shared -fPIC window.c -o libmpiwindows.so
mpicc.openmpi -DCALLS main.c -o by_library -L. -lmpiwindows -Wl,-rpath,"$scratch"
equals "$(level_of ./by_library)" kept
