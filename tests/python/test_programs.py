"""Programs that open files by fsspec, on remote ones: what they read and write is what they do here."""
import pickle

import fsspec
import numpy as np
import pytest

h5py = pytest.importorskip("h5py")
xarray = pytest.importorskip("xarray")
pytest.importorskip("h5netcdf")


@pytest.fixture(scope="module")
def weather():
    dice = np.random.default_rng(3)
    return xarray.Dataset(
        {"t": (("time", "lat", "lon"), dice.normal(280, 10, (24, 90, 180)).astype("f4")), "p": (("time", "lat"), dice.random((24, 90)))},
        coords={"time": np.arange(24), "lat": np.linspace(-89, 89, 90), "lon": np.arange(0, 360, 2.0)}, attrs={"title": "a test"})


def test_xarray_reads_netcdf(place, weather):
    folder, name = place
    weather.to_netcdf(folder / "w.nc", engine="h5netcdf", encoding={"t": {"chunksizes": (1, 45, 90), "zlib": True}})
    with xarray.open_dataset(name + "/w.nc", engine="h5netcdf") as there:
        xarray.testing.assert_identical(there.load(), weather)
    with fsspec.open(name + "/w.nc") as file, xarray.open_dataset(file, engine="h5netcdf") as there:
        np.testing.assert_array_equal(there.t[:, 3, 5], weather.t[:, 3, 5])
        np.testing.assert_array_equal(there.t[7, 40:50, ::7], weather.t[7, 40:50, ::7])


def test_dask_reads_netcdf_in_threads(place, weather):
    pytest.importorskip("dask.array")
    folder, name = place
    weather.to_netcdf(folder / "w.nc", engine="h5netcdf", encoding={"t": {"chunksizes": (1, 45, 90)}})
    with xarray.open_dataset(name + "/w.nc", engine="h5netcdf", chunks={"time": 3}) as there:
        np.testing.assert_allclose(there.t.mean("time").compute(scheduler="threads", num_workers=4), weather.t.mean("time"), rtol=1e-6)
        again = pickle.loads(pickle.dumps(there))   # what goes to a worker of dask
        np.testing.assert_array_equal(again.p.compute(), weather.p)
        again.close()
    weather.isel(time=slice(0, 12)).to_netcdf(folder / "part1.nc", engine="h5netcdf")
    weather.isel(time=slice(12, 24)).to_netcdf(folder / "part2.nc", engine="h5netcdf")
    files = [file.open() for file in fsspec.open_files(name + "/part*.nc")]
    with xarray.open_mfdataset(files, engine="h5netcdf", combine="nested", concat_dim="time", data_vars="all") as there:
        np.testing.assert_array_equal(there.t, weather.t)
    for file in files:
        file.close()


def test_h5py_reads_and_writes(place):
    folder, name = place
    dice = np.random.default_rng(5)
    whole, table = dice.random((300, 400)), dice.integers(0, 1000, 20_000)
    with fsspec.open(name + "/x.h5", "w+b") as file, h5py.File(file, "w") as there:
        there.create_dataset("whole", data=whole)
        chunked = there.create_dataset("deep/er/table", shape=table.shape, chunks=(999,), maxshape=(None,), dtype="i8", compression="gzip")
        for at in range(0, len(table), 1500):
            chunked[at:at + 1500] = table[at:at + 1500]
        there["whole"].attrs["unit"] = "K"
        np.testing.assert_array_equal(chunked[17:18_000:13], table[17:18_000:13])
    with h5py.File(folder / "x.h5") as here:
        np.testing.assert_array_equal(here["whole"], whole)
        np.testing.assert_array_equal(here["deep/er/table"], table)
    with fsspec.open(name + "/x.h5", "r+b") as file, h5py.File(file, "r+") as there:
        there["whole"][10:20, 5] = -1
        there["deep/er/table"].resize((25_000,))
        there["new"] = np.arange(70_000)
    whole[10:20, 5] = -1
    with fsspec.open(name + "/x.h5") as file, h5py.File(file) as there:
        np.testing.assert_array_equal(there["whole"], whole)
        np.testing.assert_array_equal(there["deep/er/table"][:20_000], table)
        np.testing.assert_array_equal(there["new"], np.arange(70_000))
        assert there["whole"].attrs["unit"] == "K"


def test_pandas(place):
    pandas = pytest.importorskip("pandas")
    folder, name = place
    frame = pandas.DataFrame({"a": range(20_000), "b": [f"row {i}" for i in range(20_000)]})
    frame.to_csv(name + "/x.csv", index=False)
    pandas.testing.assert_frame_equal(pandas.read_csv(folder / "x.csv"), frame)
    pandas.testing.assert_frame_equal(pandas.read_csv(name + "/x.csv"), frame)
    pandas.testing.assert_frame_equal(pandas.concat(pandas.read_csv(name + "/x.csv", chunksize=999)), frame)


def test_zarr(place, weather):
    pytest.importorskip("zarr")
    folder, name = place
    weather.to_zarr(name + "/w.zarr", consolidated=False)
    with xarray.open_zarr(name + "/w.zarr", consolidated=False) as there:
        xarray.testing.assert_identical(there.load(), weather)
