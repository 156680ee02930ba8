#!/usr/bin/env python3
"""Makes the ocean's mesh file from a real model grid: prepare.py NEMO_FOLDER MESH_FILE GEOMETRY_FILE

Input: the three monthly means of sea surface temperature (January to March 2015) on the global eORCA1 grid that the PyPI
package iris-sample-data ships. The grid is curvilinear with its two northern poles on land; its top row is folded onto
itself. Land cells are dropped: what is left is an unstructured mesh of ocean cells and the faces between them.

Currents: a stream function of Stommel's wind-driven circulation (r lap(psi) + beta psi_x = curl(tau), psi constant on each
coast, 130 Sv around Antarctica) lives on the cells' corners, so that the volume flowing through a face is the difference
of two corners and no cell gains or loses water. Cost: some 2000 Jacobi sweeps over 120,000 corners, about ten seconds.

MESH_FILE is all a C program needs, in native byte order; every table is a whole number of 8-byte words:
    int64  magic, cells n, links m, fields K, byte offset of the initial fields, steps a month that are surely stable
    int64  first[n+1]      the links of cell c are first[c] .. first[c+1]-1
    int64  neighbour[m]
    int64  curve[n]        the cells in the order of a Hilbert curve, for cutting the mesh in compact pieces
    double flow[m]         water leaving the cell by this link a month, m3 (negative: entering)
    double mixing[m]       diffusive exchange a month, m3
    double volume[n], target[n] (degC), fresh[n] (1 at the coast, where the age is set back)
    double fields[K][n]    initial temperature, dye and age
GEOMETRY_FILE (npz) keeps the cells' corners for drawing.
"""
import pathlib
import sys

import netCDF4
import numpy as np

MAGIC = 0x314E4145434F  # "OCEAN1"
EARTH_RADIUS = 6.371e6
MONTH = 365.25 / 12 * 86400.0
STEPS_A_MONTH = 8
DIFFUSIVITY = 800.0  # m2/s
DEPTH = 500.0  # m, of the layer that moves
FRICTION = 2.5e-6  # 1/s: a western boundary current is FRICTION/beta = 120 km wide
SVERDRUP = 1e6


def read_grid(folder):
    """Corners as lon, lat [rows, columns, 4] (SW, SE, NE, NW), months of temperature, ocean mask."""
    months = []
    for path in sorted(pathlib.Path(folder).glob("nemo_1m_*_grid-T.nc")):
        with netCDF4.Dataset(path) as data:
            months.append(np.ma.asarray(data["tos"][0]))
            lon = np.asarray(data["bounds_lon"][:], dtype=float)
            lat = np.asarray(data["bounds_lat"][:], dtype=float)
    if len(months) != 3:
        sys.exit(f"prepare.py: three monthly files expected in {folder}, found {len(months)}")
    ocean = ~np.any([np.ma.getmaskarray(month) for month in months], axis=0)
    return lon, lat, np.array([month.filled(0.0) for month in months], dtype=float), ocean


def unit_vectors(lon, lat):
    lon, lat = np.radians(lon), np.radians(lat)
    return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1)


def distance(a, b):
    return EARTH_RADIUS * np.linalg.norm(a - b, axis=-1)


def corner_grid(lon, lat):
    """Every corner once: [rows + 1, columns]; corner (j, i) is the SW one of cell (j, i), columns are periodic."""
    return np.vstack([lon[:, :, 0], lon[-1:, :, 3]]), np.vstack([lat[:, :, 0], lat[-1:, :, 3]])


def stream_function(lon, lat, ocean):
    """Transport stream function on the corners, m3/s; water flows with its high values on the right in the south."""
    corner_lon, corner_lat = corner_grid(lon, lat)
    place = unit_vectors(corner_lon, corner_lat)
    around = np.zeros(corner_lat.shape, dtype=bool)  # all four cells are ocean
    below, above = ocean[:-1], ocean[1:]
    around[1:-1] = below & above & np.roll(below, 1, axis=1) & np.roll(above, 1, axis=1)
    dx = np.maximum(distance(place, np.roll(place, -1, axis=1)), 2e4)
    dy = np.full_like(dx, 1e5)
    dy[:-1] = np.maximum(distance(place[:-1], place[1:]), 2e4)
    stress_lat = np.arange(-80.0, 81.0, 1.0)
    stress = np.interp(stress_lat, [-75, -52, -30, -15, 0, 15, 30, 45, 62, 75], [0, 0.17, 0, -0.08, -0.025, -0.08, 0, 0.1, 0, 0])
    stress = np.convolve(np.pad(stress, 4, mode="edge"), np.ones(9) / 9, mode="valid")
    curl = -np.gradient(stress, stress_lat * np.pi / 180 * EARTH_RADIUS) / 1025.0
    forcing = np.interp(corner_lat, stress_lat, curl)
    beta = 2 * 7.292e-5 * np.cos(np.radians(corner_lat)) / EARTH_RADIUS
    east, side, up = beta / dx + FRICTION / dx**2, FRICTION / dx**2, FRICTION / dy**2
    total = east + side + 2 * up
    psi = np.where(~around & (corner_lat < -60), 130 * SVERDRUP, 0.0)
    coast = psi.copy()
    for _ in range(2000):
        north = np.vstack([psi[1:], psi[-1:]])
        south = np.vstack([psi[:1], psi[:-1]])
        new = (east * np.roll(psi, -1, axis=1) + side * np.roll(psi, 1, axis=1) + up * (north + south) - forcing) / total
        psi = np.where(around, new, coast)
    return psi


def faces(lon, lat, ocean, psi):
    """Each face between two ocean cells once: from, to, volume flow m3/s, width / distance of the centres."""
    corner_lon, corner_lat = corner_grid(lon, lat)
    place = unit_vectors(corner_lon, corner_lat)
    centre = unit_vectors(lon, lat).mean(axis=2)
    centre /= np.linalg.norm(centre, axis=-1, keepdims=True)
    cell = np.where(ocean, np.cumsum(ocean.ravel()).reshape(ocean.shape) - 1, -1)
    next_psi, next_place = np.roll(psi, -1, axis=1), np.roll(place, -1, axis=1)
    fold = np.arange(ocean.shape[1])[::-1]
    half = slice(0, ocean.shape[1] // 2)
    kinds = [  # from, to, flow, ends of the face, centres
        (cell, np.roll(cell, -1, axis=1), next_psi[:-1] - next_psi[1:], next_place[:-1], next_place[1:], centre,
         np.roll(centre, -1, axis=1)),
        (cell[:-1], cell[1:], (next_psi - psi)[1:-1], place[1:-1], next_place[1:-1], centre[:-1], centre[1:]),
        (cell[-1, half], cell[-1, fold][half], (next_psi - psi)[-1, half], place[-1, half], next_place[-1, half],
         centre[-1, half], centre[-1, fold][half]),
    ]
    rows = []
    for a, b, flow, end1, end2, centre1, centre2 in kinds:
        open_face = (a >= 0) & (b >= 0)
        shape = distance(end1, end2) / np.maximum(distance(centre1, centre2), 1e4)
        rows.append([x[open_face] for x in (a, b, flow, shape)])
    return [np.concatenate(column) for column in zip(*rows)]


def cell_areas(lon, lat, ocean):
    corner = unit_vectors(lon, lat)[ocean]
    cross = np.cross(corner[:, 2] - corner[:, 0], corner[:, 3] - corner[:, 1])
    return np.maximum(0.5 * EARTH_RADIUS**2 * np.linalg.norm(cross, axis=-1), 1e7)


def hilbert_order(ocean):
    """Ocean cells along a Hilbert curve over the grid's indices (the usual bit-wise walk, from the top bit down)."""
    y, x = (index.astype(np.int64) for index in np.nonzero(ocean))
    key = np.zeros_like(x)
    size = 1 << int(max(ocean.shape)).bit_length()
    s = size // 2
    while s > 0:
        rx, ry = ((x & s) > 0).astype(np.int64), ((y & s) > 0).astype(np.int64)
        key += s * s * ((3 * rx) ^ ry)
        flip = (ry == 0) & (rx == 1)
        x, y = np.where(flip, size - 1 - x, x), np.where(flip, size - 1 - y, y)
        x, y = np.where(ry == 0, y, x), np.where(ry == 0, x, y)
        s //= 2
    return np.argsort(key, kind="stable")


def dye_patches(lon, lat):
    """Continuous releases of dye: Kuroshio, Gulf Stream, Agulhas, Drake Passage, Galapagos, Bay of Bengal."""
    place = unit_vectors(lon, lat)
    dye = np.zeros(len(lon))
    for where in [(143, 36), (-74, 34), (31, -33), (-66, -58), (-92, 0), (88, 12)]:
        away = distance(place, unit_vectors(*map(float, where)))
        dye = np.maximum(dye, np.exp(-((away / 3.5e5) ** 2)))
    return np.where(dye < 1e-3, 0.0, dye)


def write_mesh(path, links, volume, target, fresh, curve, fields):
    a, b, flow, mixing = links
    source, target_cell = np.concatenate([a, b]), np.concatenate([b, a])
    both_flow, both_mixing = np.concatenate([flow, -flow]), np.concatenate([mixing, mixing])
    order = np.lexsort((target_cell, source))
    n, m = len(volume), len(source)
    first = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=n), out=first[1:])
    tables = [first, target_cell[order].astype(np.int64), curve.astype(np.int64), both_flow[order], both_mixing[order],
              volume, target, fresh]
    offset = 6 * 8 + sum(table.nbytes for table in tables)
    temporary = pathlib.Path(str(path) + ".part")
    with open(temporary, "wb") as out:
        out.write(np.array([MAGIC, n, m, len(fields), offset, STEPS_A_MONTH], dtype=np.int64).tobytes())
        for table in [*tables, *fields]:
            out.write(np.ascontiguousarray(table).tobytes())
    temporary.replace(path)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    folder, mesh_path, geometry_path = sys.argv[1:]
    lon, lat, months, ocean = read_grid(folder)
    psi = stream_function(lon, lat, ocean)
    a, b, flow, shape = faces(lon, lat, ocean, psi)
    area = cell_areas(lon, lat, ocean)
    n = len(area)
    # No cell may lose more than 0.65 of its water in one step: where currents are fast for the cell's size the layer is
    # as deep as that needs.
    leaving = np.bincount(a, np.maximum(flow, 0), n) + np.bincount(b, np.maximum(-flow, 0), n)
    volume = np.maximum(area * DEPTH, leaving * MONTH / STEPS_A_MONTH / 0.65)
    depth = volume / area
    cap = 0.08 * STEPS_A_MONTH * np.minimum(volume[a], volume[b])
    mixing = np.minimum(DIFFUSIVITY * shape * np.minimum(depth[a], depth[b]) * MONTH, cap)
    centre = unit_vectors(lon, lat).mean(axis=2)[ocean]
    centre_lon = np.degrees(np.arctan2(centre[:, 1], centre[:, 0]))
    centre_lat = np.degrees(np.arcsin(centre[:, 2] / np.linalg.norm(centre, axis=-1)))
    fresh = (np.bincount(np.concatenate([a, b]), minlength=n) < 4).astype(float)  # has a face to land
    fields = [months[0][ocean], dye_patches(centre_lon, centre_lat), np.zeros(n)]
    write_mesh(mesh_path, (a, b, flow * MONTH, mixing), volume, months.mean(axis=0)[ocean], fresh, hilbert_order(ocean), fields)
    np.savez(geometry_path, lon=lon[ocean], lat=lat[ocean])
    print(f"{n} ocean cells, {len(a)} faces, {100 * np.mean(depth > DEPTH):.0f} % deepened, up to {np.abs(flow).max() / SVERDRUP:.0f} Sv through a face")


if __name__ == "__main__":
    main()
