#!/usr/bin/env bash
# Installs a wheel beside PyPI's MPICH, Open MPI and Intel MPI with mpi4py, each in a fresh virtual environment. There two ranks write
# a file through it, which is compared without MPI, and run mpi4py's own tests of I/O.
#
#   packaging/wheel/try.sh WHEEL FOLDER [mpich|openmpi|impi]...
#
# PYTHON names the interpreter of the environments (python3), RESULTS a file for lines of JSON.
set -euo pipefail
wheel="$(realpath "$1")"
rm -rf "$2/try"
mkdir -p "$2/try"
folder="$(cd "$2/try" && pwd)"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
python="${PYTHON:-python3}"
. "$here/../result.sh"
shift 2
[ $# -gt 0 ] || set -- mpich openmpi impi
mpi4py=4.1.2
pip=(-m pip -q --disable-pip-version-check)

# Two ranks as root or on one core: Open MPI asks for these to be said.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export I_MPI_FABRICS=shm MPIR_CVAR_CH4_PROGRESS_THROTTLE=1

# The tests are in the source archive. With "--no-binary :all:" pip would build the archive's build tools, too.
"$python" -m venv "$folder/tools"   # the system's Python may have no pip
"$folder/tools/bin/python" "${pip[@]}" download --no-binary mpi4py --no-deps -d "$folder" "mpi4py==$mpi4py"
tar -xf "$folder/mpi4py-$mpi4py.tar.gz" -C "$folder"

failed=0
for mpi in "$@"; do
  home="$folder/$mpi"
  "$python" -m venv "$home"
  case "$mpi" in
    impi) "$home/bin/python" "${pip[@]}" install --no-deps impi-rt==2021.19.0 ;;   # it names a libfabric that isn't on PyPI
    *) "$home/bin/python" "${pip[@]}" install "$mpi" ;;
  esac
  "$home/bin/python" "${pip[@]}" install "mpi4py==$mpi4py" numpy "$wheel"
  log="$folder/$mpi.log"
  if (cd "$folder/mpi4py-$mpi4py/test" && PATH="$home/bin:$PATH" && set -x && mercutio --version \
      && timeout 120 mercutio run -- mpirun -n 2 python "$here/through.py" "$folder/$mpi.data" \
      && "$python" "$here/compare.py" "$folder/$mpi.data" \
      && timeout 900 mercutio run -- mpirun -n 2 python -m unittest test_io \
      && [ "$(grep -c '^OK' "$log")" = 2 ]) >"$log" 2>&1; then
    result wheel "$mpi" "$(grep -E '^(Ran|through)' "$log" | sed 's/ in .*//' | sort -u | xargs)" passed
  else
    tail -n 30 "$log"
    result wheel "$mpi" "see $log" failed
    failed=1
  fi
done
exit $failed
