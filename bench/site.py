#!/usr/bin/env python3
"""What records of all jobs (MERCUTIO_SITE) cost: the patterns of `mercutio bench` with and without them, the size of a record, and how long
`mercutio jobs` takes for many of them.

    bench/site.py [--build build] [--dir DIRECTORY] [--repetitions 7] [--patterns LIST] [--bytes 4MiB] [--ranks 4] [--mpi mpirun.mpich]
                  [--records 10000] [--json FILE] [--check]

Runs with and without records take turns, in an order that changes with each repetition. The ratio of a pattern is that of the medians.
The spread is that of the patterns: two standard errors of the mean of their logarithms. The bars (--check: exit code 1 if one is missed):
0.5 % on the geometric mean, 100 KB for a record, 2 s for 10,000 records."""
import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from tracing import HERE, geometric_mean, patterns

MOST_RATIO, MOST_BYTES, MOST_SECONDS = 1.005, 100_000, 2.0


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    p.add_argument("--dir", default=".", help="the directory the data will be in")
    p.add_argument("--repetitions", type=int, default=7)
    p.add_argument("--patterns", help="cases, or beginnings of their names: vector,tile-64 (all)")
    p.add_argument("--bytes", default="4MiB", help="for each rank and case")
    p.add_argument("--ranks", type=int, default=4)
    p.add_argument("--mpi", default="mpirun.mpich" if shutil.which("mpirun.mpich") else "mpirun", help="the launcher")
    p.add_argument("--records", type=int, default=10000)
    p.add_argument("--json")
    p.add_argument("--check", action="store_true")
    return p.parse_args()


def asking(args, folder):
    """The median seconds of `mercutio jobs` for made-up records."""
    place = os.path.join(folder, "asked")
    subprocess.run([sys.executable, os.path.join(HERE, "..", "tests", "tools", "make_job_records.py"), place, str(args.records)], check=True)
    times = []
    for _ in range(5):
        begin = time.monotonic()
        subprocess.run([os.path.join(args.build, "bin", "mercutio"), "jobs", place], check=True, stdout=subprocess.DEVNULL)
        times.append(time.monotonic() - begin)
    return statistics.median(times)


def main():
    args = parse_arguments()
    args.dir = os.path.abspath(args.dir)
    folder = tempfile.mkdtemp(prefix="mercutio-site-")
    try:
        os.environ["MERCUTIO_SITE"] = os.path.join(folder, "records", "%p-%j")
        times = patterns(args, folder, "recorded")
        sizes = [entry.stat().st_size for entry in os.scandir(os.path.join(folder, "records"))]
        seconds = asking(args, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    ratios = [recorded / plain for plain, recorded in times.values()]
    mean = geometric_mean(ratios)
    error = 2 * statistics.stdev(map(math.log, ratios)) / math.sqrt(len(ratios)) if len(ratios) > 1 else math.inf
    for (case, operation), (plain, recorded) in times.items():
        print("%-32s %-8s %12.6f %12.6f %8.3f" % (case, operation, plain, recorded, recorded / plain))
    rows = [{"what": "time with records, geometric mean of %d cases" % len(ratios), "figure": round(mean, 4), "spread": "%.4f to %.4f" % (mean / math.exp(error), mean * math.exp(error)), "bar": MOST_RATIO},
            {"what": "bytes of the largest of %d records" % len(sizes), "figure": max(sizes), "spread": "", "bar": MOST_BYTES},
            {"what": "seconds to ask %d records" % args.records, "figure": round(seconds, 2), "spread": "", "bar": MOST_SECONDS}]
    for row in rows:
        print("%-52s %12s  %-18s (bar %s)" % (row["what"], row["figure"], row["spread"], row["bar"]))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"rows": [{name: str(value) for name, value in row.items()} for row in rows]}, file, indent=1)
    return args.check and any(row["figure"] > row["bar"] for row in rows)


if __name__ == "__main__":
    sys.exit(main())
