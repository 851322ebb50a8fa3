"""The random problems that tests of orders share."""

from __future__ import annotations

import contactsolve as cs
from agreement import generator, package_set
from reference_numpy import ReferenceProblem, random_problem
from reference_orders import conflicts_of, moving_bodies


class RandomCase:
    """A random problem with several contacts a pair, self pairs and immovable bodies."""

    def __init__(self, *key, contacts: int = 60, bodies: int = 20) -> None:
        rng = generator(*key)
        self.arrays = random_problem(rng, contacts, bodies, 3, 6, "disc")
        self.arrays.bodies[10:20] = self.arrays.bodies[0:10, ::-1]  # pairs the other way round
        self.arrays.bodies[20] = (4, 4)
        self.reference = ReferenceProblem.from_arrays(self.arrays)
        self.touching = moving_bodies(self.arrays.bodies, self.arrays.Minv)
        self.conflicts = conflicts_of(self.touching)
        self.problem = cs.Problem(
            self.arrays.J,
            self.arrays.Minv,
            self.arrays.b,
            bodies=self.arrays.bodies,
            sets=package_set(self.arrays),
        )
        self.bodies = bodies
        self.labels = rng.integers(0, 4, bodies)
        self.start = rng.normal(size=self.arrays.b.shape)
        immovable = [k for k in range(contacts) if self.reference.immovable(k)]
        self.start[immovable] = 0.0

    def given(self) -> cs.Problem:
        return cs.Problem.from_delassus(
            self.reference.A, self.arrays.b, sets=package_set(self.arrays)
        )
