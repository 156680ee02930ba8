"""A cube of hexahedra with named sides, in Gmsh's format, for Code_Saturne's preprocessor."""
import itertools
import sys

CELLS = 24
NODES = CELLS + 1


def node(i, j, k):
    return 1 + i + NODES * (j + NODES * k)


def side(axis, at, a, b):
    corners = []
    for first, second in ((a, b), (a + 1, b), (a + 1, b + 1), (a, b + 1)):
        place = [first, second]
        place.insert(axis, at)
        corners.append(node(*place))
    return corners


elements = []
for axis, at, a, b in itertools.product(range(3), (0, CELLS), range(CELLS), range(CELLS)):
    elements.append((3, axis + 1, side(axis, at, a, b)))
for k, j, i in itertools.product(range(CELLS), repeat=3):
    elements.append((5, 9, [node(i + di, j + dj, k + dk) for dk in (0, 1) for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1))]))
with open(sys.argv[1], "w") as mesh:
    mesh.write("$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n%d\n" % NODES**3)
    for k, j, i in itertools.product(range(NODES), repeat=3):
        mesh.write("%d %g %g %g\n" % (node(i, j, k), i / CELLS, j / CELLS, k / CELLS))
    mesh.write("$EndNodes\n$Elements\n%d\n" % len(elements))
    for number, (kind, group, nodes) in enumerate(elements, 1):
        mesh.write("%d %d 2 %d %d %s\n" % (number, kind, group, group, " ".join(map(str, nodes))))
    mesh.write("$EndElements\n")
