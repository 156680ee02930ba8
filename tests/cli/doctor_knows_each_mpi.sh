#!/usr/bin/env bash
# The doctor names the MPI a program is linked to and the backend for it, and says of a program without a shared MPI that
# a preload can't help it.
. "$(dirname "$0")/lib.sh"
folder="$(dirname "$("$MERCUTIO" preload)")"
echo 'int main(void) { return 0; }' >"$scratch/main.c"
for flavour in mpich openmpi; do
  command -v "mpicc.$flavour" >/dev/null && [ -e "$folder/libmercutio-$flavour.so" ] || continue
  "mpicc.$flavour" -Wl,--no-as-needed "$scratch/main.c" -o "$scratch/$flavour"
  text="$(OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 60 "$MERCUTIO" doctor --dir "$scratch" -- "$scratch/$flavour")" || fail "$text"
  contains "$text" "$scratch/$flavour is linked to it"
  contains "$text" "flavour        $flavour, $folder/libmercutio-$flavour.so"
done
cc "$scratch/main.c" -o "$scratch/plain"
cc -static "$scratch/main.c" -o "$scratch/static"
code=0
text="$("$MERCUTIO" doctor --dir "$scratch" -- "$scratch/plain")" || code=$?
equals "$code" 1
contains "$text" "plain is not linked to an MPI library"
code=0
text="$("$MERCUTIO" doctor --dir "$scratch" -- "$scratch/static")" || code=$?
equals "$code" 1
contains "$text" "must be linked again with -lmercutio"
