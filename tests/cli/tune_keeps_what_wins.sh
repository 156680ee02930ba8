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
if ! python3 -c 'import optuna' 2>/dev/null && ! /usr/bin/python3 -c 'import optuna' 2>/dev/null; then
  fails 1 "python3-optuna" "$MERCUTIO" tune -- true
  skip "there is no Optuna"
fi
fails 1 "it ended with code 1" "$MERCUTIO" tune -- false
fails 1 "it left no trace" "$MERCUTIO" tune -- true
fails 1 "there is no such trace" "$MERCUTIO" tune --pattern none.mtrace

ran=0
for mpi in mpich openmpi; do
  command -v "mpicc.$mpi" >/dev/null && command -v "mpirun.$mpi" >/dev/null || continue
  ran=1
  mapfile -t flags < <(launch_flags "mpirun.$mpi")
  launcher=("mpirun.$mpi" "${flags[@]}")
  rm -rf "$XDG_CONFIG_HOME"
  mkdir "$mpi" "$mpi/in"
  "mpicc.$mpi" -O1 -o "$mpi/app" "$root/tests/apps/replay_app.c"
  cd "$mpi"
  [ "$mpi" != mpich ] || export LD_PRELOAD="$TEST_BUILD/tests/tools/libmpich_yield.so"
  run() { timeout 60 "$MERCUTIO" run --trace=app.mtrace -- "${launcher[@]}" ./app in; }
  run
  if [ "$mpi" = mpich ]; then what=(--pattern app.mtrace --to . -- "${launcher[@]}"); else what=(-- "${launcher[@]}" ./app in); fi
  code=0
  timeout 200 "$MERCUTIO" tune --trials 2 --pairs 5 --search romio_cb_write=enable --search cb_nodes=1 --json trials.json "${what[@]}" >out 2>err || code=$?
  [ "$code" = 0 ] || [ "$code" = 3 ] || fail "$mpi: code $code: $(cat out err)"
  lacks "$(cat out err)" "differently"
  contains "$(cat trials.json)" '"romio_cb_write": "enable"'
  equals "$(find . -maxdepth 1 -name 'mercutio-tune.*')" ""
  for written in "$XDG_CONFIG_HOME"/mercutio/tuned/*.toml; do
    [ -e "$written" ] || continue
    [ "$code" = 0 ] || fail "a profile was written"
    "$MERCUTIO" hints --check "$written"
    contains "$(cat "$written")" 'application = "app"'
  done
  rm -rf "$XDG_CONFIG_HOME"
  # A later run.
  mkdir -p "$XDG_CONFIG_HOME/mercutio/tuned"
  printf '[profile]\napplication = "app"\nranks = 2\nfile_system = "%s"\n["*iews"]\ncb_buffer_size = "2MiB"\n' "$(stat -f -c 0x%t in)" >"$XDG_CONFIG_HOME/mercutio/tuned/app-1.toml"
  contains "$(MERCUTIO_PRINT_HINTS=1 run 2>&1)" "tuner $XDG_CONFIG_HOME/mercutio/tuned/app-1.toml:6"
  lacks "$(MERCUTIO_PRINT_HINTS=1 MERCUTIO_PROFILE=0 run 2>&1)" "tuner"
  cd ..
  export LD_PRELOAD=""
done
[ "$ran" = 1 ] || skip "there is no MPI here"
