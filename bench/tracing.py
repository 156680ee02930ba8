#!/usr/bin/env python3
"""What a trace costs: the patterns of `mercutio bench` on Mercutio with and without MERCUTIO_TRACE, and the memory of a rank.

    bench/tracing.py [--build build] [--dir DIRECTORY] [--repetitions 5] [--patterns LIST] [--bytes 16MiB] [--ranks 4] [--mpi mpirun.mpich]
                     [--accesses 1000000] [--json FILE] [--check]

Both take turns within one run, in an order that changes with each repetition; the ratios are of medians in that run, so they hold on a
busy machine, too, with enough repetitions. The memory is the most that a process had after so many accesses of 64 bytes, less
what it had without a trace. The bars (--check: exit code 1 if one is missed): 2 % on the patterns' geometric mean, 16 MiB.
"""
import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_RATIO, MOST_MIB = 1.02, 16


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    p.add_argument("--dir", default=".", help="the directory the data will be in")
    p.add_argument("--repetitions", type=int, default=5)
    p.add_argument("--patterns", help="cases, or beginnings of their names: vector,tile-64 (all)")
    p.add_argument("--bytes", default="16MiB", help="for each rank and case")
    p.add_argument("--ranks", type=int, default=4)
    p.add_argument("--mpi", default="mpirun.mpich" if shutil.which("mpirun.mpich") else "mpirun", help="the launcher")
    p.add_argument("--accesses", type=int, default=1000000, help="for the memory; 0: not measured")
    p.add_argument("--json")
    p.add_argument("--check", action="store_true")
    return p.parse_args()


def patterns(args, folder, other="traced"):
    """(case, operation) -> (seconds without, seconds with a trace, or with records of jobs)."""
    table = os.path.join(folder, "bench.json")
    line = [os.path.join(args.build, "bin", "mercutio"), "bench", "--dir", args.dir, "--ranks", str(args.ranks), "--bytes", args.bytes, "--repetitions",
            str(args.repetitions), "--mpi", args.mpi, "--io", "mercutio", "--io", other, "--json", table]
    job = subprocess.run(line + (["--patterns", args.patterns] if args.patterns else []), stdout=subprocess.PIPE, text=True)
    if job.returncode != 0 or not os.path.exists(table):
        sys.exit("mercutio bench: %s" % job.stdout[-2000:])
    seconds = {}
    with open(table) as file:
        for row in json.load(file)["rows"]:
            seconds.setdefault((row["case"], row["op"]), {})[row["io"]] = row["total_s"]
    return {key: (both["mercutio"], both[other]) for key, both in seconds.items() if len(both) == 2 and min(both.values()) > 0}


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values)) if values else 1.0


def memory(args, folder):
    """(KiB, seconds) of the accesses, without and with a trace."""
    beside = os.path.join(os.path.dirname(shutil.which(args.mpi) or args.mpi), os.path.basename(args.mpi).replace("mpirun", "mpicc").replace("mpiexec", "mpicc"))
    program = os.path.join(folder, "tracing_memory")
    subprocess.run([beside, "-O2", "-o", program, os.path.join(HERE, "tracing_memory.c")], check=True)
    tool = os.path.join(args.build, "bin", "mercutio")
    data = tempfile.mkdtemp(prefix="mercutio-tracing-", dir=args.dir)
    environment = dict(os.environ, MPIR_CVAR_CH4_PROGRESS_THROTTLE="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    out = []
    try:
        for extra in ([], ["--trace=" + os.path.join(folder, "memory.mtrace")]):
            line = [tool, "run", *extra, "--", args.mpi, "-n", "2", program, os.path.join(data, "file"), str(args.accesses)]
            job = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
            found = re.search(r"peak_kib (\d+) seconds ([\d.]+)", job.stdout)
            if not found:
                sys.exit("%s: %s" % (" ".join(line), job.stdout[-2000:]))
            out.append((int(found.group(1)), float(found.group(2))))
    finally:
        shutil.rmtree(data, ignore_errors=True)
    return out


def main():
    args = parse_arguments()
    args.dir = os.path.abspath(args.dir)
    folder = tempfile.mkdtemp(prefix="mercutio-tracing-")
    result, missed = {}, []
    try:
        times = patterns(args, folder)
        print("%-32s %-8s %12s %12s %8s" % ("case", "", "seconds", "traced", "ratio"))
        for (case, operation), (plain, traced) in times.items():
            print("%-32s %-8s %12.6f %12.6f %8.3f" % (case, operation, plain, traced, traced / plain))
        ratios = [traced / plain for plain, traced in times.values()]
        mean, middle = geometric_mean(ratios), sorted(ratios)[len(ratios) // 2] if ratios else 1.0
        print("geometric mean of %d cases %.4f, median %.4f (bar %.2f)" % (len(ratios), mean, middle, MOST_RATIO))
        missed += ["patterns"] if mean > MOST_RATIO else []
        result.update(mean=mean, median=middle, cases=[dict(case=case, op=op, seconds=plain, traced=traced) for (case, op), (plain, traced) in times.items()])
        if args.accesses > 0:
            (plain_kib, plain_s), (traced_kib, traced_s) = memory(args, folder)
            more = (traced_kib - plain_kib) / 1024
            print("%d accesses of 64 bytes: %.1f MiB more with a trace (bar %d), %.2f us a call, %.2f us with it"
                  % (args.accesses, more, MOST_MIB, 1e6 * plain_s / args.accesses, 1e6 * traced_s / args.accesses))
            missed += ["memory"] if more > MOST_MIB else []
            result.update(accesses=args.accesses, mib=more, seconds=plain_s, traced_seconds=traced_s)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(result, file, indent=1)
    if missed:
        print("missed: " + ", ".join(missed))
    return 1 if args.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
