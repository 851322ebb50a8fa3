"""A folded sheet of cloth on the floor: contacts of four vertices."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from contactsolve.cloth import Cloth, Collisions, Obstacle, sheet
from contactsolve.problem import Problem
from contactsolve.scenarios._scene import (
    require_count,
    require_not_negative,
    require_positive,
    scenario,
)


@scenario
def folded_cloth(
    layers: int = 4,
    *,
    cells: int = 8,
    rows: int = 6,
    cell: float = 0.02,
    thickness: float = 4e-3,
    gap: float = 0.95,
    density: float = 0.2,
    young: float = 300.0,
    mu: float = 0.3,
    time_step: float = 5e-3,
) -> Problem:
    """Return the contacts of a step of a sheet that is folded like an accordion (S5 section 3.4).

    Vertices are the bodies, with three degrees of freedom. A contact has four partners, a vertex
    and those of a face, or those of two edges; of the floor none.

    Parameters
    ----------
    layers : int, default 4
        Layers on top of each other.
    cells : int, default 8
        Cells of a layer along the fold; one more cell, across the gap, joins two layers.
    rows : int, default 6
        Vertices across, at least 2.
    cell : float, default 0.02
        Length of a cell [m].
    thickness : float, default 4e-3
        Of contacts [m].
    gap : float, default 0.95
        Distance of layers, in thicknesses.
    density : float, default 0.2
        [kg/m^2]
    young : float, default 300.0
        Young's modulus of the membrane [N/m].
    mu : float, default 0.3
        Friction coefficient; 0: contacts have normals alone.
    time_step : float, default 5e-3
        [s]

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        A count or a quantity out of its range.
    """
    require_count(layers=layers, cells=cells, rows=rows)
    require_positive(cell=cell, thickness=thickness, gap=gap, density=density, young=young)
    require_positive(time_step=time_step)
    require_not_negative(mu=mu)
    line = _accordion(layers, cells, cell, gap * thickness)
    along = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])

    # The sheet: rows across, columns along the fold.
    flat, faces = sheet(rows, len(line), (1.0, (rows - 1) * cell))
    column = np.arange(len(flat)) % len(line)
    vertices = np.column_stack([line[column, 0], flat[:, 1], line[column, 1]])
    rest = np.column_stack([along[column], flat[:, 1], np.zeros(len(flat))])
    floor = Obstacle(9 * np.array([[-1, -1, 0], [1, -1, 0], [0, 2, 0]]), [[0, 1, 2]])
    cloth = Cloth(
        vertices,
        faces,
        rest=rest,
        density=density,
        young=young,
        collisions=Collisions(thickness, mu=mu, response="problem"),
        obstacles=[floor],
    )
    return cloth.contact_problem(time_step, "folded_cloth")


def _accordion(layers: int, cells: int, cell: float, gap: float) -> NDArray[np.float64]:
    """Return the line of the fold, x and z of each column."""
    there = cell * np.arange(cells + 1.0)
    return np.concatenate(
        [
            np.column_stack([there[:: 1 - 2 * (k % 2)], np.full(cells + 1, gap * (k + 1))])
            for k in range(layers)
        ]
    )
