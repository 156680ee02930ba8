#!/usr/bin/env bash
# A report or a trace that only some ranks were asked for: MPI_Finalize waits for nobody, and what is known is told.
. "$(dirname "$0")/lib.sh"
tried=0
for mpi in mpich openmpi; do
  program="$TEST_BUILD/tests/apps/bad.$mpi"
  [ -x "$program" ] && command -v "mpirun.$mpi" >/dev/null || continue
  tried=1
  mapfile -t flags < <(launch_flags "mpirun.$mpi")
  cd "$(mktemp -d -p "$scratch")"
  run() {   # run RANKS VARIABLE: only ranks in the pattern RANKS have the variable
    printf '#!/bin/sh\ncase "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" in %s) export %s ;; esac\nexec %s ignored_hints data\n' "$1" "$2" "$program" >start
    chmod +x start
    local begin=$SECONDS
    text="$(timeout 100 "$MERCUTIO" run -- "mpirun.$mpi" "${flags[@]}" ./start 2>&1 >out)" || fail "$1 $2: $text"
    [ $((SECONDS - begin)) -lt 90 ] || fail "it waited for ranks that never answer"
    contains "$(cat out)" "seconds "
  }
  run 0 MERCUTIO_REPORT=1
  contains "$text" "not set on all ranks; the report is of rank 0 alone"
  contains "$text" "not all of the job is here: 1 rank left nothing"
  run 1 MERCUTIO_REPORT=report.txt
  contains "$text" "the report is of rank 1 alone"
  contains "$(cat report.txt)" "1 rank left nothing"
  run 1 MERCUTIO_TRACE=app.mtrace
  contains "$text" "what each rank recorded stays; run: mercutio report $PWD/app.mtrace"
  contains "$("$MERCUTIO" report app.mtrace)" "1 rank left nothing"
  run '[01]' MERCUTIO_REPORT=1
  lacks "$text" "not set on all ranks"
  lacks "$text" "left nothing"
done
[ $tried = 1 ] || skip "no MPI program was built"
