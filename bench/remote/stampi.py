#!/usr/bin/env python3
"""Stampi's pattern on a remote file: its old mode against Mercutio, and what a computation loses to transfers in the background.

    bench/remote/stampi.py [--build build] [--mpi openmpi] [--rate 50] [--round-trips 0,10,40] [--requests 1024,8192] [--mib 32] [--rounds 3] [--json FILE]
    bench/remote/stampi.py --slow-down [--build build] [--mpi openmpi] [--rate 50] [--round-trips 10] [--json FILE]

The first one: MPI_Type_vector, blocks of 64 KiB of the ranks in turn, 1, 2 and 4 ranks; MB/s, medians of rounds in which old and new take
turns. Old: a rank is the I/O process, and carries out the requests (--requests, KiB) of the ranks one by one over one stream, each when the one before is
done. New: a collective call as Mercutio does it by default. The server is on this machine, behind a relay with the round trip (ms) and the rate (MB/s).

--slow-down: a rank on one core, its threads included, computes for 0.7 s alone, then with an iwrite_at or iread_at under way for all of that time. The
server and the relay are on the other core. The part of a core that the threads of the transfer took is given, too: other programs disturb it less than the
clock of the computation.
"""
import argparse
import json
import os
import pathlib
import statistics
import sys

from world import ROOT, World

# MB/s by ranks, old and new mode, in the papers on Stampi.
PAPER = {("read", 1): (40, 48), ("read", 2): (32, 44), ("read", 4): (32, 48), ("write", 1): (45, 45), ("write", 2): (35, 48), ("write", 4): (35, 48)}


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=str(ROOT / "build"))
    p.add_argument("--mpi", default="openmpi")
    p.add_argument("--rate", type=int, default=50)
    p.add_argument("--round-trips")
    p.add_argument("--requests", default="1024,8192")
    p.add_argument("--ranks", default="1,2,4")
    p.add_argument("--mib", type=int, default=32)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--slow-down", action="store_true")
    p.add_argument("--json")
    return p.parse_args()


def numbers(text):
    return [int(word) for word in text.split(",")]


def rate_of(world, args, program, ranks, way, mode, direction, request):
    out = world.mpi(args.mpi, ranks, program, mode, direction, f"mercutio://{way}/data/stampi", args.mib, request)
    wrong, _, seconds = out.split()[-3:]
    if wrong != "0":
        raise SystemExit("stampi: wrong data: " + out)
    return args.mib * 1.048576 / float(seconds)


def compare(world, args):
    program = world.compile(args.mpi, ROOT / "bench" / "remote" / "stampi.c")
    rows = []
    print("%4s %6s %5s %6s  %6s %6s %6s   %s" % ("ms", "KiB", "ranks", "", "old", "new", "gain", "the paper"))
    for round_trip in numbers(args.round_trips or "0,10,40"):
        world.connect(f"old{round_trip}", "--streams", "1", "--write-behind", "0", "--read-ahead", "0", round_trip_ms=round_trip, mb_per_s=args.rate)
        world.connect(f"new{round_trip}", round_trip_ms=round_trip, mb_per_s=args.rate)
        for ranks, direction in ((n, d) for n in numbers(args.ranks) for d in ("write", "read")):   # what is read is what was written
            modes = [("new", 1024), *(("old", request) for request in numbers(args.requests))]
            speed = {mode: [] for mode in modes}
            for i in range(args.rounds):
                for mode in modes if i % 2 == 0 else modes[::-1]:
                    speed[mode].append(rate_of(world, args, program, ranks, f"{mode[0]}{round_trip}", mode[0], direction, mode[1]))
            new, paper = statistics.median(speed[modes[0]]), PAPER.get((direction, ranks))
            for mode in modes[1:]:
                old = statistics.median(speed[mode])
                rows.append({"round trip, ms": round_trip, "old: KiB a request": mode[1], "direction": direction, "ranks": ranks, "old, MB/s": old, "new, MB/s": new,
                             "gain, %": 100 * (new / old - 1), "Stampi's gain, %": round(100 * (paper[1] / paper[0] - 1)) if paper else None})
                print("%4d %6d %5d %6s  %6.1f %6.1f %+5.0f%%   %s" % (round_trip, mode[1], ranks, direction, old, new, 100 * (new / old - 1),
                                                                    "%d -> %d" % paper if paper else ""), flush=True)
    return rows


def slow_down(world, args):
    program = world.compile(args.mpi, ROOT / "bench" / "remote" / "stampi.c")
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[-1]})   # for the server and the relay, too
    rows = []
    for round_trip in numbers(args.round_trips or "10"):
        world.connect(f"way{round_trip}", round_trip_ms=round_trip, mb_per_s=args.rate)
        for direction in ("write", "read"):
            out = world.mpi(args.mpi, 1, program, "compute", direction, f"mercutio://way{round_trip}/data/x", args.rate * 4, 700, before=["taskset", "-c", str(cores[0])])
            passes = [line.split() for line in out.splitlines() if line.endswith(("whole", "short"))]
            if not passes or any(words[3] == "short" for words in passes):
                raise SystemExit("stampi: the transfer ended before the computation:\n" + out)
            alone, together, threads = (statistics.median(float(words[i]) for words in passes) for i in (0, 1, 2))
            rows.append({"call": "iwrite_at" if direction == "write" else "iread_at", "round trip, ms": round_trip, "link, MB/s": args.rate, "alone, s": alone, "together, s": together,
                         "slow-down, %": 100 * statistics.median(float(words[1]) / float(words[0]) - 1 for words in passes),
                         "of a core for the threads, %": 100 * threads})
            print("%-9s %3d ms, %d MB/s: %.3f s alone, %.3f s together, slow-down %.1f %%, %.1f %% of a core for the threads" % tuple(rows[-1].values()), flush=True)
    return rows


def main():
    args = parse_arguments()
    with World(args.build) as world:
        rows = (slow_down if args.slow_down else compare)(world, args)
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps({"rows": rows}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
