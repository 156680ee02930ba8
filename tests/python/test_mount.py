"""Programs on a mounted remote directory (mercutio mount): what they read and write is what they do here."""
import os
import subprocess

import conftest
import numpy as np
import pytest

h5py = pytest.importorskip("h5py")
xarray = pytest.importorskip("xarray")
COMMAND = str(conftest.BUILD / "bin" / "mercutio")
if not os.access("/dev/fuse", os.R_OK | os.W_OK) or not (conftest.BUILD / "bin" / "mercutio-mount").exists():
    pytest.skip("no /dev/fuse here, or Mercutio was built without libfuse3", allow_module_level=True)


@pytest.fixture(scope="module")
def mounted(export, tmp_path_factory):
    at = tmp_path_factory.mktemp("mount")
    subprocess.run([COMMAND, "mount", "here:data", str(at)], check=True, timeout=60)
    yield at
    subprocess.run([COMMAND, "umount", str(at)], check=True, timeout=60)


@pytest.fixture
def folder(place, mounted):
    """A fresh folder: there, and as it is mounted."""
    return place[0], mounted / place[0].name


@pytest.fixture(scope="module")
def weather():
    dice = np.random.default_rng(7)
    return xarray.Dataset({"t": (("time", "lat", "lon"), dice.normal(280, 10, (24, 90, 180)).astype("f4")), "p": (("time", "lat"), dice.random((24, 90)))},
                          coords={"time": np.arange(24), "lat": np.linspace(-89, 89, 90), "lon": np.arange(0, 360, 2.0)}, attrs={"title": "a test"})


@pytest.mark.parametrize("engine, module", [("h5netcdf", "h5netcdf"), ("netcdf4", "netCDF4")])
def test_xarray_reads_netcdf(folder, weather, engine, module):
    pytest.importorskip(module)
    there, here = folder
    weather.to_netcdf(there / "w.nc", engine=engine, encoding={"t": {"chunksizes": (1, 45, 90), "zlib": True}})
    with xarray.open_dataset(here / "w.nc", engine=engine) as found:
        np.testing.assert_array_equal(found.t[:, 3, 5], weather.t[:, 3, 5])
        np.testing.assert_array_equal(found.t[7, 40:50, ::7], weather.t[7, 40:50, ::7])
        xarray.testing.assert_identical(found.load(), weather)


@pytest.mark.parametrize("engine, module", [("h5netcdf", "h5netcdf"), ("netcdf4", "netCDF4")])
def test_xarray_writes_netcdf(folder, weather, engine, module):
    pytest.importorskip(module)
    there, here = folder
    weather.to_netcdf(here / "w.nc", engine=engine, encoding={"t": {"chunksizes": (1, 45, 90), "zlib": True}})
    with xarray.open_dataset(there / "w.nc", engine=engine) as found:
        xarray.testing.assert_identical(found.load(), weather)


def test_h5py_reads_what_is_there(folder):
    there, here = folder
    dice = np.random.default_rng(9)
    whole, table = dice.random((300, 400)), dice.integers(0, 1000, 20_000)
    with h5py.File(there / "x.h5", "w") as file:
        file.create_dataset("whole", data=whole)
        file.create_dataset("deep/er/table", data=table, chunks=(999,), compression="gzip")
    with h5py.File(here / "x.h5") as file:
        np.testing.assert_array_equal(file["whole"][17:200:13, 30:70], whole[17:200:13, 30:70])
        np.testing.assert_array_equal(file["deep/er/table"][5:18_000:17], table[5:18_000:17])
        np.testing.assert_array_equal(file["whole"], whole)
        np.testing.assert_array_equal(file["deep/er/table"], table)


def test_h5py_writes_and_appends(folder):
    there, here = folder
    dice = np.random.default_rng(11)
    whole, table = dice.random((300, 400)), dice.integers(0, 1000, 20_000)
    with h5py.File(here / "x.h5", "w") as file:
        file.create_dataset("whole", data=whole)
        chunked = file.create_dataset("table", shape=table.shape, chunks=(999,), maxshape=(None,), dtype="i8")
        for at in range(0, len(table), 1500):
            chunked[at:at + 1500] = table[at:at + 1500]
        np.testing.assert_array_equal(chunked[17:18_000:13], table[17:18_000:13])
    with h5py.File(here / "x.h5", "r+") as file:
        file["whole"][10:20, 5] = -1
        file["table"].resize((25_000,))
    whole[10:20, 5] = -1
    with h5py.File(there / "x.h5") as file:
        np.testing.assert_array_equal(file["whole"], whole)
        np.testing.assert_array_equal(file["table"][:20_000], table)
