"""Mercutio's files of other clusters in Python: `mercutio://host/root/path`, where `mercutio connect` made the host known.

mercutio.filesystem is an fsspec file system, so that xarray, dask, pandas and whatever else opens files by fsspec take such
names; mercutio.remote has its calls of libmercutio-remote.so.
"""
