#!/usr/bin/env python3
"""Mercutio and the MPI's own I/O in turns on storage with caches, two nodes with a client each (tests/storage).

    bench/storage.py [--system nfs42] [--mpi mpich,openmpi] [--io build/lib/libmercutio.so] [--ranks 2] [--rounds 5]

Where a system has a driver, Mercutio's files are the driver's, and the MPI's own are where the system is mounted.
Printed: the medians in MB/s and the ratio, for writing (synced) and reading. One processor serves both nodes and the server in
user-mode Linux, so that only ratios mean something. The exit code is 1 where a byte was wrong.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.join(HERE, "..", "tests")
sys.path[:0] = [os.path.join(TESTS, "storage"), os.path.join(TESTS, "nodes")]
import cluster  # noqa: E402
import uml  # noqa: E402
from systems import SYSTEMS  # noqa: E402

NODES = 2


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--system", default="nfs42", choices=list(SYSTEMS))
    p.add_argument("--mpi", default="mpich,openmpi")
    p.add_argument("--io", default=os.path.join(HERE, "..", "build", "lib", "libmercutio.so"))
    p.add_argument("--ranks", type=int, default=2)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=int, default=1500, help="that all of it may take")
    p.add_argument("--inside", help=argparse.SUPPRESS)   # the folder with the programs
    return p.parse_args()


def one_run(nodes, mpi, ranks, io, words):
    """{pattern: (written, read)} in MB/s, and whether a byte was wrong."""
    where = [rank * NODES // ranks for rank in range(ranks)]
    preload = ["env", "LD_PRELOAD=" + io] if io else []
    done = subprocess.run(nodes.mpirun(mpi, where, preload + words), stdout=subprocess.PIPE, text=True, timeout=200)
    rows = [line.split() for line in done.stdout.splitlines()]
    return {row[0]: (float(row[1]), float(row[2])) for row in rows if len(row) > 2}, "WRONG" in done.stdout


def measure(args):
    system = SYSTEMS[args.system]
    system.before_nodes(args.inside)
    os.environ.update(system.environment)
    bad = False
    with cluster.Cluster(NODES + 1) as nodes:
        shared = system.start(nodes, nodes.names[:NODES])
        for mpi in args.mpi.split(","):
            results = {"host": [], "mercutio": []}
            for number in range(args.rounds + 1):
                for name in results:
                    prefix = system.driver + ":" if system.driver and name == "mercutio" else ""
                    words = [os.path.join(args.inside, mpi), "%s%s/%s-%d" % (prefix, shared, name, number)]
                    found, wrong = one_run(nodes, mpi, args.ranks, os.path.abspath(args.io) if name == "mercutio" else "", words)
                    bad |= wrong and name == "mercutio"
                    if number > 0:   # the first one warms up
                        results[name].append(found)
            for pattern in results["host"][0]:
                for way, label in enumerate(("write", "read")):
                    host, ours = (statistics.median(run[pattern][way] for run in results[name] if pattern in run) for name in results)
                    print("%-8s %-18s %-6s host %8.1f  mercutio %8.1f  ratio %6.2f" % (mpi, pattern, label, host, ours, ours / host), flush=True)
    return 1 if bad else 0


def main():
    args = parse_arguments()
    if args.inside:
        return measure(args)
    folder = tempfile.mkdtemp(prefix="mercutio-storage-")
    for mpi in args.mpi.split(","):
        subprocess.run(["mpicc." + mpi, "-O2", "-o", os.path.join(folder, mpi), os.path.join(HERE, "storage_patterns.c")], check=True)
    if SYSTEMS[args.system].needs_uml:
        code = uml.run([sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--inside", folder], folder, args.seconds)
    else:
        args.inside = folder
        code = measure(args)
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if code is None else code


if __name__ == "__main__":
    sys.exit(main())
