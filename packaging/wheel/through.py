"""Two ranks write and read a file of 2,000 integers in turns; says which library did it, from the process's own memory map."""
import re
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
file = MPI.File.Open(comm, sys.argv[1], MPI.MODE_CREATE | MPI.MODE_RDWR)
vector = MPI.INT32_T.Create_vector(1000, 1, comm.size).Commit()
file.Set_view(4 * comm.rank, MPI.INT32_T, vector)
mine = np.arange(1000, dtype="i4") * comm.size + comm.rank
file.Write_all(mine)
file.Set_view(0, MPI.INT32_T)
whole = np.zeros(1000 * comm.size, dtype="i4")
file.Read_at_all(0, whole)
file.Close()
vector.Free()
with open("/proc/self/maps") as maps:
    backends = sorted(set(re.findall(r"/(libmercutio-(?:mpich|openmpi|abi)\.so)", maps.read())))
right = (whole == np.arange(whole.size)).all() and len(backends) == 1
if comm.rank == 0 or not right:
    print("through", *backends, "under", MPI.Get_library_version().split("\n")[0].strip("\0 "), "data right" if right else "WRONG", flush=True)
sys.exit(0 if right else 1)
