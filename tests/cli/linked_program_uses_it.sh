#!/usr/bin/env bash
# A program linked to the library before its MPI uses it without any preload; with MERCUTIO_DISABLE=1 it still runs.
. "$(dirname "$0")/lib.sh"
folder="$(dirname "$("$MERCUTIO" preload)")"
cat >"$scratch/main.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  MPI_File file;
  Dl_info supplier;
  int rank, value, back = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  value = 1000 + rank;
  if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file)) return 1;
  MPI_File_write_at_all(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_read_at_all(file, 4 * rank, &back, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  dladdr(dlsym(RTLD_DEFAULT, "MPI_File_open"), &supplier);
  if (rank == 0) printf("from %s\n", supplier.dli_fname);
  MPI_Finalize();
  return back != value;
}
C
tried=0
for flavour in mpich openmpi; do
  command -v "mpicc.$flavour" >/dev/null && [ -e "$folder/libmercutio-$flavour.so" ] || continue
  tried=1
  mapfile -t flags < <(launch_flags "$flavour")
  "mpicc.$flavour" "$scratch/main.c" -o "$scratch/app" -L"$folder" -Wl,-rpath,"$folder" -lmercutio -ldl
  contains "$(cd "$scratch" && timeout 60 "mpirun.$flavour" "${flags[@]}" ./app data)" "libmercutio.so"
  equals "$(stat -c %s "$scratch/data")" 8
  rm "$scratch/data"
  (cd "$scratch" && MERCUTIO_DISABLE=1 timeout 60 "mpirun.$flavour" "${flags[@]}" ./app data) >/dev/null
  equals "$(stat -c %s "$scratch/data")" 8
  rm "$scratch/data"
done
[ "$tried" = 1 ] || skip "no compiler wrapper with a backend here"
