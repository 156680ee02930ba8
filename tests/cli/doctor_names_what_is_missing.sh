#!/usr/bin/env bash
# A directory that can't be written to, a hint file that is not there and a missing program are each named; code 1.
. "$(dirname "$0")/lib.sh"
code=0
text="$(ROMIO_HINTS="$scratch/none" "$MERCUTIO" doctor --dir "$scratch")" || code=$?
equals "$code" 1
contains "$text" "ROMIO_HINTS=$scratch/none: no such file"
code=0
text="$("$MERCUTIO" doctor --dir /proc)" || code=$?
equals "$code" 1
contains "$text" "at /proc, cannot create files"
code=0
text="$(MERCUTIO_LIBDIR="$scratch" "$MERCUTIO" doctor --dir "$scratch" -- "$scratch/none")" || code=$?
equals "$code" 1
contains "$text" "$scratch/none was not found"
