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

# Launchers that are known by their names: what their manuals say.
for name in flux jsrun aprun mpirun_rsh apptainer singularity sbatch; do fake_launcher "$name" "some version"; done
bin="$scratch/bin"
run() { "$MERCUTIO" run --print -- "$@"; }
equals "$(run "$bin/jsrun" -n 4 -a 1 ./app -x)" "$bin/jsrun -E LD_PRELOAD=$library -n 4 -a 1 ./app -x"
equals "$(run "$bin/jsrun" -E LD_PRELOAD=/a.so -n 4 ./app)" "$bin/jsrun -E LD_PRELOAD=/a.so:$library -n 4 ./app"
equals "$(run "$bin/aprun" -n 4 -e A=b ./app)" "$bin/aprun -e LD_PRELOAD=$library -n 4 -e A=b ./app"
equals "$(run "$bin/flux" run -n 4 ./app --env=x)" "$bin/flux run --env=LD_PRELOAD=$library -n 4 ./app --env=x"
equals "$(run "$bin/flux" submit --env-remove='*' --env PATH -n 4 ./app)" "$bin/flux submit '--env-remove=*' --env PATH --env=LD_PRELOAD=$library -n 4 ./app"
equals "$(run "$bin/flux" run --env=LD_PRELOAD=/a.so ./app)" "$bin/flux run --env=LD_PRELOAD=/a.so --env=LD_PRELOAD=/a.so:$library ./app"
contains "$(MERCUTIO_HINTS='a=$b' run "$bin/flux" run ./app)" '--env=MERCUTIO_HINTS=a=$$b'
app=/bin/true
equals "$(run "$bin/mpirun_rsh" -np 4 -hostfile hosts $app arg)" "$bin/mpirun_rsh -np 4 -hostfile hosts LD_PRELOAD=$library $app arg"
equals "$(run "$bin/mpirun_rsh" -np 2 n0 n1 MV2_X=1 $app)" "$bin/mpirun_rsh -np 2 n0 n1 MV2_X=1 LD_PRELOAD=$library $app"
equals "$(run "$bin/mpirun_rsh" -np 2 -hostfile hosts LD_PRELOAD=/a.so $app)" "$bin/mpirun_rsh -np 2 -hostfile hosts LD_PRELOAD=/a.so:$library $app"
equals "$(run timeout 5 "$bin/jsrun" ./app)" "timeout 5 $bin/jsrun -E LD_PRELOAD=$library ./app"

# Ranks in containers: what reaches them, and the folder of the library.
folder="$(dirname "$library")"
equals "$(run "$bin/mpirun.ompi" -n 2 "$bin/apptainer" exec image.sif ./app)" \
  "$bin/mpirun.ompi -x APPTAINERENV_LD_PRELOAD=$library -n 2 $bin/apptainer exec --bind $folder image.sif ./app"
equals "$(MERCUTIO_WARN=0 run "$bin/srun" "$bin/singularity" -q run --nv image.sif)" \
  "env SINGULARITYENV_LD_PRELOAD=$library SINGULARITYENV_MERCUTIO_WARN=0 $bin/srun $bin/singularity -q run --bind $folder --nv image.sif"
contains "$(APPTAINERENV_LD_PRELOAD=/a.so run "$bin/apptainer" exec image.sif ./app)" "APPTAINERENV_LD_PRELOAD=/a.so:$library $bin/apptainer exec --bind $folder image.sif ./app"
# A launcher of the image's own MPI, inside of it, starts its ranks there.
contains "$(run "$bin/apptainer" exec image.sif mpirun -n 2 ./app)" "APPTAINERENV_LD_PRELOAD=$library"

# What starts a script starts no rank.
for line in "sbatch job.sh" "qsub job.sh" "flux batch job.sh"; do
  code=0
  # shellcheck disable=SC2086
  text="$("$MERCUTIO" run $line 2>&1)" || code=$?
  equals "$code" 2
  contains "$text" "in the script"
done
