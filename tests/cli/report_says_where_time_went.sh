#!/usr/bin/env bash
# run --report and --trace with a real program: the verdict, the trace and its other forms; a killed job leaves its pieces.
. "$(dirname "$0")/lib.sh"
launcher="" program=""
for mpi in mpich openmpi; do
  [ -x "$TEST_BUILD/tests/apps/bad.$mpi" ] && command -v "mpirun.$mpi" >/dev/null && launcher="mpirun.$mpi" program="$TEST_BUILD/tests/apps/bad.$mpi" && break
done
[ -n "$launcher" ] || skip "no MPI program was built"
[ "$launcher" != mpirun.mpich ] || export LD_PRELOAD="$TEST_BUILD/tests/tools/libmpich_yield.so"
mapfile -t flags < <(launch_flags "$launcher")
root="$(cd "$(dirname "$0")/../.." && pwd)"
cd "$scratch"
run() { timeout 60 "$MERCUTIO" run "${options[@]}" -- "$launcher" "${flags[@]}" "$program" "$@"; }

options=(--report)
for _ in 1 2 3; do   # a rank that is late by seconds makes all else cheap
  run same_data_read data >out 2>err
  ! grep -q "\[same_data_read\]" err || break
done
contains "$(cat err)" "2 ranks on 1 node"
contains "$(cat err)" "every rank reads the same data [same_data_read]"
lacks "$(cat out)" mercutio
[ ! -e bad.pieces ] || fail "a report alone leaves files behind"

# Reads of 64 bytes in every 64 KiB: with their holes because a hint says so, and without it.
for _ in 1 2 3 4 5; do   # where others have the cores, ten thousand small reads are estimated to cost more than their holes
  run amplified_reads data >out 2>err
  ! grep -q "drop romio_ds_read=enable" err || break
done
contains "$(cat err)" "storage reads more than is asked for [amplified_reads]"
contains "$(cat err)" "of it holes between pieces"
contains "$(cat err)" "drop romio_ds_read=enable"
lacks "$(cat err)" "nothing stands out"
run amplified_reads data 1 >out 2>err
lacks "$(cat err)" "[amplified_reads]"

options=(--trace)   # the file is called after the program
run small_writes data >out 2>err
lacks "$(cat out err)" "mercutio:"
trace="$(echo ./*.mtrace)"
contains "$("$MERCUTIO" report "$trace" --json --events 0)" '"small_writes"'
equals "$("$MERCUTIO" report "$trace" --json --events 1 | grep -o '"events":\[\["' | wc -l)" 1   # though opens and closes are in all samples
[ ! -e "$trace.pieces" ] || fail "pieces are left behind"

# Bytes that are no text appear alike in all forms.
options=(--trace=bytes.mtrace --report=bytes.txt)
run small_writes $'bad\xff\xfe.dat' >out 2>err
contains "$(cat bytes.txt)" 'bad\xff\xfe.dat: '
contains "$("$MERCUTIO" report bytes.mtrace --csv)" ',"bad\xff\xfe.dat",'
contains "$("$MERCUTIO" report bytes.mtrace --stats)" 'bad\xff\xfe.dat'
contains "$("$MERCUTIO" report bytes.mtrace --json)" '"name":"bad\\xff\\xfe.dat"'
contains "$("$MERCUTIO" report bytes.mtrace --json)" '   bad\\xff\\xfe.dat: '   # in the verdict
if [ -n "$(python_for_reports)" ]; then
  "$MERCUTIO" report bytes.mtrace -o bytes.html
  contains "$(cat bytes.html)" '<h3>bad\xff\xfe.dat</h3>'
fi

# A name that is no text, with a control of terminals, and one whose end begins in the middle of a character.
long="$scratch/$(printf 'ü%.0s' {1..100})"
mkdir "$long"
for name in $'odd\e[2J\x9b\xff' "$long/$(printf 'a%.0s' {1..85})" "$long/$(printf 'a%.0s' {1..86})"; do
  options=(--trace=odd.mtrace --report=odd.txt)
  run small_writes "$name" >out 2>err
  { cat odd.txt; "$MERCUTIO" report odd.mtrace --stats; "$MERCUTIO" report odd.mtrace --csv; "$MERCUTIO" explain --trace odd.mtrace; } >out
  lacks "$(cat out)" $'\e'
  "$MERCUTIO" report odd.mtrace --json >odd.json
  python3 -c 'import json; [open("out", encoding="utf-8").read(), json.load(open("odd.json", encoding="utf-8"))]' || fail "what is said of $name is no text"
done

options=(--trace=here.mtrace --report=here.txt)
run strided_reads data >out 2>err
equals "$(cat here.txt)" "$("$MERCUTIO" report here.mtrace)"
equals "$("$MERCUTIO" report here.mtrace --csv | wc -l)" 3
stats="$("$MERCUTIO" report here.mtrace --stats)"
contains "$stats" "| MPI-IO access counts for data"
contains "$stats" "independent reads          = 20"
contains "$stats" "collective writes          = 2"
"$MERCUTIO" report here.mtrace --json >here.json
if /usr/bin/python3 -c 'import jsonschema' 2>/dev/null; then
  /usr/bin/python3 -c 'import json, jsonschema, sys; jsonschema.validate(*(json.load(open(name)) for name in sys.argv[1:]))' here.json "$root/docs/reference/report.schema.json"
fi
python3 - here.json <<'END' || fail "the JSON is not what it should be"
import json, sys
job = json.load(open(sys.argv[1]))
totals = job["files"][0]["totals"]
assert job["run"]["command"].endswith("strided_reads data") and job["run"]["mercutio"] and job["run"]["mpi"], job["run"]
assert job["run"]["user"] and job["run"]["directory"], job["run"]
assert job["rates"]["read"] > 0 and len(job["host_names"]) == 1
assert job["ranks"] == 2 and job["finished"] and len(job["rank_traces"]) == 2
assert totals["independent_read.calls"] == 20, totals
assert any(text["kind"] == "hints" and "romio_ds_read" in text["text"] for text in job["files"][0]["texts"])
for trace in job["rank_traces"]:
    assert any(event[1] == "MPI_File_read" for event in trace["events"])
    assert sum(row[0] for row in trace["bins"]) > 0
parts = {key: value for key, value in totals.items() if key.startswith("collective_write.phase_ns.")}
assert 0 < sum(parts.values()) <= totals["collective_write.ns"], parts
END

# Killed with SIGKILL in the middle, as it wouldn't end for long: what it did until then is there.
options=(--trace=killed.mtrace)
BAD_SCALE=1000 run straggler data.$$ >out 2>err &
runner=$!
until [ -n "$(ls killed.mtrace.pieces 2>/dev/null)" ] && [ -s data.$$ ] && "$MERCUTIO" report killed.mtrace --csv >early 2>/dev/null && [ "$(wc -l <early)" -ge 3 ]; do
  kill -0 "$runner" 2>/dev/null || fail "the job ended before it could be killed: $(cat err)"
  sleep 0.05
done
equals "$(ls killed.mtrace.pieces | wc -l)" 1   # a node has one file
ranks="$(pgrep -f "^$program straggler data.$$")" || fail "no rank was found to kill"
for rank in $ranks; do kill -9 "$rank" 2>/dev/null || true; done   # the launcher may end the second when the first is killed
wait "$runner" && fail "the job was not killed"
contains "$("$MERCUTIO" report killed.mtrace)" "cut short"
contains "$("$MERCUTIO" report killed.mtrace --csv)" "\"data.$$\""

code=0
"$MERCUTIO" report nothing >out 2>err || code=$?
equals "$code" 1
contains "$(cat err)" "a trace is made by: mercutio run --trace=nothing"
