#!/usr/bin/env python3
"""Writes an image file for segmentation.c: prepare.py PICTURE IMAGE, or prepare.py ROWSxCOLUMNSxCHANNELS IMAGE

The file: four 64-bit integers (magic, channels, rows, columns), then each channel's rows as 32-bit floats. A picture's channels
become optical densities, -log10 of the light that comes through: in a micrograph they are proportional to the amount of stain.
Sizes instead of a picture give a synthetic one, of stripes and noise, for tests.
"""
import re
import sys

import numpy

MAGIC = 0x30524F424147


def from_picture(path):
    try:
        from PIL import Image
    except ImportError:
        sys.exit("prepare.py: reading a picture needs Python's pillow (scripts/setup.sh segmentation)")
    light = numpy.asarray(Image.open(path).convert("RGB"), dtype=numpy.float64)
    return numpy.moveaxis(-numpy.log10((light + 1) / 256), 2, 0)


def synthetic(rows, columns, channels):
    y, x = numpy.mgrid[0:rows, 0:columns]
    noise = numpy.random.default_rng(1).standard_normal((channels, rows, columns))
    stripes = [numpy.sin(2 * numpy.pi * (x / (4 + 3 * c) + y / (9 - c % 5))) for c in range(channels)]
    return numpy.array(stripes) + 0.3 * noise


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    sizes = re.fullmatch(r"(\d+)x(\d+)x(\d+)", sys.argv[1])
    planes = synthetic(*map(int, sizes.groups())) if sizes else from_picture(sys.argv[1])
    with open(sys.argv[2], "wb") as file:
        numpy.array([MAGIC, *planes.shape], dtype=numpy.int64).tofile(file)
        planes.astype(numpy.float32).tofile(file)


if __name__ == "__main__":
    main()
