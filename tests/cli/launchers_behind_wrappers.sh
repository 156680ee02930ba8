#!/usr/bin/env bash
# Behind env, timeout and the like a launcher is the command that they start. Other words are left alone, and scripts are not run to ask them.
. "$(dirname "$0")/lib.sh"
unset MERCUTIO_SITE_HINTS   # would be passed on
fake_launcher mpirun.ompi "mpirun (Open MPI) 4.1.4"
mpirun="$scratch/bin/mpirun.ompi"
library="$("$MERCUTIO" preload)"
run() { "$MERCUTIO" run --print -- "$@"; }

found() { equals "$(run "$@" "$mpirun" -n 2 ./app)" "$* $mpirun -x LD_PRELOAD=$library -n 2 ./app"; }
found timeout 60
found timeout -k 5 --signal=INT 60
found timeout -s INT 1m nice -n 5
found nice --adjustment 5
found nice -5
found env -i A=1 -
found env -u A --chdir /tmp A=/usr/bin/orterun
found stdbuf -oL -e 0
found numactl --membind 0 -C 0-3 -l
found taskset -c 0-3
found strace -f -e trace=read -o log
found setsid --wait
found time -f %e -o file
found nohup env A=1 timeout 5
found salloc -N 2 --time 5 --exclusive

left_alone() {
  local wanted
  wanted="LD_PRELOAD=$library $*"
  equals "$(run "$@")" "$wanted"
}
left_alone timeout 60 ./drv.sh --launcher mpirun input
left_alone env MPIEXEC=/usr/bin/orterun ./a
left_alone env -u mpirun ./a
left_alone timeout -s mpirun 60 ./a
left_alone nice -n 5 ./a srun
left_alone env
for name in mpirun.sh mpiexec-job mpirun.py mpiexec.sh.bak; do
  printf '#!/bin/sh\necho "$@" >>"%s/ran"\n' "$scratch" >"$scratch/bin/$name"
  chmod +x "$scratch/bin/$name"
  left_alone "$scratch/bin/$name" input
  [ ! -e "$scratch/ran" ] || fail "$name was run with $(cat "$scratch/ran")"
done
for name in mpirun.openmpi mpiexec.mpich mpirun-mpich-mp mpiexec-5.0; do
  cp "$mpirun" "$scratch/bin/$name"
  equals "$(run "$scratch/bin/$name" ./app)" "$scratch/bin/$name -x LD_PRELOAD=$library ./app"
done
