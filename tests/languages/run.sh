#!/usr/bin/env bash
# Runs a program in another language on the MPI's own I/O and through Mercutio, with two ranks and the name of a file as its last argument. The
# files must be the same, and the trace of the second run must have the file: run.sh LAUNCHER WORDS...
set -euo pipefail
: "${MERCUTIO:?the path of the mercutio command}"
launcher="$1"
shift
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
unset MERCUTIO_HINTS MERCUTIO_DISABLE ROMIO_HINTS LD_PRELOAD
flags=(-n 2)
case "$launcher" in *openmpi*) flags+=(--oversubscribe); [ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root) ;; esac
cd "$scratch"
timeout 100 "$launcher" "${flags[@]}" "$@" "$scratch/host" >out 2>&1 || { cat out; exit 1; }
timeout 100 "$MERCUTIO" run --trace=job.mtrace -- "$launcher" "${flags[@]}" "$@" "$scratch/ours" >out 2>&1 || { cat out; exit 1; }
cat out
cmp host ours
"$MERCUTIO" report job.mtrace --json --events 0 >job.json
python3 -c 'import json; files = json.load(open("job.json"))["files"]; assert any(file["name"].endswith("ours") for file in files), files'
