#!/usr/bin/env bash
# Counts are printed beside a page, columns of CSV have unlike names, and what is handed to other programs lies in TMPDIR.
. "$(dirname "$0")/lib.sh"
traces="$(cd "$(dirname "$0")/../report/traces" && pwd)"
cd "$scratch"
base64 -d "$traces/version_14.trace.gz.base64" | gunzip >old.trace
equals "$("$MERCUTIO" report old.trace --csv | head -1 | tr , '\n' | sort | uniq -d)" ""

mkdir tmp bin
export TMPDIR="$scratch/tmp"
printf '#!/bin/sh\n[ "$1" = -c ] || echo "$@" >"%s/words"\n' "$scratch" >bin/python
printf '#!/bin/sh\necho "$@" >"%s/words"\nexit 1\n' "$scratch" >bin/gmap
chmod +x bin/python bin/gmap
text="$(MERCUTIO_PYTHON="$scratch/bin/python" "$MERCUTIO" report old.trace --stats -o page.html)"
contains "$text" "MPI-IO access counts for field.dat"
contains "$(cat words)" "$TMPDIR/mercutio-report."
printf '0,7\n7,0\n' >matrix.csv
printf 'a:1\nb:1\n' >hosts
rm words
PATH="$scratch/bin:$PATH" "$MERCUTIO" place --matrix matrix.csv --hosts hosts --method scotch >/dev/null || true
if [ -e words ]; then contains "$(cat words)" "$TMPDIR/mercutio-place."; else command -v scotch_gmap >/dev/null || fail "gmap was not called"; fi
equals "$(ls -A tmp)" ""
