#!/usr/bin/env python3
"""The smallest useful parallel file, with mpi4py: every rank writes the numbers that are its own, interleaved with
everybody else's, in one collective call, and reads them back.

    mercutio run -- mpirun -n 4 python3 hello.py hello.bin

The file then holds 0, 1, 2, ... in order: rank r of n owns the places r, r + n, r + 2n, ... mpi4py turns error codes into
exceptions. Needs mpi4py only: the standard library's arrays are good enough as buffers.
"""
import sys
from array import array

from mpi4py import MPI

NUMBERS = 8

comm = MPI.COMM_WORLD
path = sys.argv[1] if len(sys.argv) > 1 else "hello.bin"

# What this rank sees of the file: one int, then a hole for the others, again and again. The view's displacement moves its
# start to this rank's first place.
every_nth = MPI.INT.Create_resized(0, comm.size * MPI.INT.size).Commit()
mine = array("i", (comm.rank + i * comm.size for i in range(NUMBERS)))
back = array("i", [0] * NUMBERS)

file = MPI.File.Open(comm, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
file.Set_size(0)
file.Set_view(comm.rank * MPI.INT.size, MPI.INT, every_nth)
status = MPI.Status()
file.Write_all([mine, MPI.INT], status)
# The view is this rank's own part, so it may read what it wrote without a sync; offset 0 is the view's beginning.
file.Read_at_all(0, [back, MPI.INT])
file.Close()
every_nth.Free()

good = comm.allreduce(back == mine and status.Get_count(MPI.INT) == NUMBERS, op=MPI.LAND)
if comm.rank == 0:
    print(f"{path}: {NUMBERS * comm.size} numbers from {comm.size} ranks, {'verified' if good else 'WRONG'}")
sys.exit(0 if good else 1)
