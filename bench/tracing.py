#!/usr/bin/env python3
"""What a trace costs: the patterns of `mercutio bench` on Mercutio with and without MERCUTIO_TRACE (overhead.py), and the memory of a rank.

    bench/tracing.py [--build build] [--dir DIRECTORY] [--repetitions 5] [--patterns LIST] [--bytes 16MiB] [--ranks 4] [--mpi mpirun.mpich]
                     [--accesses 1000000] [--json FILE] [--check]

The memory is the most that a process had after that number of accesses of 64 bytes, less what it had without a trace. The bars (--check: exit
code 1 if one is missed): 2 % on the patterns' geometric mean, 16 MiB.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import overhead

MOST_RATIO, MOST_MIB = 1.02, 16


def memory(args, folder):
    """(KiB, seconds) of the accesses, without and with a trace."""
    beside = os.path.join(os.path.dirname(shutil.which(args.mpi) or args.mpi), os.path.basename(args.mpi).replace("mpirun", "mpicc").replace("mpiexec", "mpicc"))
    program = os.path.join(folder, "tracing_memory")
    subprocess.run([beside, "-O2", "-o", program, os.path.join(overhead.HERE, "tracing_memory.c")], check=True)
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
    parser = overhead.parser(__doc__, 5, "16MiB")
    parser.add_argument("--accesses", type=int, default=1000000, help="for the memory; 0: not measured")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="mercutio-tracing-")
    result, missed = {}, []
    try:
        times = overhead.measure(args, folder, "traced")
        cost = overhead.Cost(times)
        print("geometric mean of %d cases %.4f (%s), median %.4f (bar %.2f)" % (cost.cases, cost.mean, cost.spread, cost.median, MOST_RATIO))
        missed += ["patterns"] if cost.mean > MOST_RATIO else []
        result.update(mean=cost.mean, median=cost.median, cases=[dict(case=case, op=op, seconds=plain, traced=traced) for (case, op), (plain, traced) in times.items()])
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
