"""Hard Coulomb problems of known difficulty: equal masses of 1 kg, mu = 0.5, a step of 0.01 s.

They are what time to a solution is measured on: `accelerated.py` and others import them. Velocities
before the step are normal, 0.05 m/s or rad/s on every degree of freedom of every body.
"""

from __future__ import annotations

import numpy as np

import contactsolve as cs

SPEED = 0.05
FALL = 9.81 * 0.01  # what gravity adds in a step [m/s]


def moved(
    scene: cs.Problem, seed: int = 0, speed: float = SPEED, compliance: object = None
) -> cs.Problem:
    """Return the contacts of a scene with random velocities before the step."""
    velocity = speed * np.random.default_rng(seed).standard_normal(scene.Minv.shape[:2])
    velocity[:, 2] -= FALL
    velocity = np.vstack([velocity, np.zeros(velocity.shape[1])])  # of the world, number -1
    b = np.einsum("ksmd,ksd->km", scene.J, velocity[scene.bodies])
    return cs.Problem(
        scene.J, scene.Minv, b, scene.mu, bodies=scene.bodies, compliance=compliance,
        name=scene.name, strict=False,
    )  # fmt: skip


def box_stack(top_mass: float = 1.0, seed: int = 0, boxes: int = 10) -> cs.Problem:
    """Return boxes on each other, 4 contacts each."""
    return moved(cs.scenarios.box_stack(boxes, top_mass=top_mass), seed)


def ball_grid(
    n: int, seed: int = 0, mu: float = 0.5, speed: float = SPEED, compliance: object = None
) -> cs.Problem:
    """Return n x n x n balls that touch: 3 n**3 - 2 n**2 contacts."""
    scene = cs.scenarios.ball_grid(n, mass=1.0, radius=0.5, mu=mu)
    return moved(scene, seed, speed, compliance)


def loose_pile(balls: int = 3000, seed: int = 0, rounds: int = 400) -> cs.Problem:
    """Return balls of diameter 1 in a column, pushed apart until they hardly overlap."""
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(seed)
    side = round((0.9 * balls) ** (1 / 3))
    centre = rng.random((balls, 3)) * [side, side, balls / side**2]
    centre[:, 2] += 0.5
    for _ in range(rounds):
        pair = cKDTree(centre).query_pairs(1.0, output_type="ndarray")
        apart = centre[pair[:, 1]] - centre[pair[:, 0]]
        distance = np.linalg.norm(apart, axis=1, keepdims=True) + 1e-12
        push = 0.3 * (1 - distance) * apart / distance
        np.add.at(centre, pair[:, 1], push)
        np.add.at(centre, pair[:, 0], -push)
        centre[:, 2] = np.maximum(centre[:, 2], 0.5)
        centre[:, 2] -= 0.002 * (centre[:, 2] > 0.6)
    pair = cKDTree(centre).query_pairs(1.002, output_type="ndarray")
    pair = pair[np.lexsort((pair[:, 1], pair[:, 0]))]
    on_floor = np.flatnonzero(centre[:, 2] < 0.502)
    apart = centre[pair[:, 1]] - centre[pair[:, 0]]
    normal = np.vstack(
        [
            apart / np.linalg.norm(apart, axis=1, keepdims=True),
            np.tile([0.0, 0.0, 1.0], (len(on_floor), 1)),
        ]
    )
    bodies = np.vstack([pair, np.column_stack([np.full(len(on_floor), -1), on_floor])])
    return _balls(centre, bodies, normal, seed)


def _balls(centre: np.ndarray, bodies: np.ndarray, normal: np.ndarray, seed: int) -> cs.Problem:
    """Return the contacts of balls of radius 0.5, each half a normal away from its second ball."""
    helper = np.where(np.abs(normal[:, :1]) < 0.9, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    first = helper - (helper * normal).sum(1, keepdims=True) * normal
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    frame = np.stack([normal, first, np.cross(normal, first)], axis=1)
    point = centre[bodies[:, 1]] - 0.5 * normal
    J = np.zeros((len(bodies), 2, 3, 6))
    for side, sign in ((0, -1.0), (1, 1.0)):
        arm = point - centre[np.maximum(bodies[:, side], 0)]
        J[:, side, :, :3] = sign * frame
        J[:, side, :, 3:] = sign * np.cross(arm[:, None, :], frame)
    J[bodies[:, 0] < 0, 0] = 0.0
    Minv = np.tile([1.0, 1.0, 1.0, 10.0, 10.0, 10.0], (len(centre), 1))
    scene = cs.Problem(
        J, Minv, np.zeros((len(bodies), 3)), 0.5, bodies=bodies, name=f"pile {len(centre)}"
    )
    return moved(scene, seed)
