"""The charts: each function takes a job and returns markup to put into the page, or None where there is nothing to show.

Vector graphics where the number of marks is small; what grows with ranks or time is drawn as a picture of bounded size.
"""
import base64
import io

import matplotlib

matplotlib.use("Agg")
import numpy as np  # noqa: E402
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.colors import LogNorm  # noqa: E402
from matplotlib.ticker import FuncFormatter, LogLocator, MultipleLocator, NullFormatter  # noqa: E402

from .job import BUCKETS, PHASE_LABELS, PHASES, bytes_text, phases_of, seconds_text  # noqa: E402

# Okabe and Ito's colours, told apart by all kinds of eyes.
COLOURS = {"storage": "#0072B2", "exchange": "#E69F00", "copy": "#F0E442", "arrive": "#D55E00", "wait": "#E8A37C", "agree": "#F3CDB5",
           "lock": "#000000", "sieve": "#CC79A7", "own": "#BBBBBB", "files": "#009E73"}
READ, WRITE = "#56B4E9", "#0072B2"
MOST_ROWS, MOST_COLUMNS, MOST_AGGREGATORS, MOST_MARKS = 256, 400, 12, 4000

plt.rcParams.update({"font.family": "sans-serif", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.fonttype": "none",
                     "axes.titlesize": 10, "axes.titlelocation": "left", "figure.constrained_layout.use": True, "svg.hashsalt": "mercutio"})


def as_svg(figure):
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    plt.close(figure)
    text = out.getvalue()
    return text[text.index("<svg"):]


def as_png(figure, alt):
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=130)
    plt.close(figure)
    return f'<img alt="{alt}" src="data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}">'


def byte_axis(axis):
    """Labels like 64 MiB, at multiples of powers of two; call it when the data is drawn."""
    low, high = axis.get_view_interval()
    if axis.get_scale() == "linear" and high > low:
        step = 2.0 ** np.ceil(np.log2((high - low) / 6))
        axis.set_major_locator(MultipleLocator(step))
    elif axis.get_scale() == "log":
        axis.set_major_locator(LogLocator(base=2))
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda value, _: bytes_text(value) if value >= 0 else ""))


def waterfall(job):
    """From the time of the run down to what the I/O did in it: means over the ranks."""
    ranks = max(1, len(job.traces))
    parts = [(name, seconds / ranks) for name, seconds in job.phases().items() if seconds > 0]
    parts.sort(key=lambda part: -part[1])
    inside = sum(seconds for _, seconds in parts)
    if not inside:
        return None
    bars = [("run", 0, job.seconds, "#DDDDDD"), ("MPI-IO", 0, inside, "#999999")]
    at = 0
    for name, seconds in parts:
        bars.append((PHASE_LABELS[name], at, seconds, COLOURS[name]))
        at += seconds
    figure, axis = plt.subplots(figsize=(9, 0.6 + 0.27 * len(bars)))
    for row, (name, left, width, colour) in enumerate(bars):
        axis.barh(row, width, left=left, color=colour, height=0.72)
        axis.text(left + width, row, f"  {seconds_text(width)} ({100 * width / max(job.seconds, 1e-9):.0f} %)", va="center", fontsize=8)
    axis.set_yticks(range(len(bars)), [bar[0] for bar in bars])
    axis.invert_yaxis()
    axis.set_xlim(0, 1.22 * max(job.seconds, inside))
    axis.set_xlabel("seconds, mean of all ranks")
    return as_svg(figure)


def shrink(matrix, rows, columns):
    """Sums of neighbouring cells, so that no side is longer than asked."""
    for side, most in ((0, rows), (1, columns)):
        step = -(-matrix.shape[side] // most)
        if step > 1:
            starts = np.arange(0, matrix.shape[side], step)
            matrix = np.add.reduceat(matrix, starts, axis=side)
    return matrix


def heat_matrix(job, column, width_ns, shift):
    bins = int(np.ceil(job.seconds * 1e9 / width_ns)) + 1
    matrix = np.zeros((len(job.traces), bins))
    for row, trace in enumerate(job.traces):
        values = np.array([one[column] for one in trace["bins"]], dtype=float)
        if values.size == 0:
            continue
        places = ((np.arange(values.size) * trace["bin_ns"] + shift[row]) // width_ns).astype(int)
        np.add.at(matrix[row], np.clip(places, 0, bins - 1), values)
    return shrink(matrix, MOST_ROWS, MOST_COLUMNS)


def heat_map(job):
    width = max(trace["bin_ns"] for trace in job.traces)
    start = min(trace["wall_start_ns"] for trace in job.traces)
    shift = [trace["wall_start_ns"] - start for trace in job.traces]
    maps = [(title, heat_matrix(job, column, width, shift)) for title, column in (("reading", 0), ("writing", 2))]
    maps = [(title, matrix) for title, matrix in maps if matrix.max() > 0]
    if not maps:
        return None
    figure, axes = plt.subplots(len(maps), 1, figsize=(9, 0.8 + 1.7 * len(maps)), squeeze=False, sharex=True)
    for axis, (title, matrix) in zip(axes[:, 0], maps):
        shown = np.ma.masked_equal(matrix, 0)
        low, high = float(shown.min()), float(shown.max())
        norm = LogNorm(low, high) if high > 1.01 * low else None
        image = axis.imshow(shown, aspect="auto", interpolation="nearest", cmap="viridis", norm=norm,
                            extent=(0, job.seconds, len(job.traces) - 0.5, -0.5))
        axis.set_title(title)
        axis.set_ylabel("rank")
        axis.yaxis.get_major_locator().set_params(integer=True)
        bar = figure.colorbar(image, ax=axis, pad=0.01)
        byte_axis(bar.ax.yaxis)
    axes[-1, 0].set_xlabel("seconds since MPI_Init; colour: bytes of a cell")
    return as_png(figure, "Bytes over time and ranks")


def timeline(job):
    """What the ranks with the most storage time did, event by event."""
    weight = {}
    rows = list(job.events({"storage_read", "storage_write", "lock", "access", "sync", "open", "close"}))
    for rank, event in rows:
        if event["kind"].startswith("storage"):
            weight[rank] = weight.get(rank, 0) + event["ns"]
    busiest = sorted(sorted(weight, key=lambda rank: -weight[rank])[:MOST_AGGREGATORS])
    if not busiest:
        return None
    styles = {"access": ("#DDDDDD", 0.8, "in MPI_File calls"), "open": (COLOURS["files"], 0.8, "open, close, sync"), "close": (COLOURS["files"], 0.8, None),
              "sync": (COLOURS["files"], 0.8, None), "storage_read": (READ, 0.5, "storage read"), "storage_write": (WRITE, 0.5, "storage write"),
              "lock": (COLOURS["lock"], 0.3, "lock")}
    figure, axis = plt.subplots(figsize=(9, 1.0 + 0.3 * len(busiest)))
    labelled = set()
    for kind, (colour, height, label) in styles.items():
        for place, rank in enumerate(busiest):
            spans = [(event["start"], max(event["seconds"], job.seconds / 2000)) for who, event in rows if who == rank and event["kind"] == kind]
            spans = spans[::-(-len(spans) // (MOST_MARKS // len(busiest)))] if spans else []
            if spans:
                axis.broken_barh(spans, (place - height / 2, height), color=colour, linewidth=0, label=None if label in labelled else label, rasterized=True)
                labelled.add(label)
    axis.set_yticks(range(len(busiest)), [f"rank {rank}" for rank in busiest])
    axis.invert_yaxis()
    axis.set_xlim(0, job.seconds)
    axis.set_xlabel("seconds since MPI_Init")
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, 1.0 + 0.9 / (len(busiest) + 1)), ncols=5, frameon=False, fontsize=8)
    return as_png(figure, "What the busiest ranks did over time")


def load(job):
    """Bytes at the storage by rank, and by server where the stripes are known."""
    ranks = np.array([[sum(file.by_rank[i].get(f"storage_{way}.bytes", 0) for file in job.files) for i in range(len(job.traces))]
                      for way in ("read", "write")], dtype=float)
    if ranks.max(initial=0) == 0:
        return None
    ranks = shrink(ranks, 2, MOST_ROWS)
    servers = {}
    for _, event in job.events({"storage_read", "storage_write"}):
        file = next((file for file in job.files if file.name == event["file"]), None)
        unit, count = (file.total("stripe_bytes"), file.total("stripe_count")) if file else (0, 0)
        if unit > 0 and count > 0 and event["offset"] >= 0:
            first, last = event["offset"] // unit, (event["offset"] + max(1, event["span"], event["bytes"]) - 1) // unit
            touched = range(first, min(last, first + count - 1) + 1)
            for stripe in touched:
                servers[stripe % count] = servers.get(stripe % count, 0) + event["bytes"] / len(touched)
    figure, axes = plt.subplots(1, 2 if servers else 1, figsize=(9, 2.4), squeeze=False)
    axis = axes[0, 0]
    places = np.arange(ranks.shape[1])
    for values, bottom, colour, label in ((ranks[0], 0, READ, "read"), (ranks[1], ranks[0], WRITE, "written")):
        if values.any():
            axis.bar(places, values, bottom=bottom, color=colour, label=label)
    axis.set_xlabel("rank" if ranks.shape[1] == len(job.traces) else f"ranks, {-(-len(job.traces) // MOST_ROWS)} a bar")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, 1.2), ncols=2)
    byte_axis(axis.yaxis)
    if servers:
        axes[0, 1].bar(list(servers), list(servers.values()), color=WRITE)
        axes[0, 1].set_xlabel("server")
        byte_axis(axes[0, 1].yaxis)
    return as_svg(figure)


def sizes(job):
    """How large the program's accesses are, and how large what the storage gets."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 2.5), sharey=True)
    seen = False
    for axis, way in zip(axes, ("read", "write")):
        before = np.sum([file.sizes((f"independent_{way}", f"collective_{way}")) for file in job.files] or [[0] * len(BUCKETS)], axis=0)
        after = np.sum([file.sizes((f"storage_{way}",)) for file in job.files] or [[0] * len(BUCKETS)], axis=0)
        seen = seen or before.any() or after.any()
        places = np.arange(len(BUCKETS))
        axis.bar(places - 0.2, before, 0.4, color="#999999", label="asked for by the program")
        axis.bar(places + 0.2, after, 0.4, color=WRITE, label="given to the storage")
        axis.set_ylim(0.7, 2 * max(1, before.max(), after.max(), axis.get_ylim()[1] / 2))
        if before.any() or after.any():
            axis.set_yscale("log")
        axis.set_title({"read": "reading", "write": "writing"}[way])
        axis.set_xticks(places, BUCKETS, rotation=60, ha="right", fontsize=7)
    axes[0].set_ylabel("calls, up to this size")
    axes[1].legend(frameon=False, fontsize=8)
    if not seen:
        plt.close(figure)
        return None
    return as_svg(figure)


def layout_strip(job, file):
    """Which rank asks for which part of the file, and which rank's storage calls carry it."""
    lanes = {"asked for by": {"access"}, "carried by": {"storage_read", "storage_write"}}
    rows = [(rank, event) for rank, event in job.events() if event["file"] == file.name and event["offset"] >= 0 and event["bytes"] > 0]
    end = max((event["offset"] + max(event["span"], event["bytes"]) for _, event in rows), default=0)
    if end == 0:
        return None
    cells = 600
    strips = np.full((len(lanes), cells), np.nan)
    for lane, kinds in enumerate(lanes.values()):
        best = np.zeros(cells)
        for rank, event in rows:
            if event["kind"] not in kinds:
                continue
            first, last = int(event["offset"] / end * cells), int(min(cells - 1, (event["offset"] + max(event["span"], event["bytes"]) - 1) / end * cells))
            density = event["bytes"] / max(event["span"], event["bytes"], 1)
            part = slice(first, last + 1)
            better = density > best[part]
            strips[lane, part] = np.where(better, rank, strips[lane, part])
            best[part] = np.maximum(best[part], density)
    figure, axis = plt.subplots(figsize=(9, 1.3))
    image = axis.imshow(strips, aspect="auto", interpolation="nearest", cmap="turbo" if len(job.traces) > 20 else "tab20", vmin=0,
                        vmax=max(19 if len(job.traces) <= 20 else 1, len(job.traces) - 1), extent=(0, end, len(lanes) - 0.5, -0.5))
    axis.set_yticks(range(len(lanes)), list(lanes))
    byte_axis(axis.xaxis)
    axis.set_xlabel("place in the file; colour: rank")
    if len(job.traces) > 20:
        figure.colorbar(image, ax=axis, pad=0.01)
    else:
        for rank in range(len(job.traces)):
            axis.plot([], [], "s", color=image.cmap(image.norm(rank)), label=str(rank))
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=1 + len(job.traces) // 6, frameon=False, fontsize=7, handletextpad=0.1)
    return as_png(figure, "Which rank owns which bytes")


def by_rank(job):
    """The phases of every rank, stacked: who waits, who works."""
    ranks = len(job.traces)
    spent = {name: np.zeros(ranks) for name in (*PHASES, "files")}
    for file in job.files:
        for i, totals in enumerate(file.by_rank):
            for name, seconds in phases_of(totals).items():
                spent[name][i] += seconds
    if not any(values.any() for values in spent.values()):
        return None
    figure, axis = plt.subplots(figsize=(9, 2.6))
    bottom = 0
    for name, values in spent.items():
        if values.sum() <= 0:
            continue
        values = shrink(values[None, :], 1, MOST_ROWS)[0] / (-(-ranks // MOST_ROWS))
        axis.bar(np.arange(values.size), values, 1.0 if values.size > 32 else 0.8, bottom=bottom, color=COLOURS[name], label=PHASE_LABELS[name], linewidth=0)
        bottom = bottom + values
    axis.set_xlabel("rank" if ranks <= MOST_ROWS else f"ranks, {-(-ranks // MOST_ROWS)} a bar")
    axis.set_ylabel("seconds")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    return as_svg(figure)


def comparison(job, other):
    """The same phases of two runs beside each other."""
    names = [name for name in (*PHASES, "files") if job.phases().get(name) or other.phases().get(name)]
    figure, axis = plt.subplots(figsize=(9, 0.8 + 0.35 * len(names)))
    places = np.arange(len(names))
    for one, shift, colour, label in ((job, -0.2, "#0072B2", "this run"), (other, 0.2, "#E69F00", "the other run")):
        values = [one.phases().get(name, 0) / max(1, len(one.traces)) for name in names]
        axis.barh(places + shift, values, 0.38, color=colour, label=f"{label}: {seconds_text(one.seconds)}")
    axis.set_yticks(places, [PHASE_LABELS[name] for name in names])
    axis.invert_yaxis()
    axis.set_xlabel("seconds, mean of all ranks")
    axis.legend(frameon=False)
    return as_svg(figure)
