"""PETSc's binary viewer by MPI-IO: a field on a structured grid, a sparse matrix and an index set in one file, and back."""
import petsc4py

petsc4py.init(["petsc", "-viewer_binary_mpiio", "1"])
from petsc4py import PETSc  # noqa: E402

comm = PETSc.COMM_WORLD
grid = PETSc.DMDA().create([24, 30, 18], dof=3, stencil_width=1, comm=comm)
field = grid.createGlobalVec()
first, last = field.getOwnershipRange()
field.setArray([0.5 * i for i in range(first, last)])
matrix = PETSc.Mat().createAIJ([500, 500], comm=comm)
matrix.setUp()
for row in range(*matrix.getOwnershipRange()):
    matrix[row, row] = 2.0 + row
    if row > 0:
        matrix[row, row - 1] = -1.0
matrix.assemble()

viewer = PETSc.Viewer().createMPIIO("petsc.bin", mode="w", comm=comm)
field.view(viewer)
matrix.view(viewer)
PETSc.IS().createStride(100, 100 * comm.rank, 1, comm=comm).view(viewer)
viewer.destroy()

viewer = PETSc.Viewer().createMPIIO("petsc.bin", mode="r", comm=comm)
read_field = grid.createGlobalVec()
read_field.load(viewer)
read_matrix = PETSc.Mat().load(viewer)
viewer.destroy()
read_field.axpy(-1.0, field)
read_matrix.axpy(-1.0, matrix)
norms = read_field.norm(), read_matrix.norm()
if comm.rank == 0:
    print("differences", *norms)
assert norms == (0.0, 0.0)
