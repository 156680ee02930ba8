#!/usr/bin/env python3
"""mercutio_adapt: what it finds, how soon, and what looking costs; 8 patterns on 3 storages.

    bench/adapt.py [--build build] [--mpi mpich] [--storage LIST] [--patterns w-4096,..] [--rounds 3] [--json FILE]

For each pattern on each storage: jobs of 200 calls without and with mercutio_adapt in turn, and short jobs with all combinations of strategy,
number of aggregators, depth and exchange; the three fastest of these some more times. `best`: the least median of the three. `near`: what calls 21 to
200 take with mercutio_adapt, by the median, divided by the best. `cost`: what 200 calls of a job take with mercutio_adapt, by the median of the jobs, divided by those of the default, less
one. In the end a sign test over the jobs' pairs: whether adapting makes more of them slower than chance does. With --json, results of other storages
and patterns in that file are counted, too.
"""
import argparse
import contextlib
import itertools
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "nodes"))
import cluster  # noqa: E402

PATTERNS = {"w-512": (512, 1024), "w-4096": (4096, 256), "w-65536": (65536, 32), "w-1MiB": (1 << 20, 2)}
PATTERNS.update({"r" + name[1:]: shape for name, shape in list(PATTERNS.items())})
PAGE = {"title": "Plans that are tried", "what": "`make bench-adapt`: what `mercutio_adapt` finds, how soon, and what looking costs",
        "about": "Memory: one node, /dev/shm. Servers: four emulated ones of 200 MB/s and 0.2 ms. Nodes: four emulated ones with links of 1 Gbit/s. Their file is in "
                 "memory that all share, so access without an exchange is quicker than on any cluster. Jobs of four ranks and 200 collective accesses, with the hint's "
                 "value disable and enable in turn. Best: of all combinations, the three that are the fastest in one short job run some more, and the least of their medians counts. Adapted: the median of accesses 21 to 200 with enable. Cost: all accesses of a "
                 "job with enable against those with disable, looking included, by the medians of the jobs. The last row counts the patterns within 10 % of the best, and the "
                 "pairs of jobs. Its sign test says how likely chance makes as many slower."}
STORAGES = ("memory", "servers", "nodes")
RANKS, CALLS, FOUND_BY, LEADERS = 4, 200, 20, 3
SERVERS = {"COUNT": "4", "STRIPE": "262144", "RATE": "200000000", "LATENCY": "200"}


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=os.path.join(HERE, "..", "build"))
    p.add_argument("--mpi", default="mpich")
    p.add_argument("--storage", default=",".join(STORAGES))
    p.add_argument("--patterns", default=",".join(PATTERNS))
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--calls", type=int, default=CALLS)
    p.add_argument("--json")
    return p.parse_args()


def combinations():
    yield {}
    for strategy in ("individual", "list"):
        yield {"mercutio_strategy": strategy}
    for count, depth, exchange in itertools.product((1, 2, RANKS), (2, 4), ("auto", "messages")):
        yield {"mercutio_strategy": "two_phase", "cb_nodes": count, "mercutio_depth": depth, "mercutio_exchange": exchange}


class Place:
    """Where the files are, and how jobs are started there."""

    def __init__(self, args, storage, folder, nodes=None):
        self.args, self.storage, self.folder, self.nodes = args, storage, folder, nodes

    def new_servers(self):
        root = os.path.join(self.folder, "striped")
        shutil.rmtree(root, ignore_errors=True)
        os.mkdir(root)
        for server in range(int(SERVERS["COUNT"])):
            os.mkdir(os.path.join(root, ".server%d" % server))
        with open(os.path.join(root, ".servers"), "wb") as state:
            state.write(bytes(65536))
        return root

    def job(self, program, pattern, calls, hints):
        build = os.path.abspath(self.args.build)
        preloads = [os.path.join(build, "lib", "libmercutio.so")]
        preloads += cluster.preloads(self.args.mpi, os.path.join(build, "tests", "tools"), on_nodes=True)
        variables = {"MERCUTIO_PROFILE": "0", "MERCUTIO_HINTS": ";".join("%s=%s" % item for item in hints.items())}
        path = os.path.join(self.nodes.fast if self.nodes else self.folder, "file")
        if self.storage == "servers":
            root = self.new_servers()
            path = os.path.join(root, "file")
            variables.update({"MERCUTIO_SERVERS_" + key: value for key, value in SERVERS.items()}, MERCUTIO_SERVERS_ROOT=root)
            preloads.append(os.path.join(build, "tests", "tools", "libstriped_servers.so"))
        block, blocks = PATTERNS[pattern]
        words = ["env", "LD_PRELOAD=" + ":".join(preloads)] + ["%s=%s" % item for item in variables.items()]
        words += [program, path, pattern[0], str(block), str(blocks), str(calls)]
        if self.nodes:
            words = self.nodes.mpirun(self.args.mpi, list(range(RANKS)), words)
        else:
            words = ["mpirun." + self.args.mpi] + (["--oversubscribe", "--allow-run-as-root"] if self.args.mpi == "openmpi" else []) + ["-n", str(RANKS)] + words
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, check=False)
        lines = done.stdout.splitlines()
        if done.returncode != 0 or len(lines) < 2 or lines[-1] != "right":
            sys.exit("%s %s %s: %s" % (self.storage, pattern, hints, done.stderr[-2000:] + done.stdout[-200:]))
        return [float(word) for word in lines[-2].split()]


def measure(place, program, pattern):
    args = place.args
    plain, adapting, grid = [], [], {}
    for number in range(args.rounds):
        for hints, runs in (({"mercutio_adapt": "disable"}, plain), ({"mercutio_adapt": "enable"}, adapting))[::1 if number % 2 == 0 else -1]:
            runs.append(place.job(program, pattern, args.calls, hints))
    def name_of(hints):
        return " ".join("%s=%s" % item for item in hints.items()) or "default"

    def short(hints):
        return statistics.median(place.job(program, pattern, 12, {"mercutio_adapt": "disable", **hints})[3:])
    found = {name_of(hints): short(hints) for hints in combinations()}
    leaders = sorted(found, key=found.get)[:LEADERS]   # once more, so that luck does not decide
    grid = {name_of(hints): statistics.median(short(hints) for _ in range(args.rounds)) for hints in combinations() if name_of(hints) in leaders}
    return {"storage": place.storage, "pattern": pattern, "default": plain, "adapting": adapting, "grid": grid}


def row_of(result):
    best = min(result["grid"].values())
    late = statistics.median(time for run in result["adapting"] for time in run[FOUND_BY:])
    default = statistics.median(time for run in result["default"] for time in run[FOUND_BY:])
    cost = statistics.median(map(sum, result["adapting"])) / statistics.median(map(sum, result["default"])) - 1
    return best, default, late, late / best, cost


def sign_test(wins, losses):
    """How likely equals lose so often, or more often."""
    total = wins + losses
    return sum(math.comb(total, k) for k in range(losses, total + 1)) / 2 ** total if total else 1.0


def report(results):
    print("%-8s %-9s %10s %10s %10s %6s %7s  %s" % ("storage", "pattern", "best us", "default", "adapted", "near", "cost", "best by"))
    wins = losses = near = 0
    rows = []
    for result in results:
        best, default, late, ratio, cost = row_of(result)
        near += ratio <= 1.1
        faster = sum(sum(adapting) < sum(plain) for plain, adapting in zip(result["default"], result["adapting"]))
        wins += faster
        losses += len(result["default"]) - faster
        name = min(result["grid"], key=result["grid"].get)
        print("%-8s %-9s %10.0f %10.0f %10.0f %6.2f %6.1f%%  %s" % (result["storage"], result["pattern"], best, default, late, ratio, cost * 100, name))
        rows.append({"storage": result["storage"], "pattern": result["pattern"], "best us": str(round(best)), "default us": str(round(default)), "adapted us": str(round(late)),
                     "of the best": f"{ratio:.2f}", "cost %": f"{cost * 100:.1f}", "jobs faster": f"{faster} of {len(result['default'])}", "best by": name.replace("mercutio_", "")})
    print("within 10 %% of the best: %d of %d; jobs faster %d, slower %d, sign test %.3f" % (near, len(results), wins, losses, sign_test(wins, losses)))
    rows.append({"storage": "all", "pattern": str(len(results)), "best us": "", "default us": "", "adapted us": "", "of the best": "%d within 1.10" % near, "cost %": "",
                 "jobs faster": "%d of %d" % (wins, wins + losses), "best by": "sign test %.2f" % sign_test(wins, losses)})
    return rows


@contextlib.contextmanager
def places(args):
    with contextlib.ExitStack() as stack:
        found = []
        for storage in args.storage.split(","):
            folder = stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm", prefix="bench-adapt-"))
            nodes = stack.enter_context(cluster.Cluster(RANKS, "1gbit")) if storage == "nodes" else None
            found.append(Place(args, storage, folder, nodes))
        yield found


def main():
    args = arguments()
    results = []
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "adapt_steps")
        subprocess.run(["mpicc." + args.mpi, "-O2", "-o", program, os.path.join(HERE, "adapt_steps.c")], check=True)
        try:
            with places(args) as all_places:
                for place in all_places:
                    for pattern in args.patterns.split(","):
                        results.append(measure(place, program, pattern))
                        print(".", end="", file=sys.stderr, flush=True)
        except cluster.CannotEmulate as reason:
            print("skipped: no emulated nodes here: %s" % reason)
            return cluster.SKIPPED
    print(file=sys.stderr)
    if args.json and os.path.exists(args.json):
        with open(args.json, encoding="utf-8") as file:
            done = {(result["storage"], result["pattern"]) for result in results}
            results += [one for one in json.load(file)["runs"] if (one["storage"], one["pattern"]) not in done]
    order = {name: number for number, name in enumerate([*STORAGES, *PATTERNS])}
    results.sort(key=lambda one: (order[one["storage"]], order[one["pattern"]]))
    rows = report(results)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(dict(PAGE, rows=rows, runs=results), file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
