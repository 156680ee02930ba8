#!/usr/bin/python3
"""A small parallel h5py program: collective and independent slices, a chunked dataset, attributes, then the file reopened and
read under another division. Prints sums that do not depend on who did the I/O."""
from mpi4py import MPI
import h5py
import numpy as np

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
assert h5py.get_config().mpi, "h5py without MPI"
ROWS, COLUMNS = 60, 48
field = np.arange(ROWS * COLUMNS, dtype="f8").reshape(ROWS, COLUMNS)
rows = slice(rank * ROWS // ranks, (rank + 1) * ROWS // ranks)

with h5py.File("data.h5", "w", driver="mpio", comm=comm) as file:
    together = file.create_dataset("together", (ROWS, COLUMNS), dtype="f8")
    with together.collective:
        together[rank::ranks] = field[rank::ranks]
    chunked = file.create_dataset("group/chunked", (ROWS, COLUMNS), dtype=">i4", chunks=(7, 11))
    with chunked.collective:
        chunked[rows] = field[rows]
    alone = file.create_dataset("alone", (ranks,), dtype="i8")
    alone[rank] = rank * rank
    file.attrs["ranks"] = ranks

with h5py.File("data.h5", "r", driver="mpio", comm=comm) as file:
    columns = slice(rank * COLUMNS // ranks, (rank + 1) * COLUMNS // ranks)
    for name in ("together", "group/chunked"):
        with file[name].collective:
            part = file[name][:, columns]
        assert (part == field[:, columns]).all(), name
        total = comm.allreduce(float(part.sum()))
        if rank == 0:
            print(name, total)
    assert file.attrs["ranks"] == ranks
    assert (file["alone"][:] == np.arange(ranks) ** 2).all()
