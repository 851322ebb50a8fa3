"""Random problems of the classes that methods are for, with their sets for the reference."""

import itertools
from dataclasses import dataclass

import numpy as np

import contactsolve as cs
from reference_numpy import (
    BoxFriction,
    Disc,
    Free,
    HalfLine,
    ReferenceProblem,
    cone_projection,
    natural_map_scaled,
)


@dataclass(frozen=True)
class Cone:
    """The second-order cone: one coupled set."""

    rows: int
    mu: float

    def coupled(self):
        return [list(range(self.rows))]

    def prox(self, z, _old_normal=None):
        return cone_projection(z, self.mu)


def residual(problem, sets, impulses):
    """The scaled natural map of impulses by the reference."""
    A = problem.delassus()
    A = A.toarray() if hasattr(A, "toarray") else np.asarray(A)
    groups = problem.b if isinstance(problem.b, list) else [problem.b]
    values = impulses if isinstance(impulses, list) else [impulses]
    starts = np.cumsum([0, *(one.rows for one in sets)])
    blocks = [slice(a, b) for a, b in itertools.pairwise(starts)]
    b, lam = (np.concatenate([np.ravel(part) for part in parts]) for parts in (groups, values))
    return natural_map_scaled(ReferenceProblem(A, b, blocks, sets), lam)


# ---- problems of each class, with their sets for the reference ----------------------------------


def scene_of(seed, **changes):
    rng = np.random.default_rng(seed)
    contacts = int(rng.integers(3, 25))
    options = {"bodies": contacts + 5, "mu": float(rng.uniform(0.1, 0.7)), **changes}
    return cs.scenarios.random(contacts, rng=seed, **options)


def with_sets(seed, sets, one, compliance=None, **changes):
    scene = scene_of(seed, **changes)
    problem = cs.Problem(
        scene.J, scene.Minv, scene.b, bodies=scene.bodies, sets=sets, compliance=compliance
    )
    return problem, [one] * problem.contacts


def coulomb(seed, **changes):
    scene = scene_of(seed, **changes)
    return scene, [Disc(3, float(mu)) for mu in np.broadcast_to(scene.mu, scene.contacts)]


def frictionless(seed, **changes):
    return with_sets(seed, cs.sets.half_line(), HalfLine(3), **changes)


def associated(seed, **changes):
    return with_sets(seed, cs.sets.second_order_cone(0.4), Cone(3, 0.4), **changes)


def box_friction(seed, **changes):
    return with_sets(seed, cs.sets.box_friction(0.4), BoxFriction(3, 0.4), **changes)


def joints(seed, sets, one):
    """A chain of bodies on ball joints, each with a contact."""
    rng = np.random.default_rng(seed)
    links = int(rng.integers(2, 6))
    J, touch = 0.3 * rng.standard_normal((2, links, 2, 3, 6))
    J[:, 0, :, :3] -= np.eye(3)
    J[:, 1, :, :3] += np.eye(3)
    touch[:, 1, :, :3] += np.eye(3)
    bodies = np.column_stack([np.arange(links), np.arange(links) + 1])
    ground = np.column_stack([np.full(links, -1), np.arange(links)])
    groups = [
        cs.Group(J, bodies, rng.standard_normal((links, 3)), sets=cs.sets.free()),
        cs.Group(touch, ground, rng.standard_normal((links, 3)), sets=sets),
    ]
    minv = [cs.Bodies(rng.uniform(0.5, 2, (links + 1, 6)), diagonal=True)]
    return cs.Problem(groups=groups, bodies=minv), [Free(3)] * links + [one] * links


def unsymmetric(seed):
    scene, sets = coulomb(seed)
    A = scene.delassus().toarray()
    noise = np.triu(np.random.default_rng(seed).standard_normal(A.shape), 1) * (A != 0)
    A = A + 1e-3 * np.abs(A).max() * noise
    return cs.Problem.from_delassus(A, scene.b, scene.mu), sets


def moving_stack(count=4, **options):
    """Boxes on each other that slide and turn."""
    scene = cs.scenarios.box_stack(count, **options)
    velocity = np.random.default_rng(1).normal(0, 0.05, (count + 1, 6))
    velocity[-1] = 0
    b = scene.b + np.einsum("ksmd,ksd->km", scene.J, velocity[scene.bodies])
    return cs.Problem(scene.J, scene.Minv, b, scene.mu, bodies=scene.bodies)
