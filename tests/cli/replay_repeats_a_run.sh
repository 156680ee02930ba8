#!/usr/bin/env bash
# A recorded run is repeated without its program, on both MPIs: the same files byte for byte, other hints or not; and what can't
# be repeated is refused with a word of advice.
. "$(dirname "$0")/lib.sh"
root="$(cd "$(dirname "$0")/../.." && pwd)"
cd "$scratch"
refused() {   # refused CODE TEXT COMMAND...
  local code=0
  timeout 60 "${@:3}" >out 2>err || code=$?
  equals "$code" "$1"
  contains "$(cat err)" "$2"
}
refused 1 "there is no such trace" "$MERCUTIO" replay none.mtrace
head -c 4000 /dev/zero >bad.mtrace
refused 1 "not a trace of this version" "$MERCUTIO" replay bad.mtrace
refused 2 "trace is required" "$MERCUTIO" replay

ran=0
for mpi in mpich openmpi; do
  use_mpi "$mpi" || continue
  launcher=("mpirun.$mpi" "${flags[@]}")
  mkdir "$mpi" "$mpi/in" "$mpi/again" "$mpi/twice"
  "mpicc.$mpi" -O1 -o "app.$mpi" "$root/tests/apps/replay_app.c"
  cd "$mpi"
  [ "$mpi" != mpich ] || export LD_PRELOAD="$TEST_BUILD/tests/tools/libmpich_yield.so"
  timeout 60 "$MERCUTIO" run --trace=app.mtrace -- "${launcher[@]}" "../app.$mpi" in
  MERCUTIO_TRACE=twice.mtrace timeout 60 "$MERCUTIO" replay app.mtrace --to again --scratch . --hint romio_cb_write=enable --hint cb_nodes=1 -- "${launcher[@]}" >out
  contains "$(cat out)" "I/O held a rank for"
  diff -r in again || fail "$mpi: other bytes"
  contains "$("$MERCUTIO" report twice.mtrace --json)" 'cb_nodes=1 (MPI_Info): applied'
  hash="$("$MERCUTIO" report app.mtrace --json --events 0 | sed 's/.*"pattern":"\([0-9a-f]*\)".*/\1/')"
  equals "${#hash}" 16
  contains "$("$MERCUTIO" explain --trace app.mtrace)" "strategy:"
  contains "$("$MERCUTIO" explain --trace app.mtrace)" "in/views ("
  refused 1 "overwrites nothing" "$MERCUTIO" replay app.mtrace --to again -- "${launcher[@]}"
  refused 1 "--to: /nonexistent/x can't be written: No such file or directory" "$MERCUTIO" replay app.mtrace --to /nonexistent/x -- "${launcher[@]}"
  refused 1 "--hint nonsense: " "$MERCUTIO" replay app.mtrace --hint nonsense=1 -- "${launcher[@]}"
  refused 1 "--hint cb_nodes: " "$MERCUTIO" replay app.mtrace --hint cb_nodes=abc -- "${launcher[@]}"
  MERCUTIO_HINTS="cb_nodes=2;foo=bar" refused 1 "MERCUTIO_HINTS foo: " "$MERCUTIO" replay app.mtrace -- "${launcher[@]}"
  refused 2 "excludes" "$MERCUTIO" explain --trace app.mtrace --hint cb_nodes=2
  refused 2 "excludes" "$MERCUTIO" explain --trace app.mtrace --ranks
  if [ "$ran" = 1 ]; then
    timeout 60 "$MERCUTIO" replay twice.mtrace --to twice --scratch . --think --json -- "${launcher[@]}" >json
    diff -r in twice || fail "the replay of a replay differs"
    contains "$(cat json)" '"wrong": 0'
    # A folder of its own in the scratch directory: files there that have the names of its own are neither changed nor run.
    mkdir shared
    printf '#!/bin/sh\ntouch "%s/planted"\n' "$scratch" >shared/mercutio-replay-mpich-4.0.2
    chmod +x shared/mercutio-replay-mpich-4.0.2
    for name in script result mercutio-replay-openmpi-4.1.4; do cp shared/mercutio-replay-mpich-4.0.2 "shared/$name"; done
    cp -r shared before
    timeout 60 "$MERCUTIO" replay app.mtrace --scratch shared -- "${launcher[@]}" >/dev/null
    diff -r shared before || fail "files of the user's in the scratch directory are changed"
    [ ! -e ../planted ] || fail "a program of another's was run"
    # The number of ranks, where each launcher takes it and only if it isn't there.
    printf '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\ncp /bin/true "$2"\n' >"$scratch/mpicc"
    for name in srun flux jsrun aprun mpirun_rsh; do fake_launcher "$name" "some version"; done
    install "$scratch/mpicc" "$scratch/bin/mpicc"
    starts() {   # starts WANTED LAUNCHER...
      local wanted="$1 "
      shift
      timeout 60 "$MERCUTIO" replay app.mtrace --to again2 --scratch . -- "$scratch/bin/$1" "${@:2}" 2>/dev/null | grep -v -e = -e '^-E$' | tr '\n' ' ' >line || true
      case "$(cat line)" in "$wanted"*) ;; *) fail "$* was started with '$(cat line)', not '$wanted'" ;; esac
    }
    mkdir again2
    starts "run -n 2" flux run
    starts "run -n4" flux run -n4
    starts "-n2" srun -n2
    starts "-n 2 -c 4" srun -c 4
    starts "-p 3" jsrun -p 3
    starts "-p 2" jsrun
    starts "-np 2" mpirun_rsh
    starts "-n 2 -p part" srun -p part
    # Beside the original files, and gone afterwards.
    before="$(ls in)"
    timeout 60 "$MERCUTIO" replay app.mtrace --scratch . -- "${launcher[@]}" >/dev/null
    equals "$(ls in)" "$before"
    # The I/O is of a library whose name JSON escapes.
    printf '#include <mpi.h>\nint MPI_File_open(MPI_Comm comm, const char* name, int amode, MPI_Info info, MPI_File* file) { return PMPI_File_open(comm, name, amode, info, file); }\n' >odd.c
    "mpicc.$mpi" -shared -fPIC -o 'odd"\.so' odd.c
    LD_PRELOAD="$PWD/odd\"\\.so:${LD_PRELOAD:-}" timeout 60 "$MERCUTIO" replay app.mtrace --host --scratch . --json -- "${launcher[@]}" >json
    contains "$(cat json)" 'odd\"\\.so"}'
    launcher[${#launcher[@]}-1]=1
    refused 3 "the trace is of 2 ranks, and only 1 were started: start 2" "$MERCUTIO" replay app.mtrace --scratch . -- "${launcher[@]}"
    refused 1 "no launcher of an MPI" "$MERCUTIO" replay app.mtrace -- true
  fi
  export LD_PRELOAD=""
  cd ..
done
[ "$ran" -gt 0 ] || skip "there is no MPI here"
