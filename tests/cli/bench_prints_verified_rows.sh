#!/usr/bin/env bash
# A small `mercutio bench` measures the host and Mercutio, checks every byte, and prints a row for each with ratios and JSON.
source "$(dirname "$0")/lib.sh"
launcher="$(command -v mpirun.mpich || command -v mpirun.openmpi)" || skip "no MPI"
command -v "${launcher/mpirun/mpicc}" > /dev/null || skip "no mpicc beside the launcher"

out="$("$MERCUTIO" bench --mpi "$launcher" --io host --io mercutio --dir "$scratch" --ranks 2 --bytes 64KiB \
  --patterns vector-1KiB,hpio-nc-nc,icm-random,latency-write_ordered --repetitions 1 --json "$scratch/table.json" 2> "$scratch/err")" ||
  fail "bench ended with $?: $out"
contains "$out" "2 ranks"
contains "$out" "0 failures of Mercutio"
for case in vector-1KiB hpio-nc-nc icm-random; do
  for op in write read; do
    for io in host mercutio; do
      grep -qE "^$case +$op +[a-z]+-[0-9.]+/$io +[0-9.]+ " <<< "$out" || fail "no row for $case $op $io: $out"
    done
  done
done
grep -qE "^write_ordered +[a-z]+-[0-9.]+/mercutio +[0-9.]+ +[0-9.]+" <<< "$out" || fail "no latency: $out"
contains "$out" "geometric means"
lacks "$out" "WRONG DATA"
python3 - "$scratch/table.json" <<'PY' || fail "the JSON is not what the table says"
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
ours = [row for row in rows if row["io"] == "mercutio"]
assert len(rows) == 14 and len(ours) == 7, len(rows)
assert all(row["of_host"] > 0 and row["wrong"] == 0 for row in ours)
assert all(row["bytes"] == 2 * 65536 for row in rows if row["case"] == "vector-1KiB")
PY
[ -z "$(ls -d "$scratch"/mercutio-bench.* 2> /dev/null)" ] || fail "bench left its data behind"

# How much storage reads: what is asked for by default, and the holes with it where a hint says so, which is a failure.
moved() { "$MERCUTIO" bench --mpi "$launcher" --io mercutio --dir "$scratch" --ranks 2 --bytes 64KiB --repetitions 1 --patterns "$@" 2> "$scratch/err"; }
out="$(moved moved-sequential-collective,moved-strided-independent --json "$scratch/table.json")" || fail "bench ended with $?: $out"
grep -qE "^strided-independent-4KiB +[a-z]+-[0-9.]+/mercutio +[0-9]+ +[0-9]+ +1\.0[0-9] " <<< "$out" || fail "no row of what storage read: $out"
lacks "$out" "MOVES TOO MUCH"
python3 -c 'import json, sys; rows = json.load(open(sys.argv[1]))["rows"]
assert len(rows) == 12 and all(1 <= row["of_asked"] <= 1.1 and row["wrong"] == 0 for row in rows), rows' "$scratch/table.json" || fail "the JSON is not what the table says"
out="$(moved moved-strided-independent-16KiB --hint romio_ds_read=enable)" && fail "reading twice what is asked for counts as a success: $out"
contains "$out" "MOVES TOO MUCH"
contains "$out" "1 failure of Mercutio"

# Two builds of the library, which are one here.
library="$("$MERCUTIO" preload)"
out="$("$MERCUTIO" bench --mpi "$launcher" --io mercutio --against "$library" --dir "$scratch" --ranks 2 --bytes 64KiB --repetitions 1 \
  --patterns vector-1KiB 2> "$scratch/err")" || fail "bench --against ended with $?: $out"
grep -qE "of 2 cases are more than 3 % slower than with the other library" <<< "$out" || fail "nothing is compared: $out"
grep -qE "^vector-1KiB +read +[a-z]+-[0-9.]+/against +[0-9.]+ " <<< "$out" || fail "no row of the other library: $out"

# An access beyond the time limit is ended, and the row says so. No machine writes 32 MiB in a millisecond.
out="$("$MERCUTIO" bench --mpi "$launcher" --io mercutio --dir "$scratch" --ranks 2 --bytes 16MiB --full --repetitions 1 \
  --patterns lbmpi-original --time-limit 0.001 2> "$scratch/err")" && fail "a run that was ended early counts as a success: $out"
contains "$out" ">0.001"

# Wrong usage, and nothing to measure.
"$MERCUTIO" bench --dir "$scratch/none" > "$scratch/out" 2>&1 && fail "a missing directory is accepted"
"$MERCUTIO" bench --mpi "$scratch/none" --dir "$scratch" > "$scratch/out" 2>&1 && fail "no MPI, and still a success"
contains "$(cat "$scratch/out")" "there is no MPI to measure"
