#!/usr/bin/env bash
# Programs without MPI run as before under the preload, and say nothing.
. "$(dirname "$0")/lib.sh"
library="$("$MERCUTIO" preload)"
LD_PRELOAD=$library bash -c 'echo hello | cat' >"$scratch/out" 2>"$scratch/err"
equals "$(cat "$scratch/out")" hello
equals "$(cat "$scratch/err")" ""
