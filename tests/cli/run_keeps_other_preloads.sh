#!/usr/bin/env bash
# A preload that is there already, in the environment or on the launcher's line, stays, ahead of ours: a tool that wraps
# MPI_File_* and forwards to PMPI_File_* must be found first.
. "$(dirname "$0")/lib.sh"
unset MERCUTIO_SITE_HINTS   # would be passed on
fake_launcher mpirun "mpirun (Open MPI) 4.1.4"
fake_launcher mpiexec "HYDRA build details:"
library="$("$MERCUTIO" preload)"
other=/lib/x86_64-linux-gnu/libm.so.6
contains "$(LD_PRELOAD=$other "$MERCUTIO" run --print ./app)" "LD_PRELOAD=$other:$library "
contains "$("$MERCUTIO" run --print "$scratch/bin/mpirun" -x LD_PRELOAD=$other ./app)" "-x LD_PRELOAD=$other:$library ./app"
contains "$("$MERCUTIO" run --print "$scratch/bin/mpiexec" -genv LD_PRELOAD $other ./app)" "-genv LD_PRELOAD $other:$library ./app"
equals "$(LD_PRELOAD=$library "$MERCUTIO" run --print ./app)" "LD_PRELOAD=$library ./app"
