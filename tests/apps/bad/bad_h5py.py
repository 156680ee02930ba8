#!/usr/bin/python3
"""An h5py program that writes a column of a table from each rank, independently: bad_h5py.py FILE [1]. With 1 the transfer is
collective. BAD_SCALE as in bad.c."""
import os
import sys

from mpi4py import MPI
begin = MPI.Wtime()   # MPI_Init was called by the import
import h5py
import numpy as np

ROWS, WIDTH = 8192, 64
comm = MPI.COMM_WORLD
columns = slice(comm.rank * WIDTH, (comm.rank + 1) * WIDTH)
data = np.zeros((ROWS, WIDTH))
for _ in range(int(os.environ.get("BAD_SCALE", "1"))):
    with h5py.File(sys.argv[1], "w", driver="mpio", comm=comm) as file:
        table = file.create_dataset("table", (ROWS, WIDTH * comm.size), dtype="f8")
        if len(sys.argv) > 2:
            with table.collective:
                table[:, columns] = data
        else:
            table[:, columns] = data
comm.Barrier()
if comm.rank == 0:
    print(f"seconds {MPI.Wtime() - begin:.6f}")
