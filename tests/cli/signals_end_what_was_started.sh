#!/usr/bin/env bash
# INT, TERM and HUP end a command with what it has started, within seconds; nothing is left of its files.
. "$(dirname "$0")/lib.sh"
export TMPDIR="$scratch/tmp"
mkdir "$scratch/bin" "$scratch/tmp" "$scratch/data"

# A launcher of Open MPI's name that starts a process of its own, and takes no notice of INT.
cat >"$scratch/bin/mpirun" <<'SH'
#!/bin/sh
[ "$1" != --version ] || { echo "mpirun (Open MPI) 4.1.4"; exit 0; }
trap '' INT
sleep 300 &
echo $! >"$STARTED.part"
mv "$STARTED.part" "$STARTED"
wait
SH
printf '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nprintf "#!/bin/sh\\necho vector-8\\n" >"$2"\nchmod +x "$2"\n' >"$scratch/bin/mpicc"
chmod +x "$scratch/bin/mpirun" "$scratch/bin/mpicc"

alive() { grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" 2>/dev/null; }   # not only waited for

ends_at() {   # ends_at SIGNAL NAME COMMAND...: what it started is gone, too
  local signal="$1" name="$2" pid i
  shift 2
  export STARTED="$scratch/started-$name-$signal"
  # A job in the background of a script ignores INT.
  python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.environ.update({"LD_PRELOAD": os.environ["PRELOAD"]} if "PRELOAD" in os.environ else {})
os.execv(sys.argv[1], sys.argv[1:])' "$MERCUTIO" "$@" >"$scratch/out" 2>&1 &
  pid=$!
  for ((i = 0; i < 200; i++)); do [ ! -s "${AT:-$STARTED}" ] || break; sleep 0.1; done
  [ -s "${AT:-$STARTED}" ] || fail "$name started nothing: $(cat "$scratch/out")"
  kill "-$signal" "$pid"
  for ((i = 0; i < 150; i++)); do alive "$pid" || break; sleep 0.1; done
  ! alive "$pid" || { kill -KILL "$pid"; fail "$name goes on after $signal"; }
  wait "$pid" || true
  if [ -n "${AT:-}" ] && [ ! -s "$STARTED" ]; then return; fi
  for ((i = 0; i < 150; i++)); do alive "$(cat "$STARTED")" || break; sleep 0.1; done   # killed, but not waited for
  ! alive "$(cat "$STARTED")" || { kill "$(cat "$STARTED")"; fail "$name leaves a process behind after $signal"; }
  left="$(find "$scratch/tmp" "$scratch/data" -mindepth 1)"
  [ -z "$left" ] || fail "$name leaves files behind: $left"
}

traces="$(cd "$(dirname "$0")/../report/traces" && pwd)"
base64 -d "$traces/version_14.trace.gz.base64" | gunzip >"$scratch/old.trace"
export MERCUTIO_PYTHON="$scratch/bin/python"
cat >"$MERCUTIO_PYTHON" <<'SH'
#!/bin/sh
setsid sleep 300 &   # in no group that a signal reaches, as the ranks of a launcher
trap "kill $!; exit" TERM
echo $! >"$STARTED.part"
mv "$STARTED.part" "$STARTED"
wait
SH
chmod +x "$MERCUTIO_PYTHON"

openmpi="$( (/sbin/ldconfig -p || true) | grep -c 'libmpi.so.40 ' || true)"   # the library that the doctor's probe is told
for signal in INT TERM HUP; do
  [ "$openmpi" = 0 ] || ends_at "$signal" doctor doctor --dir "$scratch/data" -- "$scratch/bin/mpirun" -n 2 ./app
  ends_at "$signal" report report "$scratch/old.trace" -o "$scratch/page.html"
  ends_at "$signal" bench bench --mpi "$scratch/bin/mpirun" --io host --ranks 1 --bytes 64KiB --dir "$scratch/data"
done

# Also where the signal comes before the command goes on behind the start of a child, which is already there; and before the child is in its group or has
# become its program.
cat >"$scratch/late.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static pid_t command;
__attribute__((constructor)) static void alone(void) { unsetenv("LD_PRELOAD"), command = getpid(); }
static void delay(const char *place) {
  const char *late = getenv("LATE"), *at = getenv("AT");
  struct timespec half = {0, 500000000};
  if (getpid() == command || !late || strcmp(late, place)) return;
  FILE *f = fopen(at, "w");
  if (f) fputs("here", f), fclose(f);
  while (nanosleep(&half, &half)) {}
}
pid_t fork(void) {
  pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
  pid_t child = next();
  if (child > 0 && !getenv("LATE")) sleep(5);   // or until a signal, which may have come before it begins
  return child;
}
int setpgid(pid_t process, pid_t group) {
  int (*next)(pid_t, pid_t) = (int (*)(pid_t, pid_t))dlsym(RTLD_NEXT, "setpgid");
  delay("setpgid");
  return next(process, group);
}
int execvp(const char *file, char *const *words) {
  int (*next)(const char *, char *const *) = (int (*)(const char *, char *const *))dlsym(RTLD_NEXT, "execvp");
  delay("execvp");
  return next(file, words);
}
C
cc -shared -fPIC "$scratch/late.c" -o "$scratch/late.so" -ldl
PRELOAD="$scratch/late.so" ends_at TERM late_report report "$scratch/old.trace" -o "$scratch/page.html"
for late in setpgid execvp; do
  export LATE="$late" AT="$scratch/at-$late"
  PRELOAD="$scratch/late.so" ends_at TERM "late_$late" report "$scratch/old.trace" -o "$scratch/page.html"
done
