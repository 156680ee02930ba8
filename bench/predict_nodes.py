#!/usr/bin/env python3
"""The virtual cluster of tests/scale against emulated nodes: does it predict what they do?

    bench/predict_nodes.py [--build build] [--mpi mpich] [--rate 1gbit] [--bytes 16MiB,64MiB] [--rounds 3] [--json FILE] [--check]

Four emulated nodes with two ranks each write and read interleaved blocks of 4 KiB collectively (bench/nodes.py). What messages and copies
cost there is measured first (link_costs.c), on links without a rate. The virtual cluster gets these figures, the rate and the number of
cores, and computes the time with the same engine. --check: exit code 1 where the prediction is more than 20 % off.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

import nodes as emulated
from in_turns import compiled

TOLERANCE = 0.2
BLOCK = 4096


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(emulated.HERE, "..", "build"))
    p.add_argument("--mpi", default="mpich")
    p.add_argument("--rate", default="1gbit", help="of a link")
    p.add_argument("--bytes", default="16MiB,64MiB", help="of a rank")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--json")
    p.add_argument("--check", action="store_true")
    return p.parse_args()


def preload(args):
    tools = os.path.join(os.path.abspath(args.build), "tests", "tools")
    return "LD_PRELOAD=" + ":".join(emulated.cluster.preloads(args.mpi, tools, on_nodes=True))


def costs(args, program):
    with emulated.cluster.Cluster(emulated.NODES, None) as nodes:
        line = nodes.mpirun(args.mpi, [0, 0, 1], ["env", preload(args), program, os.path.join(nodes.fast, "costs")])
        return json.loads(subprocess.run(line, capture_output=True, text=True, check=True, timeout=120).stdout.splitlines()[-1])


def measured(args, size):
    """Bandwidths of writing and of reading, MiB/s."""
    settings = argparse.Namespace(build=args.build, servers=0, pattern="vector-4KiB", bytes=size, hint=[], map="block", limit=120)
    with emulated.cluster.Cluster(emulated.NODES, args.rate) as nodes:
        jobs = [emulated.Job(settings, nodes, args.mpi, "mercutio", operation) for operation in ("write", "read")]
        for _ in range(args.rounds):
            for job in jobs:
                job.run()
    return {job.operation: job.bandwidth() for job in jobs}


def predicted(args, size, operation, cost):
    unit = next(unit for unit in emulated.UNITS if args.rate.endswith(unit))
    link = float(args.rate[:-len(unit)]) * emulated.UNITS[unit] / 8 * emulated.GOODPUT
    ranks = emulated.NODES * emulated.RANKS_PER_NODE
    nbytes = int(size[:-3]) << 20
    options = {"ranks": ranks, "per-node": emulated.RANKS_PER_NODE, "bytes": nbytes, "block": BLOCK, "accesses": 1, "read": int(operation == "read"),
               "processor": 1, "cores": os.cpu_count(), "one-machine": 1, "link-rate": int(link), "connect-ns": int(1e9 * cost["connect"]), "latency-ns": int(1e9 * cost["latency"]),
               "message-ns": int(1e9 * cost["message"]), "copy-rate": int(cost["stream"]), "node-rate": int(cost["node"]),
               "memory-rate": int(cost[operation])}
    line = [os.path.join(args.build, "bin", "scale")] + [word for name, value in options.items() for word in ("--" + name, str(value))]
    times = [json.loads(subprocess.run(line, capture_output=True, text=True, check=True, timeout=300).stdout)["virtual_us"] for _ in range(args.rounds)]
    return ranks * nbytes / statistics.median(times) * 1e6 / (1 << 20)


def main():
    args = parse_arguments()
    rows = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            cost = costs(args, compiled(args.mpi, "link_costs.c", folder))
        print("costs:", json.dumps(cost))
        for size in args.bytes.split(","):
            bandwidths = measured(args, size)
            for operation, bandwidth in bandwidths.items():
                prediction = predicted(args, size, operation, cost)
                rows.append({"bytes": size, "operation": operation, "measured MiB/s": round(bandwidth), "predicted MiB/s": round(prediction),
                             "predicted over measured": round(prediction / bandwidth, 2)})
                print("%-7s %-5s measured %6.0f MiB/s, predicted %6.0f: %.2f" % (size, operation, bandwidth, prediction, prediction / bandwidth), flush=True)
    except emulated.cluster.CannotEmulate as reason:
        print("skipped: no emulated nodes here: %s" % reason)
        return emulated.cluster.SKIPPED
    if args.json:
        with open(args.json, "w") as file:
            json.dump({"costs": cost, "rows": rows, "title": "Prediction of emulated nodes",
                       "what": "`make bench-predict`: the virtual cluster against four emulated nodes",
                       "about": "Four emulated nodes with two ranks each write and read interleaved blocks of 4 KiB. The virtual cluster runs the same engine with "
                                "the rate of the links, and with what messages and copies cost there. Both share the two cores of the machine."}, file, indent=1)
    off = [row for row in rows if abs(row["predicted over measured"] - 1) > TOLERANCE]
    return 1 if args.check and off else 0


if __name__ == "__main__":
    sys.exit(main())
