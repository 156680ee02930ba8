#!/usr/bin/env python3
"""Draws the input, some responses and the segments they make: draw.py IMAGE OUTPUT TILES SCALES ORIENTATIONS PICTURE [PHOTOGRAPH]

Segments: k-means over the pixels of the upper left tile; their features are the logarithms of the responses, averaged over the
orientations, and the channels, all smoothed and with unit variance.
"""
import sys

import matplotlib
import numpy

import check

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

SEGMENTS, STEPS, SMOOTHING = 4, 25, 6.0


def smooth(plane, sigma):
    """A periodic Gaussian, by FFT."""
    u, v = numpy.fft.fftfreq(plane.shape[1]), numpy.fft.fftfreq(plane.shape[0])[:, None]
    return numpy.fft.ifft2(numpy.fft.fft2(plane) * numpy.exp(-2 * (numpy.pi * sigma) ** 2 * (u * u + v * v))).real


def segments(planes, responses):
    """Labels, from the darkest to the brightest on the average."""
    features = [smooth(plane, SMOOTHING) for plane in [*planes, *numpy.log(responses.mean(axis=1) + 1e-6)]]
    points = numpy.array([(plane - plane.mean()) / (plane.std() + 1e-12) for plane in features]).reshape(len(features), -1).T
    order = numpy.argsort(points[:, 0])
    centres = points[order[numpy.linspace(0, len(points) - 1, 2 * SEGMENTS + 1).astype(int)[1::2]]]
    for _ in range(STEPS):
        labels = ((points[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
        centres = numpy.array([points[labels == k].mean(axis=0) if (labels == k).any() else centres[k] for k in range(SEGMENTS)])
    return labels.reshape(planes.shape[1:])


def main():
    if len(sys.argv) not in (7, 8):
        sys.exit(__doc__.strip())
    tiles, scales, orientations = map(int, sys.argv[3:6])
    planes = check.read_image(sys.argv[1])
    rows, columns = planes.shape[1:]
    shape = (scales, orientations, rows * tiles, columns * tiles)
    responses = numpy.memmap(sys.argv[2], dtype=numpy.float32, mode="r", shape=shape)[:, :, :rows, :columns]
    panels = [("the micrograph" if len(sys.argv) == 8 else "channel 1", plt.imread(sys.argv[7]) if len(sys.argv) == 8 else planes[0], "gray")]
    for scale, orientation in [(0, 0), (1, orientations // 2), (min(2, scales - 1), 0), (scales - 1, orientations // 2)]:
        period, angle = 2 ** scale / check.HIGHEST_FREQUENCY, 180 * orientation / orientations
        panels.append(("period %.0f pixels, %.0f degrees" % (period, angle), responses[scale, orientation], "magma"))
    panels.append(("segments by texture and stain", segments(planes, numpy.asarray(responses)), "viridis"))
    figure, axes = plt.subplots(2, 3, figsize=(12, 8.4))
    for axis, (title, data, colours) in zip(axes.flat, panels):
        axis.imshow(data, cmap=colours, interpolation="nearest")
        axis.set_title(title, fontsize=10)
        axis.set_axis_off()
    figure.tight_layout()
    figure.savefig(sys.argv[6], dpi=100)


if __name__ == "__main__":
    main()
