"""A pyramid of bricks, each on two: a scene with four contact points for every pair."""

import numpy as np

import contactsolve as cs

_LENGTH, _HALF_HEIGHT = 2.0, 0.5
_CORNERS = np.array([[-0.5, -0.5], [0.5, -0.5], [-0.5, 0.5], [0.5, 0.5]])


def brick_pyramid(base):
    """Solid bricks of 1 kg and 2 x 1 x 1 m at rest, `base` in the lowest row, one less in each.

    A brick covers half of each of the two below it, with four contacts on either half, and in the
    lowest row the fixed ground. mu = 0.5, g dt = 0.0981 m/s.
    """
    centres, number = [], {}
    for layer in range(base):
        for i in range(base - layer):
            number[layer, i] = len(centres)
            centres.append((_LENGTH * (i + 0.5 * layer), 0.0, 2 * _HALF_HEIGHT * layer + 0.5))
    points, pairs = [], []
    for (layer, i), brick in number.items():
        x, _, z = centres[brick]
        halves = [(-0.5, (layer - 1, i)), (0.5, (layer - 1, i + 1))] if layer else [(0.0, None)]
        for shift, below in halves:
            spread = np.array([1.0 if layer else _LENGTH, 1.0])
            corners = _CORNERS * spread + [x + shift * _LENGTH / 2, 0.0]
            points += [(*corner, z - _HALF_HEIGHT) for corner in corners]
            pairs += [(number[below] if layer else -1, brick)] * 4
    inertia = (np.array([1 + 1, _LENGTH**2 + 1, _LENGTH**2 + 1])) / 12.0
    Minv = np.tile(np.concatenate((np.ones(3), 1 / inertia)), (len(centres), 1))
    normals = np.tile([0.0, 0.0, 1.0], (len(pairs), 1))
    J = cs.contact_jacobian(np.array(points), normals, np.array(pairs), np.array(centres))
    gravity = np.zeros((len(centres), 6))
    gravity[:, 2] = -9.81 * 0.01
    sides = np.array(pairs)
    b = sum(
        np.einsum("kmd,kd->km", J[:, side], np.where(sides[:, side, None] < 0, 0.0,
                                                     gravity[sides[:, side]]))
        for side in (0, 1)
    )  # fmt: skip
    return cs.Problem(J, Minv, b, 0.5, bodies=pairs, name=f"brick pyramid {base}")
