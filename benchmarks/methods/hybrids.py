"""Methods that are partly direct, on chains that lie on the ground: who gets to a map of 1e-6.

Links of 1 kg on ball joints, two contacts each, a load of 1 or 10,000 kg at the end; velocities at
random. `splitting` and `subspace` beside Gauss-Seidel; `one pass` is splitting that renews friction
bounds after every pass, as it is usually written down.

    python benchmarks/methods/hybrids.py
"""

import sys
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import write_csv

UPWARD = np.array([[0, 0, 1.0], [1, 0, 0], [0, 1, 0]])


def lever(arm):
    x, y, z = arm
    return np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])


def chain(links, load, seed, speed, mu=0.5):
    """Links of 1 kg on ball joints that lie on the ground, a load at their end."""
    rng = np.random.default_rng(seed)
    mass = np.r_[np.ones(links), load]
    size = np.r_[np.full(links, 0.2), 1.0]
    Minv = np.repeat(1 / mass, 6).reshape(-1, 6)
    Minv[:, 3:] *= 12 / size[:, None] ** 2
    velocity = speed * rng.normal(size=(links + 1, 6))
    velocity[:, 2] -= 9.81 / 60
    joints = np.zeros((links + 1, 2, 3, 6))
    joints[:, 1] = np.hstack([np.eye(3), lever([-0.1, 0, 0])])
    joints[1:, 0] = -np.hstack([np.eye(3), lever([0.1, 0, 0])])
    contacts = np.zeros((2 * links + 2, 2, 3, 6))
    for k in range(2 * links + 2):
        arm = [0.16 * (k % 2) - 0.08, 0.02 * rng.normal(), -0.05]
        contacts[k, 1] = UPWARD @ np.hstack([np.eye(3), lever(arm)])
    pairs = np.stack([np.arange(-1, links), np.arange(links + 1)], axis=1)
    ground = np.stack([np.full(2 * links + 2, -1), np.arange(2 * links + 2) // 2], axis=1)
    groups = []
    for J, bodies, more in ((joints, pairs, {"sets": cs.sets.free()}), (contacts, ground, {})):
        before = np.where(bodies[:, :1] < 0, 0.0, velocity[bodies[:, 0]])
        b = np.einsum("kij,kj->ki", J[:, 0], before)
        b += np.einsum("kij,kj->ki", J[:, 1], velocity[bodies[:, 1]])
        groups.append(cs.Group(J, bodies, b, mu=None if more else mu, compliance=1e-6, **more))
    return cs.Problem(groups=groups, bodies=[cs.Bodies(Minv, diagonal=True)])


def main():
    limits = {"gauss_seidel": 20_000, "subspace": 1000, "splitting": 300, "one pass": 30_000}
    rows = []
    for links in (8, 20):
        for speed in (0.02, 0.1, 0.3):
            for load in (1.0, 1e4):
                for seed in (0, 1):
                    problem = chain(links, load, seed, speed)
                    for method, limit in limits.items():
                        way = cs.methods.splitting(passes=1) if method == "one pass" else method
                        result = cs.solve(problem, method=way, rtol=1e-6, max_iterations=limit)
                        rows.append(
                            {
                                "links": links,
                                "load": load,
                                "speed": speed,
                                "seed": seed,
                                "method": method,
                                "converged": result.converged,
                                "iterations": result.iterations,
                                "natural_map_scaled": result.natural_map_scaled,
                                "ms": 1e3 * result.time,
                            }
                        )
    for method in limits:
        for load in (1.0, 1e4):
            mine = [row for row in rows if row["method"] == method and row["load"] == load]
            solved = [row["ms"] for row in mine if row["converged"]]
            print(
                f"{method:13} load {load:7g}: {len(solved)} of {len(mine)} solved, median "
                f"{np.median(solved) if solved else np.nan:.1f} ms"
            )
    print(write_csv("hybrids", rows))


if __name__ == "__main__":
    main()
