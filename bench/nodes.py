#!/usr/bin/env python3
"""Collective I/O between nodes: four emulated nodes (tests/nodes/cluster.py), two ranks each, interleaved blocks.

    bench/nodes.py [--build build] [--rate 1gbit] [--bytes 16MiB] [--rounds 5] [--json FILE]      links of a fixed rate
    bench/nodes.py --servers 50e6 ...      the file in stripes on four servers of that many bytes a second, besides

For each MPI here, its own I/O, Open MPI's embedded ROMIO, and Mercutio, in turn and in a random order within a round; every
byte is checked. Printed: the median bandwidth, the ratio to the MPI's own I/O and to the best peer, the part of what the
links allow, and the bytes that went between nodes divided by those that have to: data whose aggregator is on another node,
3/4 of all for blocks that interleave evenly. With servers also the part of the sum of their rates, and how much of each
server's data came from one node.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "nodes"))
import cluster  # noqa: E402

NODES, RANKS_PER_NODE, SERVERS = 4, 2, 4
GOODPUT = 0.94   # of a link's rate: what TCP leaves for data at an MTU of 1500
UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
MAX_SERVERS, MAX_NODES, NAME_BYTES = 16, 16, 64   # tests/tools/striped_servers.c


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    p.add_argument("--mpi", default="mpich,openmpi")
    p.add_argument("--io", default="host,romio,mercutio")
    p.add_argument("--map", default="block", help="block, cyclic, or the node of each rank")
    p.add_argument("--rate", default="1gbit", help="of a link; 0: none")
    p.add_argument("--bytes", default="16MiB", help="of a rank")
    p.add_argument("--pattern", default="vector-4KiB", help="a case of mercutio bench")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--limit", type=int, default=60, help="seconds a job may take")
    p.add_argument("--servers", type=float, default=0, help="bytes a second of each of four servers")
    p.add_argument("--stripe", type=int, default=1 << 20)
    p.add_argument("--hint", action="append", default=[], help="key=value, for all")
    p.add_argument("--json")
    p.add_argument("--check", action="store_true", help="fail where Mercutio's data crosses twice, or a server is fed by several nodes")
    return p.parse_args()


class Job:
    """One contender doing one operation."""

    def __init__(self, args, nodes, mpi, io, operation):
        self.args, self.nodes, self.mpi, self.io, self.operation = args, nodes, mpi, io, operation
        self.bandwidths, self.crossed, self.must_cross, self.servers, self.wrong = [], 0, 0, None, 0

    def command(self):
        args, build = self.args, os.path.abspath(self.args.build)
        preloads = cluster.preloads(self.mpi, os.path.join(build, "tests", "tools"), on_nodes=True)
        preloads += [os.path.join(build, "tests", "tools", "libstriped_servers.so")] if args.servers else []
        preloads = ([os.path.join(build, "lib", "libmercutio.so")] if self.io == "mercutio" else []) + preloads
        other = "read" if self.operation == "write" else "write"
        program = [os.path.join(build, "bench", self.mpi, "mercutio-bench"), "--dir", self.nodes.fast, "--bytes", args.bytes,
                   "--patterns", args.pattern, "--no-shares", "--skip", ",%s:%s," % (args.pattern, other)]
        for hint in args.hint:
            program += ["--hint", hint]
        ranks_on = cluster.parse_map(args.map, NODES, RANKS_PER_NODE)
        return self.nodes.mpirun(self.mpi, ranks_on, ["env", "LD_PRELOAD=" + ":".join(preloads)] + program)

    def run(self):
        environment = dict(os.environ)
        if self.io == "romio":
            environment["OMPI_MCA_io"] = "romio321"
        if self.args.servers:
            environment.update(MERCUTIO_SERVERS_ROOT=self.nodes.fast, MERCUTIO_SERVERS_COUNT=str(SERVERS),
                               MERCUTIO_SERVERS_STRIPE=str(self.args.stripe), MERCUTIO_SERVERS_RATE=str(int(self.args.servers)))
            self.new_servers()
        before = sum(self.nodes.sent())
        job = subprocess.run(self.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                             timeout=self.args.limit)
        crossed = sum(self.nodes.sent()) - before
        rows = [json.loads(line) for line in job.stdout.splitlines() if line.startswith('{"case"')]
        if len(rows) != 1:
            sys.exit("%s %s %s: %s" % (self.mpi, self.io, self.operation, job.stderr[-2000:] + job.stdout[-2000:]))
        self.bandwidths.append(rows[0]["mib_s"])
        self.wrong += rows[0]["wrong"]
        self.crossed += crossed
        self.must_cross += rows[0]["bytes"] * (NODES - 1) / NODES
        if self.args.servers:
            self.servers = self.read_servers()

    def memory(self, *names):
        return os.path.join(os.path.realpath(os.path.join(self.nodes.state, "memory")), *names)

    def new_servers(self):
        for server in range(SERVERS):
            shutil.rmtree(self.memory(".server%d" % server), ignore_errors=True)
            os.mkdir(self.memory(".server%d" % server))
        with open(self.memory(".servers"), "wb") as state:
            state.write(bytes(65536))

    def read_servers(self):
        """Bytes of this operation by server and node."""
        with open(self.memory(".servers"), "rb") as file:
            data = file.read()
        first = 8 * MAX_SERVERS + (8 * MAX_SERVERS * MAX_NODES if self.operation == "write" else 0)
        names_at = 8 * MAX_SERVERS + 4 * 8 * MAX_SERVERS * MAX_NODES
        names = [data[names_at + i * NAME_BYTES:names_at + (i + 1) * NAME_BYTES].split(b"\0")[0].decode() for i in range(MAX_NODES)]
        rows = []
        for server in range(SERVERS):
            counts = struct.unpack_from("%dq" % MAX_NODES, data, first + 8 * server * MAX_NODES)
            rows.append({name: count for name, count in zip(names, counts) if count})
        return rows

    def largest_shares(self):
        """Of each server's bytes: what came from, or went to, one node."""
        return [(max(row.values()) / sum(row.values()), max(row, key=row.get)) for row in self.servers or [] if row]

    def is_frugal(self):
        """The first collective calls and the launcher count too, so a few per cent are let pass."""
        return self.crossed < 1.1 * self.must_cross and all(share > 0.9 for share, _ in self.largest_shares())

    def bandwidth(self):
        return statistics.median(self.bandwidths)


def link_limit(args):
    """MiB/s: each node sends, and gets, 3/4 of its quarter of the data."""
    if args.rate == "0":
        return None
    unit = next(unit for unit in UNITS if args.rate.endswith(unit))
    bytes_per_second = float(args.rate[:-len(unit)]) * UNITS[unit] / 8 * GOODPUT
    return bytes_per_second * NODES * NODES / (NODES - 1) / (1 << 20)


def report(args, jobs):
    limit = link_limit(args)
    print("%-6s %-8s %-9s %8s %15s %7s %7s %7s %8s" % ("op", "mpi", "io", "MiB/s", "least..most", "x host", "x best", "link", "crossed"))
    for job in jobs:
        rivals = [other for other in jobs if other.operation == job.operation and other.io != "mercutio"]
        own = [other for other in rivals if other.mpi == job.mpi and other.io == "host"]
        ratio = [job.bandwidth() / max(other.bandwidth() for other in peers) if peers else float("nan") for peers in (own, rivals)]
        print("%-6s %-8s %-9s %8.1f %7.0f..%-6.0f %7.2f %7.2f %7s %8.3f%s" % (
            job.operation, job.mpi, job.io, job.bandwidth(), min(job.bandwidths), max(job.bandwidths), *ratio,
            "%.2f" % (job.bandwidth() / limit) if limit else "-", job.crossed / job.must_cross,
            "  WRONG BYTES: %d words" % job.wrong if job.wrong else ""))
        if job.servers:
            total = job.bandwidth() * (1 << 20) / (SERVERS * args.servers)
            shares = ["%.2f %s" % share for share in job.largest_shares()]
            print("       of the servers' rates: %.2f; each server's bytes by one node: %s" % (total, ", ".join(shares)))


def main():
    args = parse_arguments()
    try:
        with cluster.Cluster(NODES, None if args.rate == "0" else args.rate) as nodes:
            here = [mpi for mpi in args.mpi.split(",") if os.path.exists(os.path.join(args.build, "bench", mpi, "mercutio-bench"))]
            jobs = [Job(args, nodes, mpi, io, operation) for operation in ("write", "read") for mpi in here
                    for io in args.io.split(",") if io != "romio" or mpi == "openmpi"]
            for number in range(args.rounds):
                print("round %d of %d" % (number + 1, args.rounds), file=sys.stderr)
                for job in random.sample(jobs, len(jobs)):
                    job.run()
            report(args, jobs)
    except cluster.CannotEmulate as reason:
        print("skipped: no emulated nodes here: %s" % reason)
        return cluster.SKIPPED
    if args.json:
        with open(args.json, "w") as file:
            json.dump([dict(mpi=job.mpi, io=job.io, operation=job.operation, mib_s=job.bandwidths, crossed=job.crossed,
                            must_cross=job.must_cross, servers=job.servers, wrong=job.wrong) for job in jobs], file, indent=1)
    ours = [job for job in jobs if job.io == "mercutio"]
    return 1 if any(job.wrong or (args.check and not job.is_frugal()) for job in ours) else 0


if __name__ == "__main__":
    sys.exit(main())
