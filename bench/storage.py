#!/usr/bin/env python3
"""Mercutio and the MPI's own I/O in turns on storage with caches, two nodes with a client each (tests/storage).

    bench/storage.py [--system nfs42] [--mpi mpich,openmpi] [--io build/lib/libmercutio.so] [--ranks 2] [--rounds 5] [--patterns a,b] [--stable] [--json FILE]

Where a system has a driver, Mercutio's files are the driver's, and the MPI's own are where the system is mounted.
Printed: the medians in MB/s and the ratio, for writing (synced) and reading, and on NFS which requests the clients made (medians, all nodes
together) and how long a WRITE took. One processor serves both nodes and the server in user-mode Linux, so that only ratios mean something.
--stable: the NFS server's disk is its memory, as in servers whose memory survives a power cut. The exit code is 1 where a byte was wrong.
"""
import argparse
import collections
import json
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
WAYS = ("write", "read")


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--system", default="nfs42", choices=list(SYSTEMS))
    p.add_argument("--mpi", default="mpich,openmpi")
    p.add_argument("--io", default=os.path.join(HERE, "..", "build", "lib", "libmercutio.so"))
    p.add_argument("--tools", default=os.path.join(HERE, "..", "build", "tests", "tools"), help="the folder of the test preloads")
    p.add_argument("--ranks", type=int, default=2)
    p.add_argument("--rounds", type=int, default=5, help="a round runs each once, after one that warms up")
    p.add_argument("--repetitions", type=int, default=2, help="of each pattern in a run")
    p.add_argument("--patterns", default="", help="of storage_patterns.c; none: all")
    p.add_argument("--stable", action="store_true")
    p.add_argument("--seconds", type=int, default=1500, help="that all of it may take")
    p.add_argument("--json", help="write the table here")
    p.add_argument("--inside", help=argparse.SUPPRESS)   # the folder with the programs
    return p.parse_args()


class Samples:
    """What the runs of one contender printed."""

    def __init__(self):
        self.rates, self.requests, self.wrong = collections.defaultdict(list), collections.defaultdict(list), False

    def add(self, text):
        for words in (line.split() for line in text.splitlines()):
            if words[:1] == ["#"] and len(words) == 6:
                self.requests[words[1], words[2], words[3]].append((int(words[4]), int(words[5])))
            elif len(words) > 2 and words[0] != "#":
                self.wrong |= "WRONG" in words
                for way, rate in zip(WAYS, words[1:]):
                    self.rates[words[0], way].append(float(rate))

    def rate(self, pattern, way):
        return statistics.median(self.rates[pattern, way]) if self.rates[pattern, way] else None

    def asked(self, pattern, way):
        found = {key[2]: int(statistics.median(count for count, _ in values)) for key, values in self.requests.items() if key[:2] == (pattern, way)}
        return ", ".join("%d %s" % (count, name) for name, count in sorted(found.items(), key=lambda one: -one[1])) or "-"

    def write_ms(self, pattern):
        values = self.requests.get((pattern, "write", "WRITE"))
        return statistics.median(ms / count for count, ms in values) if values else None


def one_run(args, nodes, mpi, io, words):
    """What the program printed. Where a launcher doesn't return, it is what was printed until then."""
    where = [rank * NODES // args.ranks for rank in range(args.ranks)]
    preload = ([os.path.abspath(io)] if io else []) + cluster.preloads(mpi, args.tools, on_nodes=True)
    with tempfile.TemporaryFile("w+") as output:
        try:
            subprocess.run(nodes.mpirun(mpi, where, ["env", "LD_PRELOAD=" + ":".join(preload)] + words), stdout=output, timeout=200)
        except subprocess.TimeoutExpired:
            print("# a run did not end", flush=True)
        output.seek(0)
        return output.read()


def compare(args, nodes, shared, mpi):
    """Rows of the table."""
    system, samples = SYSTEMS[args.system], {"host": Samples(), "mercutio": Samples()}
    for number in range(args.rounds + 1):
        for name, found in samples.items():
            prefix = (system.driver if ":" in system.driver else system.driver + ":") if system.driver and name == "mercutio" else ""
            for pattern in args.patterns.split(","):
                words = [os.path.join(args.inside, mpi), "%s%s/%s-%d" % (prefix, shared, name, number), str(args.repetitions if number > 0 else 1)]
                text = one_run(args, nodes, mpi, args.io if name == "mercutio" else "", words + ([pattern] if pattern else []))
                if number > 0:
                    found.add(text)
                    print("\n".join("%d %-9s %s" % (number, name, line) for line in text.splitlines() if line[:1] != "#"), flush=True)
    for pattern, way in samples["host"].rates:
        host, ours = (found.rate(pattern, way) for found in samples.values())
        if host is None or ours is None:
            continue
        row = {"mpi": mpi, "pattern": pattern, "way": way, "the MPI's own, MB/s": round(host, 2), "mercutio, MB/s": round(ours, 2), "ratio": round(ours / host, 2)}
        for name, found in samples.items():
            row["requests of " + ("the MPI's own" if name == "host" else name)] = found.asked(pattern, way)
        print("%-8s %-18s %-6s host %8.2f  mercutio %8.2f  ratio %6.2f" % (mpi, pattern, way, host, ours, ours / host))
        for name, found in samples.items():
            took = found.write_ms(pattern) if way == "write" else None
            print("    %-9s %s%s" % (name, found.asked(pattern, way), "; %.1f ms a WRITE" % took if took is not None else ""), flush=True)
        yield row
    if samples["mercutio"].wrong:
        raise ValueError("wrong bytes")


def measure(args):
    system = SYSTEMS[args.system]
    rows, code = [], 0
    folder = tempfile.mkdtemp(dir="/dev/shm") if args.stable else args.inside
    system.before_nodes(folder)
    os.environ.update(system.environment)
    with cluster.Cluster(NODES + 1) as nodes:
        shared = system.start(nodes, nodes.names[:NODES])
        try:
            for mpi in args.mpi.split(","):
                for row in compare(args, nodes, shared, mpi):
                    rows.append(row)
        except ValueError as error:
            print(error)
            code = 1
    with open(os.path.join(args.inside, "rows.json"), "w") as file:
        json.dump({"rows": rows}, file, indent=1)
    return code


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
    if args.json and os.path.exists(os.path.join(folder, "rows.json")):
        shutil.copyfile(os.path.join(folder, "rows.json"), args.json)
    shutil.rmtree(folder, ignore_errors=True)
    return 1 if code is None else code


if __name__ == "__main__":
    sys.exit(main())
