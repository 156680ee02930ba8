#!/usr/bin/env bash
# A file of a driver library has the driver's name as its file system: in a report, in the plans of a trace, and among the hints in effect.
. "$(dirname "$0")/lib.sh"
: "${TEST_BUILD:?}"
export MERCUTIO_DRIVERS="$TEST_BUILD/tests/drivers/lib"
[ -e "$MERCUTIO_DRIVERS/libmercutio-driver-plain.so" ] || skip "the test drivers are not built"
ran=
for mpi in mpich openmpi; do
  program="$TEST_BUILD/examples/hello_c.$mpi/hello"
  launcher="$(command -v "mpirun.$mpi" || true)"
  [ -x "$program" ] && [ -n "$launcher" ] || continue
  # shellcheck disable=SC2046
  (cd "$scratch" && "$MERCUTIO" run --trace="$mpi.mtrace" -- "$launcher" $(launch_flags "$launcher") "$program" "plain:$scratch/$mpi.dat" >log 2>&1) || fail "$(cat "$scratch/log")"
  [ -s "$scratch/$mpi.dat" ] || fail "the driver wrote nothing"
  contains "$("$MERCUTIO" explain --trace "$scratch/$mpi.mtrace")" "plain:$scratch/$mpi.dat (plain, "
  contains "$("$MERCUTIO" hints --file "plain:$scratch/$mpi.dat" | tr -s ' ')" "romio_filesystem_type plain"
  ran=1
done
[ -n "$ran" ] || skip "no MPI"
contains "$("$MERCUTIO" doctor --dir "$scratch" || true)" "libmercutio-driver-plain.so"
