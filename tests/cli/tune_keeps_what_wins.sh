#!/usr/bin/env bash
# The tuner with real runs on both MPIs, of a command and of a pattern: a profile or an honest no, and nothing else left behind;
# what a profile says reaches later runs with the origin "tuner". The clock decides nothing here: tests/tune has the rules.
. "$(dirname "$0")/lib.sh"
root="$(cd "$(dirname "$0")/../.." && pwd)"
cd "$scratch"
export XDG_CONFIG_HOME="$scratch/config" PYTHONDONTWRITEBYTECODE=1
fails() {   # fails CODE TEXT COMMAND...
  local code=0
  timeout 120 "${@:3}" >out 2>err || code=$?
  equals "$code" "$1"
  contains "$(cat out err)" "$2"
}
fails 2 "nothing to run" "$MERCUTIO" tune
fails 2 "must be hint=value,value" "$MERCUTIO" tune --search cb_nodes -- true
[ -n "$(command -v python3)" ] || skip "there is no Python"
# Each size of windows that is searched changes the plan.
for machine in one_node:1 two_by_four:2; do
  plan() { "$MERCUTIO" explain --machine "$root/tests/plan/machines/${machine%:*}.machine" --pattern "$root/tests/plan/patterns/interleaved_1m.pattern" "$@" | sed -n 's/^rounds: *\([^#]*\)#.*/\1/p'; }
  [ -n "$(plan)" ] || fail "no rounds are explained"
  values="$(PYTHONPATH="$root/tools/tune" python3 -c "
from types import SimpleNamespace
from mercutio_tune import space
print(*space.windows(SimpleNamespace(nodes=${machine#*:}, file_system='ext4')))")"
  for value in $values; do [ "$(plan --hint "cb_buffer_size=$value")" != "$(plan)" ] || fail "cb_buffer_size=$value changes nothing on $machine"; done
done
if ! python3 -c 'import optuna' 2>/dev/null && ! /usr/bin/python3 -c 'import optuna' 2>/dev/null; then
  fails 1 "python3-optuna" "$MERCUTIO" tune -- true
  skip "there is no Optuna"
fi
for line in "cb_ndoes=1,2|did you mean cb_nodes?" "cb_nodes=1,2x|cb_nodes = 2x: " "cb_buffer_size=5T|must be from 64 to 1GiB" "romio_visibility_immediate=false|only reports" \
  "cb_nodes=$(printf '9%.0s' {1..300})|cb_nodes = "; do
  fails 2 "${line#*|}" "$MERCUTIO" tune --search "${line%%|*}" -- touch ran
done
fails 2 "both are cb_nodes" "$MERCUTIO" tune --search cb_nodes=1,2 --search num_aggregators=2,4 -- touch ran
fails 2 "must be a whole number from 1 to" "$MERCUTIO" tune --trials "$(printf '9%.0s' {1..300})" -- touch ran
[ ! -e ran ] || fail "the command ran before the options were refused"
fails 1 "there is no directory $scratch/none" "$MERCUTIO" tune --json none/all.json -- touch ran
fails 1 "No such file" "$MERCUTIO" tune --verify none.toml -- touch ran
fails 1 "holds no hints" "$MERCUTIO" tune --verify "$MERCUTIO" -- touch ran
[ ! -e ran ] || fail "the command ran before the files were checked"
code=0
"$MERCUTIO" tune --help >/dev/full 2>err || code=$?
equals "$code: $(cat err)" "1: mercutio tune: standard output: No space left on device"
fails 1 "it ended with code 1" "$MERCUTIO" tune -- false
if /usr/bin/python3 -c 'import optuna' 2>/dev/null; then   # a folder of this name is no module, where another Python comes first
  mkdir bin away away/optuna
  printf '#!/bin/sh\nexec /usr/bin/python3 -S "$@"\n' >bin/python3
  chmod +x bin/python3
  (cd away && PATH="$scratch/bin:$PATH" fails 1 "it ended with code 1" "$MERCUTIO" tune -- false)
fi
fails 1 "it left no trace" "$MERCUTIO" tune -- true
fails 1 "there is no such trace" "$MERCUTIO" tune --pattern none.mtrace

ran=0
for mpi in mpich openmpi; do
  use_mpi "$mpi" || continue
  launcher=("mpirun.$mpi" "${flags[@]}")
  rm -rf "$XDG_CONFIG_HOME"
  mkdir "$mpi" "$mpi/in"
  "mpicc.$mpi" -O1 -o "$mpi/app" "$root/tests/apps/replay_app.c"
  cd "$mpi"
  [ "$mpi" != mpich ] || export LD_PRELOAD="$TEST_BUILD/tests/tools/libmpich_yield.so"
  run() { timeout 60 "$MERCUTIO" run --trace=app.mtrace -- "${launcher[@]}" ./app in; }
  run
  if [ "$mpi" = mpich ]; then what=(--pattern app.mtrace --to . -- "${launcher[@]}"); else what=(-- sh -c 'cd .. && exec "$@"' sh "${launcher[@]}" "$mpi/app" "$mpi/in"); fi
  code=0
  timeout 200 "$MERCUTIO" tune --trials 2 --pairs 5 --search romio_cb_write=enable --search cb_nodes=1 --json trials.json "${what[@]}" >out 2>err || code=$?
  [ "$code" = 0 ] || [ "$code" = 3 ] || fail "$mpi: code $code: $(cat out err)"
  lacks "$(cat out err)" "differently"
  lacks "$(cat out)" "can't be compared"
  contains "$(cat trials.json)" '"romio_cb_write": "enable"'
  equals "$(find . -maxdepth 1 -name 'mercutio-tune.*')" ""
  for written in "$XDG_CONFIG_HOME"/mercutio/tuned/*.toml; do
    [ -e "$written" ] || continue
    [ "$code" = 0 ] || fail "a profile was written"
    "$MERCUTIO" hints --check "$written"
    contains "$(cat "$written")" 'application = "app"'
  done
  fails 1 "the hints of the trials do not reach the program" "$MERCUTIO" tune --search cb_nodes=1 -- "${launcher[@]}" env MERCUTIO_PROFILE=0 ./app in
  fails 1 "the hints of the trials do not reach the program" "$MERCUTIO" tune --search cb_nodes=1 --pattern app.mtrace --to . -- "${launcher[@]}" env MERCUTIO_PROFILE=0
  # Ctrl-C: what was measured is told and kept, and no rank goes on.
  slow="${scratch##*/}-$mpi.sh"   # not that of a run beside this one
  printf '#!/bin/sh\n"$@"\ncode=$?\nsleep 1\nexit $code\n' >"$slow"
  chmod +x "$slow"
  timeout 100 "$MERCUTIO" tune --verbose --trials 30 --search cb_nodes=1,2 --search cb_buffer_size=1MiB,2MiB --json stopped.json -- "${launcher[@]}" "./$slow" ./app in >out 2>err &
  tuner=$!
  until grep -q "^run 1:" err; do
    kill -0 "$tuner" 2>/dev/null || fail "it ended before its first run: $(cat err)"
    sleep 0.1
  done
  sleep 0.5
  kill -INT "$(pgrep -P "$tuner")"
  code=0
  wait "$tuner" || code=$?
  equals "$code" 130
  contains "$(cat err)" "stopped after "
  contains "$(cat err)" "the same command goes on from here"
  contains "$(cat stopped.json)" '"cb_nodes"'
  for _ in {1..100}; do pgrep -f "$slow" >left || break; sleep 0.1; done   # a launcher needs a moment to end its ranks
  equals "$(cat left)" ""
  rm -rf "$XDG_CONFIG_HOME"
  # A later run.
  mkdir -p "$XDG_CONFIG_HOME/mercutio/tuned"
  printf '[profile]\napplication = "app"\nranks = 2\nfile_system = "%s"\n["*iews"]\ncb_buffer_size = "2MiB"\n' "$(stat -f -c 0x%t in)" >"$XDG_CONFIG_HOME/mercutio/tuned/app-1.toml"
  contains "$(MERCUTIO_PRINT_HINTS=1 run 2>&1)" "tuner $XDG_CONFIG_HOME/mercutio/tuned/app-1.toml:6"
  lacks "$(MERCUTIO_PRINT_HINTS=1 MERCUTIO_PROFILE=0 run 2>&1)" "tuner"
  cd ..
  export LD_PRELOAD=""
done
[ "$ran" -gt 0 ] || skip "there is no MPI here"
