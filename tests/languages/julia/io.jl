# Calls the MPI as MPI.jl does, by ccall with the name of the MPI's library, under the ABI of MPICH: julia io.jl LIBRARY FILE. Each rank writes its blocks
# of a file collectively through a view, and reads those of the next rank.
const libmpi, path = ARGS[1], ARGS[2]
const MPI_Comm, MPI_Datatype, MPI_Info, MPI_File = Cint, Cint, Cint, Ptr{Cvoid}
const COMM_WORLD, BYTE, INFO_NULL = reinterpret(Cint, 0x44000000), reinterpret(Cint, 0x4c00010d), reinterpret(Cint, 0x1c000000)
const CREATE, RDWR = Cint(1), Cint(8)
const BLOCK, BLOCKS = 64, 200
ok(code) = code == 0 || error("MPI error $code")

ok(ccall((:MPI_Init, libmpi), Cint, (Ptr{Cvoid}, Ptr{Cvoid}), C_NULL, C_NULL))
number(name) = (value = Ref{Cint}(); ok(name == :rank ? ccall((:MPI_Comm_rank, libmpi), Cint, (MPI_Comm, Ptr{Cint}), COMM_WORLD, value) :
                                           ccall((:MPI_Comm_size, libmpi), Cint, (MPI_Comm, Ptr{Cint}), COMM_WORLD, value)); Int(value[]))
const rank, size = number(:rank), number(:size)
const next = (rank + 1) % size
const bytes = Cint(BLOCK * BLOCKS)
mine, seen, status = fill(UInt8(rank + 1), BLOCK * BLOCKS), zeros(UInt8, BLOCK * BLOCKS), zeros(UInt8, 64)

view = Ref{MPI_Datatype}()
ok(ccall((:MPI_Type_vector, libmpi), Cint, (Cint, Cint, Cint, MPI_Datatype, Ptr{MPI_Datatype}), BLOCKS, BLOCK, BLOCK * size, BYTE, view))
ok(ccall((:MPI_Type_commit, libmpi), Cint, (Ptr{MPI_Datatype},), view))
file = Ref{MPI_File}()
ok(ccall((:MPI_File_open, libmpi), Cint, (MPI_Comm, Cstring, Cint, MPI_Info, Ptr{MPI_File}), COMM_WORLD, path, CREATE | RDWR, INFO_NULL, file))
set_view(at) = ok(ccall((:MPI_File_set_view, libmpi), Cint, (MPI_File, Int64, MPI_Datatype, MPI_Datatype, Cstring, MPI_Info),
                        file[], at, BYTE, view[], "native", INFO_NULL))
sync() = ok(ccall((:MPI_File_sync, libmpi), Cint, (MPI_File,), file[]))
set_view(rank * BLOCK)
ok(ccall((:MPI_File_write_all, libmpi), Cint, (MPI_File, Ptr{Cvoid}, Cint, MPI_Datatype, Ptr{Cvoid}), file[], mine, bytes, BYTE, status))
sync()
ok(ccall((:MPI_Barrier, libmpi), Cint, (MPI_Comm,), COMM_WORLD))
sync()
set_view(next * BLOCK)
ok(ccall((:MPI_File_read_at, libmpi), Cint, (MPI_File, Int64, Ptr{Cvoid}, Cint, MPI_Datatype, Ptr{Cvoid}), file[], 0, seen, bytes, BYTE, status))
all(seen .== next + 1) || error("wrong bytes")
ok(ccall((:MPI_File_close, libmpi), Cint, (Ptr{MPI_File},), file))
ok(ccall((:MPI_Finalize, libmpi), Cint, ()))
rank == 0 && println("Julia: right")
