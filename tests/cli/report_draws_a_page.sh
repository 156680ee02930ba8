#!/usr/bin/env bash
# A made-up job of 200 ranks becomes a page that needs no network, and a Perfetto trace; two jobs can be compared. That of ranks
# that were joined says so.
. "$(dirname "$0")/lib.sh"
root="$(cd "$(dirname "$0")/../.." && pwd)"
python="$(python_for_reports)"
[ -n "$python" ] || skip "there is no Python with matplotlib and Jinja2"
cd "$scratch"
"$python" "$root/tests/report/synthetic.py" 200 >job.json
"$python" "$root/tests/report/synthetic.py" 64 >other.json
if "$python" -c 'import jsonschema' 2>/dev/null; then
  "$python" -c 'import json, jsonschema, sys; jsonschema.validate(*(json.load(open(name)) for name in sys.argv[1:]))' job.json "$root/docs/reference/report.schema.json"
fi
"$python" "$TEST_BUILD/share/mercutio/report/report.py" job.json --html page.html --compare other.json --perfetto job.perfetto
page="$(cat page.html)"
for part in "the other ranks wait for a late one" "Where the time went" "Rates over time and ranks" "The busiest ranks" "Load" "Sizes of accesses" \
            'href="#where-the-time-went"' 'id="where-the-time-went"' "job 4711" "./synthetic input" "2500 MB/s" "node000" \
            "runs of different numbers of ranks: 200 and 64" "synthetic, 64 ranks, 20" "out/field.nc" "<svg" "data:image/png;base64,"; do
  contains "$page" "$part"
done
# Names of programs are no formulas, and none is left out of the legend.
"$python" "$root/tests/report/synthetic.py" 8 >small.json
sed 's/"program": "synthetic"/"program": "_$a^$"/' small.json >named.json
"$python" "$TEST_BUILD/share/mercutio/report/report.py" small.json --html named.html --compare named.json
"$python" - <<'END' || fail "the legend of a comparison lacks a program"
import re
page = open("named.html", encoding="utf-8").read()
assert any("_$a^$, 8 ranks" in svg for svg in re.findall("<svg.*?</svg>", page, re.S))
END
for option in --html --perfetto; do   # as on a full disk
  code=0
  text="$(ulimit -f 8; "$python" "$TEST_BUILD/share/mercutio/report/report.py" small.json "$option" cut 2>&1)" || code=$?
  equals "$code" 1
  equals "$text" "mercutio report: cut: File too large"
  [ ! -e cut ] || fail "half a file is left"
  echo earlier >kept
  if (ulimit -f 8; "$python" "$TEST_BUILD/share/mercutio/report/report.py" small.json "$option" kept 2>/dev/null); then fail "a cut file is none"; fi
  equals "$(cat kept)" earlier
  equals "$(echo cut* kept*)" "cut* kept"
  ln -sf kept link
  "$python" "$TEST_BUILD/share/mercutio/report/report.py" small.json "$option" link
  [ -L link ] || fail "a link was replaced, and not what it leads to"
  { "$python" "$TEST_BUILD/share/mercutio/report/report.py" small.json "$option" /dev/stdout; echo behind; } >>stream
  equals "$(tail -c 7 stream)" behind
  equals "$(head -c -7 stream | cksum)" "$(cksum <kept)"
  rm stream
  mkfifo pipe
  cat pipe >piped &
  "$python" "$TEST_BUILD/share/mercutio/report/report.py" small.json "$option" pipe
  wait "$!"
  cmp piped kept || fail "a pipe got something else"
  rm pipe link
done
lacks "$page" 'src="http'
lacks "$page" '<link'
[ "$(stat -c %s page.html)" -lt 5000000 ] || fail "the page has $(stat -c %s page.html) bytes"
"$python" "$root/tests/report/synthetic.py" 120 5000 40 >many.json
"$python" "$TEST_BUILD/share/mercutio/report/report.py" many.json --html many.html --perfetto many.perfetto
contains "$(cat many.html)" "ranks, 3 a bar"
"$python" "$root/tests/report/synthetic.py" 12 5000 4 >joined.json
"$python" - <<'END'
import json
job = json.load(open("small.json"))
job["files"][0]["totals"]["collective_write.failed_calls"] = 1234
json.dump(job, open("failed.json", "w"))
job["files"], job["findings"], job["io_share"], job["failed_opens"]["opens"] = [], [], 0, 0
json.dump(job, open("none.json", "w"))
END
for name in small failed none; do "$python" "$TEST_BUILD/share/mercutio/report/report.py" "$name.json" --html "$name.html"; done
contains "$(cat failed.html)" " accesses, 1,234 failed, most of them of 'out/field.nc'."
lacks "$(cat small.html)" "failed, most of them"
contains "$(cat none.html)" "The program opened no file through MPI-IO: there is nothing to report."
lacks "$(cat none.html)" "nothing to gain"
lacks "$(cat small.html)" "opened no file"
sed 's/"finished": true/"finished": false/g' joined.json >cut.json
"$python" "$TEST_BUILD/share/mercutio/report/report.py" cut.json --html cut.html
contains "$(cat cut.html)" "or was cut short"
lacks "$(cat cut.html)" "ranks left nothing"
[ "$(stat -c %s many.html)" -lt 2000000 ] || fail "the page of joined ranks has $(stat -c %s many.html) bytes"
"$python" - <<'END'
import json
events = json.load(open("job.perfetto"))["traceEvents"]
assert sum(event["ph"] == "X" for event in events) > 1000
assert any(event.get("cat") == "storage_write" and round(event["dur"]) == 90000 for event in events)
END
# Ranks whose clock is wrong are drawn where the others are.
"$python" - "$TEST_BUILD/share/mercutio/report" <<'END'
import copy, json, sys
sys.path.insert(0, sys.argv[1])
from mercutio_report import charts
from mercutio_report.job import Job
right = Job(json.load(open("job.json")))
wrong = Job(copy.deepcopy(right.data))
for trace in wrong.traces[:20]:
    trace["wall_start_ns"] += 3600 * 10**9
drawn = [charts.heat_matrix(job, 2, max(trace["bin_ns"] for trace in job.traces), job.shifts_ns()) for job in (right, wrong)]
assert (drawn[0] != drawn[1]).mean() < 0.01, drawn
assert {event["start"] < right.seconds for _, event in wrong.events()} == {True}
# Rows are of as many ranks each, however many have become one trace: 4 traces of 1, 7, 2 and 2 ranks are 4 rows of 3.
few = Job(json.load(open("joined.json")))
few.members, few.known_ranks = [1, 7, 2, 2], 12
assert charts.ranks_of_row(few) == 3 and charts.ranks_label(few) == "ranks, 3 a bar"
assert abs(charts.by_row(few, [10, 70, 2, 4]) - [30, 30, 21, 5]).max() < 1e-9, charts.by_row(few, [10, 70, 2, 4])
drawn = charts.heat_matrix(few, 2, few.traces[0]["bin_ns"], few.shifts_ns())
wrote = [sum(row[2] for row in trace["bins"]) for trace in few.traces]
assert abs(drawn.sum(axis=1) / charts.by_row(few, wrote) - 1).max() < 1e-9, drawn.sum(axis=1)
END
