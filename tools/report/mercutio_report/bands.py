"""Pictures as arrays of pixels, whose areas are the shares they show: rank by rank over time, and over the places of a file."""
import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_rgb

SLOPE = 3   # pixels to the side for each row of a stripe
GOLDEN = (5 ** 0.5 - 1) / 2


def rank_colours(ranks):
    """From dark to light, so that they can be told apart in grey, too."""
    return colormaps["cividis"](np.linspace(0.05, 0.95, max(1, ranks)))[:, :3]


def stacked(parts, colours, height):
    """A band for each row: `parts` are (name, matrix of rows and columns from 0 to 1), drawn from the bottom of the band up, white above."""
    rows, columns = parts[0][1].shape
    out = np.ones((rows, height, columns, 3))
    level = (height - np.arange(height) - 0.5)[None, :, None] / height
    bottom = np.zeros((rows, 1, columns))
    for name, matrix in parts:
        top = bottom + matrix[:, None, :]
        out[(level >= bottom) & (level < top)] = to_rgb(colours[name])
        bottom = top
    return out.reshape(rows * height, columns, 3)


def striped(shares, colours, height):
    """A band of columns, each divided among the rows of `shares`; stripes where several have a part of it, white where nobody has."""
    totals = shares.sum(axis=0)
    columns = shares.shape[1]
    ends = np.cumsum(shares, axis=0) / np.where(totals > 0, totals, 1)
    out = np.ones((height, columns, 3))
    for column in np.flatnonzero(totals > 0):
        offset = column * SLOPE + (column * GOLDEN) % 1
        quantiles = ((np.arange(height) + offset) / height) % 1
        owners = np.searchsorted(ends[:, column], quantiles, side="right")
        out[:, column] = colours[np.minimum(owners, len(colours) - 1)]
    return out


def owners(shares):
    """How many have a part of a column that anybody has a part of, on average."""
    touched = shares.sum(axis=0) > 0
    return float((shares[:, touched] > 0).sum(axis=0).mean()) if touched.any() else 0.0
