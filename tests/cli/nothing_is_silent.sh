#!/usr/bin/env bash
# Mistakes and what comes of them are said: variables that do not exist, reports that do not come, places that can't be written. Once a job.
. "$(dirname "$0")/lib.sh"
cd "$scratch"
code=0
text="$("$MERCUTIO" reprot 2>&1)" || code=$?
equals "$code" 2
contains "$text" "there is no command 'reprot'; did you mean report?"
contains "$("$MERCUTIO" frobnicate 2>&1 || true)" "there is no command 'frobnicate'; "
contains "$(MERCUTIO_HINT=x MERCUTIO_DISABL=1 "$MERCUTIO" doctor 2>&1 || true)" "MERCUTIO_HINT is no variable of Mercutio; did you mean MERCUTIO_HINTS?"
contains "$(MERCUTIO_HINT=x MERCUTIO_DISABL=1 "$MERCUTIO" doctor 2>&1 || true)" "did you mean MERCUTIO_DISABLE?"

for option in --report --trace; do
  code=0
  text="$("$MERCUTIO" run $option=/nonexistent/file true 2>&1)" || code=$?
  equals "$code" 2
  contains "$text" "/nonexistent/file can't be written: No such file or directory"
  text="$("$MERCUTIO" run $option true 2>&1)"
  contains "$text" "mercutio run: no ${option#--}: no rank called MPI_Init with Mercutio loaded"
  contains "$(MERCUTIO_DISABLE=1 "$MERCUTIO" run $option true 2>&1)" "MERCUTIO_DISABLE=1 is set"
  code=0
  text="$("$MERCUTIO" run $option nosuchcommand 2>&1)" || code=$?
  equals "$code" 127
  contains "$text" "nosuchcommand: No such file or directory"
  printf '#!/bin/sh\n' >noexec
  code=0
  text="$("$MERCUTIO" run $option -- ./noexec 2>&1)" || code=$?
  equals "$code" 126
  contains "$text" "./noexec: Permission denied"
  code=0
  "$MERCUTIO" run $option sh -c 'exit 7' 2>/dev/null || code=$?
  equals "$code" 7
done
code=0
text="$("$MERCUTIO" run --report here.txt -- true 2>&1)" || code=$?
equals "$code" 2
contains "$text" "an equals sign: --report=here.txt"
code=0
text="$("$MERCUTIO" run --hint cb_nodes true 2>&1)" || code=$?
equals "$code" 2
contains "$text" "cb_nodes must be key=value"

# What is no trace is neither taken for one nor written over.
echo results >result.nc
for command in report "explain --trace" replay place; do
  # shellcheck disable=SC2086
  ! text="$("$MERCUTIO" $command result.nc 2>&1)" || fail "$command takes it for a trace"
  lacks "$text" "--trace=result.nc"
done
for option in --report --trace; do
  code=0
  text="$("$MERCUTIO" run $option=result.nc touch ran 2>&1)" || code=$?
  equals "$code" 2
  contains "$text" "result.nc is not overwritten: it is there and holds no ${option#--} of Mercutio"
done
[ ! -e ran ] || fail "the program ran"
equals "$(cat result.nc)" results

# Output that can't be written.
for command in hints "hints cb_nodes" version "jobs --json $scratch"; do
  code=0
  # shellcheck disable=SC2086
  text="$("$MERCUTIO" $command 2>&1 >/dev/full)" || code=$?
  equals "$code" 1
  contains "$text" "the output could not be written: No space left on device"
done
code=0
text="$(trap '' XFSZ; ulimit -f 1; "$MERCUTIO" jobs --html page.html "$scratch" 2>&1)" || code=$?
equals "$code" 1
contains "$text" "page.html: can't be written"
[ ! -e page.html ] || fail "half a page is left"

# A table that is none.
for content in garbage '[1]' '{"rows": [{"io": "mercutio"}]}'; do
  echo "$content" >table.json
  code=0
  text="$("$MERCUTIO" bench --from table.json --plot table.png 2>&1)" || code=$?
  equals "$code" 1
  [[ "$text" == *"needs Python's matplotlib"* ]] || contains "$text" "mercutio bench: table.json: no table of mercutio bench --json"
  lacks "$text" Traceback
done

echo 'int main(void) { return 0; }' >main.c
if cc -static main.c -o static 2>/dev/null; then
  contains "$("$MERCUTIO" run --report ./static 2>&1)" "./static is linked statically"
fi
equals "$(find . -name '.mercutio-run*')" ""

cat >app.c <<'C'
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv) {
  MPI_File file;
  MPI_Init(&argc, &argv);
  if (argc > 1) {
    MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_close(&file);
  }
  if (argc > 2) _exit(0);
  MPI_Finalize();
  return 0;
}
C
as_user=(env)   # for whom permissions count
[ "$(id -u)" -ne 0 ] || as_user=(setpriv --bounding-set=-dac_override)
ran=0
for mpi in mpich openmpi; do
  use_mpi "$mpi" || continue
  "mpicc.$mpi" app.c -o app
  run() { timeout 60 "$MERCUTIO" run "$@" 2>err || true; }
  MERCUTIO_HINT=x run -- "mpirun.$mpi" "${flags[@]}" ./app file
  equals "$(grep -c 'MERCUTIO_HINT is no variable' err)" 1
  MERCUTIO_HINT=x MERCUTIO_WARN=0 run -- "mpirun.$mpi" "${flags[@]}" ./app file
  lacks "$(cat err)" MERCUTIO_HINT
  run --report -- "mpirun.$mpi" "${flags[@]}" ./app
  contains "$(cat err)" "opened no file through MPI-IO: there is nothing to report"
  lacks "$(cat err)" "no report"
  run --trace=none.mtrace -- "mpirun.$mpi" "${flags[@]}" ./app
  equals "mercutio: $("$MERCUTIO" explain --trace none.mtrace)" "$("$MERCUTIO" report none.mtrace)"
  run --trace=app.mtrace -- "mpirun.$mpi" "${flags[@]}" ./app file
  # One `mercutio run` inside another, as where a site wraps its launcher.
  rm -f outer inner inner.mtrace
  run --report=outer -- "$MERCUTIO" run --report=inner --trace=inner.mtrace -- "mpirun.$mpi" "${flags[@]}" ./app file
  equals "$(cat err)" "mercutio run: note: no report outer: the mercutio run inside asked for one of its own"
  [ -s inner ] && [ -s inner.mtrace ] && [ ! -e outer ] || fail "the inner one does not win"
  run --trace=outer.mtrace -- "$MERCUTIO" run --report -- "mpirun.$mpi" "${flags[@]}" ./app file
  equals "$(grep -c 'mercutio run:' err)" 0
  [ -s outer.mtrace ] || fail "the outer one's trace is missing: $(cat err)"
  run --report -- "$MERCUTIO" run --report -- true
  equals "$(grep -c 'no rank called MPI_Init' err)" 1
  # A trace without a name is in the working directory.
  mkdir -p closed
  chmod a-w closed
  if "${as_user[@]}" sh -c '! [ -w closed ]' 2>/dev/null; then
    code=0
    text="$(cd closed && "${as_user[@]}" "$MERCUTIO" run --trace -- "mpirun.$mpi" "${flags[@]}" touch "$scratch/ran" 2>&1)" || code=$?
    equals "$code" 2
    contains "$text" "no trace can be written to the current directory: Permission denied; --trace=FILE names another place"
    [ ! -e ran ] || fail "the program ran"
    text="$(cd closed && timeout 60 "${as_user[@]}" "$MERCUTIO" run --trace -- sh -c 'exec "$@"' sh "mpirun.$mpi" "${flags[@]}" ../app 2>&1)" || true
    contains "$text" "app.mtrace.pieces: Permission denied; the trace is in memory only"
  fi
  printf '#!/bin/sh\nmkdir -p away && cd away && exec "$@"\n' >elsewhere
  chmod +x elsewhere
  run --trace=there.mtrace -- ./elsewhere "mpirun.$mpi" "${flags[@]}" ../app file
  [ -e there.mtrace ] || fail "the trace is not where it was asked for: $(cat err)"
  code=0
  text="$("$MERCUTIO" report app.mtrace --json 2>&1 >/dev/full)" || code=$?
  equals "$code" 1
  contains "$text" "No space left"
  run --report=/proc/x -- "mpirun.$mpi" "${flags[@]}" ./app file
  contains "$(cat err)" "no report: /proc/x"
  equals "$("$MERCUTIO" report app.mtrace -o /nonexistent/a.html 2>&1 || true)" "mercutio report: /nonexistent/a.html: can't be written: No such file or directory"
  run --report -- "mpirun.$mpi" "${flags[@]}" ./app file early
  contains "$(cat err)" "no report: the program ended before MPI_Finalize"
  MERCUTIO_TRACE=/nonexistent/trace run -- "mpirun.$mpi" "${flags[@]}" ./app file
  [ "$(grep -c 'No such file or directory' err)" -le 2 ] || fail "one message a rank: $(cat err)"
  contains "$(cat err)" "of rank 0 nothing stays"
  lacks "$(cat err)" "recorded stays"
  lacks "$(cat err)" MPI_MODE_CREATE
done

# A program of sessions has no MPI_Finalize.
cat >sessions.c <<'C'
#include <mpi.h>
int main(int argc, char **argv) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_File file;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_File_open(comm, "data", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_close(&file);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return 0;
}
C
if command -v mpirun.mpich >/dev/null && mpicc.mpich sessions.c -o sessions 2>/dev/null; then
  timeout 60 "$MERCUTIO" run --report -- mpirun.mpich -n 2 ./sessions 2>err || fail "$(cat err)"
  contains "$(cat err)" "no report: MPI_Init was not seen, as in a program that uses sessions only"
  timeout 60 "$MERCUTIO" run --trace=sessions.mtrace -- mpirun.mpich -n 2 ./sessions 2>err || fail "$(cat err)"
  contains "$(cat err)" "mercutio report $PWD/sessions.mtrace"
fi

# Jobs of a script that come one after the other have found their ranks.
cat >one.c <<'C'
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  if (argc > 1) {   // until both of two are here
    if (open("first", O_CREAT | O_EXCL | O_WRONLY, 0600) < 0) open("second", O_CREAT | O_EXCL | O_WRONLY, 0600);
    for (int ms = 0; ms < 20000 && (access("first", F_OK) != 0 || access("second", F_OK) != 0); ++ms) usleep(1000);
  }
  return MPI_Finalize();
}
C
if command -v mpirun.mpich >/dev/null && mpicc.mpich one.c -o one 2>/dev/null; then
  cat >mpirun <<'SH'
#!/bin/sh
[ "$1" != --version ] || { echo "HYDRA build details:"; exit 0; }
while [ "$1" = -genv ]; do export "$2=$3" && shift 3; done
[ -z "$AT_ONCE" ] || "$@" &
"$@"
wait
[ -n "$AT_ONCE" ] || "$@"
SH
  chmod +x mpirun
  AT_ONCE=1 timeout 60 "$MERCUTIO" run --report=twice.txt -- ./mpirun ./one both 2>err || fail "$(cat err)"
  contains "$(cat err)" "the 2 processes did not find each other"
  AT_ONCE="" timeout 60 "$MERCUTIO" run --report=twice.txt -- ./mpirun ./one 2>err || fail "$(cat err)"
  lacks "$(cat err)" "did not find each other"
fi

# A program that spawns another one is one job, and each of both has a report.
cat >spawns.c <<'C'
#include <mpi.h>
int main(int argc, char **argv) {
  MPI_Comm parent, other;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
  else
    other = parent;
  MPI_Comm_disconnect(&other);
  MPI_Finalize();
  return 0;
}
C
if command -v mpicc.openmpi >/dev/null && command -v mpirun.openmpi >/dev/null; then   # Debian's MPICH 4.0.2 can't spawn
  mpicc.openmpi spawns.c -o spawns
  timeout 60 "$MERCUTIO" run --report=both.txt -- mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 "$PWD/spawns" 2>err || fail "$(cat err)"
  lacks "$(cat err)" "did not find each other"
  equals "$(cat both.txt both.2.txt | grep -c "spawns, 2 ranks")" 2
fi
[ "$ran" -gt 0 ] || skip "no MPI"
