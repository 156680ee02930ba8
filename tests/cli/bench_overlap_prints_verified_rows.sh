#!/usr/bin/env bash
# A tiny `mercutio bench overlap` measures the host and Mercutio in a call of each kind, checks every byte, and prints rows,
# postings and bars; the same as JSON.
source "$(dirname "$0")/lib.sh"
launcher="$(command -v mpirun.mpich || command -v mpirun.openmpi)" || skip "no MPI"
command -v "${launcher/mpirun/mpicc}" > /dev/null || skip "no mpicc beside the launcher"

data="$scratch/data"   # in memory where there is some: every write is followed by a sync
mkdir "$data"
if [ -w /dev/shm ]; then
  data="$(mktemp -d /dev/shm/mercutio-test.XXXXXX)"
  trap 'rm -rf "$scratch" "$data"' EXIT
fi

calls=iwrite_all,read_all_begin,iread_shared
out="$("$MERCUTIO" bench overlap --mpi "$launcher" --dir "$data" --bytes 64KiB --rate 16MB --stripe 16KiB --repetitions 1 \
  --calls "$calls" --posting-ranks 2 --json "$scratch/table.json" 2> "$scratch/err")" || fail "bench overlap ended with $?: $out"
contains "$out" "2 servers of 16 MB/s each"
contains "$out" "0 failures of Mercutio"
lacks "$out" "WRONG DATA"
for io in host mercutio; do
  for case in "iwrite_all +contiguous" "iwrite_all +interleaved" "read_all_begin/end +interleaved" "iread_shared +contiguous"; do
    grep -qE "^$case +[a-z]+-[0-9.]+/$io( +[0-9.-]+){9}" <<< "$out" || fail "no row for $case $io: $out"
  done
done
grep -qE "^ +iwrite_all interleaved 65536 bytes a rank: posting .* us " <<< "$out" || fail "no bar for posting: $out"
python3 - "$scratch/table.json" <<'PY' || fail "the JSON is not what the table says"
import json, sys
table = json.load(open(sys.argv[1]))
rows, bars = table["rows"], table["bars"]
assert len(rows) == 10, len(rows)
for row in rows:
    assert row["wrong"] == 0 and row["bytes"] == 2 * 65536 and row["samples"] == 1
    assert row["both_s"] > 0 and abs(row["total"] - row["both_s"] / max(row["io_s"], row["compute_s"])) < 1e-6
    # Servers of 2 * 16 MB/s can't take 128 KiB in less than 4 ms.
    assert row["io_s"] > 0.0039, row
    assert (row["tested_s"] is None) == ("begin" in row["call"])
assert all(row["wrong"] == 0 for row in table["postings"]) and len(table["postings"]) == 16
assert [bar["met"] for bar in bars] == [bar["measured"] <= bar["limit"] for bar in bars] and bars
PY
[ -z "$(ls -d "$data"/mercutio-bench.* 2> /dev/null)" ] || fail "bench overlap left its data behind"

# Wrong usage, and a call that does not exist.
"$MERCUTIO" bench overlap --dir "$scratch" --bytes 1 > "$scratch/out" 2>&1 && fail "one byte is accepted"
"$MERCUTIO" bench overlap --mpi "$launcher" --io host --dir "$scratch" --calls nonsense > "$scratch/out" 2>&1 && fail "no call, and still a success"
contains "$(cat "$scratch/out")" "there is no call 'nonsense'"
