#!/usr/bin/env bash
# mercutio report reads logs of Darshan by PyDarshan: its sums are the log's, its findings those of a trace, in every form. The logs are PyDarshan's
# examples. Without PyDarshan it says what is missing.
. "$(dirname "$0")/lib.sh"
root="$(cd "$(dirname "$0")/../.." && pwd)"
printf '3.41\0\0\0\0\x37\x35\x64\0\0\0\0\0rest' >"$scratch/none.darshan"
code=0
MERCUTIO_PYTHON=/nonexistent/python "$MERCUTIO" report "$scratch/none.darshan" 2>"$scratch/err" || code=$?
equals "$code" 1
for python in "${MERCUTIO_PYTHON:-}" python3 /usr/bin/python3 "$root/.venv/bin/python" ""; do
  [ -z "$python" ] || ! "$python" -c 'import darshan' 2>/dev/null || break
done
if [ -z "$python" ]; then
  contains "$("$MERCUTIO" report "$scratch/none.darshan" 2>&1 || true)" "pip install darshan"
  skip "there is no PyDarshan"
fi
export MERCUTIO_PYTHON="$python"
logs="$("$python" -c 'import darshan, os; print(os.path.dirname(darshan.__file__))')/examples/example_logs"
[ -d "$logs" ] || skip "PyDarshan has no example logs"
cd "$scratch"
contains "$("$MERCUTIO" report none.darshan 2>&1 || true)" "none.darshan: PyDarshan"
contains "$("$MERCUTIO" report "$logs/dxt.darshan" 2>&1 || true)" "the log has no records of MPI-IO"

# A program that writes small pieces through HDF5, and ROMIO that reads to write them.
macsio="$(echo "$logs"/shane_macsio*.darshan)"
text="$("$MERCUTIO" report "$macsio")"
contains "$text" "mercutio: macsio, 16 ranks, "
contains "$text" "from a Darshan 3.21 log"
contains "$text" "[small_writes]"
contains "$text" "[merged_writes]"
contains "$text" "H5FD_MPIO_COLLECTIVE"
lacks "$text" "node"

cat >compare.py <<'P'
import json, sys, warnings
warnings.simplefilter("ignore")
import darshan
log, job = sys.argv[1], json.load(open(sys.argv[2]))
report = darshan.DarshanReport(log, read_all=False)
report.mod_read_all_records("MPI-IO", dtype="dict")
report.mod_read_all_records("POSIX", dtype="dict")
assert job["ranks"] == report.metadata["job"]["nprocs"], job["ranks"]
ours = lambda *names: sum(file["totals"].get(name, 0) for file in job["files"] for name in names)
records = list(report.records["MPI-IO"])
known = {(record["id"], record["rank"]) for record in records}
theirs = lambda name: sum(int(record["counters"][name]) for record in records)
below = lambda name: sum(int(record["counters"][name]) for record in report.records["POSIX"] if (record["id"], record["rank"]) in known)
near = lambda mine, other: abs(mine - other) <= 0.01 * other + job["ranks"]   # a rank's share is a whole number
for mine, other in ((ours("independent_write.calls"), theirs("MPIIO_INDEP_WRITES")), (ours("collective_write.calls"), theirs("MPIIO_COLL_WRITES")),
                    (ours("independent_write.bytes", "collective_write.bytes"), theirs("MPIIO_BYTES_WRITTEN")),
                    (ours("independent_read.bytes", "collective_read.bytes"), theirs("MPIIO_BYTES_READ")),
                    (ours("opens"), theirs("MPIIO_INDEP_OPENS") + theirs("MPIIO_COLL_OPENS")), (ours("storage_write.bytes"), below("POSIX_BYTES_WRITTEN")),
                    (ours("storage_read.calls"), below("POSIX_READS")), (sum(file["files"] for file in job["files"]), len({id for id, _ in known}))):
    assert near(mine, other), (mine, other)
P
for log in "$macsio" "$logs/ior_hdf5_example.darshan" "$logs/example.darshan"; do
  "$MERCUTIO" report "$log" --json >job.json
  "$python" compare.py "$log" job.json || fail "the sums of $log are others"
done
contains "$("$MERCUTIO" report "$logs/ior_hdf5_example.darshan" --json)" '"file_system":"lustre","library":"hdf5"'
contains "$("$MERCUTIO" report "$logs/ior_hdf5_example.darshan" --stats)" "MPI-IO access counts for /global/cscratch1/sd/ssnyder/test123.h5"
contains "$("$MERCUTIO" report "$macsio" --csv)" "macsio_hdf5_000.h5"
if "$python" -c 'import jinja2, matplotlib' 2>/dev/null; then
  "$MERCUTIO" report "$macsio" -o page.html
  contains "$(cat page.html)" "macsio"
fi
