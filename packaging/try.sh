#!/usr/bin/env bash
# Tries everything that packaging/wheel/build.sh and packaging/deb/build.sh have made of a tarball, the recipes for it, and its sources with
# the least that they need. Prints a line for each; FOLDER/results.json has the same for scripts/results.py. Needs root.
#
#   packaging/try.sh TARBALL FOLDER
set -euo pipefail
packaging="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
tarball="$(realpath "$1")"
folder="$(cd "$2" && pwd)"
name="$(basename "$tarball" .tar.gz)"
wheel="$(basename "$folder"/mercutio_mpi-"${name#mercutio-}"-*_x86_64.whl)"
export RESULTS="$folder/results.jsonl"
rm -f "$RESULTS"
failed=0

"$packaging/wheel/try.sh" "$folder/$wheel" "$folder" || failed=1
"$packaging/root.sh" bullseye "$folder" bash -euc '
  apt-get -qq update
  apt-get -qq -y --no-install-recommends install python3-venv >/dev/null 2>&1
  mkdir /tmp/try
  RESULTS=/mnt/results.jsonl "/mnt/$1/packaging/wheel/try.sh" "/mnt/$2" /tmp/try || { mkdir -p /mnt/try-bullseye; cp /tmp/try/try/*.log /mnt/try-bullseye/; exit 1; }
' try.sh "$name" "$wheel" || failed=1
"$packaging/deb/try.sh" "$folder" || failed=1
"$packaging/try_source.sh" "$tarball" "$folder" || failed=1
"$packaging/try_recipes.sh" "$tarball" "$folder" || failed=1

python3 -c 'import json, sys; print(json.dumps([json.loads(line) for line in sys.stdin], indent=1))' <"$RESULTS" >"$folder/results.json"
exit $failed
