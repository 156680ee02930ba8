#!/usr/bin/env bash
# Ten programs of regular patterns, four ranks each: what is drawn of them, and what goes to Perfetto, has the shares of the ranks and of
# the time within 2 %, though only some of the single events are shown.
. "$(dirname "$0")/lib.sh"
root="$(cd "$(dirname "$0")/../.." && pwd)"
python="$(python_for_reports)"
[ -n "$python" ] || skip "there is no Python with matplotlib and Jinja2"
folder="$(dirname "$("$MERCUTIO" preload)")"
launcher=""
for mpi in mpich openmpi; do
  command -v "mpicc.$mpi" >/dev/null && command -v "mpirun.$mpi" >/dev/null && [ -e "$folder/libmercutio-$mpi.so" ] && launcher="mpirun.$mpi" && break
done
[ -n "$launcher" ] || skip "no compiler wrapper with a backend here"
"mpicc.$mpi" -O1 "$root/tests/report/patterns.c" -o "$scratch/patterns"
flags=(-n 4)
[ "$mpi" != openmpi ] || flags+=(--oversubscribe --allow-run-as-root)
[ "$mpi" != mpich ] || export LD_PRELOAD="$TEST_BUILD/tests/tools/libmpich_yield.so"
cd "$scratch"
for pattern in 0 1 2 3 4 5 6 7 8 9; do
  rm -f data.*
  timeout 100 "$MERCUTIO" run --trace=job.mtrace -- "$launcher" "${flags[@]}" ./patterns "$pattern" "$PWD/data" >truth
  "$MERCUTIO" report job.mtrace --json >job.json
  LD_PRELOAD= MERCUTIO_PYTHON="$python" "$MERCUTIO" report job.mtrace --perfetto job.perfetto
  LD_PRELOAD= "$python" "$root/tests/report/pictures.py" "$TEST_BUILD/share/mercutio/report" job.json job.perfetto truth >found ||
    fail "pattern $pattern: $(cat found)"
  echo "pattern $pattern: $(sort -t'%' -k1 found | grep -o 'at most [0-9.]*' | sort -k3 -g | tail -n 1) %"
done
