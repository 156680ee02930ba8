#!/usr/bin/env bash
# MERCUTIO_* variables and --hint reach the ranks.
. "$(dirname "$0")/lib.sh"
fake_launcher mpirun "mpirun (Open MPI) 4.1.4"
contains "$(MERCUTIO_DISABLE=1 "$MERCUTIO" run --print "$scratch/bin/mpirun" ./app)" "-x MERCUTIO_DISABLE=1"
contains "$("$MERCUTIO" run --hint cb_nodes=2 --hint file_perm=600 sh -c 'echo $MERCUTIO_HINTS')" "cb_nodes=2;file_perm=600"
contains "$(MERCUTIO_HINTS=a=b "$MERCUTIO" run --hint cb_nodes=2 sh -c 'echo $MERCUTIO_HINTS')" "a=b;cb_nodes=2"
