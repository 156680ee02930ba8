#!/usr/bin/env bash
# The trace of a program knows through which library it opened its files: library.sh LAUNCHER PROGRAM LIBRARY. The program is given a
# file's name.
set -euo pipefail
: "${MERCUTIO:?the path of the mercutio command}"
launcher="$1" program="$2" library="$3"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
unset MERCUTIO_HINTS MERCUTIO_DISABLE ROMIO_HINTS LD_PRELOAD
flags=(-n 2)
case "$launcher" in *openmpi*) flags+=(--oversubscribe); [ "$(id -u)" -ne 0 ] || flags+=(--allow-run-as-root) ;; esac
words=("$program")
case "$program" in *.py) words=(/usr/bin/python3 "$program") ;; esac
cd "$scratch"
timeout 100 "$MERCUTIO" run --trace=job.mtrace -- "$launcher" "${flags[@]}" "${words[@]}" "$scratch/data" >out 2>&1 || { cat out; exit 1; }
"$MERCUTIO" report job.mtrace --json --events 0 >job.json
python3 - job.json "$library" <<'PY'
import json, sys
found = {file["library"] for file in json.load(open(sys.argv[1]))["files"]}
assert found == {sys.argv[2]}, found
PY
