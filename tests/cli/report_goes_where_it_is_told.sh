#!/usr/bin/env bash
# A report to a pipe goes through it, one to a symbolic link to the file behind it; a trace needs a file. None is replaced.
. "$(dirname "$0")/lib.sh"
root="$(cd "$(dirname "$0")/../.." && pwd)"
cd "$scratch"
mkfifo pipe
ln -s file link
code=0
"$MERCUTIO" run --trace=pipe -- true 2>err || code=$?
equals "$code" 2
contains "$(cat err)" "pipe is not overwritten: it is no file, and a trace needs one"

cat >app.c <<'C'
#include <mpi.h>
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Finalize();
}
C
ran=0
for mpi in mpich openmpi; do
  use_mpi "$mpi" || continue
  "mpicc.$mpi" -O1 -o app app.c
  run() { timeout 60 "$MERCUTIO" run "$@" -- "mpirun.$mpi" "${flags[@]}" ./app; }
  exec 3<>pipe   # somebody reads before the job writes
  run --report=pipe 3<&-
  exec 4<pipe 3<&-
  timeout 60 cat <&4 >got
  exec 4<&-
  contains "$(cat got)" "mercutio: app, 2 ranks"
  run --report=link
  contains "$(cat file)" "mercutio: app, 2 ranks"
  rm file
  MERCUTIO_TRACE=pipe run 2>err
  contains "$(cat err)" "no trace: $PWD/pipe: it is no file"
  [ -p pipe ] && [ -L link ] || fail "replaced: $(ls -l)"
  [ ! -e pipe.pieces ] || fail "pieces of no trace"
done
# A report does not replace the trace that it is made of.
echo trace >a.mtrace
for line in "a.mtrace -o a.mtrace" "b.mtrace --compare a.mtrace --perfetto ./a.mtrace" "b.mtrace -o page --perfetto page"; do
  code=0
  # shellcheck disable=SC2086
  "$MERCUTIO" report $line 2>err || code=$?
  equals "$code" 2
done
equals "$(cat a.mtrace)" trace
# A trace is no stream; a Python that fails without a word is named.
trace=old.mtrace
base64 -d "$root/tests/report/traces/version_13.trace.gz.base64" | gunzip >"$trace"
code=0
text="$("$MERCUTIO" report /dev/stdin < <(cat "$trace") 2>&1)" || code=$?
equals "$code" 1
contains "$text" "mercutio report: /dev/stdin: a pipe or device: a trace is read from a file only"
code=0
text="$(MERCUTIO_PYTHON=/bin/false "$MERCUTIO" report "$trace" -o page.html 2>&1)" || code=$?
equals "$code: $text" "1: mercutio report: /bin/false: ended with code 1 without a word"
[ "$ran" -gt 0 ] || { echo "no MPI: only half was tried"; exit 77; }
