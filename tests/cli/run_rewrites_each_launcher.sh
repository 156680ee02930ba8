#!/usr/bin/env bash
# Each launcher gets the preload by its own option, and nowhere else.
. "$(dirname "$0")/lib.sh"
unset MERCUTIO_SITE_HINTS   # would be passed on
fake_launcher mpirun.ompi "mpirun (Open MPI) 4.1.4"
fake_launcher mpiexec.hydra "HYDRA build details:"
fake_launcher srun "slurm 22.05"
library="$("$MERCUTIO" preload)"

equals "$("$MERCUTIO" run --print -- "$scratch/bin/mpirun.ompi" -n 4 ./app)" \
  "$scratch/bin/mpirun.ompi -x LD_PRELOAD=$library -n 4 ./app"
equals "$("$MERCUTIO" run --print -- "$scratch/bin/mpiexec.hydra" -n 4 ./app)" \
  "$scratch/bin/mpiexec.hydra -genv LD_PRELOAD $library -n 4 ./app"
equals "$("$MERCUTIO" run --print -- "$scratch/bin/srun" -n 4 ./app)" \
  "$scratch/bin/srun --export=ALL,LD_PRELOAD=$library -n 4 ./app"
equals "$("$MERCUTIO" run --print -- timeout 5 "$scratch/bin/srun" --export=NONE ./app)" \
  "timeout 5 $scratch/bin/srun --export=LD_PRELOAD=$library ./app"
