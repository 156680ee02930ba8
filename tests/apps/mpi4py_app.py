"""File accesses of mpi4py with numpy arrays: a view for each rank, collective, nonblocking and shared accesses, the bytes."""
import sys

import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD
path = sys.argv[1]
mine = np.arange(10, dtype="i4") + 100 * comm.rank
file = MPI.File.Open(comm, path, MPI.MODE_CREATE | MPI.MODE_RDWR)
column = MPI.INT.Create_vector(10, 1, comm.size).Commit()
file.Set_view(4 * comm.rank, MPI.INT, column)
status = MPI.Status()
file.Write_all(mine, status)
assert status.Get_count(MPI.INT) == 10
back = np.zeros_like(mine)
file.Iread_at_all(0, back).Wait()
assert (back == mine).all()
file.Set_view(0, MPI.BYTE)
whole = np.zeros((10, comm.size), dtype="i4")
file.Read_at_all(0, whole)
assert (whole == np.arange(10)[:, None] + 100 * np.arange(comm.size)[None, :]).all()
file.Seek_shared(0, MPI.SEEK_END)
file.Write_ordered(np.full(1, comm.rank, dtype="i4"))
assert file.Get_size() == 44 * comm.size
file.Close()
column.Free()
try:
    MPI.File.Open(comm, path + ".none", MPI.MODE_RDONLY)
    sys.exit("a missing file was opened")
except MPI.Exception as error:
    assert error.Get_error_class() == MPI.ERR_NO_SUCH_FILE
if comm.rank == 0:
    print("ok under", MPI.Get_library_version().splitlines()[0])
