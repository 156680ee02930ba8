#!/usr/bin/env python3
"""Stripes in turn against even file domains, on emulated servers with and without extent locks (tests/tools/striped_servers.c).

    bench/ylib.py [--build build] [--mpi mpich] [--rounds 3] [--write docs/results/stripes.md] [--check]
    bench/ylib.py --only new_files      a new file without hints alone

One program on one machine; each process is a client. Every rank writes and reads blocks in turn; the file has 1 to 64 stripes, and 1 to
16 ranks aggregate. `even` gives each aggregator one contiguous share (mercutio_domains=even), `in turn` each stripe to the next one
(what Mercutio chooses), `small` the same in requests of 64 KiB. The figures compared are those of Dickens and Logan ("Y-lib: a user level library to increase the performance of
MPI-IO in a Lustre file system environment", 2009): 4 to 11 times as fast. And a new file without hints where the directory gives one stripe.
Servers are slower than real ones so that the machine's own work doesn't count, and messages between clients and servers as well. Times end with
MPI_File_close, as there: with locks, what clients still hold then (at most 32 MiB for each server, Lustre's default) is not waited for; `no
caches` is without that. Printed is the best of the rounds, as the machine has other things to do; --check fails where a bar of the table is missed.
"""
import argparse
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "nodes"))
import cluster  # noqa: E402

MAX_SERVERS, MAX_CLIENTS, NAME_BYTES = 16, 16, 64   # tests/tools/striped_servers.c
LOCKS_AT = 8 * MAX_SERVERS + 4 * 8 * MAX_SERVERS * MAX_CLIENTS + MAX_CLIENTS * NAME_BYTES + 8
STRIPE = 1 << 20
NOISE = 0.03   # what two runs of the same differ by
MAPS = {"even": ["mercutio_domains=even"], "in turn": [], "small": ["cb_buffer_size=64KiB"]}   # hints; small: in turn, with small requests


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    p.add_argument("--mpi", default="mpich")
    p.add_argument("--ranks", type=int, default=16)
    p.add_argument("--servers", type=int, default=8)
    p.add_argument("--rate", type=float, default=5e6, help="bytes a second of a server; for the new file ten times as many")
    p.add_argument("--message", type=int, default=5000, help="microseconds of a message, with locks")
    p.add_argument("--aggregators", default="1,2,4,8,16")
    p.add_argument("--stripes", default="1,8,64", help="sizes of the file")
    p.add_argument("--block", default="4KiB", help="4KiB, 64KiB or 1MiB")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--more", type=int, default=6, help="rounds more for sizes at which stripes in turn were the slower ones, both ways")
    p.add_argument("--only", default="locks,no locks,new_files", help="also: no caches")
    p.add_argument("--new-file-bytes", default="32MiB", help="of each of 8 ranks, for the new file")
    p.add_argument("--write", help="the table, as Markdown")
    p.add_argument("--check", action="store_true")
    return p.parse_args()


class Run:
    """One configuration; every round adds a figure of each operation."""

    def __init__(self, args, ranks, size, hints, environment, rate=None):
        self.args, self.ranks, self.size, self.hints, self.environment, self.rate = args, ranks, size, hints, environment, rate or args.rate
        self.mib_s = {"write": [], "read": []}
        self.revocations = self.requests = self.pairs = 0

    def once(self, folder):
        args = self.args
        for server in range(args.servers):
            shutil.rmtree(os.path.join(folder, ".server%d" % server), ignore_errors=True)
            os.mkdir(os.path.join(folder, ".server%d" % server))
        with open(os.path.join(folder, ".servers"), "wb") as state:
            state.write(bytes(65536))
        build = os.path.abspath(args.build)
        tools = os.path.join(build, "tests", "tools")
        preloads = [os.path.join(build, "lib", "libmercutio.so")] + cluster.preloads(args.mpi, tools, on_nodes=True)
        preloads.append(os.path.join(tools, "libstriped_servers.so"))
        environment = dict(os.environ, MERCUTIO_SERVERS_ROOT=folder, MERCUTIO_SERVERS_COUNT=str(args.servers), MERCUTIO_SERVERS_STRIPE=str(STRIPE),
                           MERCUTIO_SERVERS_RATE=str(int(self.rate)), MERCUTIO_SERVERS_MESSAGE=str(args.message), MERCUTIO_SERVERS_CLIENT="process", OMPI_ALLOW_RUN_AS_ROOT="1",
                           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1", **self.environment)
        command = ["mpirun." + args.mpi, "-n", str(self.ranks), "env", "LD_PRELOAD=" + ":".join(preloads),
                   os.path.join(build, "bench", args.mpi, "mercutio-bench"), "--dir", folder, "--bytes", str(self.size // self.ranks),
                   "--patterns", "vector-" + args.block, "--no-shares"]
        for hint in self.hints:
            command += ["--hint", hint]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, timeout=300)
        rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"case"')]
        if len(rows) != 2 or any(row["wrong"] for row in rows):
            sys.exit("ylib: %s\n%s" % (" ".join(command), done.stderr[-2000:] + done.stdout[-2000:]))
        for row, operation in zip(rows, ("write", "read")):
            self.mib_s[operation].append(row["mib_s"])
        self.count(folder)

    def count(self, folder):
        with open(os.path.join(folder, ".servers"), "rb") as file:
            data = file.read()
        written = struct.unpack_from("%dq" % (MAX_SERVERS * MAX_CLIENTS), data, 8 * MAX_SERVERS + 8 * MAX_SERVERS * MAX_CLIENTS)
        self.pairs = max(self.pairs, sum(1 for count in written if count))
        requests, revocations = (sum(struct.unpack_from("%dq" % MAX_SERVERS, data, LOCKS_AT + 8 * MAX_SERVERS * i)) for i in (0, 1))
        self.requests += requests
        self.revocations += revocations

    def best(self, operation):
        return max(self.mib_s[operation])


def interleaved(runs, rounds, folder):
    for number in range(rounds):
        for run in random.sample(runs, len(runs)):
            run.once(folder)
        print("round %d of %d" % (number + 1, rounds), file=sys.stderr)


def domains(args, environment, maps, folder):
    """{(aggregators, stripes): {map: Run}}"""
    table = {}
    for aggregators in map(int, args.aggregators.split(",")):
        for stripes in map(int, args.stripes.split(",")):
            common = ["romio_cb_write=enable", "romio_cb_read=enable", "cb_nodes=%d" % aggregators]
            table[aggregators, stripes] = {name: Run(args, args.ranks, stripes * STRIPE, common + hints, environment)
                                           for name, hints in MAPS.items() if name in maps}
    interleaved([run for row in table.values() for run in row.values()], args.rounds, folder)
    for _ in range(args.more):
        again = [row for row in table.values() if min(ratio(row, "in turn", operation) for operation in ("write", "read")) < 1]
        interleaved([run for row in again for run in row.values()], 1, folder)
    return table


def ratio(row, name, operation):
    return row[name].best(operation) / row["even"].best(operation)


def domain_lines(table):
    others = [name for name in next(iter(table.values())) if name != "even"]
    heads = ["aggregators", "stripes"]
    for operation in ("write", "read"):
        heads += [operation + ", even"] + [text for name in others for text in (name, "ratio")]
    heads += ["revocations, even", "in turn", "clients x servers, even", "in turn"]
    yield "| " + " | ".join(heads) + " |"
    yield "|---" * len(heads) + "|"
    for (aggregators, stripes), row in table.items():
        cells = [str(aggregators), str(stripes)]
        for operation in ("write", "read"):
            cells.append("%.1f" % row["even"].best(operation))
            for name in others:
                cells += ["%.1f" % row[name].best(operation), "%.2f" % ratio(row, name, operation)]
        rounds = len(row["even"].mib_s["write"])
        cells += ["%.1f" % (row[name].revocations / rounds) for name in ("even", "in turn")] + [str(row[name].pairs) for name in ("even", "in turn")]
        yield "| " + " | ".join(cells) + " |"


def ratios(table, operation):
    return [ratio(row, "in turn", operation) for row in table.values()]


def size_of(text):
    return int(text[:-3]) << {"K": 10, "M": 20, "G": 30}[text[-3]] if text.endswith("iB") else int(text)


def new_files(args, folder):
    size = 8 * size_of(args.new_file_bytes)
    runs = {wish: Run(args, 8, size, ["mercutio_striping=" + wish], {"MERCUTIO_SERVERS_DEFAULT": "1"}, 10 * args.rate) for wish in ("directory", "auto")}
    interleaved(list(runs.values()), args.rounds, folder)
    return runs


def part(run, operation):
    return run.best(operation) * (1 << 20) / (run.args.servers * run.rate)


SECTIONS = {
    "locks": ("Extent locks", {"MERCUTIO_SERVERS_LOCKS": "1"}),
    "no caches": ("Extent locks, and clients that keep nothing they have written", {"MERCUTIO_SERVERS_LOCKS": "1", "MERCUTIO_SERVERS_DIRTY": "0"}),
    "no locks": ("Without locks", {"MERCUTIO_SERVERS_LOCKS": "0"}),
}


def missed_bars(name, table, missed):
    writes, reads = ratios(table, "write"), ratios(table, "read")
    revoked = sum(row["in turn"].revocations for row in table.values())
    if name == "locks" and (max(writes) < 4 or min(writes + reads) < 1 - NOISE or revoked):
        missed.append("with locks: 4 times as fast somewhere, nowhere slower, no revocation")
    if name == "no locks" and min(writes + reads) < 1 - NOISE:
        missed.append("without locks: nowhere more than 3 % slower")
    yield "Ratios in turn: writes %.2f to %.2f, reads %.2f to %.2f. Revocations in turn: %d." % (min(writes), max(writes), min(reads), max(reads), revoked)


def measure(args, folder):
    """The lines of the report, and what was missed."""
    wanted, lines, missed = args.only.split(","), [], []
    machine = "%d servers of %g MB/s, messages of %g ms, stripes of 1 MiB, %d ranks, blocks of %s in turn, `%s`. MiB/s, the best of %d rounds, of up to %d more where stripes in turn were slower." % (
        args.servers, args.rate / 1e6, args.message / 1000, args.ranks, args.block, args.mpi, args.rounds, args.more)
    for name, (title, environment) in SECTIONS.items():
        if name not in wanted:
            continue
        table = domains(args, environment, ["even", "in turn", "small"] if name == "locks" else ["even", "in turn"], folder)
        lines += ["## " + title, "", machine, ""] + list(domain_lines(table)) + [""] + list(missed_bars(name, table, missed)) + [""]
    if "new_files" in wanted:
        runs = new_files(args, folder)
        lines += ["## A new file without hints", "", "8 ranks write and read %s each on %d servers of %g MB/s; the directory gives new files one stripe." % (args.new_file_bytes, args.servers, 10 * args.rate / 1e6), "",
                  "| mercutio_striping | write, MiB/s | of the servers' sum | read, MiB/s | of the sum |", "|---|---|---|---|---|"]
        for wish, run in runs.items():
            lines.append("| %s | %.0f | %.3f | %.0f | %.3f |" % (wish, run.best("write"), part(run, "write"), run.best("read"), part(run, "read")))
        lines.append("")
        if part(runs["auto"], "write") < 0.9:
            missed.append("a new file: 0.9 of the servers' sum")
    return lines, missed


def main():
    args = parse_arguments()
    folder = tempfile.mkdtemp(prefix="mercutio-ylib-", dir="/dev/shm")
    try:
        lines, missed = measure(args, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(lines))
    if args.write:
        with open(args.write, "w") as file:
            file.write("\n".join(["# Stripes in turn, and what new files get", "", "Generated by `bench/ylib.py --write docs/results/stripes.md`; [Measuring](../users/bench.md) says what is measured.", ""] + lines))
    for bar in missed:
        print("missed: " + bar)
    return 1 if args.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
