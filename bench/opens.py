#!/usr/bin/env python3
"""What it costs to open and close a file on a duplicate of MPI_COMM_WORLD: the MPI's own I/O and Mercutio in turns.

    bench/opens.py [--build build] [--dir DIRECTORY] [--ranks 2,4,8,32] [--rounds 50] [--repetitions 5] [--mpi mpich,openmpi] [--json FILE] [--check]

Medians, in milliseconds: time of a round, and processor time of all ranks together in a round. The first round is a row of its own, as
it makes what the following ones share. --check: exit code 1 where Mercutio's medians are more than 1.2 times the host's.
"""
import os
import sys
import tempfile

from in_turns import compiled, library_of, medians, parser, write_json

MOST = 1.2
NAMES = ("later time", "later processor time", "first time", "first processor time")


def parse_arguments():
    p = parser(__doc__, ranks="2,4,8,32", repetitions=5)
    p.add_argument("--rounds", type=int, default=50)
    return p.parse_args()


def main():
    args = parse_arguments()
    library = library_of(args)
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
    write_json(args, rows, rounds=args.rounds)
    return 1 if args.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
