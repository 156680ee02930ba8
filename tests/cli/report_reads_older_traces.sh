#!/usr/bin/env bash
# Traces of the versions before are read: five collective writes and five syncs of each of two ranks, one of which is late. Versions
# before those are refused, with the versions that are read.
. "$(dirname "$0")/lib.sh"
traces="$(cd "$(dirname "$0")/../report/traces" && pwd)"
cd "$scratch"
for version in 10 11 12 13 14; do
  base64 -d "$traces/version_$version.trace.gz.base64" | gunzip >old.trace
  equals "$(od -A n -t d8 -j 8 -N 8 old.trace | tr -d ' ')" "$version"
  text="$("$MERCUTIO" report old.trace)"
  contains "$text" "640 KiB written"
  contains "$text" "waiting for late ranks"
  json="$("$MERCUTIO" report --json old.trace | tr -d ' \n')"
  for total in '"name":"field.dat"' '"syncs":10' '"collective_write.calls":10' '"collective_write.bytes":655360' '"opens":2' '"ranks":2'; do contains "$json" "$total"; done
  [ "$version" -ge 12 ] || lacks "$json" '"late_sync_ns":'
  [ "$version" -lt 13 ] || contains "$json" '"resizes":6'
  if [ "$version" -ge 14 ]; then contains "$json" '"views":10'; else lacks "$json" '"views":'; fi
done
printf '\010' | dd of=old.trace bs=1 seek=8 conv=notrunc status=none
code=0
text="$("$MERCUTIO" report old.trace 2>&1)" || code=$?
equals "$code" 1
contains "$text" "version 8; versions 9 to 15 can be read"
