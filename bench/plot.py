#!/usr/bin/env python3
"""Draws the table of `mercutio bench --json` or `mercutio bench overlap --json`: plot.py table.json picture.png

bench: one panel for writing, one for reading and one for latencies; in each, for every case, how many times faster Mercutio was than
the I/O of the MPI it ran on (bars) and than the best peer on all MPIs (dots), on a logarithmic scale.
overlap: a panel for each MPI; in it, for every call, how long I/O and computation together took, divided by the longer of the
two alone, on Mercutio and on the MPI's own I/O. 1 is the best there is, 2 means that nothing was hidden.
"""
import json
import sys


def draw_overlap(plt, table):
    rows = table["rows"]
    mpis = list(dict.fromkeys(row["mpi"] for row in rows))
    cases = list(dict.fromkeys((row["call"], row["pattern"]) for row in rows))
    if not cases:
        sys.exit("mercutio bench overlap: nothing to draw")
    figure, axes = plt.subplots(1, len(mpis), figsize=(4 + 4.5 * len(mpis), 2 + 0.32 * len(cases)), squeeze=False, sharey=True)
    for axis, mpi in zip(axes[0], mpis):
        kinds = [io for io in ("host", "romio", "mercutio") if any(row["mpi"] == mpi and row["io"] == io for row in rows)]
        height = 0.8 / len(kinds)
        for index, io in enumerate(kinds):
            mine = [row for row in rows if row["mpi"] == mpi and row["io"] == io]
            places = [cases.index((row["call"], row["pattern"])) + (index - (len(kinds) - 1) / 2) * height for row in mine]
            axis.barh(places, [row["total"] for row in mine], height * 0.9, label=io)
        for limit in (1, 2):
            axis.axvline(limit, color="black", linewidth=0.8)
        axis.set_title(mpi)
        axis.set_xlabel("both together / the longer of I/O and computation")
        axis.grid(axis="x", alpha=0.3)
        axis.legend(loc="lower right", fontsize=8)
    axes[0][0].set_yticks(range(len(cases)), ["%s, %s" % case for case in cases])
    axes[0][0].invert_yaxis()
    figure.suptitle("Mercutio %s: %d ranks, %d servers of %.4g MB/s" % (
        table["version"], table["ranks"], table["servers"], table["rate"] / 1e6))
    return figure


def draw_ratios(plt, table):
    ours = [row for row in table["rows"] if row["io"] == "mercutio" and row["of_best"]]
    mpis = list(dict.fromkeys(row["mpi"] for row in ours))
    panels = [op for op in ("write", "read", "latency") if any(row["op"] == op for row in ours)]
    if not panels:
        sys.exit("mercutio bench: nothing to draw: no case was measured on Mercutio and on a peer")
    figure, axes = plt.subplots(1, len(panels), figsize=(5.5 * len(panels), 8), squeeze=False)
    for axis, op in zip(axes[0], panels):
        cases = list(dict.fromkeys(row["case"] for row in ours if row["op"] == op))
        height = 0.8 / len(mpis)
        for index, mpi in enumerate(mpis):
            rows = [row for row in ours if row["op"] == op and row["mpi"] == mpi]
            places = [len(cases) - 1 - cases.index(row["case"]) - index * height for row in rows]
            axis.barh(places, [row["of_host"] or row["of_best"] for row in rows], height * 0.9, left=0, label=f"{mpi}, over its own I/O")
            axis.plot([row["of_best"] for row in rows], places, "k.", label="over the best peer" if index == 0 else None)
        axis.set_xscale("log")
        axis.axvline(1, color="black", linewidth=0.8)
        axis.set_yticks([len(cases) - 1 - i - 0.4 + height / 2 for i in range(len(cases))], [case.removeprefix("latency-") for case in cases])
        axis.set_title(op)
        axis.set_xlabel("times faster")
        axis.grid(axis="x", alpha=0.3)
    axes[0][0].legend(loc="lower right", fontsize=8)
    figure.suptitle(f"Mercutio {table['version']}, {table['ranks']} ranks, {table['directory']}")
    return figure


def read_table(name):
    try:
        with open(name, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        sys.exit(f"mercutio bench: {name}: {getattr(error, 'strerror', None) or f'no table of mercutio bench --json: {error}'}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    table = read_table(sys.argv[1])
    try:
        import matplotlib
    except ImportError:
        sys.exit("mercutio bench: the plot needs Python's matplotlib (Debian: python3-matplotlib)")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    try:
        figure = draw_overlap(plt, table) if table.get("kind") == "overlap" else draw_ratios(plt, table)
    except (AttributeError, KeyError, TypeError):
        sys.exit(f"mercutio bench: {sys.argv[1]}: no table of mercutio bench --json")
    figure.tight_layout()
    figure.savefig(sys.argv[2], dpi=120)


if __name__ == "__main__":
    main()
