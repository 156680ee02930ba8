#!/usr/bin/env bash
# A backend that is there and can't be loaded is a problem: the library's own words, and what to do.
. "$(dirname "$0")/lib.sh"
library="$("$MERCUTIO" preload)"
cp "$library" "$scratch/libmercutio.so"
tried=0
for flavour in mpich openmpi; do
  command -v "mpirun.$flavour" >/dev/null || continue
  tried=1
  echo "no library" >"$scratch/libmercutio-$flavour.so"
  mapfile -t flags < <(launch_flags "mpirun.$flavour")
  code=0
  text="$(MERCUTIO_LIBDIR="$scratch" timeout 100 "$MERCUTIO" doctor --dir "$scratch" -- "mpirun.$flavour" "${flags[@]}")" || code=$?
  equals "$code" 1
  contains "$text" "PROBLEM  backend        mercutio: no backend for this MPI"
  contains "$text" "Install on all nodes what it asks for, or Mercutio again for this MPI"
  lacks "$text" "nothing in the way"
done
[ "$tried" = 1 ] || skip "no launcher here"
