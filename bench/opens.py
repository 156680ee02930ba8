#!/usr/bin/env python3
"""What it costs to open and close a file on a duplicate of MPI_COMM_WORLD: the MPI's own I/O and Mercutio in turns.

    bench/opens.py [--build build] [--dir DIRECTORY] [--ranks 2,4,8,32] [--rounds 50] [--repetitions 5] [--mpi mpich,openmpi] [--json FILE] [--check]

Medians, in milliseconds: time of a round, and processor time of all ranks together in a round. The first round is a row of its own, as
it makes what the following ones share. --check: exit code 1 where Mercutio's medians are more than 1.2 times the host's.
"""
import argparse
import json
import os
import sys
import tempfile

from in_turns import HERE, compiled, medians

MOST = 1.2
NAMES = ("later time", "later processor time", "first time", "first processor time")


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    p.add_argument("--dir", default="/dev/shm")
    p.add_argument("--ranks", default="2,4,8,32")
    p.add_argument("--rounds", type=int, default=50)
    p.add_argument("--repetitions", type=int, default=5)
    p.add_argument("--mpi", default="mpich,openmpi")
    p.add_argument("--json")
    p.add_argument("--check", action="store_true")
    return p.parse_args()


def main():
    args = parse_arguments()
    library = os.path.realpath(os.path.join(args.build, "lib", "libmercutio.so"))
    rows, missed = [], False
    print("%-8s %5s  %-22s %10s %10s %7s" % ("MPI", "ranks", "median of a round, ms", "host", "Mercutio", "ratio"))
    with tempfile.TemporaryDirectory(dir=args.dir) as folder:
        for mpi in args.mpi.split(","):
            program = compiled(mpi, "opens.c", folder)
            for ranks in map(int, args.ranks.split(",")):
                command = [program, os.path.join(folder, "file"), str(args.rounds)]
                for name, seconds in zip(NAMES, medians(mpi, ranks, command, library, args.repetitions)):
                    host, ours = (1000 * value for value in seconds)
                    rows.append({"mpi": mpi, "ranks": ranks, "what": name, "host_ms": host, "mercutio_ms": ours, "ratio": ours / host if host else 0})
                    missed = missed or ours > MOST * host
                    print("%-8s %5d  %-22s %10.3f %10.3f %7.2f" % (mpi, ranks, name, host, ours, rows[-1]["ratio"]), flush=True)
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"rows": rows, "rounds": args.rounds, "repetitions": args.repetitions}, file, indent=1)
    return 1 if args.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
