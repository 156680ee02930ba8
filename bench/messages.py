#!/usr/bin/env python3
"""How long a message takes to a rank that waits in a collective access: the MPI's own I/O and Mercutio in turns.

    bench/messages.py [--build build] [--dir DIRECTORY] [--ranks 2,4] [--bytes 8388608] [--rounds 20] [--repetitions 5] [--mpi mpich,openmpi] [--json FILE] [--check]

Medians, in milliseconds, of a round: a message from rank 1 to rank 0, and the access. "copied": Open MPI copies messages in parts through shared
memory, where it may not read the other process. --check: exit code 1 where Mercutio's medians are more than 2 times the host's, and 3 ms more:
a rank that waits may sleep twice for a millisecond before it sees a message.
"""
import os
import sys
import tempfile

from in_turns import compiled, library_of, medians, parser, write_json

MOST, MOST_MORE_MS = 2.0, 3.0
WAYS = {"mpich": {"": {}}, "openmpi": {"": {}, "copied": {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}, "TCP": {"OMPI_MCA_btl": "self,tcp"}}}
NAMES = ("blocking", "started")


def parse_arguments():
    p = parser(__doc__, ranks="2,4", repetitions=5)
    p.add_argument("--bytes", type=int, default=8388608)
    p.add_argument("--rounds", type=int, default=20)
    return p.parse_args()


def main():
    args = parse_arguments()
    library = library_of(args)
    rows, missed = [], False
    print("%-8s %-7s %5s  %-9s %10s %10s %7s" % ("MPI", "way", "ranks", "access", "host, ms", "Mercutio", "ratio"))
    with tempfile.TemporaryDirectory(dir=args.dir) as folder:
        for mpi in args.mpi.split(","):
            program = compiled(mpi, "messages.c", folder)
            for way, variables in WAYS[mpi].items():
                os.environ.update(variables)
                for ranks in map(int, args.ranks.split(",")):
                    command = [program, os.path.join(folder, "file"), str(args.bytes), str(args.rounds)]
                    for name, seconds in zip(NAMES, medians(mpi, ranks, command, library, args.repetitions)):
                        host, ours = (1000 * value for value in seconds)
                        rows.append({"mpi": mpi, "way": way, "ranks": ranks, "access": name, "host_ms": host, "mercutio_ms": ours})
                        missed = missed or (ours > MOST * host and ours > host + MOST_MORE_MS)
                        print("%-8s %-7s %5d  %-9s %10.3f %10.3f %7.2f" % (mpi, way, ranks, name, host, ours, ours / host), flush=True)
                for variable in variables:
                    del os.environ[variable]
    write_json(args, rows, bytes=args.bytes, rounds=args.rounds)
    return 1 if args.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
