#!/usr/bin/env python3
"""Parallel I/O for OpenMP: examples/bt_omp.c, the I/O of NAS BT, with 1 to 8 threads.

    bench/omp.py [--build build] [--threads 1,2,4,8] [--class A] [--steps 5] [--rounds 3] [--json FILE]
    bench/omp.py --dir DIRECTORY ...      on a file system as it is, instead of servers of a fixed rate

By default the files lie in stripes on four servers of 100 MB/s each (tests/tools/striped_servers.c): a storage that a thread
alone, whose calls are answered one after the other, doesn't saturate. Printed for each number of threads and kind of access: the
best bandwidth of some rounds, and its ratio to one thread's; every number that was read is checked. The solution is appended
through omp_file_write_list_at_all, in pieces of a row; the restart data through omp_file_write_all.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROW = re.compile(r"^(\w+ \w+)\s+([\d.]+) MB\s+([\d.]+) s\s+([\d.]+) MB/s$", re.M)
WRONG = re.compile(r"^(\d+) threads, .* (\d+) numbers wrong$", re.M)
ACCESSES = ("solution write", "solution read", "restart write", "restart read")
STATE_BYTES = 65536   # of the servers' common state


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    p.add_argument("--threads", default="1,2,4,8")
    p.add_argument("--class", dest="size", default="A", help="S, W, A, B, C, or the cells of an edge")
    p.add_argument("--steps", type=int, default=5)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--dir", help="measure in this directory as it is")
    p.add_argument("--servers", type=int, default=4)
    p.add_argument("--rate", type=float, default=100e6, help="bytes a second of a server")
    p.add_argument("--stripe", type=int, default=1 << 18)
    p.add_argument("--limit", type=int, default=120, help="seconds a run may take")
    p.add_argument("--json")
    p.add_argument("--check", type=float, metavar="RATIO",
                   help="fail where 4 threads' restart write is not so many times as fast as one's, in the best of four attempts: "
                        "on a busy machine threads may wait for a core longer than for a server")
    return p.parse_args()


def servers(args, folder):
    """A new set of servers in the folder, and what programs need to see it."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
    for server in range(args.servers):
        os.mkdir(os.path.join(folder, ".server%d" % server))
    with open(os.path.join(folder, ".servers"), "wb") as state:
        state.write(bytes(STATE_BYTES))
    return dict(LD_PRELOAD=os.path.join(os.path.abspath(args.build), "tests", "tools", "libstriped_servers.so"),
                MERCUTIO_SERVERS_ROOT=folder, MERCUTIO_SERVERS_COUNT=str(args.servers), MERCUTIO_SERVERS_STRIPE=str(args.stripe),
                MERCUTIO_SERVERS_RATE=str(int(args.rate)))


def run_once(args, threads, folder):
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_DYNAMIC="false", OMP_WAIT_POLICY="passive")
    if not args.dir:
        environment.update(servers(args, folder))
    program = [os.path.join(os.path.abspath(args.build), "bin", "bt_omp"), args.size, str(args.steps), os.path.join(folder, "bt.out")]
    job = subprocess.run(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, timeout=args.limit)
    told = WRONG.search(job.stdout)
    if not told or int(told.group(1)) != threads:
        sys.exit("bt_omp with %d threads: %s" % (threads, job.stderr[-2000:] + job.stdout[-2000:]))
    rows = {name: (float(megabytes), float(rate)) for name, megabytes, _, rate in ROW.findall(job.stdout)}
    return rows, int(told.group(2))


def measure(args, folder):
    table = []
    for threads in [int(word) for word in args.threads.split(",")]:
        best, wrong, verified = dict.fromkeys(ACCESSES, 0.0), 0, 0.0
        for _ in range(args.rounds):
            rows, bad = run_once(args, threads, folder)
            wrong += bad
            verified += sum(rows[name][0] for name in ACCESSES if name.endswith("read"))
            for name in ACCESSES:
                best[name] = max(best[name], rows[name][1])
        table.append(dict(threads=threads, mb_s=best, wrong_numbers=wrong, verified_mb=round(verified, 3)))
    for row in table:
        row["ratio"] = {name: row["mb_s"][name] / table[0]["mb_s"][name] for name in ACCESSES}
    return table


def too_slow(args, table):
    return bool(args.check) and any(row["threads"] == 4 and row["ratio"]["restart write"] < args.check for row in table)


def show(args, table):
    where = args.dir or "%d servers of %g MB/s, stripes of %d KiB" % (args.servers, args.rate / 1e6, args.stripe >> 10)
    print("BT class %s, %d steps, on %s; MB/s (times that of %d)" % (args.size, args.steps, where, table[0]["threads"]))
    print("%7s" % "threads" + "".join("%22s" % name for name in ACCESSES) + "%14s" % "verified MB")
    for row in table:
        cells = "".join("%14.1f (%4.2f) " % (row["mb_s"][name], row["ratio"][name]) for name in ACCESSES)
        print("%7d%s%14.1f%s" % (row["threads"], cells, row["verified_mb"], "  WRONG" if row["wrong_numbers"] else ""))


def main():
    args = parse_arguments()
    base = args.dir or ("/dev/shm" if os.path.isdir("/dev/shm") else None)
    folder = tempfile.mkdtemp(prefix="mercutio-omp-", dir=base)
    try:
        for _ in range(4):
            table = measure(args, os.path.realpath(folder))
            if not too_slow(args, table) or any(row["wrong_numbers"] for row in table):
                break
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    show(args, table)
    if args.json:
        with open(args.json, "w") as out:
            json.dump(dict(size=args.size, steps=args.steps, servers=None if args.dir else args.servers, rate=args.rate, rows=table), out,
                      indent=1)
    return 1 if too_slow(args, table) or any(row["wrong_numbers"] for row in table) else 0


if __name__ == "__main__":
    sys.exit(main())
