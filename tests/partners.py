"""Problems whose contacts have one to four bodies."""

from __future__ import annotations

import numpy as np

import contactsolve as cs
from agreement import generator, package_set
from reference_numpy import (
    ProblemArrays,
    ReferenceProblem,
    random_inverse_mass,
    random_problem,
    random_set_parameters,
)

PARTNERS = (1, 2, 3, 4)
COUNTS, DOFS = (6, 14), (6, 3)  # of the body groups: boxes, vertices of a cloth


def package_problem(arrays: ProblemArrays) -> cs.Problem:
    return cs.Problem(
        arrays.J,
        arrays.Minv,
        arrays.b,
        bodies=arrays.bodies,
        sets=package_set(arrays),
        compliance=arrays.compliance,
    )


def awkward_problem(*key, partners, set_name="disc", rows=3, contacts=14) -> ProblemArrays:
    """Vertices of a cloth: a repeated contact, immovable ones, and bodies that are twice partners."""
    rng = generator("partners", *key, partners, set_name, rows)
    arrays = random_problem(
        rng, contacts, 8, rows, 3, set_name, diagonal=bool(partners % 2), partners=partners
    )
    if partners > 1 and set_name not in ("free", "box"):
        arrays.bodies[3, 1] = arrays.bodies[3, 0]
        arrays.bodies[4] = arrays.bodies[4, -1]
        arrays.J[4] = np.round(8 * arrays.J[4]) / 8  # whose sums are exact
        arrays.J[4, 0] = -arrays.J[4, 1:].sum(axis=0)  # nothing can move this contact
        arrays.J[4, 0, 0, 0] += 1.0  # but in its first row
        arrays.b[4, 1:] = 0.0
    return arrays


def random_group(rng, contacts, dofs, set_name, rows) -> ProblemArrays:
    """Contacts of bodies with these degrees of freedom; one of them has a fixed partner."""
    first = np.cumsum([0, *COUNTS])
    kinds = [DOFS.index(dof) for dof in dofs]
    chosen = [rng.integers(first[kind], first[kind + 1], contacts) for kind in kinds]
    bodies = np.stack(chosen, axis=1)
    if len(dofs) > 1:
        bodies[0, rng.integers(len(dofs))] = -1
    J = tuple(rng.normal(size=(contacts, rows, dof)) for dof in dofs)
    if len(set(dofs)) == 1:
        J = np.stack(J, axis=1)
    b = rng.normal(size=(contacts, rows))
    parameters = random_set_parameters(rng, contacts, rows, set_name)
    sigma = rng.uniform(0.02, 0.1, (contacts, rows))
    return ProblemArrays(J, None, b, bodies, set_name, **parameters, compliance=sigma)


GROUPS = (
    ((3, 3, 3, 3), "disc", 3),
    ((6, 6), "disc", 3),
    ((3,), "half_line", 1),
    ((3, 6, 3), "disc", 2),
    ((6, 3, 3, 3), "rolling", 5),
    ((6, 3), "half_line", 1),
)


def mixed_case(*key, groups=GROUPS, contacts=7):
    """Several groups, with other numbers of partners, rows and degrees of freedom."""
    rng = generator("mixed", *key)
    masses = [
        random_inverse_mass(rng, COUNTS[0], 6),
        random_inverse_mass(rng, COUNTS[1], 3, diagonal=True),
    ]
    masses[0][0] = masses[1][0] = 0.0  # immovable
    arrays = [random_group(rng, contacts, *group) for group in groups]
    problem = cs.Problem(
        groups=[
            cs.Group(one.J, one.bodies, one.b, sets=package_set(one), compliance=one.compliance)
            for one in arrays
        ],
        bodies=[cs.Bodies(one, diagonal=one.ndim == 2) for one in masses],
    )
    return problem, ReferenceProblem.from_groups(masses, arrays), arrays
