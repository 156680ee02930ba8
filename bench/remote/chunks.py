"""A netCDF-4 file of the given size, and reading all of it by its chunks: by h5py, or xarray with dask.

    chunks.py make FILE MIB | h5py FILE | xarray FILE
"""
import contextlib
import sys

import numpy

SIDE = 1024   # a chunk is a field of a time step, 4 MiB


def make(name, mebibytes):
    import h5netcdf
    random = numpy.random.default_rng(7)
    steps = mebibytes * (1 << 20) // (4 * SIDE * SIDE)
    with h5netcdf.File(name, "w") as file:
        file.dimensions = {"time": steps, "y": SIDE, "x": SIDE}
        values = file.create_variable("t", ("time", "y", "x"), "f4", chunks=(1, SIDE, SIDE))
        for step in range(steps):
            values[step] = random.random((SIDE, SIDE), dtype="f4")


def by_h5py(name):
    import fsspec
    import h5py
    with (fsspec.open(name, "rb") if "://" in name else contextlib.nullcontext(name)) as at, h5py.File(at, "r") as file:
        return sum(float(file["t"][step].sum(dtype="f8")) for step in range(file["t"].shape[0]))


def by_xarray(name):
    import xarray
    with xarray.open_dataset(name, engine="h5netcdf", chunks={"time": 1}) as data:
        return float(data["t"].sum(dtype="f8").compute())


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]))
    else:
        print({"h5py": by_h5py, "xarray": by_xarray}[sys.argv[1]](sys.argv[2]))
