#!/usr/bin/env bash
# The modulefiles of Lmod and of Environment Modules: a program linked with -lmercutio as long as one is loaded starts then, and later.
. "$(dirname "$0")/lib.sh"
: "${TEST_BUILD:?}"
root="$(cd "$(dirname "$0")/../.." && pwd)"
lmod=/usr/share/lmod/lmod/libexec/lmod
tcl="$root/third_party/modules/usr/lib/x86_64-linux-gnu/modulecmd.tcl"
prefix="$scratch/a prefix"
for component in lib dev tools modulefile; do
  cmake --install "$TEST_BUILD" --component "$component" --prefix "$prefix" >"$scratch/log" 2>&1 || fail "$(tail -n 5 "$scratch/log")"
done
version="$("$prefix/bin/mercutio" version | sed 's/^mercutio //; s/[ +].*//')"
cd "$scratch"
cat >app.c <<'C'
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_File file;
  MPI_Init(&argc, &argv);
  int bad = MPI_File_open(MPI_COMM_WORLD, "data", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file) != MPI_SUCCESS;
  bad |= MPI_File_close(&file) != MPI_SUCCESS;
  MPI_Finalize();
  return bad;
}
C
compiler="" tried=0
for mpi in mpich openmpi; do command -v "mpicc.$mpi" >/dev/null && compiler="mpicc.$mpi" && break; done
[ -n "$compiler" ] || skip "no compiler wrapper"

load() {   # load COMMAND... : the shell's environment as the module system changes it
  # shellcheck disable=SC2046
  eval "$("$@")"
}
check() {   # check WORD...: how a module is loaded
  rm -f app
  (
    unset MANPATH LD_LIBRARY_PATH LD_RUN_PATH LIBRARY_PATH MERCUTIO_ROOT LOADEDMODULES _LMFILES_ MODULEPATH
    export MODULEPATH="$prefix/share/modulefiles"
    load "$@" load "mercutio/$version" 2>err
    equals "${MERCUTIO_ROOT:-none: $(cat err)}" "$prefix"
    contains "$(command -v mercutio)" "$prefix/bin/mercutio"
    [[ "$MANPATH" == "$prefix"*: ]] || fail "MANPATH=$MANPATH hides the manual pages of the system"
    "$compiler" app.c -o app -lmercutio
    timeout 60 ./app
    lacks "$(MERCUTIO_PRINT_HINTS=1 MERCUTIO_DISABLE=1 timeout 60 ./app 2>&1)" "hints of"
    contains "$(MERCUTIO_PRINT_HINTS=1 timeout 60 ./app 2>&1)" "hints of 'data'"
    load "$@" unload "mercutio/$version"
    equals "${MERCUTIO_ROOT:-}" ""
    lacks "${LD_LIBRARY_PATH:-}" "$prefix"
    equals "${MANPATH-unset}" unset
    for manuals in :/opt/man /opt/man: /a::/b /opt/man; do
      export MANPATH="$manuals"
      load "$@" load "mercutio/$version"
      [[ ":$MANPATH:" == *::* ]] || fail "MANPATH=$MANPATH hides the manual pages of the system"
      load "$@" unload "mercutio/$version"
      equals "${MANPATH/%::/:}" "$manuals"   # Lmod writes an empty part at the end twice
    done
  )
  contains "$(unset LD_LIBRARY_PATH; MERCUTIO_PRINT_HINTS=1 timeout 60 ./app 2>&1)" "hints of 'data'"
  tried=$((tried + 1))
}
if [ -x "$lmod" ]; then
  export LMOD_CMD="$lmod"
  check "$lmod" bash
fi
if [ -e "$tcl" ] && command -v tclsh >/dev/null; then check tclsh "$tcl" bash; fi
[ "$tried" -gt 0 ] || skip "no module system"
