#!/usr/bin/env python3
"""What records of all jobs (MERCUTIO_SITE) cost: the patterns of `mercutio bench` with and without them (overhead.py), the size of a record,
and how long `mercutio jobs` takes for many of them.

    bench/site.py [--build build] [--dir DIRECTORY] [--repetitions 7] [--patterns LIST] [--bytes 4MiB] [--ranks 4] [--mpi mpirun.mpich]
                  [--records 10000] [--json FILE] [--check]

With --json the rows of other MPIs in that file stay.

The bars (--check: exit code 1 if one is missed): 0.5 % on the geometric mean, 100 KB for a record, 2 s for 10,000 records."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import overhead

MOST_RATIO, MOST_BYTES, MOST_SECONDS = 1.005, 100_000, 2.0


def asking(args, folder):
    """The median seconds of `mercutio jobs` for made-up records."""
    place = os.path.join(folder, "asked")
    subprocess.run([sys.executable, os.path.join(overhead.HERE, "..", "tests", "tools", "make_job_records.py"), place, str(args.records)], check=True)
    times = []
    for _ in range(5):
        begin = time.monotonic()
        subprocess.run([os.path.join(args.build, "bin", "mercutio"), "jobs", place], check=True, stdout=subprocess.DEVNULL)
        times.append(time.monotonic() - begin)
    return statistics.median(times)


def main():
    parser = overhead.parser(__doc__, 7, "4MiB")
    parser.add_argument("--records", type=int, default=10000)
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="mercutio-site-")
    try:
        os.environ["MERCUTIO_SITE"] = os.path.join(folder, "records", "%p-%j")
        cost = overhead.Cost(overhead.measure(args, folder, "recorded"))
        sizes = [entry.stat().st_size for entry in os.scandir(os.path.join(folder, "records"))]
        seconds = asking(args, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rows = [{"what": "time with records, geometric mean of %d cases" % cost.cases, "figure": round(cost.mean, 4), "spread": "%s, median %.4f" % (cost.spread, cost.median), "bar": MOST_RATIO},
            {"what": "bytes of the largest of %d records" % len(sizes), "figure": max(sizes), "spread": "", "bar": MOST_BYTES},
            {"what": "seconds to ask %d records" % args.records, "figure": round(seconds, 2), "spread": "", "bar": MOST_SECONDS}]
    mpi = "Open MPI" if "openmpi" in args.mpi else "MPICH" if "mpich" in args.mpi else os.path.basename(args.mpi)
    for row in rows:
        print("%-52s %12s  %-18s (bar %s)" % (row["what"], row["figure"], row["spread"], row["bar"]))
    if args.json:
        kept = []
        if os.path.exists(args.json):
            with open(args.json, encoding="utf-8") as file:
                kept = [row for row in json.load(file)["rows"] if row["MPI"] != mpi]
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"rows": kept + [dict(MPI=mpi, **{name: str(value) for name, value in row.items()}) for row in rows]}, file, indent=1)
    return args.check and any(row["figure"] > row["bar"] for row in rows)


if __name__ == "__main__":
    sys.exit(main())
