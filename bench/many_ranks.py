#!/usr/bin/env python3
"""What small operations cost with many ranks on one node: the MPI's own I/O and Mercutio in turns.

    bench/many_ranks.py [--build build] [--dir DIRECTORY] [--ranks 4,64,128] [--calls 100] [--repetitions 3] [--mpi mpich,openmpi] [--json FILE] [--check]

Medians of a rank and call: voluntary context switches, and processor time in microseconds. --check: exit code 1 where a collective
access of 64 ranks has more than 3 switches, or where sync or iwrite_at_all take more than twice the host's processor time.
"""
import os
import sys
import tempfile

from in_turns import compiled, library_of, medians, parser, write_json

OPERATIONS = ("write", "read", "iwrite", "sync")
MOST_SWITCHES, MOST_TIMES = 3, 2


def parse_arguments():
    p = parser(__doc__, ranks="4,64,128", repetitions=3)
    p.add_argument("--calls", type=int, default=100)
    return p.parse_args()


def misses(row):
    if row["what"] in ("write", "read"):
        return row["ranks"] == 64 and row["switches"] > MOST_SWITCHES
    return row["us"] > MOST_TIMES * row["host_us"]


def main():
    args = parse_arguments()
    library = library_of(args)
    rows = []
    print("%-8s %5s  %-7s %26s   %26s" % ("", "", "", "voluntary switches", "processor time, us"))
    print("%-8s %5s  %-7s %12s %12s   %12s %12s" % ("MPI", "ranks", "what", "host", "Mercutio", "host", "Mercutio"))
    with tempfile.TemporaryDirectory(dir=args.dir) as folder:
        for mpi in args.mpi.split(","):
            program = compiled(mpi, "many_ranks.c", folder)
            for ranks in map(int, args.ranks.split(",")):
                for what in OPERATIONS:
                    command = [program, os.path.join(folder, "file"), what, str(args.calls)]
                    switches, seconds = medians(mpi, ranks, command, library, args.repetitions)
                    row = {"mpi": mpi, "ranks": ranks, "what": what, "host_switches": switches[0], "switches": switches[1],
                           "host_us": 1e6 * seconds[0], "us": 1e6 * seconds[1]}
                    rows.append(row)
                    print("%-8s %5d  %-7s %12.2f %12.2f   %12.1f %12.1f%s" % (mpi, ranks, what, *switches, row["host_us"], row["us"], "  missed" if misses(row) else ""),
                          flush=True)
    write_json(args, rows, calls=args.calls)
    return 1 if args.check and any(map(misses, rows)) else 0


if __name__ == "__main__":
    sys.exit(main())
