#!/usr/bin/env python3
"""A made-up job as `mercutio report --json` prints it: synthetic.py RANKS [EVENTS [PIECES]] >job.json. The same numbers every time."""
import json
import random
import sys

STEPS, PIECE = 20, 4 << 20


def rank_totals(rank, ranks, late):
    aggregator = rank % 32 == 0
    storage = {"calls": 40 * STEPS, "bytes": 32 * STEPS * PIECE, "ns": 900_000_000 * STEPS, "pieces": 40 * STEPS, "sizes.8": 40 * STEPS} if aggregator else {}
    arrive = 3_000_000 if late else random.randint(180_000_000, 220_000_000)
    phases = {"arrive": arrive * STEPS, "exchange": 150_000_000 * STEPS, "copy": 40_000_000 * STEPS, "storage": (900_000_000 if aggregator else 0) * STEPS,
              "wait": (20_000_000 if aggregator else 900_000_000) * STEPS, "agree": 30_000_000 * STEPS, "own": 2_000_000 * STEPS}
    totals = {"opens": 1, "open_ns": 80_000_000, "closes": 1, "close_ns": 200_000_000, "ranks": ranks, "nodes": ranks // 32 + 1, "stripe_bytes": 1 << 20,
              "stripe_count": 16, "end_offset": STEPS * ranks * PIECE, "collective_write.calls": STEPS, "collective_write.bytes": STEPS * PIECE,
              "collective_write.sizes.7": STEPS, "collective_write.ns": sum(phases.values())}
    totals.update({f"collective_write.phase_ns.{name}": value for name, value in phases.items()})
    totals.update({f"storage_write.{name}": value for name, value in storage.items()})
    return totals


def rank_trace(rank, ranks, events):
    bins = [[0] * 7 for _ in range(1024)]
    rows, step_ns = [], 2_000_000_000
    for step in range(STEPS):
        start = step * step_ns + random.randint(0, 100_000_000) + (600_000_000 if rank == 617 % ranks else 0)
        for at in range(start // 62_500_000, start // 62_500_000 + 18):
            bins[at % 1024][2] += PIECE // 18
            bins[at % 1024][3] += 1_100_000_000 // 18
            bins[at % 1024][5] += 720_000_000 // 18 if rank % 32 == 0 else 0
        rows.append(["access", "MPI_File_write_at_all", "out/field.nc", start, 1_100_000_000, PIECE, (step * ranks + rank) * PIECE, PIECE, 1, step, rank])
        if rank % 32 == 0:
            for part in range(8):
                rows.append(["storage_write", "", "out/field.nc", start + 200_000_000 + part * 100_000_000, 90_000_000, 4 * PIECE,
                             (step * ranks + rank + part * 4) * PIECE, 4 * PIECE, 1, step, rank])
    kept = max(1, events * len(rows) // (ranks * STEPS * 3) // len(rows) * STEPS)
    return {"rank": rank, "ranks": 1, "host": f"node{rank // 32:03d}", "wall_start_ns": 1_760_000_000_000_000_000 + rank * 1000, "seconds": STEPS * step_ns * 1e-9 + 2,
            "held_seconds": 24.0, "ran_seconds": 6.0, "queued_seconds": 0.5, "finished": True, "bin_ns": 62_500_000, "bins": bins, "events": [row for row in rows if row[-2] < kept]}


def map_of(ranks):
    """Each rank its piece of every step; every 32nd carries what 32 ranks ask for."""
    cell = 1 << 18
    while STEPS * ranks * PIECE > 256 * cell:
        cell *= 2
    cells = STEPS * ranks * PIECE // cell
    return {"cell_bytes": cell, "asked": [[0] + [STEPS * PIECE // cells] * cells for _ in range(ranks)],
            "carried": [[0] + [32 * STEPS * PIECE // cells] * cells if rank % 32 == 0 else [] for rank in range(ranks)]}


def add_up(parts):
    total = {}
    for part in parts:
        for name, value in part.items():
            largest = name in ("ranks", "nodes", "stripe_bytes", "stripe_count", "end_offset")
            total[name] = max(total.get(name, 0), value) if largest else total.get(name, 0) + value
    return total


def add_lists(lists):
    return [sum(values) for values in zip(*lists)]


def joined(parts, traces, places, pieces):
    """As of very many ranks: several are one, with the sums of theirs."""
    step = -(-len(traces) // pieces)
    groups = [slice(first, first + step) for first in range(0, len(traces), step)]
    sums = [add_up(parts[group]) for group in groups]
    ranks = [dict(traces[group][0], ranks=len(traces[group]), bins=[add_lists(rows) for rows in zip(*(one["bins"] for one in traces[group]))],
                  events=[row for one in traces[group] for row in one["events"]]) for group in groups]
    cells = {name: [add_lists([row for row in places[name][group] if row]) for group in groups] for name in ("asked", "carried")}
    return sums, ranks, {"cell_bytes": places["cell_bytes"], **cells}


def job(ranks, events=20000, pieces=1024):
    random.seed(7)
    parts = [rank_totals(rank, ranks, rank == 617 % ranks) for rank in range(ranks)]
    finding = {"id": "straggler", "title": "the other ranks wait for a late one", "file": "out/field.nc", "seconds": 3.9, "factor": 1.1, "at_most": False, "worth": True,
               "evidence": "the others wait 4.0 s each for rank 617 on node019", "files": 1, "worst": [],
               "remedies": [{"text": "see what rank 617 does between accesses", "seconds": 3.9, "factor": 1.1}]}
    traces, carried = [rank_trace(rank, ranks, events) for rank in range(ranks)], map_of(ranks)
    if ranks > pieces:
        parts, traces, carried = joined(parts, traces, carried, pieces)
    file = {"name": "out/field.nc", "amode": "wronly|create", "file_system": "lustre", "library": "", "files": 1, "seconds": 30.0, "totals": add_up(parts), "map": carried, "by_rank": parts,
            "texts": [{"kind": "hints", "count": 1, "text": "cb_buffer_size=16777216\ncb_nodes=32\n"},
                      {"kind": "plan", "count": 1, "text": "strategy:  two_phase   # interleaved\naggregators: 32\n"}]}
    return {"version": 12, "pattern": "", "host_names": [f"node{i:03d}" for i in range(ranks // 32 + 1)],
            "run": {"job": "4711", "user": "somebody", "command": "./synthetic input", "mpi": "an MPI", "mercutio": "0.1.0"},
            "rates": {"read": 0, "written": 2.5e9}, "failed_opens": {"opens": 2, "seconds": 0.25, "first": "no such file: out/none"}, "program": "synthetic", "ranks": ranks, "hosts": ranks // 32 + 1, "seconds": STEPS * 2.0 + 2, "finished": True, "io_share": 0.6, "held_part": 1, "crowded": False,
            "verdict": "", "findings": [finding], "files": [file], "calls_per_kept": 1, "rank_traces": traces}


if __name__ == "__main__":
    json.dump(job(*(int(word) for word in sys.argv[1:])), sys.stdout)
