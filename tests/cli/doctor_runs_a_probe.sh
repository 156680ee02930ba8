#!/usr/bin/env bash
# Under each real launcher the probe runs, gets MPI_File_* from us, and reads back what it wrote.
. "$(dirname "$0")/lib.sh"
folder="$(dirname "$("$MERCUTIO" preload)")"
tried=0
for flavour in mpich openmpi; do
  launcher="mpirun.$flavour"
  command -v "$launcher" >/dev/null && [ -e "$folder/libmercutio-$flavour.so" ] || continue
  tried=1
  mapfile -t flags < <(launch_flags "$launcher")
  text="$(timeout 100 "$MERCUTIO" doctor --dir "$scratch" -- "$launcher" "${flags[@]}")" || fail "$text"
  contains "$text" "MPI_File_*     from $folder/"
  contains "$text" "written and read back"
  contains "$text" "ranks          2"
  contains "$text" "other nodes    the first and the last rank ran on one node"
done
[ "$tried" = 1 ] || skip "no launcher with a backend here"
