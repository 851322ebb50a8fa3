"""Problems without a solution, for tests of several folders."""

import numpy as np

import contactsolve as cs


def pressed(size, share):
    """A grid of balls, on the top ones of which the world presses at various speeds."""
    grid, rng = cs.scenarios.ball_grid(size), np.random.default_rng(3)
    top = np.arange(size**3 - size**2, size**3)
    top = top[rng.permutation(top.size) < max(1, share * top.size)]
    J, b = np.zeros((top.size, 2, 3, 6)), np.zeros((top.size, 3))
    J[:, 0, [0, 1, 2], [2, 0, 1]] = -1, 1, 1
    b[:, 0] = -rng.uniform(0.05, 0.2, top.size)
    bodies = np.column_stack([top, np.full_like(top, -1)])
    arrays = ((grid.J, J), (grid.b, b), (grid.bodies, bodies))
    J, b, bodies = (np.concatenate(pair) for pair in arrays)
    return cs.Problem(J, grid.Minv, b, 0.5, bodies=bodies)
