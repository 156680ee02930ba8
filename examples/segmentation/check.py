#!/usr/bin/env python3
"""Computes what segmentation.c should have written, with numpy's transforms, and compares: check.py IMAGE OUTPUT TILES SCALES ORIENTATIONS"""
import sys

import numpy

MAGIC, HIGHEST_FREQUENCY, WIDTH = 0x30524F424147, 0.25, 3.0
TOLERANCE = 1e-5   # of the largest response: outputs are 32-bit floats


def read_image(path):
    """Channels x rows x columns."""
    with open(path, "rb") as file:
        magic, *shape = numpy.fromfile(file, dtype=numpy.int64, count=4)
        if magic != MAGIC:
            sys.exit("check.py: %s is no image file: prepare.py makes one" % path)
        return numpy.fromfile(file, dtype=numpy.float32).reshape(shape).astype(numpy.float64)


def tiled(planes, tiles):
    """Mirrored at the edges, as numpy's "symmetric" padding does it."""
    rows, columns = planes.shape[1:]
    return numpy.pad(planes, ((0, 0), (0, rows * (tiles - 1)), (0, columns * (tiles - 1))), mode="symmetric")


def response(spectra, frequency, angle):
    rows, columns = spectra.shape[1:]
    u, v = signed_frequencies(columns), signed_frequencies(rows)[:, None]
    distance = (u - frequency * numpy.cos(angle)) ** 2 + (v - frequency * numpy.sin(angle)) ** 2
    gain = numpy.exp(-distance / (2 * (frequency / WIDTH) ** 2))
    gain[0, 0] = 0
    return numpy.sqrt((abs(numpy.fft.ifft2(spectra * gain)) ** 2).sum(axis=0))


def signed_frequencies(size):
    """numpy's, with half the sampling frequency positive."""
    frequencies = numpy.fft.fftfreq(size)
    return numpy.where(frequencies == -0.5, 0.5, frequencies)


def main():
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    tiles, scales, orientations = map(int, sys.argv[3:])
    planes = tiled(read_image(sys.argv[1]), tiles)
    spectra = numpy.fft.fft2(planes)
    shape = (scales * orientations, *planes.shape[1:])
    written = numpy.fromfile(sys.argv[2], dtype=numpy.float32)
    if written.size != numpy.prod(shape):
        sys.exit("check.py: %s has %d numbers, not %d" % (sys.argv[2], written.size, numpy.prod(shape)))
    worst, largest = 0.0, 0.0
    for index, found in enumerate(written.reshape(shape)):
        scale, orientation = divmod(index, orientations)
        expected = response(spectra, HIGHEST_FREQUENCY / 2 ** scale, numpy.pi * orientation / orientations)
        worst, largest = max(worst, abs(found - expected).max()), max(largest, expected.max())
    if not worst <= TOLERANCE * largest or largest == 0:
        sys.exit("check.py: responses differ from numpy's by up to %g; the largest is %g" % (worst, largest))
    print("check.py: %d responses of %d x %d agree with numpy's to %.1e of the largest" % (*shape, worst / largest))


if __name__ == "__main__":
    main()
