#!/usr/bin/env bash
# With each real launcher: the ranks see the preload.
. "$(dirname "$0")/lib.sh"
library="$("$MERCUTIO" preload)"
tried=0
for launcher in mpirun.mpich mpirun.openmpi; do
  command -v "$launcher" >/dev/null || continue
  tried=1
  mapfile -t flags < <(launch_flags "$launcher")
  text="$(timeout 60 "$MERCUTIO" run -- "$launcher" "${flags[@]}" sh -c 'echo "rank has $LD_PRELOAD"')"
  equals "$(grep -c "rank has $library" <<<"$text")" 2
done
[ "$tried" = 1 ] || skip "no MPI launcher here"
