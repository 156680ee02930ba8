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

# An access beyond the time limit is ended, and the row says so. No machine writes 32 MiB in a millisecond.
out="$("$MERCUTIO" bench --mpi "$launcher" --io mercutio --dir "$scratch" --ranks 2 --bytes 16MiB --full --repetitions 1 \
  --patterns lbmpi-original --time-limit 0.001 2> "$scratch/err")" && fail "a run that was ended early counts as a success: $out"
contains "$out" ">0.001"

# Wrong usage, and nothing to measure.
"$MERCUTIO" bench --dir "$scratch/none" > "$scratch/out" 2>&1 && fail "a missing directory is accepted"
"$MERCUTIO" bench --mpi "$scratch/none" --dir "$scratch" > "$scratch/out" 2>&1 && fail "no MPI, and still a success"
contains "$(cat "$scratch/out")" "there is no MPI to measure"
