#!/usr/bin/env bash
# Under each real launcher the probe runs, gets MPI_File_* from us, and reads back what it wrote, in a folder of its own.
. "$(dirname "$0")/lib.sh"
folder="$(dirname "$("$MERCUTIO" preload)")"
tried=0
mkdir "$scratch/data"
echo precious >"$scratch/file"
ln -s "$scratch/file" "$scratch/data/.mercutio-probe"
ln -s "$scratch/file" "$scratch/data/.mercutio-coherence"
before="$(ls -A "$scratch/data")"
for flavour in mpich openmpi; do
  launcher="mpirun.$flavour"
  command -v "$launcher" >/dev/null && [ -e "$folder/libmercutio-$flavour.so" ] || continue
  tried=1
  mapfile -t flags < <(launch_flags "$launcher")
  text="$(timeout 100 "$MERCUTIO" doctor --dir "$scratch/data" -- "$launcher" "${flags[@]}")" || fail "$text"
  contains "$text" "MPI_File_*     from $folder/"
  contains "$text" "written and read back"
  contains "$text" "ranks          2"
  contains "$text" "other nodes    the first and the last rank ran on one node"
  # Two at once don't disturb each other, follow no links, and leave nothing.
  for i in 1 2; do timeout 100 "$MERCUTIO" doctor --dir "$scratch/data" -- "$launcher" "${flags[@]}" >"$scratch/out$i" & done
  wait
  for i in 1 2; do contains "$(cat "$scratch/out$i")" "written and read back"; done
  equals "$(cat "$scratch/file")" precious
  equals "$(ls -A "$scratch/data")" "$before"
done
[ "$tried" = 1 ] || skip "no launcher with a backend here"
