#!/usr/bin/env bash
# Open MPI's -x counts for one application context: each of them gets it.
. "$(dirname "$0")/lib.sh"
unset MERCUTIO_SITE_HINTS   # would be passed on
fake_launcher mpirun "mpirun (Open MPI) 5.0.11"
library="$("$MERCUTIO" preload)"
equals "$("$MERCUTIO" run --print "$scratch/bin/mpirun" -n 1 ./a : -n 2 ./b)" \
  "$scratch/bin/mpirun -x LD_PRELOAD=$library -n 1 ./a : -x LD_PRELOAD=$library -n 2 ./b"
