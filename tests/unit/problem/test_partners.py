"""Contacts of one to four bodies, against the plain equations in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import contactsolve as cs
from agreement import (
    DTYPES,
    EXACTLY,
    SCHEMES,
    SOLVERS,
    assert_close,
    assert_impulses_agree,
    flat,
    generator,
)
from partners import PARTNERS, awkward_problem, mixed_case, package_problem
from reference_numpy import ReferenceProblem, natural_maps

INSTRUCTIONS = tuple(name for name, runs in cs.info()["instructions"].items() if runs)

# ---- A and products with it ---------------------------------------------------------------------


@pytest.mark.parametrize("partners", PARTNERS)
def test_delassus_matrix_and_products(partners):
    arrays = awkward_problem(partners=partners)
    problem, reference = package_problem(arrays), ReferenceProblem.from_arrays(arrays)
    assert_close(problem.delassus().toarray(), reference.A, 1e-14, "A")
    assert problem.block_count == sum(
        bool(set(a) & set(b)) for a in reference.partners for b in reference.partners
    )

    # The user's arrays are returned as they were given.
    np.testing.assert_array_equal(problem.J, arrays.J)
    np.testing.assert_array_equal(problem.bodies, arrays.bodies)
    u = generator("velocity", partners).normal(size=problem.velocity_shape)
    wanted = (reference.jacobian @ u.ravel()).reshape(arrays.b.shape)
    assert_close(problem.contact_velocity(u), wanted, 1e-14, "J u")


@pytest.mark.parametrize("partners", PARTNERS)
def test_natural_map_and_residual_velocities(partners):
    arrays = awkward_problem(partners=partners)
    problem, reference = package_problem(arrays), ReferenceProblem.from_arrays(arrays)
    names = ("natural_map", "natural_map_velocity", "natural_map_scaled")
    result = cs.solve(problem, method="gauss_seidel", max_iterations=3, record=names, **EXACTLY)
    lam = result.impulses.ravel()
    assert_close(flat(result.residual_velocities), reference.xi(lam), 1e-13, "xi")
    wanted = natural_maps(reference, lam)
    for name in names:
        assert result.history[name][-1] == pytest.approx(wanted[name], rel=1e-9), name


def test_groups_with_other_numbers_of_partners_and_degrees_of_freedom():
    problem, reference, arrays = mixed_case()
    delassus = problem.delassus()
    assert_close(delassus.toarray(), reference.A, 1e-14, "A")
    for g, one in enumerate(arrays):
        np.testing.assert_array_equal(problem.bodies[g], one.bodies)
        given = one.J if isinstance(one.J, tuple) else (one.J,)
        kept = problem.J[g] if isinstance(problem.J[g], tuple) else (problem.J[g],)
        for a, b in zip(given, kept, strict=True):
            np.testing.assert_array_equal(a, b)
    for scheme in SCHEMES:
        for solver in SOLVERS:
            assert_impulses_agree(problem, reference, solver=solver, scheme=scheme)


def test_partners_that_cancel_leave_no_rounding():
    """J_0 + J_1 + J_2 + J_3 of one body is zero, so that no impulse moves it."""
    one = np.array([0.1, 0.2, -0.7])
    J = np.stack([one, one, -one, -one])[None, :, None]
    problem = cs.Problem(J, np.full((1, 3), 7.3), [[0.0]], bodies=[[0, 0, 0, 0]])
    assert problem.delassus().toarray().item() == 0.0


# ---- sweeps -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("partners", (1, 3, 4))
def test_sweeps_of_every_scheme(partners, dtype):
    for set_name, rows in (("disc", 3), ("half_line", 1), ("free", 2), ("rolling", 5), ("box", 2)):
        arrays = awkward_problem(partners=partners, set_name=set_name, rows=rows)
        problem, reference = package_problem(arrays), ReferenceProblem.from_arrays(arrays)
        for scheme in SCHEMES:
            for solver in SOLVERS:
                options = {"solver": solver, "scheme": scheme, "dtype": dtype, "sweeps": 2}
                assert_impulses_agree(problem, reference, **options)


@pytest.mark.parametrize("partners", (1, 3, 4))
def test_averaging_counts_adjacent_contacts(partners):
    arrays = awkward_problem(partners=partners)
    problem, reference = package_problem(arrays), ReferenceProblem.from_arrays(arrays)
    for local in ("auto", "block"):
        options = {"solver": "gauss_seidel", "averaging": "adjacent", "local": local}
        assert_impulses_agree(problem, reference, scheme="factorized", **options)


def test_the_scheme_with_symmetric_halves():
    problem, _, _ = mixed_case()
    options = {"method": "symmetric_gauss_seidel", "max_iterations": 4} | EXACTLY
    wanted = cs.solve(problem, scheme="matrix", **options)
    found = cs.solve(problem, scheme="symmetric_half", **options)
    assert_close(flat(found.impulses), flat(wanted.impulses), 1e-12, "symmetric_half")


def vertices(*, proportional):
    """Contacts of four vertices, with a fixed one and repeated ones."""
    rng, count = generator("vertices", proportional), 150
    near = rng.integers(0, 380, (count, 1)) + rng.permuted(
        np.tile(np.arange(12), (count, 1)), axis=1
    )
    bodies = near[:, :4]
    bodies[::37, -1], bodies[5, 1] = -1, bodies[5, 0]
    frames = rng.normal(size=(count, 1, 3, 3))
    J = rng.normal(size=(count, 4, 1, 1)) * frames
    if not proportional:
        J[11, 2, 1, 1] += 1e-3
    inverse = np.repeat(rng.uniform(0.5, 2.0, (400, 1)), 3, axis=1)
    inverse[40] = 0.0
    b = rng.normal(size=(count, 3))
    return cs.Problem(J, inverse, b, 0.6, bodies=bodies, compliance=1.0)


@pytest.mark.parametrize("proportional", (True, False))
@pytest.mark.parametrize("dtype", (*DTYPES, "mixed"))
@pytest.mark.parametrize("order", ("natural", "colored"))
@pytest.mark.parametrize("method", ("jacobi", "gauss_seidel"))
def test_vectors_of_four_vertices(method, order, dtype, proportional):
    if (method, order) == ("jacobi", "colored"):
        order = "reverse"
    problem = vertices(proportional=proportional)
    options = {"method": method, "scheme": "factorized", "dtype": dtype, "max_iterations": 5}
    for setup in ({}, {"relaxation": 0.7, "averaging": 0.8}, {"bound": "previous"}):
        given = options | setup | EXACTLY | {"order": order}
        wanted = cs.solve(problem, instructions="scalar", **given)
        for instructions in INSTRUCTIONS:
            found = cs.solve(problem, instructions=instructions, **given)
            assert found.info["kernel"].endswith("compressed") == proportional
            tolerance = {"float64": 1e-13, "float32": 2e-5, "mixed": 2e-6}[dtype]
            what = f"{instructions}, {setup}"
            assert_close(found.impulses, wanted.impulses, tolerance, what)
            in_full = cs.solve(problem, instructions=instructions, compressed=False, **given)
            assert "compressed" not in in_full.info["kernel"]
            assert_close(in_full.impulses, wanted.impulses, tolerance, what)


def test_natural_map_of_vectors():
    problem = vertices(proportional=True)
    for options in ({}, {"compressed": False}, {"instructions": "scalar"}):
        result = cs.solve(problem, method="gauss_seidel", order="colored", rtol=1e-10, **options)
        assert result.converged, result.message


@pytest.mark.parametrize("velocities", ("recompute", "add", "accumulate"))
def test_velocities_follow_jacobi_in_every_way(velocities):
    problem, reference, _ = mixed_case()
    scheme = cs.schemes.factorized(velocities=velocities)
    result = cs.solve(problem, method="jacobi", scheme=scheme, max_iterations=4, **EXACTLY)
    wanted = cs.solve(problem, method="jacobi", scheme="matrix", max_iterations=4, **EXACTLY)
    assert_close(flat(result.impulses), flat(wanted.impulses), 1e-12, velocities)
    assert reference.A.shape == (len(flat(wanted.impulses)),) * 2


# ---- orders -------------------------------------------------------------------------------------

ORDERS = {
    "natural": "natural",
    "reverse": "reverse",
    "random": "random",
    "ranges": cs.orders.ranges(),
    "greedy": cs.orders.colored(),
    "balanced": cs.orders.colored("balanced"),
    "tentative": cs.orders.colored("balanced", colors="tentative", multiple_of_parts=True),
    "fixed as body": cs.orders.colored(fixed_as_body=True),
    "relaxed": cs.orders.relaxed(4, first=True),
    "slices": cs.orders.partition(),
    "checkerboard": cs.orders.partition("natural", border="checkerboard"),
    "sequential border": cs.orders.partition(border="sequential"),
    "regions": cs.orders.regions(5),
    "cache": cs.orders.cache(chunk=60),
    "sets": cs.orders.contact_sets("simultaneous"),
    "coloured sets": cs.orders.contact_sets(colored=True),
    "panels": "panels",
}
MANY = 100  # contacts of each group


@pytest.fixture(scope="module")
def cloth_like():
    """Many contacts of neighbouring vertices, in groups of one to four bodies."""
    rng = generator("many")
    groups = []
    for partners in (4, 3, 1, 2):
        near = rng.integers(0, 480, (MANY, 1)) + rng.permuted(
            np.tile(np.arange(12), (MANY, 1)), axis=1
        )
        bodies = near[:, :partners]
        bodies[::37, -1] = -1
        frames = np.linalg.qr(rng.normal(size=(MANY, 3, 3)))[0]
        weights = rng.uniform(0.2, 1.0, (MANY, partners)) * np.where(np.arange(partners), -1, 1)
        J = weights[:, :, None, None] * frames[:, None]
        groups.append(cs.Group(J, bodies, rng.normal(size=(MANY, 3)), 0.5, compliance=0.1))
    masses = np.repeat(rng.uniform(0.5, 2.0, (500, 1)), 3, axis=1)
    return cs.Problem(groups=groups, bodies=[cs.Bodies(masses, diagonal=True)])


def conflicts_of(problem):
    """Whether two contacts share a body."""
    touching = np.zeros((problem.contacts, problem.bodies_count))
    contact = 0
    for bodies in problem.bodies:
        for one in bodies:
            touching[contact, one[one >= 0]] = 1
            contact += 1
    return touching @ touching.T > 0


@pytest.mark.sampled(3)
@pytest.mark.threads
@pytest.mark.parametrize("name", ORDERS)
def test_every_order_solves_and_has_the_same_bits_on_threads(cloth_like, name):
    # Contacts that do not see each other take half steps, so that two on one body do not oscillate.
    relaxation = 0.5 if name in ("ranges", "sets") else 1.0
    options = {"order": ORDERS[name], "scheme": "factorized", "relaxation": relaxation, "rng": 1}
    found = [
        cs.solve(
            cloth_like,
            method="gauss_seidel",
            threads=threads,
            exact_threads=True,
            rtol=1e-7,
            **options,
        )
        for threads in (1, 3)
    ]
    assert found[0].converged, found[0].message
    assert natural_map_from_outside(cloth_like, found[0]) <= 2e-7
    for other in found[1:]:
        np.testing.assert_array_equal(flat(found[0].impulses), flat(other.impulses))


def natural_map_from_outside(problem, result):
    """The scaled natural map of discs, from A assembled by NumPy."""
    velocity = np.zeros((problem.contacts * 3, problem.bodies_count * 3))
    row = 0
    for J, bodies in zip(problem.J, problem.bodies, strict=True):
        for blocks, own in zip(J, bodies, strict=True):
            for block, body in zip(blocks, own, strict=True):
                if body >= 0:
                    velocity[row : row + 3, 3 * body : 3 * body + 3] += block
            row += 3
    A = velocity * problem.Minv[0].ravel() @ velocity.T + 0.1 * np.eye(row)
    lam, b = flat(result.impulses), flat(problem.b)
    xi = (A @ lam + b).reshape(-1, 3)
    diagonal, lam = np.diag(A).reshape(-1, 3), lam.reshape(-1, 3)
    rho = 1 / np.stack([diagonal[:, 0], diagonal[:, 1:].max(axis=1)], axis=1)
    normal = np.maximum(lam[:, 0] - rho[:, 0] * xi[:, 0], 0)
    slide = lam[:, 1:] - rho[:, 1:] * xi[:, 1:]
    size = np.linalg.norm(slide, axis=1)
    slide *= np.minimum(1, 0.5 * normal / np.maximum(size, 1e-300))[:, None]
    defects = np.stack([np.abs(lam[:, 0] - normal), np.abs(lam[:, 1:] - slide).max(axis=1)], axis=1)
    return (defects / rho).max() / np.maximum(-b.reshape(-1, 3)[:, 0], 0).max()


def test_colors_have_no_conflicts(cloth_like):
    conflicts = conflicts_of(cloth_like)
    for order in ("colored", cs.orders.colored("balanced")):
        schedule = cs.orders.describe(cloth_like, order)
        for stage in range(len(schedule.sizes)):
            own = np.flatnonzero(schedule.stage == stage)
            assert not (conflicts[np.ix_(own, own)] & ~np.eye(len(own), dtype=bool)).any()
