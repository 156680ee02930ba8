#!/usr/bin/env python3
"""What a collective access costs between nodes, counted on simulated ranks (scale.cpp), against what it may cost.

    run.py --scale build/bin/scale                        # the short form; fails where a limit is passed
    run.py --scale build/bin/scale --long --json scale.json
"""
import argparse
import json
import subprocess
import sys

KIB = 1024

# Ranks, ranks a node, bytes a rank, bytes of a block (0: one run, nothing is exchanged), reading; limits of messages into a node and of
# bytes into a node, each for the first and for a repeated access (None: no limit).
SHORT = [
    (64, 64, 4 * KIB, 0, False, (0, 0), (0, 0)),
    (1024, 64, 4 * KIB, 0, False, (16, 16), (16 * KIB, 2 * KIB)),
    (4096, 64, 4 * KIB, 0, False, (16, 16), (64 * KIB, 2 * KIB)),
    (1024, 1, 4 * KIB, 0, False, (24, 24), (512 * KIB, 2 * KIB)),
    (32, 4, 256 * KIB, 64, False, (128, 128), None),
    (32, 4, 256 * KIB, 64, True, (128, 128), None),
    (256, 4, 256 * KIB, 64, False, (512, 512), None),
    (256, 4, 256 * KIB, 64, True, (512, 512), None),
]
LONG = SHORT + [
    (32, 4, KIB * KIB, 64, False, (192, 192), None),
    (256, 4, KIB * KIB, 64, False, (512, 512), None),
    (256, 4, KIB * KIB, 64, True, (512, 512), None),
    (512, 4, KIB * KIB, 64, False, (1024, 1024), None),
    (512, 4, KIB * KIB, 64, True, (1024, 1024), None),
    (1024, 4, 256 * KIB, 64, False, None, None),
    (1024, 16, 256 * KIB, 1024, False, None, None),
    (256, 1, 256 * KIB, 64, False, (1024, 1024), None),
]


def parse_arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--scale", required=True, help="the program")
    p.add_argument("--long", action="store_true")
    p.add_argument("--json", help="write the table here, for scripts/results.py")
    return p.parse_args()


def measure(program, ranks, per_node, size, block, reading):
    line = [program, "--ranks", ranks, "--per-node", per_node, "--bytes", size, "--block", block, "--accesses", 3, "--read", int(reading)]
    run = subprocess.run([str(word) for word in line], capture_output=True, text=True, timeout=600, check=True)
    accesses = [json.loads(text) for text in run.stdout.splitlines()]
    return accesses[0], accesses[-1]


def text_of(size):
    return f"{size // KIB} KiB" if size >= KIB else f"{size} B"


def main():
    arguments = parse_arguments()
    failures = []
    rows = []
    for ranks, per_node, size, block, reading, messages, node_bytes in LONG if arguments.long else SHORT:
        first, again = measure(arguments.scale, ranks, per_node, size, block, reading)
        what = f"{'read' if reading else 'write'} {text_of(size)}" + (f" in blocks of {text_of(block)}" if block else ", one run")
        rows.append((ranks // per_node, per_node, what, first, again))
        print(f"{ranks // per_node} nodes of {per_node}: {what}: {first['node_messages']} and {again['node_messages']} messages, "
              f"{first['node_bytes']} and {again['node_bytes']} bytes into a node", flush=True)
        for name, limits in (("node_messages", messages), ("node_bytes", node_bytes)):
            for access, limit in zip((first, again), limits or ()):
                if access[name] > limit:
                    failures.append(f"{ranks // per_node} nodes of {per_node}, {what}, access {access['access']}: {name} {access[name]}, at most {limit}")
    if arguments.json:
        write_json(arguments.json, rows)
    for failure in failures:
        print("FAILED:", failure)
    print(f"{len(rows)} cases, {len(failures)} limits passed")
    return 1 if failures else 0


def write_json(path, rows):
    table = []
    for nodes, per_node, what, first, again in rows:
        table.append({"nodes": nodes, "ranks a node": per_node, "each rank": what, "messages first": first["node_messages"],
                      "messages again": again["node_messages"], "mean bytes": again["node_bytes"] // max(1, again["node_messages"]),
                      "bytes first": first["node_bytes"], "bytes again": again["node_bytes"], "CPU us again": again["cpu_us"]})
    with open(path, "w") as out:
        json.dump(table, out, indent=1)


if __name__ == "__main__":
    sys.exit(main())
