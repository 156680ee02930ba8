#!/usr/bin/env bash
# MERCUTIO_* variables and --hint reach the ranks.
. "$(dirname "$0")/lib.sh"
fake_launcher mpirun "mpirun (Open MPI) 4.1.4"
contains "$(MERCUTIO_DISABLE=1 "$MERCUTIO" run --print "$scratch/bin/mpirun" ./app)" "-x MERCUTIO_DISABLE=1"
contains "$("$MERCUTIO" run --hint cb_nodes=2 --hint file_perm=600 sh -c 'echo $MERCUTIO_HINTS')" "cb_nodes=2;file_perm=600"
contains "$(MERCUTIO_HINTS=a=b "$MERCUTIO" run --hint cb_nodes=2 sh -c 'echo $MERCUTIO_HINTS')" "a=b;cb_nodes=2"

# A line that sets the hints itself: --hint comes behind, and the environment's give way.
unset MERCUTIO_SITE_HINTS
fake_launcher mpiexec.hydra "HYDRA build details:"
fake_launcher srun "slurm 22.05"
fake_launcher flux "some version"
bin="$scratch/bin"
for before in "" e=f; do
  with_hint() { MERCUTIO_HINTS="$before" "$MERCUTIO" run --print --hint cb_nodes=2 -- "$@"; }
  without() { MERCUTIO_HINTS="$before" "$MERCUTIO" run --print -- "$@"; }
  contains "$(with_hint "$bin/mpirun" -x MERCUTIO_HINTS=a=b ./app)" "-x 'MERCUTIO_HINTS=a=b;cb_nodes=2' ./app"
  contains "$(with_hint "$bin/mpiexec.hydra" -genv MERCUTIO_HINTS a=b ./app)" "-genv MERCUTIO_HINTS 'a=b;cb_nodes=2' ./app"
  contains "$(with_hint "$bin/srun" --export=MERCUTIO_HINTS=a=b ./app)" "'MERCUTIO_HINTS=a=b;cb_nodes=2'"
  contains "$(with_hint "$bin/flux" run --env=MERCUTIO_HINTS=a=b ./app)" "'--env=MERCUTIO_HINTS=a=b;cb_nodes=2' ./app"
  contains "$(without "$bin/mpirun" -x MERCUTIO_HINTS=a=b ./app)" "-x MERCUTIO_HINTS=a=b ./app"
  lacks "$(with_hint "$bin/mpirun" -x MERCUTIO_HINTS=a=b ./app)" "e=f"
done
