#!/usr/bin/env python3
"""Draws the last month of the ocean's output file: draw.py OUTPUT GEOMETRY_FILE PICTURE

The file holds, month by month, temperature, dye and age of every ocean cell as doubles; its size says how many months.
Each cell is drawn as the quadrangle it is on the globe (longitude, latitude); what stays grey is land.
"""
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.collections import PolyCollection  # noqa: E402
from matplotlib.ticker import FuncFormatter  # noqa: E402

FIELDS = 3
WEST = -180.0


def quadrangles(lon, lat):
    """Corners per cell, without tearing at the date line, and which cell each belongs to: cells on the edge come twice."""
    lon = lon[:, :1] + (lon - lon[:, :1] + 180.0) % 360.0 - 180.0
    lon = lon - 360.0 * np.floor((lon.mean(axis=1, keepdims=True) - WEST) / 360.0)
    again = np.nonzero(lon.max(axis=1) > WEST + 360.0)[0], np.nonzero(lon.min(axis=1) < WEST)[0]
    cells = np.concatenate([np.arange(len(lon)), *again])
    shift = np.concatenate([np.zeros(len(lon)), np.full(len(again[0]), -360.0), np.full(len(again[1]), 360.0)])
    return np.stack([lon[cells] + shift[:, None], lat[cells]], axis=-1), cells


def panel(figure, axes, shapes, values, settings):
    title, label, colours, low, high, extend = settings
    polygons = PolyCollection(shapes, array=values, cmap=colours, edgecolors="face", linewidths=0.2)
    polygons.set_clim(low, high)
    axes.set_facecolor("#8f8f8f")
    axes.add_collection(polygons)
    axes.set(xlim=(WEST, WEST + 360), ylim=(-80, 90), aspect=1.0)
    axes.set_title(title, loc="left", fontsize=11)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{abs(x):.0f}°" + ("W" if x < 0 else "E" if 0 < x < 180 else "")))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{abs(y):.0f}°" + ("S" if y < 0 else "N" if y > 0 else "")))
    axes.set_xticks(np.arange(-180, 181, 60))
    axes.set_yticks(np.arange(-60, 91, 30))
    axes.tick_params(labelsize=8)
    figure.colorbar(polygons, ax=axes, extend=extend, fraction=0.024, pad=0.015).set_label(label, fontsize=9)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    output, geometry_path, picture = sys.argv[1:]
    geometry = np.load(geometry_path)
    cells = len(geometry["lon"])
    data = np.memmap(output, dtype=np.float64, mode="r")
    if data.size == 0 or data.size % (FIELDS * cells):
        sys.exit(f"draw.py: {output} does not hold whole months of {FIELDS} arrays of {cells} cells")
    months = data.size // (FIELDS * cells)
    temperature, dye, age = data.reshape(months, FIELDS, cells)[-1]
    if not all(np.isfinite(field).all() for field in (temperature, dye, age)):
        sys.exit("draw.py: the last month holds values that are not numbers")
    shapes, owner = quadrangles(geometry["lon"], geometry["lat"])
    figure = plt.figure(figsize=(13, 9.6), layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=[2, 1])
    date = f"January {2015 + months // 12}" if months % 12 == 0 else f"month {months}"
    figure.suptitle(f"Ocean transport, month {months} ({date}), read back from {output.rsplit('/', 1)[-1]}: {cells} cells", fontsize=13)
    panel(figure, figure.add_subplot(grid[0, :]), shapes, temperature[owner],
          ("Sea temperature", "°C", "turbo", -2, 31, "neither"))
    panel(figure, figure.add_subplot(grid[1, 0]), shapes, np.log10(np.maximum(dye[owner], 1e-6)),
          ("Dye released at six places", "log10 of the share", "magma", -4, 0, "min"))
    panel(figure, figure.add_subplot(grid[1, 1]), shapes, age[owner],
          ("Time since the water left a coast", "years", "viridis", 0, max(months / 12, 0.1), "neither"))
    figure.savefig(picture, dpi=110)
    print(f"temperature {temperature.min():.2f} to {temperature.max():.2f} degC, dye up to {dye.max():.2f}, age up to {age.max():.2f} years")


if __name__ == "__main__":
    main()
