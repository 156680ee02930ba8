#!/usr/bin/env python3
"""Loads the MPI by the name of its library, and asks that library for each function, as Julia's MPI.jl does: loaded.py LIBRARY FILE. Each rank writes its
blocks of a file, and reads those of the next rank. The ABI is MPICH's."""
import ctypes
import sys

COMM_WORLD, BYTE, INFO_NULL, CREATE, RDWR = 0x44000000, 0x4c00010d, 0x1c000000, 1, 8
BLOCK = 4096


def main():
    mpi, path = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL), sys.argv[2].encode()

    def call(name, *words):
        assert getattr(mpi, name)(*words) == 0, name

    def number(name):
        value = ctypes.c_int()
        call(name, COMM_WORLD, ctypes.byref(value))
        return value.value

    call("MPI_Init", None, None)
    rank, size = number("MPI_Comm_rank"), number("MPI_Comm_size")
    mine, seen = ctypes.create_string_buffer(bytes([rank + 1]) * BLOCK, BLOCK), ctypes.create_string_buffer(BLOCK)
    file, status, following = ctypes.c_void_p(), ctypes.create_string_buffer(64), (rank + 1) % size
    call("MPI_File_open", COMM_WORLD, path, CREATE | RDWR, INFO_NULL, ctypes.byref(file))
    call("MPI_File_write_at_all", file, ctypes.c_longlong(rank * BLOCK), mine, BLOCK, BYTE, status)
    call("MPI_File_sync", file)
    call("MPI_Barrier", COMM_WORLD)
    call("MPI_File_sync", file)
    call("MPI_File_read_at", file, ctypes.c_longlong(following * BLOCK), seen, BLOCK, BYTE, status)
    assert seen.raw == bytes([following + 1]) * BLOCK
    call("MPI_File_close", ctypes.byref(file))
    call("MPI_Finalize")
    if rank == 0:
        print("loaded: right")


if __name__ == "__main__":
    main()
