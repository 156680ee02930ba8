"""What a mode of Mercutio costs: the patterns of `mercutio bench` with and without it. For tracing.py and site.py.

Runs with and without it take turns, in an order that changes with each repetition. The ratio of a pattern is that of the medians, so it
holds on a busy machine, too, with enough repetitions. The spread of the geometric mean is that of the patterns: two standard errors of the
mean of their logarithms. Patterns of under a millisecond, and ranks that wait for a core, make it wide."""
import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def parser(doc, repetitions, size):
    p = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    p.add_argument("--dir", default=".", type=os.path.abspath, help="the directory the data will be in")
    p.add_argument("--repetitions", type=int, default=repetitions)
    p.add_argument("--patterns", help="cases, or beginnings of their names: vector,tile-64 (all)")
    p.add_argument("--bytes", default=size, help="for each rank and case")
    p.add_argument("--ranks", type=int, default=4)
    p.add_argument("--mpi", default="mpirun.mpich" if shutil.which("mpirun.mpich") else "mpirun", help="the launcher")
    p.add_argument("--json")
    p.add_argument("--check", action="store_true")
    return p


def measure(args, folder, mode):
    """{(case, operation): (seconds without, seconds with)} of the runs that `mercutio bench --io` calls `mode`."""
    table = os.path.join(folder, "bench.json")
    line = [os.path.join(args.build, "bin", "mercutio"), "bench", "--dir", args.dir, "--ranks", str(args.ranks), "--bytes", args.bytes, "--repetitions",
            str(args.repetitions), "--mpi", args.mpi, "--io", "mercutio", "--io", mode, "--json", table]
    job = subprocess.run(line + (["--patterns", args.patterns] if args.patterns else []), stdout=subprocess.PIPE, text=True)
    if job.returncode != 0 or not os.path.exists(table):
        sys.exit("mercutio bench: %s" % job.stdout[-2000:])
    seconds = {}
    with open(table) as file:
        for row in json.load(file)["rows"]:
            seconds.setdefault((row["case"], row["op"]), {})[row["io"]] = row["total_s"]
    times = {key: (both["mercutio"], both[mode]) for key, both in seconds.items() if len(both) == 2 and min(both.values()) > 0}
    print("%-32s %-8s %12s %12s %8s" % ("case", "", "seconds", mode, "ratio"))
    for (case, operation), (plain, other) in times.items():
        print("%-32s %-8s %12.6f %12.6f %8.3f" % (case, operation, plain, other, other / plain))
    return times


class Cost:
    """The geometric mean of the ratios, and from where to where it may lie."""

    def __init__(self, times):
        logarithms = [math.log(other / plain) for plain, other in times.values()] or [0.0]
        error = 2 * statistics.stdev(logarithms) / math.sqrt(len(logarithms)) if len(logarithms) > 1 else math.inf
        centre = statistics.mean(logarithms)
        self.cases, self.mean, self.median = len(times), math.exp(centre), math.exp(statistics.median(logarithms))
        self.spread = "%.4f to %.4f" % (math.exp(centre - error), math.exp(centre + error))
