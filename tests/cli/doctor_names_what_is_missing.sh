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
fake_launcher mpirun.ompi "mpirun (Open MPI) 4.1.4"
code=0
text="$("$MERCUTIO" doctor --dir "$scratch" -- "$scratch/bin/mpirun.ompi" -n 2 "$scratch/none")" || code=$?
equals "$code" 1
contains "$text" "PROBLEM  program        $scratch/none was not found"
contains "$("$MERCUTIO" doctor --dir "$scratch" -- "$scratch/bin/mpirun.ompi" -wdir /x -n 2 ./none || true)" "note     program        ./none was not found"
code=0
text="$(LD_PRELOAD="/none/libmercutio.so:/none/libdarshan.so:/none/libscorep_mpi.so" "$MERCUTIO" doctor --dir "$scratch" 2>/dev/null)" || code=$?
equals "$code" 1
contains "$text" "Darshan comes after Mercutio in LD_PRELOAD and sees none of the program's MPI-IO"
contains "$text" "Score-P, after Mercutio"
contains "$(LD_PRELOAD="/none/libdarshan.so:/none/libmercutio.so" "$MERCUTIO" doctor --dir "$scratch" 2>/dev/null)" "Darshan, before Mercutio"
