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

equals "$(SRUN_EXPORT_ENV=NONE SLURM_EXPORT_ENV=ALL "$MERCUTIO" run --print -- "$srun" ./app)" "env LD_PRELOAD=$library $srun --export=LD_PRELOAD ./app"
equals "$("$MERCUTIO" run --print -- "$srun" --export=FOO -n 1 ./app : -n 2 --export NONE ./app)" \
  "env LD_PRELOAD=$library $srun --export=FOO,LD_PRELOAD -n 1 ./app : --export=LD_PRELOAD -n 2 ./app"

# Launchers that are known by their names: what their manuals say.
for name in flux jsrun aprun mpirun_rsh apptainer singularity sbatch; do fake_launcher "$name" "some version"; done
bin="$scratch/bin"
run() { "$MERCUTIO" run --print -- "$@"; }
equals "$(run "$bin/jsrun" -n 4 -a 1 ./app -x)" "$bin/jsrun -E LD_PRELOAD=$library -n 4 -a 1 ./app -x"
equals "$(run "$bin/jsrun" -E LD_PRELOAD=/a.so -n 4 ./app)" "$bin/jsrun -E LD_PRELOAD=/a.so:$library -n 4 ./app"
for option in --env=LD_PRELOAD=/a.so "--env LD_PRELOAD=/a.so" -ELD_PRELOAD=/a.so; do
  # shellcheck disable=SC2086
  equals "$(run "$bin/jsrun" -n 2 $option ./app)" "$bin/jsrun -n 2 $option:$library ./app"
done
equals "$(run "$bin/aprun" -n 4 -eLD_PRELOAD=/a.so ./app)" "$bin/aprun -n 4 -eLD_PRELOAD=/a.so:$library ./app"
equals "$(run "$bin/aprun" -n 4 -e A=b ./app)" "$bin/aprun -e LD_PRELOAD=$library -n 4 -e A=b ./app"
equals "$(run "$bin/flux" run -n 4 ./app --env=x)" "$bin/flux run -n 4 --env=LD_PRELOAD=$library ./app --env=x"
equals "$(run "$bin/flux" submit --env-remove='*' --env PATH -n 4 ./app)" "$bin/flux submit '--env-remove=*' --env PATH -n 4 --env=LD_PRELOAD=$library ./app"
equals "$(run "$bin/flux" run -n 2 --env-remove='*' --queue debug ./app)" "$bin/flux run -n 2 '--env-remove=*' --queue debug --env=LD_PRELOAD=$library ./app"
equals "$(run "$bin/flux" run -N 1 --env=LD_PRELOAD=/a.so -- ./app)" "$bin/flux run -N 1 --env=LD_PRELOAD=/a.so --env=LD_PRELOAD=/a.so:$library -- ./app"
equals "$(run "$bin/flux" run --env=LD_PRELOAD=/a.so ./app)" "$bin/flux run --env=LD_PRELOAD=/a.so --env=LD_PRELOAD=/a.so:$library ./app"
contains "$(MERCUTIO_HINTS='a=$b' run "$bin/flux" run ./app)" '--env=MERCUTIO_HINTS=a=$$b'
app=/bin/true
equals "$(run "$bin/mpirun_rsh" -np 4 -hostfile hosts $app arg)" "$bin/mpirun_rsh -np 4 -hostfile hosts LD_PRELOAD=$library $app arg"
equals "$(run "$bin/mpirun_rsh" -np 2 n0 n1 MV2_X=1 $app)" "$bin/mpirun_rsh -np 2 n0 n1 MV2_X=1 LD_PRELOAD=$library $app"
equals "$(run "$bin/mpirun_rsh" -np 2 -hostfile hosts LD_PRELOAD=/a.so $app)" "$bin/mpirun_rsh -np 2 -hostfile hosts LD_PRELOAD=/a.so:$library $app"
equals "$(run "$bin/mpirun_rsh" -np 2 -hostfile hosts /scratch/none arg)" "$bin/mpirun_rsh -np 2 -hostfile hosts LD_PRELOAD=$library /scratch/none arg"
equals "$(run "$bin/mpirun_rsh" -np 2 h1 h2 ./none arg)" "$bin/mpirun_rsh -np 2 h1 h2 LD_PRELOAD=$library ./none arg"

equals "$(run "$bin/mpirun_rsh" -np 2 ./none arg)" "$bin/mpirun_rsh -np 2 LD_PRELOAD=$library ./none arg"
equals "$(run "$bin/mpirun_rsh" -np 2 -f hosts none A=1)" "$bin/mpirun_rsh -np 2 -f hosts LD_PRELOAD=$library none A=1"
equals "$(run "$bin/mpirun_rsh" -hostfile=hosts -np 2 A=1 none)" "$bin/mpirun_rsh -hostfile=hosts -np 2 A=1 LD_PRELOAD=$library none"
equals "$(run "$bin/mpirun_rsh" -launcher ssh -np=2 h1 h2 none)" "$bin/mpirun_rsh -launcher ssh -np=2 h1 h2 LD_PRELOAD=$library none"
equals "$(run "$bin/aprun" -n 2 --environment-override LD_PRELOAD=/a.so ./app)" "$bin/aprun -n 2 --environment-override LD_PRELOAD=/a.so:$library ./app"
equals "$(run "$bin/mpiexec.hydra" -genv=LD_PRELOAD=/a.so -n=1 ./app)" "$bin/mpiexec.hydra -genv=LD_PRELOAD=/a.so:$library -n=1 ./app"

# What follows the program is the program's own, also where it looks like an option of the launcher.
equals "$(run "$srun" python3 x.py --export csv --n 3)" "env LD_PRELOAD=$library $srun python3 x.py --export csv --n 3"
equals "$(run "$srun" -n 1 --mem 2G ./app --export=NONE)" "env LD_PRELOAD=$library $srun -n 1 --mem 2G ./app --export=NONE"
equals "$(run "$bin/mpirun.ompi" -n 1 --mca a b ./app -x LD_PRELOAD=/a.so)" "$bin/mpirun.ompi -x LD_PRELOAD=$library -n 1 --mca a b ./app -x LD_PRELOAD=/a.so"
equals "$(run "$bin/mpirun.ompi" -n 1 ./a -x LD_PRELOAD=/a.so : -n 1 -x LD_PRELOAD=/b.so ./b)" \
  "$bin/mpirun.ompi -x LD_PRELOAD=$library -n 1 ./a -x LD_PRELOAD=/a.so : -n 1 -x LD_PRELOAD=/b.so:$library ./b"
equals "$(run "$bin/mpiexec.hydra" -n 1 ./app -genv LD_PRELOAD /a.so)" "$bin/mpiexec.hydra -genv LD_PRELOAD $library -n 1 ./app -genv LD_PRELOAD /a.so"
equals "$(run "$bin/mpiexec.hydra" -pmi-port ./app -env LD_PRELOAD /a.so : ./b)" "$bin/mpiexec.hydra -genv LD_PRELOAD $library -pmi-port ./app -env LD_PRELOAD /a.so : ./b"
equals "$(run "$srun" -lN2 -un 4 --export=NONE ./app --export=A)" "env LD_PRELOAD=$library $srun --export=LD_PRELOAD -lN2 -un 4 ./app --export=A"
equals "$(run "$srun" -J --export=A -F hosts --export=A --export=NONE ./app)" "env LD_PRELOAD=$library $srun --export=LD_PRELOAD -J --export=A -F hosts ./app"
equals "$(run "$bin/jsrun" -i ./app --env LD_PRELOAD=/a.so)" "$bin/jsrun -E LD_PRELOAD=$library -i ./app --env LD_PRELOAD=/a.so"
equals "$(run "$bin/flux" run -xN 2 -o mpi=none ./app -n 2)" "$bin/flux run -xN 2 -o mpi=none --env=LD_PRELOAD=$library ./app -n 2"
equals "$(run "$bin/jsrun" -n 2 ./app -E LD_PRELOAD=/a.so)" "$bin/jsrun -E LD_PRELOAD=$library -n 2 ./app -E LD_PRELOAD=/a.so"
equals "$(run "$bin/aprun" -n 2 ./app -e LD_PRELOAD=/a.so)" "$bin/aprun -e LD_PRELOAD=$library -n 2 ./app -e LD_PRELOAD=/a.so"

# A list of variables, with which Open MPI refuses -x.
equals "$(OMPI_MCA_mca_base_env_list='FOO=1' run "$bin/mpirun.ompi" -n 1 ./app)" \
  "env LD_PRELOAD=$library 'OMPI_MCA_mca_base_env_list=FOO=1;LD_PRELOAD' $bin/mpirun.ompi -n 1 ./app"
equals "$(run "$bin/mpirun.ompi" --mca mca_base_env_list 'LD_PRELOAD=/a.so;FOO' -n 1 ./app)" \
  "env LD_PRELOAD=/a.so:$library $bin/mpirun.ompi --mca mca_base_env_list 'FOO;LD_PRELOAD' -n 1 ./app"

# -x on the line doesn't come to programs in a file, the list does.
mkdir "$scratch/files"
echo "-n 1 ./app" >"$scratch/files/programs"
echo "-x A=1 -n 1 ./app" >"$scratch/files/programs-x"
echo "-n 1 -env LD_PRELOAD /a.so ./app" >"$scratch/files/programs-preload"
equals "$(run "$bin/mpirun.ompi" --app "$scratch/files/programs")" \
  "env LD_PRELOAD=$library OMPI_MCA_mca_base_env_list=LD_PRELOAD $bin/mpirun.ompi --app $scratch/files/programs"
equals "$(run "$bin/mpiexec.hydra" -configfile "$scratch/files/programs")" "$bin/mpiexec.hydra -genv LD_PRELOAD $library -configfile $scratch/files/programs"

# Another Mercutio gives way.
equals "$(LD_PRELOAD=/other/lib/libmercutio.so.0.1.0:/a.so run "$bin/mpirun.ompi" ./app 2>/dev/null)" "$bin/mpirun.ompi -x LD_PRELOAD=/a.so:$library ./app"
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

refused() {   # refused WHY WORD...: exit code 2, and why
  local why="$1" code=0
  shift
  text="$("$MERCUTIO" run "$@" 2>&1)" || code=$?
  equals "$code" 2
  contains "$text" "$why"
}
# What starts a script starts no rank.
refused "in the script" sbatch job.sh
refused "in the script" qsub job.sh
refused "in the script" flux batch job.sh
# Programs in a file.
refused "does not take beside -x" "$bin/mpirun.ompi" --app "$scratch/files/programs-x"
refused "does not take beside -x" "$bin/mpirun.ompi" -x A --app="$scratch/files/programs"
refused "a LD_PRELOAD of their own" "$bin/mpiexec.hydra" -configfile "$scratch/files/programs-preload"
refused "programs in a file don't get the preload" "$bin/mpirun_rsh" -config programs

# With --report the program is a child: signals go on to it, and to it only.
child() {   # child COMMAND: starts it under --report, in a folder of its own, and waits for its word
  rm -f "$scratch/ready" "$scratch/seen"
  (cd "$scratch" && exec "$MERCUTIO" run --report -- bash -c "$1; touch ready; while :; do sleep 0.1; done" 2>/dev/null) &
  until [ -e "$scratch/ready" ]; do
    kill -0 $! || fail "the program did not start"
    sleep 0.1
  done
}
ends_with() {   # ends_with CODE
  code=0
  wait $! || code=$?
  equals "$code" "$1"
}
for signal in USR1 HUP USR2 QUIT ALRM XCPU VTALRM PIPE WINCH URG TERM; do
  child "trap 'echo $signal >seen; exit 3' $signal"
  kill "-$signal" $!
  ends_with 3
  equals "$(cat "$scratch/seen")" "$signal"
done
child :
kill -USR1 $!
ends_with $((128 + $(kill -l USR1)))

# Both stop at TSTP, and go on. In a process group whose session has no shell the kernel stops nobody.
state() { sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status"; }
sh -c 'kill -TSTP $$' &
for _ in $(seq 20); do
  [ -e "/proc/$!/status" ] || break
  [ "$(state $!)" = T ] && break
  sleep 0.1
done
stops="$([ -e "/proc/$!/status" ] && state $! || true)"
kill -CONT $! 2>/dev/null || true
wait $! || true
if [ "$stops" = T ]; then
  child "echo \$\$ >number; trap 'echo on >seen' CONT; trap 'exit 4' USR1"
  number="$(cat "$scratch/number")"
  kill -TSTP $!
  for _ in $(seq 100); do
    [ "$(state $!)$(state "$number")" = TT ] && break
    sleep 0.1
  done
  equals "$(state $!)$(state "$number")" TT
  kill -CONT $!
  until [ -e "$scratch/seen" ]; do sleep 0.1; done
  kill -USR1 $!
  ends_with 4
fi
[ -z "$(find "$scratch" -name '.mercutio-run-*')" ] || fail "the file of marks is left"
