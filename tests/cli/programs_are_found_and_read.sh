#!/usr/bin/env bash
# Programs are found as the shell finds them, and what they print is read also where the command has no standard descriptors.
. "$(dirname "$0")/lib.sh"
mkdir -p "$scratch/first/mpirun" "$scratch/second" "$scratch/here"
for folder in second here; do
  printf '#!/bin/sh\necho "mpirun (Open MPI) 4.1.4"\n' >"$scratch/$folder/mpirun"
  chmod +x "$scratch/$folder/mpirun"
done
cd "$scratch/here"
doctor() { env "$@" "$MERCUTIO" doctor --dir "$scratch" || true; }
contains "$(doctor "PATH=$scratch/first:$scratch/second:/usr/bin:/bin")" "$scratch/second/mpirun, Open MPI"
contains "$(doctor "PATH=$scratch/first::/usr/bin:/bin")" "./mpirun, Open MPI"
contains "$(doctor "PATH=$scratch/first:/nonexistent:")" "./mpirun, Open MPI"

# The launcher's --version says which it is.
"$MERCUTIO" run --report="$scratch/report" -- "$scratch/second/mpirun" -n 2 ./app >/dev/null 2>&1 || true
for closed in "<&-" ">&-" "<&- >&-" "<&- >&- 2>&-"; do
  printf '#!/bin/sh\n[ "$1" = --version ] && echo "mpirun (Open MPI) 4.1.4" && exit\nprintf "%%s\\n" "$*" >"%s/words"\n' "$scratch" >"$scratch/second/mpirun"
  rm -f "$scratch/words"
  eval "timeout 20 \"\$MERCUTIO\" run -- \"\$scratch/second/mpirun\" -n 2 ./app $closed" || fail "closed: $closed"
  contains "$(cat "$scratch/words")" "-x LD_PRELOAD="
done
