#!/usr/bin/env bash
# Repeated collective accesses are measured, to adapt, unless somebody has set a hint for how they are carried out, or switched that off.
. "$(dirname "$0")/lib.sh"
launcher="" program=""
for mpi in mpich openmpi; do
  [ -x "$TEST_BUILD/tests/apps/bad.$mpi" ] && command -v "mpirun.$mpi" >/dev/null && launcher="mpirun.$mpi" program="$TEST_BUILD/tests/apps/bad.$mpi" && break
done
[ -n "$launcher" ] || skip "no MPI program was built"
mapfile -t flags < <(launch_flags "$launcher")
cd "$scratch"
export MERCUTIO_PROFILE=0

plans() {   # plans HINT...
  local hints=() hint
  for hint in "$@"; do hints+=(--hint "$hint"); done
  timeout 60 "$MERCUTIO" run --trace=app.mtrace "${hints[@]}" -- "$launcher" "${flags[@]}" "$program" strided_writes data 1 >out 2>err || fail "$(cat err)"
  "$MERCUTIO" explain --trace app.mtrace
  rm app.mtrace
}
contains "$(plans)" "measured for mercutio_adapt"
contains "$(plans cb_buffer_size=4MiB)" "measured for mercutio_adapt"
contains "$(plans mercutio_adapt=enable cb_nodes=1)" "measured for mercutio_adapt"
for hint in mercutio_adapt=disable cb_nodes=1 mercutio_depth=2 mercutio_exchange=messages romio_cb_write=enable; do
  found="$(plans "$hint")"
  contains "$found" "strategy:"
  lacks "$found" "mercutio_adapt"
done

# The text of a report says what was found, whatever it is, and only where something was looked for.
told() { timeout 60 "$MERCUTIO" run --report --hint "mercutio_adapt=$1" -- "$launcher" "${flags[@]}" "$program" holes_together data 2 2>&1 >/dev/null; }
for _ in 1 2 3 4 5 6 7 8; do   # where times vary much, nothing may be decided
  found="$(told enable)"
  case "$found" in *"mercutio_adapt found for"*) break ;; esac
done
contains "$found" "mercutio_adapt found for 'data': collective writes of "
lacks "$(told disable)" "mercutio_adapt found"
