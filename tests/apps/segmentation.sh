#!/usr/bin/env bash
# segmentation.sh LAUNCHER PROGRAM PYTHON: examples/segmentation on a tiny synthetic image whose sizes don't divide evenly. Its
# file is the same on the host's I/O and on Mercutio, blocking, nonblocking and with MPI_Test, on any number of ranks, and
# holds what numpy computes.
set -euo pipefail
: "${MERCUTIO:?}"
launcher="$1" program="$2" python="$3"
parts="$(cd "$(dirname "$0")/../../examples/segmentation" && pwd)"
"$python" -c "import numpy" 2>/dev/null || { echo "skipped: $python has no numpy (Debian: python3-numpy)"; exit 77; }
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
flags=()
case "$launcher" in
  *openmpi*)
    flags=(--oversubscribe)
    [ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root)
    ;;
esac
sizes=(--tiles 2 --scales 3 --orientations 2)

run() {   # run OUTPUT RANKS MODE [COMMAND...]
  local output="$1" ranks="$2" mode="$3"
  shift 3
  timeout 60 "$@" "$launcher" "${flags[@]}" -n "$ranks" "$program" "$scratch/image" "$scratch/$output" --mode "$mode" "${sizes[@]}"
}

"$python" "$parts/prepare.py" 45x38x2 "$scratch/image"
ours=("$MERCUTIO" run --)
run host 2 blocking
run blocking 3 blocking "${ours[@]}"
run nonblocking 3 nonblocking "${ours[@]}"
run tested 2 tested "${ours[@]}"
for output in blocking nonblocking tested; do
  cmp "$scratch/host" "$scratch/$output"
done
"$python" "$parts/check.py" "$scratch/image" "$scratch/nonblocking" 2 3 2

# What is no image is refused with a word about what to do.
head -c 100 /dev/zero >"$scratch/image"
if run none 1 blocking >"$scratch/out" 2>&1; then echo "zeros are taken for an image"; exit 1; fi
grep -q "prepare.py makes one" "$scratch/out"
