#!/usr/bin/env python3
"""Whether pictures show what happened: pictures.py REPORT_FOLDER JOB.json JOB.perfetto TRUTH

TRUTH has lines "wrote RANK FILE BYTES". The map of each file (its pixels), the timeline (its pixels) and the Perfetto trace are compared by
shares of the ranks, and the Perfetto trace also by time. The bar is 2 %.
"""
import json
import sys
from collections import Counter

BAR = 0.02


def shares(parts):
    whole = sum(parts.values())
    return {key: value / whole for key, value in parts.items()} if whole else {}


def compare(what, shown, truth):
    shown, truth = shares(shown), shares(truth)
    worst = max((abs(shown.get(key, 0) - truth.get(key, 0)) for key in {*shown, *truth}), default=0)
    print(f"{what}: at most {100 * worst:.2f} % from the truth")
    return worst <= BAR


def colours_of(picture, colours):
    """How many pixels have each of the colours."""
    import numpy as np
    return {rank: float(np.all(np.isclose(picture, colour), axis=-1).sum()) for rank, colour in enumerate(colours)}


def map_by_rank(job, file):
    """Pixels of a rank, each as much as its place of the file has bytes."""
    import numpy as np
    from mercutio_report import charts, bands
    colours, found = bands.rank_colours(len(job.traces)), {}
    for band, _ in charts.BANDS:
        places = charts.map_shares(job, file, band).sum(axis=0)
        picture = bands.striped(charts.map_shares(job, file, band), colours, charts.MAP_BAND)
        pixels = [colours_of(picture[:, column:column + 1], colours) for column in range(picture.shape[1])]
        found[band] = {rank: float(np.sum([places[i] * pixels[i][rank] / charts.MAP_BAND for i in range(len(pixels))])) for rank in range(len(colours))}
    return found


def timeline_by_rank(job):
    """Pixels in which a rank was at the storage, and the time it was there by its totals."""
    from mercutio_report import charts, bands
    ranks = range(len(job.traces))
    picture = bands.stacked(charts.time_parts(job, list(ranks)), charts.TIME_COLOURS, charts.BAND)
    shown = {}
    for rank in ranks:
        band = picture[rank * charts.BAND:(rank + 1) * charts.BAND]
        shown[rank] = colours_of(band, [charts.matplotlib.colors.to_rgb(charts.WRITE)])[0]
    truth = {rank: sum(file.by_rank[rank].get("storage_write.ns", 0) for file in job.files) for rank in ranks}
    return shown, truth


def main():
    sys.path.insert(0, sys.argv[1])
    from mercutio_report.job import Job
    with open(sys.argv[2]) as stream:
        job = Job.load(stream)
    with open(sys.argv[3]) as stream:
        events = [event for event in json.load(stream)["traceEvents"] if event["ph"] == "X"]
    wrote = Counter()
    with open(sys.argv[4]) as stream:
        for line in stream:
            _, rank, name, count = line.split()
            wrote[int(rank), name] += int(count)
    good = True
    for file in job.files:
        truth = {rank: count for (rank, name), count in wrote.items() if file.name.endswith("." + name)}
        for band, found in map_by_rank(job, file).items():
            good &= compare(f"map of {file.name}, {band}", found, truth)
        for kind in ("access", "storage_write"):
            found = Counter()
            for event in events:
                if event["cat"] == kind and event["args"]["file"] == file.name:
                    found[event["pid"]] += event["args"]["bytes"]
            good &= compare(f"Perfetto, {kind} of {file.name}", found, truth)
    good &= compare("timeline by rank", *timeline_by_rank(job))
    quarters = {"shown": Counter(), "truth": Counter()}
    start = min(trace["wall_start_ns"] for trace in job.traces)
    for event in events:
        if event["cat"] == "access":
            quarters["shown"][int(event["ts"] * 1e-6 / job.seconds * 4)] += event["args"]["bytes"]
    for trace in job.traces:
        for i, row in enumerate(trace["bins"]):
            quarters["truth"][int((i * trace["bin_ns"] + trace["wall_start_ns"] - start) * 1e-9 / job.seconds * 4)] += row[2]
    good &= compare("Perfetto by time", quarters["shown"], quarters["truth"])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
