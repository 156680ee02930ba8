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

from . import bands  # noqa: E402
from .job import BUCKETS, PHASE_LABELS, PHASES, bytes_text, phases_of, seconds_text  # noqa: E402

# Okabe and Ito's colours, told apart by all kinds of eyes.
COLOURS = {"storage": "#0072B2", "exchange": "#E69F00", "copy": "#F0E442", "arrive": "#D55E00", "wait": "#E8A37C", "agree": "#F3CDB5",
           "lock": "#000000", "sieve": "#CC79A7", "own": "#BBBBBB", "files": "#009E73"}
# And in grey, by their patterns.
HATCHES = {"exchange": "////", "arrive": "xxxx", "wait": "....", "agree": "oo", "sieve": "----", "files": "\\\\\\\\", "own": "||"}
READ, WRITE = "#8CCBEF", "#0072B2"
MOST_ROWS, MOST_COLUMNS, MOST_BANDS = 256, 400, 12

plt.rcParams.update({"font.family": "sans-serif", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.fonttype": "none",
                     "axes.titlesize": 10, "axes.titlelocation": "left", "figure.constrained_layout.use": True, "svg.hashsalt": "mercutio",
                     "hatch.linewidth": 0.6, "hatch.color": "white"})


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
    parts = [(name, seconds / job.known_ranks) for name, seconds in job.phases().items() if seconds > 0]
    parts.sort(key=lambda part: -part[1])
    inside = sum(seconds for _, seconds in parts)
    if not inside:
        return None
    bars = [("run", 0, job.seconds, "#DDDDDD", None), ("MPI-IO", 0, inside, "#999999", None)]
    at = 0
    for name, seconds in parts:
        bars.append((PHASE_LABELS[name], at, seconds, COLOURS[name], HATCHES.get(name)))
        at += seconds
    figure, axis = plt.subplots(figsize=(9, 0.6 + 0.27 * len(bars)))
    for row, (name, left, width, colour, hatch) in enumerate(bars):
        axis.barh(row, width, left=left, color=colour, hatch=hatch, height=0.72, linewidth=0)
        axis.text(left + width, row, f"  {seconds_text(width)} ({100 * width / max(job.seconds, 1e-9):.0f} % of the run)", va="center", fontsize=8)
    axis.set_yticks(range(len(bars)), [bar[0] for bar in bars])
    axis.invert_yaxis()
    axis.set_xlim(0, 1.22 * max(job.seconds, inside))
    axis.set_xlabel("seconds, mean of all ranks")
    return as_svg(figure)


def fewer_columns(matrix):
    """Sums of neighbouring columns, so that there are not too many."""
    step = -(-matrix.shape[1] // MOST_COLUMNS)
    return np.add.reduceat(matrix, np.arange(0, matrix.shape[1], step), axis=1) if step > 1 else matrix


def ranks_of_row(job):
    """How many ranks a row or a bar of a picture stands for."""
    return -(-job.known_ranks // min(MOST_ROWS, len(job.traces)))


def by_row(job, values):
    """Of each trace's values, the sums for each row. What one trace has of several ranks is as if each of them had the same."""
    ends = np.cumsum(job.members)
    edges = np.arange(0, job.known_ranks, ranks_of_row(job))[:, None]
    inside = np.minimum(ends, edges + ranks_of_row(job)) - np.maximum(ends - job.members, edges)
    return np.clip(inside, 0, None) / job.members @ values


def ranks_label(job):
    return f"ranks, {ranks_of_row(job)} a bar" if ranks_of_row(job) > 1 else "rank"


def heat_matrix(job, column, width_ns, shift):
    bins = int(np.ceil(job.seconds * 1e9 / width_ns)) + 1
    matrix = np.zeros((len(job.traces), bins))
    for row, trace in enumerate(job.traces):
        values = np.array([one[column] for one in trace["bins"]], dtype=float)
        if values.size == 0:
            continue
        places = ((np.arange(values.size) * trace["bin_ns"] + shift[row]) // width_ns).astype(int)
        np.add.at(matrix[row], np.clip(places, 0, bins - 1), values)
    return by_row(job, fewer_columns(matrix))


def heat_map(job):
    width = max(trace["bin_ns"] for trace in job.traces)
    shift = job.shifts_ns()
    maps = [(title, heat_matrix(job, column, width, shift)) for title, column in (("reading", 0), ("writing", 2))]
    maps = [(title, matrix / (job.seconds / matrix.shape[1]) * 1e-6) for title, matrix in maps if matrix.max() > 0]
    if not maps:
        return None
    of_row = ranks_of_row(job)
    figure, axes = plt.subplots(len(maps), 1, figsize=(9, 0.8 + 1.7 * len(maps)), squeeze=False, sharex=True)
    for axis, (title, matrix) in zip(axes[:, 0], maps):
        shown = np.ma.masked_equal(matrix, 0)
        low, high = float(shown.min()), float(shown.max())
        norm = LogNorm(low, high) if high > 1.01 * low else None
        image = axis.imshow(shown, aspect="auto", interpolation="nearest", cmap="viridis", norm=norm,
                            extent=(0, job.seconds, len(matrix) * of_row - 0.5, -0.5))
        axis.set_ylim(job.known_ranks - 0.5, -0.5)
        axis.set_title(title)
        axis.set_ylabel("rank")
        axis.yaxis.get_major_locator().set_params(integer=True)
        bar = figure.colorbar(image, ax=axis, pad=0.01)
        bar.set_label("MB/s")
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}"))
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
    axes[-1, 0].set_xlabel("seconds since MPI_Init; colour: MB/s" + (f" of {of_row} ranks" if of_row > 1 else " of a rank"))
    return as_png(figure, "Bytes over time and ranks")


TIME_PARTS = (("storage_read", "reading from storage"), ("storage_write", "writing to storage"), ("calls", "in MPI_File calls otherwise"),
              ("files", "open, close, sync, size, view"))
TIME_COLOURS = {"storage_read": READ, "storage_write": WRITE, "calls": "#CCCCCC", "files": COLOURS["files"]}
BAND = 24


def time_parts(job, rows):
    """For these rows of rank_traces, the parts of each span of time that went into what: (name, matrix of rows and columns)."""
    width = max(trace["bin_ns"] for trace in job.traces)
    shift = job.shifts_ns()
    columns = min(MOST_COLUMNS, int(np.ceil(job.seconds * 1e9 / width)))
    span = job.seconds * 1e9 / max(1, columns)
    spent = {name: np.zeros((len(rows), columns)) for name, _ in TIME_PARTS}
    for row, (trace, later) in enumerate((job.traces[i], shift[i]) for i in rows):
        bins = np.array(trace["bins"], dtype=float).reshape(-1, 7) / trace["ranks"]
        begin = np.arange(len(bins)) * trace["bin_ns"] + later
        spread = spread_over(begin, trace["bin_ns"], span, columns)
        reads, writes, files = (bins[:, column] @ spread for column in (4, 5, 6))
        spent["storage_read"][row], spent["storage_write"][row], spent["files"][row] = reads, writes, files
        spent["calls"][row] = np.maximum(0, (bins[:, 1] + bins[:, 3]) @ spread - reads - writes)
    parts, left = [], np.ones((len(rows), columns))
    for name, _ in TIME_PARTS:   # accesses that overlap take no more than all of the time
        parts.append((name, np.minimum(left, spent[name] / span)))
        left = left - parts[-1][1]
    return parts


def spread_over(begin, width, span, columns):
    """The parts of bins that begin there and have that width, in columns of that span of time: a matrix of bins and columns."""
    edges = np.arange(columns + 1) * span
    inside = np.clip((edges[None, 1:] - begin[:, None]) / width, 0, 1) - np.clip((edges[None, :-1] - begin[:, None]) / width, 0, 1)
    return inside


def timeline(job):
    """What the ranks with the most storage time did."""
    weight = [sum(row[4] + row[5] for row in trace["bins"]) / ranks for trace, ranks in zip(job.traces, job.members)]
    busiest = sorted(sorted(range(len(weight)), key=lambda row: -weight[row])[:MOST_BANDS])
    if not any(weight):
        return None
    parts = time_parts(job, busiest)
    picture = bands.stacked(parts, TIME_COLOURS, BAND)
    figure, axis = plt.subplots(figsize=(9, 1.0 + 0.3 * len(busiest)))
    axis.imshow(picture, aspect="auto", interpolation="nearest", extent=(0, job.seconds, len(busiest) - 0.5, -0.5))
    axis.set_yticks(range(len(busiest)), [f"rank {job.traces[row]['rank']}" + (f" and {job.members[row] - 1} like it" if job.members[row] > 1 else "") for row in busiest])
    for place in range(1, len(busiest)):
        axis.axhline(place - 0.5, color="white", linewidth=2)
    axis.set_xlabel("seconds since MPI_Init; height of a colour: part of the time")
    for (name, matrix), (_, label) in zip(parts, TIME_PARTS):
        if matrix.any():
            axis.plot([], [], "s", color=TIME_COLOURS[name], label=label)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, 1.0 + 0.9 / (len(busiest) + 1)), ncols=4, frameon=False, fontsize=8)
    return as_png(figure, "What the busiest ranks did over time")


def server_bytes(job):
    """Bytes of each server, from which part of striped files the storage carried."""
    servers = {}
    for file in job.files:
        unit, count = file.total("stripe_bytes"), file.total("stripe_count")
        if not file.map or unit <= 0 or count <= 0:
            continue
        cell = file.map["cell_bytes"]
        for place, value in enumerate(map_shares(job, file, "carried").sum(axis=0)):
            touched = range(place * cell // unit, min((place * cell + cell - 1) // unit, place * cell // unit + count - 1) + 1)
            for stripe in touched if value else ():
                servers[stripe % count] = servers.get(stripe % count, 0) + value / len(touched)
    return servers


def load(job):
    """Bytes at the storage by rank, and by server where the stripes are known."""
    ranks = np.array([[sum(file.by_rank[i].get(f"storage_{way}.bytes", 0) for file in job.files) for i in range(len(job.traces))]
                      for way in ("read", "write")], dtype=float)
    if ranks.max(initial=0) == 0:
        return None
    ranks = by_row(job, ranks.T).T
    servers = server_bytes(job)
    figure, axes = plt.subplots(1, 2 if servers else 1, figsize=(9, 2.4), squeeze=False)
    axis = axes[0, 0]
    places = np.arange(ranks.shape[1])
    for values, bottom, colour, label in ((ranks[0], 0, READ, "read"), (ranks[1], ranks[0], WRITE, "written")):
        if values.any():
            axis.bar(places, values, bottom=bottom, color=colour, label=label)
    axis.set_xlabel(ranks_label(job))
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


BANDS = (("asked", "asked for by"), ("carried", "carried by"))
MAP_BAND = 48


def map_shares(job, file, band):
    """Bytes of every rank in every cell of the file: a matrix."""
    rows = file.map[band]
    cells = max((row[0] + len(row) - 1 for rows in (file.map["asked"], file.map["carried"]) for row in rows if row), default=0)
    shares = np.zeros((len(job.traces), cells))
    for rank, row in enumerate(rows):
        if row:
            shares[rank, row[0]:row[0] + len(row) - 1] = row[1:]
    return shares


def map_picture(job, file):
    """One band below the other, as pixels."""
    colours = bands.rank_colours(len(job.traces))
    return np.concatenate([bands.striped(map_shares(job, file, band), colours, MAP_BAND) for band, _ in BANDS])


def layout_strip(job, file):
    """Which rank asks for which part of the file, and which rank's storage calls carry it."""
    if not file.map:
        return None
    picture = map_picture(job, file)
    end = picture.shape[1] * file.map["cell_bytes"]
    if end == 0:
        return None
    figure, axis = plt.subplots(figsize=(9, 1.5))
    axis.imshow(np.repeat(picture, -(-768 // picture.shape[1]), axis=1), aspect="auto", interpolation="nearest", extent=(0, end, len(BANDS) - 0.5, -0.5))
    axis.set_yticks(range(len(BANDS)), [label for _, label in BANDS])
    axis.axhline(0.5, color="white", linewidth=2)
    axis.set_xlim(0, end)
    byte_axis(axis.xaxis)
    shared = bands.owners(map_shares(job, file, "asked"))
    axis.set_xlabel("place in the file; colour: rank" + (f"; stripes: {shared:.0f} ranks in turns" if shared > 1.1 else ""))
    colours = bands.rank_colours(len(job.traces))
    if len(job.traces) > 20:
        colour_map = matplotlib.colors.ListedColormap(colours)
        figure.colorbar(matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(0, job.known_ranks - 1), colour_map), ax=axis, pad=0.01)
    else:
        for rank, colour in enumerate(colours):
            axis.plot([], [], "s", color=colour, label=str(rank))
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=1 + len(job.traces) // 6, frameon=False, fontsize=7, handletextpad=0.1)
    return as_png(figure, "Which rank owns which bytes")


def by_rank(job):
    """The phases of every rank, stacked: who waits, who works."""
    ranks = len(job.traces)
    spent = {name: np.zeros(ranks) for name in (*PHASES, "files")}
    for file in job.files:
        for i, totals in enumerate(file.by_rank):
            for name, seconds in phases_of(totals).items():
                spent[name][i] += seconds * job.held_part
    if not any(values.any() for values in spent.values()):
        return None
    figure, axis = plt.subplots(figsize=(9, 2.6))
    bottom, members = 0, by_row(job, np.array(job.members))
    for name, values in spent.items():
        if values.sum() <= 0:
            continue
        values = by_row(job, values) / members
        axis.bar(np.arange(values.size), values, 1.0 if values.size > 32 else 0.8, bottom=bottom, color=COLOURS[name], hatch=HATCHES.get(name), label=PHASE_LABELS[name], linewidth=0)
        bottom = bottom + values
    axis.set_xlabel(ranks_label(job))
    axis.set_ylabel("seconds")
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=8)
    return as_svg(figure)


def comparison(job, other):
    """The same phases of two runs beside each other."""
    names = [name for name in (*PHASES, "files") if job.phases().get(name) or other.phases().get(name)]
    figure, axis = plt.subplots(figsize=(9, 0.8 + 0.35 * len(names)))
    places = np.arange(len(names))
    for one, shift, colour, label in ((job, -0.2, "#0072B2", job.title()), (other, 0.2, "#E69F00", other.title())):
        values = [one.phases().get(name, 0) / one.known_ranks for name in names]
        axis.barh(places + shift, values, 0.38, color=colour, label=f"{' ' if label.startswith('_') else ''}{label}: {seconds_text(one.seconds)}")   # "_": none
    axis.set_yticks(places, [PHASE_LABELS[name] for name in names])
    axis.invert_yaxis()
    axis.set_xlabel("seconds, mean of all ranks")
    for text in axis.legend(frameon=False).get_texts():
        text.set_parse_math(False)   # a program may have a "$" in its name
    return as_svg(figure)
