"""Random problems whose difficulties are chosen one by one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactsolve.geometry import tangent_basis
from contactsolve.problem import Problem
from contactsolve.scenarios._scene import (
    SceneArrays,
    Seed,
    integer,
    planar_jacobian,
    relative_velocity,
    require_between,
    require_choice,
    require_count,
    require_not_negative,
    scenario,
)

_WORLD = -1


@scenario
def random(
    contacts: int = 30,
    bodies: int = 40,
    *,
    rows: int = 3,
    density: float | None = None,
    fixed: float = 0.1,
    redundancy: float = 0.0,
    condition: float = 1.0,
    mass_ratio: float = 1.0,
    mu: ArrayLike = 0.5,
    velocity: float = 1.0,
    rng: Seed = 0,
) -> Problem:
    """Contacts in random directions between random bodies.

    Parameters
    ----------
    contacts : int, default 30
        Number of contacts, K.
    bodies : int, default 40
        Number of bodies, at least 2.
    rows : {1, 2, 3}, default 3
        Rows of each contact. 3 and 1: bodies in space, with and without friction. 2: bodies in
        the plane, with three degrees of freedom.
    density : float, optional
        Wanted share of the pairs of contacts that are coupled, in (0, 1]: the share of non-zero
        off-diagonal blocks of A. The contacts are then between a part of the bodies, whose number
        fits this share best on average over `rng`; the other bodies have no contacts. Default: all
        bodies, with a share of about 4 / bodies.
    fixed : float, default 0.1
        Share of contacts with the fixed world, rounded to a whole number.
    redundancy : float, default 0.0
        Share of contacts that repeat another contact, 0 <= redundancy < 1, rounded to a whole
        number. Each of them lowers the rank of A by the rows of a contact, and impulses are not
        unique.
    condition : float, default 1.0
        Condition number of the inverse mass matrix of every body, at least 1; its axes are random.
    mass_ratio : float, default 1.0
        Mass of the heaviest body over that of the lightest, at least 1. The masses are evenly
        spaced on a logarithmic scale, in random order; the lightest body has 1 kg.
    mu : float or array_like, shape (K,), default 0.5
        Friction coefficients; unused with one row.
    velocity : float, default 1.0
        Each component of each body's velocity is uniform in [-velocity, velocity] [m/s, rad/s].
    rng : int, numpy.random.Generator or None, default 0
        Seed or generator. A number gives the same problem at every call, None a new one.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        A count, option or quantity out of its range.

    Notes
    -----
    b = J u with the velocities u: for every J the problem has a feasible motion, in which all
    bodies stop. With a b outside the range of J there may be none, and no solution.

    Lever arms lie in a ball (in the plane: a disc) of radius 1 m. The geometry of each contact is
    random; the contacts of a body need not belong to one shape.
    """
    require_count(contacts=contacts)
    arrays = random_arrays(
        integer("contacts", contacts),
        integer("bodies", bodies),
        rows=rows,
        density=density,
        fixed=fixed,
        redundancy=redundancy,
        condition=condition,
        mass_ratio=mass_ratio,
        velocity=velocity,
        rng=rng,
    )
    return arrays.problem(f"random {contacts} of {rows} rows", mu)


def random_arrays(
    contacts: int,
    bodies: int,
    *,
    rows: int,
    density: float | None,
    fixed: float,
    redundancy: float,
    condition: float,
    mass_ratio: float,
    velocity: float,
    rng: Seed,
) -> SceneArrays:
    """Return the arrays of `random`, for its parameters."""
    if bodies < 2:
        raise ValueError(f"bodies is {bodies}: expected an integer above one")
    require_choice("rows", rows, (1, 2, 3))
    require_between(0.0, 1.0, fixed=fixed)
    if not 0.0 <= redundancy < 1.0:
        raise ValueError(f"redundancy is {redundancy}: expected a number from 0 to below 1")
    require_between(1.0, 1e16, condition=condition, mass_ratio=mass_ratio)
    require_not_negative(velocity=velocity)

    # Draw the contacts that differ, and repeat some of them in random order.
    generator = np.random.default_rng(rng)
    repeated = min(round(redundancy * contacts), contacts - 1)
    own = contacts - repeated
    used = bodies if density is None else _bodies_for(density, bodies, fixed)
    pairs = _pairs(own, used, fixed, generator)
    J = _planar(pairs, generator) if rows == 2 else _spatial(pairs, generator)[:, :, :rows]
    copied = np.concatenate((np.arange(own), generator.integers(own, size=repeated)))
    generator.shuffle(copied)
    J, pairs = J[copied], pairs[copied]

    # b = J u of random velocities.
    Minv = _inverse_masses(bodies, J.shape[-1], condition, mass_ratio, generator)
    velocities = generator.uniform(-velocity, velocity, (bodies, J.shape[-1]))
    return SceneArrays(J, Minv, relative_velocity(J, pairs, velocities), pairs)


def _bodies_for(density: float, bodies: int, fixed: float) -> int:
    """Return the number of bodies with contacts that gives the wanted share of coupled pairs."""
    if not 0.0 < density <= 1.0:
        raise ValueError(f"density is {density}: expected a number above 0 and up to 1")
    n = np.arange(2, bodies + 1)
    # Probability that two contacts share no body: both have two bodies; one has the fixed world in
    # place of a body; both have it.
    apart = (1 - fixed) ** 2 * (n - 2) * (n - 3) / (n * (n - 1))
    apart += 2 * fixed * (1 - fixed) * (n - 2) / n + fixed**2 * (n - 1) / n
    return int(n[np.argmin(abs(1.0 - apart - density))])


def _pairs(count: int, bodies: int, fixed: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Pairs of different bodies, the world first where it is a partner."""
    first = rng.integers(bodies, size=count)
    second = (first + rng.integers(1, bodies, size=count)) % bodies
    first[: round(fixed * count)] = _WORLD
    return rng.permutation(np.stack((first, second), axis=1))


def _directions(count: int, dimension: int, rng: np.random.Generator) -> NDArray[np.float64]:
    vectors = rng.normal(size=(count, dimension))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _arms(count: int, dimension: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Two lever arms for each contact, uniform in the unit ball."""
    lengths = rng.random((2 * count, 1)) ** (1.0 / dimension)
    return (lengths * _directions(2 * count, dimension, rng)).reshape(count, 2, dimension)


def _planar(pairs: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    return planar_jacobian(_directions(len(pairs), 2, rng), _arms(len(pairs), 2, rng), pairs)


def _spatial(pairs: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.float64]:
    """Blocks of S1 eqs. 2.55-2.63, with lever arms instead of points and positions."""
    normals = _directions(len(pairs), 3, rng)
    arms = _arms(len(pairs), 3, rng)
    axes = np.stack((normals, *tangent_basis(normals)), axis=1)[:, None]
    turning = np.cross(arms[:, :, None], axes)
    J = np.concatenate((np.broadcast_to(axes, turning.shape), turning), axis=3)
    J[:, 0] *= -1.0
    J[pairs < 0] = 0.0
    return J


def _inverse_masses(
    count: int, dof: int, condition: float, mass_ratio: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Blocks Q diag(1 ... 1/condition) Q^T / mass, with random rotations Q."""
    masses = rng.permutation(np.geomspace(1.0, mass_ratio, count))
    if condition == 1.0:
        return np.repeat(1.0 / masses[:, None], dof, axis=1)
    rotation, _ = np.linalg.qr(rng.normal(size=(count, dof, dof)))
    root = rotation * np.sqrt(np.geomspace(1.0, 1.0 / condition, dof) / masses[:, None])[:, None]
    return root @ root.transpose(0, 2, 1)
