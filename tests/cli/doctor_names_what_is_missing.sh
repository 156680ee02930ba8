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

problem() {   # problem TEXT VARIABLE=VALUE...: the doctor names it, with exit code 1
  local wanted="$1" code=0
  shift
  text="$(env "$@" "$MERCUTIO" doctor --dir "$scratch" 2>/dev/null)" || code=$?
  equals "$code" 1
  contains "$text" "$wanted"
}
problem "/nonexist/libmercutio.so: no such file; the loader goes on without it" LD_PRELOAD=/nonexist/libmercutio.so
mkdir "$scratch/one" "$scratch/other"
for folder in one other; do cp "$(dirname "$MERCUTIO")/../lib/libmercutio.so" "$scratch/$folder/"; done
problem "is a second Mercutio; the first is used: $scratch/one/libmercutio.so" "LD_PRELOAD=$scratch/one/libmercutio.so:$scratch/other/libmercutio.so"
problem "'garbage' must be key=value" MERCUTIO_HINTS=garbage
problem "MERCUTIO_HINTS: cb_ndoes=1" MERCUTIO_HINTS=cb_ndoes=1
problem "$scratch/none: " "MERCUTIO_HINTS_FILE=$scratch/none"
problem "$scratch/none: " "MERCUTIO_SITE_HINTS=$scratch/none"
problem "MERCUTIO_THREADS=5: the values are 0 or 1" MERCUTIO_THREADS=5
problem "MERCUTIO_PROGRESS=x: the values are spread or bound" MERCUTIO_PROGRESS=x
problem "MERCUTIO_SHARED_POINTER=disk: the values are memory, window or file" MERCUTIO_SHARED_POINTER=disk
touch "$scratch/file"
problem "no record can be made in $scratch/file: Not a directory" "MERCUTIO_SITE=$scratch/file/%u-%j"
