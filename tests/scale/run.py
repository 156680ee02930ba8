#!/usr/bin/env python3
"""What a collective access costs at any number of ranks, on a cluster in virtual time (scale.cpp): against what it may cost, and against
what it cost when golden.json was written.

    run.py --scale build/bin/scale                        # the short form; fails where a limit is passed or a figure of golden.json differs
    run.py --scale build/bin/scale --update               # writes golden.json, after a change that is meant
    run.py --scale build/bin/scale --long --json scale.json
    run.py --scale build/bin/scale --exchanges --json exchange.json   # is the exchange that is chosen the better one?
"""
import argparse
import json
import os
import subprocess
import sys

KIB = 1024
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json")
COMPARED = ("node_messages", "node_bytes", "messages", "bytes", "wakes_a_rank", "steps_a_rank", "unasked_steps", "storage_calls", "virtual_us")

# Ranks, ranks a node, bytes a rank, bytes of a block (0: one run, nothing is exchanged), reading; limits of messages into a node, of bytes
# into a node, and of the memory that a rank takes, each for the first and for a repeated access (None: no limit).
SHORT = [
    (64, 64, 4 * KIB, 0, False, (0, 0), (0, 0), 64 * KIB),
    (1024, 64, 4 * KIB, 0, False, (16, 16), (16 * KIB, 2 * KIB), 64 * KIB),
    (4096, 64, 4 * KIB, 0, False, (16, 16), (64 * KIB, 2 * KIB), 64 * KIB),
    (1024, 1, 4 * KIB, 0, False, (24, 24), (512 * KIB, 2 * KIB), 256 * KIB),
    (32, 4, 256 * KIB, 64, False, (128, 128), None, None),
    (32, 4, 256 * KIB, 64, True, (128, 128), None, None),
    (256, 4, 256 * KIB, 64, False, (512, 512), None, None),
    (256, 4, 256 * KIB, 64, True, (512, 512), None, None),
    (1024, 64, 64 * KIB, KIB, False, (256, 256), None, 512 * KIB),
    (4096, 64, 64 * KIB, KIB, True, (256, 256), None, 512 * KIB),
    (1024, 4, 64 * KIB, 64, False, (1024, 1024), None, None),
]
LONG = SHORT + [
    (16384, 64, 4 * KIB, 0, False, (24, 24), (128 * KIB, 2 * KIB), 256 * KIB),
    (32, 4, KIB * KIB, 64, False, (192, 192), None, None),
    (256, 4, KIB * KIB, 64, False, (512, 512), None, None),
    (256, 4, KIB * KIB, 64, True, (512, 512), None, None),
    (512, 4, KIB * KIB, 64, False, (1024, 1024), None, None),
    (512, 4, KIB * KIB, 64, True, (1024, 1024), None, None),
    (1024, 4, 256 * KIB, 64, False, (1024, 1024), None, None),
    (1024, 4, 256 * KIB, 64, True, (1024, 1024), None, None),
    (1024, 16, 256 * KIB, KIB, False, None, None, None),
    (256, 1, 256 * KIB, 64, False, (1024, 1024), None, None),
]


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--scale", required=True, help="the program")
    p.add_argument("--long", action="store_true")
    p.add_argument("--update", action="store_true")
    p.add_argument("--exchanges", action="store_true")
    p.add_argument("--json", help="write the table here, for scripts/results.py")
    return p.parse_args()


def measure(program, case, **options):
    ranks, per_node, size, block, reading = case[:5]
    accesses = 3 if block else 18   # writes without an exchange cost less from the 17th on (src/engine/early.h)
    line = [program, "--ranks", ranks, "--per-node", per_node, "--bytes", size, "--block", block, "--accesses", accesses, "--read", int(reading)]
    line += [word for name, value in options.items() for word in ("--" + name, value)]
    run = subprocess.run([str(word) for word in line], capture_output=True, text=True, timeout=600, check=True)
    accesses = [json.loads(text) for text in run.stdout.splitlines()]
    return accesses[0], accesses[-1]


def text_of(size):
    return f"{size // KIB} KiB" if size >= KIB else f"{size} B"


def name_of(case):
    ranks, per_node, size, block, reading = case[:5]
    what = f"{'read' if reading else 'write'} {text_of(size)}" + (f" in blocks of {text_of(block)}" if block else ", one run")
    return ranks // per_node, per_node, what


def beyond_limits(case, first, again):
    messages, node_bytes, memory = case[5:]
    limits = [("node_messages", messages), ("node_bytes", node_bytes), ("memory_a_rank", (memory, memory) if memory else None)]
    for name, both in limits:
        for access, limit in zip((first, again), both or ()):
            if access[name] > limit:
                yield f"access {access['access']}: {name} {access[name]:.0f}, at most {limit}"


def differences(golden, first, again):
    for access, expected in zip((first, again), golden):
        for name in COMPARED:
            if access[name] != expected[name]:
                yield f"access {access['access']}: {name} {access[name]}, in golden.json {expected[name]}"


def compare_exchanges(arguments):
    """The exchange that is chosen may need a tenth more messages or time than each of the two, and no more."""
    rows, failures = [], []
    for block in (64, 4 * KIB):
        for nodes in (4, 16, 64, 256):
            for per_node in (1, 4, 8, 64):
                if nodes * per_node > 4096:
                    continue
                for reading in (False, True):
                    case = (nodes * per_node, per_node, 64 * KIB, block, reading)
                    chosen, *others = (measure(arguments.scale, case, exchange=word)[1] for word in ("auto", "messages", "shared_memory"))
                    row = {"nodes": nodes, "ranks a node": per_node, "each rank": name_of(case)[2]}
                    for name, label in (("messages", "messages"), ("virtual_us", "us")):
                        row |= {f"{label}: chosen": round(chosen[name]), f"{label}: by ranks": round(others[0][name]), f"{label}: by nodes": round(others[1][name])}
                        if chosen[name] > 1.1 * min(other[name] for other in others):
                            failures.append(f"{nodes} nodes of {per_node}, {name_of(case)[2]}: {name} {chosen[name]}")
                    rows.append(row)
                    print(*row.values(), flush=True)
    for failure in failures:
        print("FAILED:", failure)
    print(f"{len(rows)} cases, {len(failures)} failures")
    if arguments.json:
        with open(arguments.json, "w") as out:
            json.dump({"rows": rows, "title": "Exchange by ranks or by nodes",
                       "what": "`make scale`: whether the exchange that is chosen is the better one, by number of nodes",
                       "about": "A repeated collective access on a cluster in virtual time, where computing is free: messages between nodes, and "
                                "microseconds. By ranks: mercutio_exchange=messages. By nodes: mercutio_exchange=shared_memory."}, out, indent=1)
    return 1 if failures else 0


def main():
    arguments = parse_arguments()
    if arguments.exchanges:
        return compare_exchanges(arguments)
    failures, rows, golden = [], [], {}
    if os.path.exists(GOLDEN):
        with open(GOLDEN) as file:
            golden = json.load(file)
    written = {}
    for case in LONG if arguments.long else SHORT:
        first, again = measure(arguments.scale, case)
        title = "%d nodes of %d: %s" % name_of(case)
        print(f"{title}: {first['node_messages']} and {again['node_messages']} messages, {first['node_bytes']} and {again['node_bytes']} bytes into a "
              f"node, {again['wakes_a_rank']} wake-ups and {again['memory_a_rank']:.0f} bytes of a rank", flush=True)
        failures += [f"{title}, {text}" for text in beyond_limits(case, first, again)]
        written[title] = [{name: access[name] for name in COMPARED} for access in (first, again)]
        if not arguments.update and case in SHORT:
            failures += [f"{title}, {text}" for text in (differences(golden[title], first, again) if title in golden else ["not in golden.json"])]
        if arguments.json:
            rows.append((case, first, again, measure(arguments.scale, case, processor=1)[1]))
    if arguments.update:
        with open(GOLDEN, "w") as file:
            json.dump(written, file, indent=1)
            file.write("\n")
    if arguments.json:
        write_json(arguments.json, rows)
    for failure in failures:
        print("FAILED:", failure)
    print(f"{len(written)} cases, {len(failures)} failures")
    return 1 if failures else 0


def write_json(path, rows):
    table = []
    for case, first, again, computing in rows:
        nodes, per_node, what = name_of(case)
        table.append({"nodes": nodes, "ranks a node": per_node, "each rank": what, "messages first": first["node_messages"],
                      "messages again": again["node_messages"], "mean bytes": again["node_bytes"] // max(1, again["node_messages"]),
                      "bytes first": first["node_bytes"], "bytes again": again["node_bytes"], "wake-ups": round(again["wakes_a_rank"], 1),
                      "KiB of memory": round(again["memory_a_rank"] / KIB), "CPU us again": round(computing["cpu_us"])})
    with open(path, "w") as out:
        json.dump(table, out, indent=1)


if __name__ == "__main__":
    sys.exit(main())
