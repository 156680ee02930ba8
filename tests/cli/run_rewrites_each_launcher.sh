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
srun="$scratch/bin/srun"
unset SLURM_EXPORT_ENV
equals "$("$MERCUTIO" run --print -- "$srun" -n 4 ./app)" "env LD_PRELOAD=$library $srun -n 4 ./app"
equals "$("$MERCUTIO" run --print -- timeout 5 "$srun" --export=NONE ./app)" "timeout 5 env LD_PRELOAD=$library $srun --export=LD_PRELOAD ./app"
equals "$(SLURM_EXPORT_ENV=NONE "$MERCUTIO" run --print -- "$srun" ./app)" "env LD_PRELOAD=$library $srun --export=LD_PRELOAD ./app"
equals "$(SLURM_EXPORT_ENV=NONE "$MERCUTIO" run --print -- "$srun" --export=ALL ./app)" "env LD_PRELOAD=$library $srun ./app"
equals "$("$MERCUTIO" run --print -- "$srun" --export ALL,OMP_NUM_THREADS=4 ./app)" "env LD_PRELOAD=$library $srun --export=ALL,OMP_NUM_THREADS=4 ./app"
equals "$("$MERCUTIO" run --print -- "$srun" --export=PATH,LD_PRELOAD=/a.so ./app)" "env LD_PRELOAD=/a.so:$library $srun --export=PATH,LD_PRELOAD ./app"
