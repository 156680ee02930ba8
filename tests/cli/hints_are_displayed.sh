#!/usr/bin/env bash
# MERCUTIO_PRINT_HINTS shows rank 0's table once an open, on stderr; a mistake is warned of once, as are two names of one hint; stdout stays the program's.
. "$(dirname "$0")/lib.sh"
folder="$(dirname "$("$MERCUTIO" preload)")"
cat >"$scratch/main.c" <<'C'
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char** argv) {
  MPI_File file;
  MPI_Info info;
  int rank;
  (void)argc;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "64");
  if (getenv("OTHER_NAME")) MPI_Info_set(info, "num_aggregators", getenv("OTHER_NAME"));
  MPI_Info_set(info, "nc_header_align_size", "512");
  MPI_Info_set(info, "romio_ds_wirte", "enable");
  for (int i = 0; i < 2; i++) {
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file)) return 1;
    MPI_File_close(&file);
    if (MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file)) return 1;
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Info_free(&info);
  if (rank == 0) printf("done\n");
  MPI_Finalize();
  return 0;
}
C
tried=0
for flavour in mpich openmpi; do
  command -v "mpicc.$flavour" >/dev/null && [ -e "$folder/libmercutio-$flavour.so" ] || continue
  tried=1
  mapfile -t flags < <(launch_flags "$flavour")
  "mpicc.$flavour" "$scratch/main.c" -o "$scratch/app" -L"$folder" -Wl,-rpath,"$folder" -lmercutio -ldl
  run() { (cd "$scratch" && timeout 60 env "$@" "mpirun.$flavour" "${flags[@]}" ./app data.nc 2>err) || fail "$(cat "$scratch/err")"; }
  equals "$(run MERCUTIO_HINTS=cb_ndoes=4)" "done"
  text="$(cat "$scratch/err")"
  contains "$text" "mercutio: warning: hint cb_ndoes=4 (MERCUTIO_HINTS): unknown key; did you mean cb_nodes?"
  equals "$(grep -c 'mercutio: warning' "$scratch/err")" 1
  equals "$(run MERCUTIO_WARN=0 MERCUTIO_HINTS=cb_ndoes=4)" "done"
  equals "$(grep -c mercutio "$scratch/err" || true)" 0
  equals "$(run OTHER_NAME=2)" "done"
  contains "$(cat "$scratch/err")" "mercutio: warning: MPI_Info: cb_nodes = 64: num_aggregators = 2 sets cb_nodes, too; cb_nodes counts"
  equals "$(grep -c 'mercutio: warning' "$scratch/err")" 1
  equals "$(run OTHER_NAME=64)" "done"
  equals "$(grep -c mercutio "$scratch/err" || true)" 0
  equals "$(run ROMIO_PRINT_HINTS=1 'MPICH_MPIIO_HINTS=*.nc:cb_buffer_size=1MiB')" "done"
  text="$(cat "$scratch/err")"
  equals "$(grep -c "mercutio: hints of 'data.nc', 2 ranks" "$scratch/err")" 2
  equals "$(grep -c "mercutio: hints of 'data.nc', 1 rank$" "$scratch/err")" 2
  contains "$(grep '^  cb_buffer_size' "$scratch/err")" "MPICH_MPIIO_HINTS"
  contains "$(grep '^  cb_nodes' "$scratch/err")" "MPI_Info asked 64: 2 aggregate"
  contains "$text" "hint romio_ds_wirte=enable (MPI_Info): unknown key"
  lacks "$(grep warning "$scratch/err")" "nc_header"
done
[ "$tried" = 1 ] || skip "no compiler wrapper with a backend here"
