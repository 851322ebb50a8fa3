"""What must hold for every problem: feasibility, solutions, and indifference to names and units.

Hypothesis draws the sizes, options and a seed; `random_problem` fills the arrays from the seed.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import contactsolve as cs
from agreement import EXACTLY
from reference_numpy import (
    Box,
    ProblemArrays,
    ReferenceProblem,
    random_impulses,
    random_problem,
)

ordinary = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
seeds = st.integers(0, 2**32 - 1)
solvers = st.sampled_from(("jacobi", "gauss_seidel"))
schemes = st.sampled_from(("matrix", "factorized", "iteration_matrix"))
set_rows = st.sampled_from(
    (("free", 2), ("box", 1), ("box", 4), ("half_line", 1), ("half_line", 3), ("disc", 2))
    + (("disc", 3),) * 3
)
# Not 1: Jacobi takes a pair of equal free blocks from 0 back to 0 in two full steps, and what is
# left there is rounding, which no two ways of computing share.
FEW_SWEEPS = {"max_iterations": 4, "relaxation": 0.8, **EXACTLY}


@st.composite
def problems(draw, kinds=set_rows) -> ProblemArrays:
    """Any problem the package accepts: redundant contacts, fixed bodies, immovable contacts."""
    set_name, rows = draw(kinds)
    rng = np.random.default_rng(draw(seeds))
    bodies = draw(st.integers(2, 6))
    return random_problem(
        rng,
        draw(st.integers(3, 8)),
        bodies,
        rows,
        draw(st.sampled_from((3, 6))),
        set_name,
        diagonal=draw(st.booleans()),
        partners=draw(st.sampled_from((2, 2, 1, 3, min(4, bodies + 1)))),
    )


@st.composite
def well_posed_problems(draw, kinds=set_rows) -> ProblemArrays:
    """Problems with A positive definite and well conditioned: the sweeps reach a solution."""
    set_name, rows = draw(kinds)
    rng = np.random.default_rng(draw(seeds))
    contacts = draw(st.integers(1, 5))
    arrays = random_problem(rng, contacts, contacts + 3, rows, 6, set_name, awkward=False)
    assume(np.linalg.cond(ReferenceProblem.from_arrays(arrays).A) < 300.0)
    return arrays


def package_problem(arrays: ProblemArrays) -> cs.Problem:
    sets = getattr(cs.sets, arrays.set_name)(**arrays.set_parameters())
    return cs.Problem(arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=sets)


def solve_tightly(arrays: ProblemArrays, rtol: float = 1e-12, **options) -> cs.Result:
    return cs.solve(
        package_problem(arrays),
        method="gauss_seidel",
        rtol=rtol,
        check_every=1,
        max_iterations=20_000,
        **options,
    )


def measured_at(arrays: ProblemArrays, impulses: np.ndarray, *names: str) -> list[float]:
    """The package's measures of given impulses: the first row of a history that starts there."""
    history = cs.solve(
        package_problem(arrays), initial=impulses, max_iterations=1, record=names, **EXACTLY
    ).history
    return [float(history[name][0]) for name in names]


def assert_same(got: np.ndarray, wanted: np.ndarray, tolerance: float) -> None:
    scale = float(np.max(np.abs(wanted), initial=0.0))
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=tolerance * scale)


@ordinary
@given(
    arrays=problems(),
    seed=seeds,
    options=st.fixed_dictionaries(
        {
            "method": solvers,
            "scheme": schemes,
            "dtype": st.sampled_from(("float64", "float32")),
            "relaxation": st.floats(0.2, 1.5),
            "averaging": st.one_of(st.none(), st.floats(0.1, 0.9)),
            "r_factor": st.sampled_from(("local", "block", 0.1)),
            "max_iterations": st.integers(1, 6),
        }
    ),
)
def test_impulses_are_in_their_sets(arrays, seed, options):
    """After any number of sweeps from feasible impulses: every set is convex.

    Averaging by at most 0.9 keeps a tenth of the old impulse, so that rounding stays relative to
    the new one.
    """
    initial = random_impulses(np.random.default_rng(seed), arrays)
    result = cs.solve(package_problem(arrays), initial=initial, **options)
    rounding = 20 * np.finfo(options["dtype"]).eps
    for k, impulse in enumerate(result.impulses):
        if arrays.set_name == "box":
            slack = rounding * np.abs(impulse)
            assert (impulse >= arrays.lo[k] - slack).all()
            assert (impulse <= arrays.hi[k] + slack).all()
        elif arrays.set_name == "half_line":
            assert impulse[0] >= 0.0
            assert not impulse[1:].any()
        elif arrays.set_name == "disc":
            radius = arrays.mu[k] * impulse[0]
            assert impulse[0] >= 0.0
            assert np.linalg.norm(impulse[1:]) <= radius * (1.0 + rounding)


def enumerated_solution(reference: ReferenceProblem) -> np.ndarray:
    """0 <= lambda, A lambda + b >= 0, complementary, by trying every set of active rows.

    One of them holds for positive definite A; the least violation is taken, against rounding.
    """
    count = len(reference.b)
    best, least = np.zeros(count), np.inf
    for pattern in itertools.product((False, True), repeat=count):
        active = np.flatnonzero(pattern)
        candidate = np.zeros(count)
        candidate[active] = np.linalg.solve(
            reference.A[np.ix_(active, active)], -reference.b[active]
        )
        gap = reference.xi(candidate)
        gap[active] = 0.0
        violation = max(0.0, -candidate.min(), -gap.min())
        if violation < least:
            best, least = candidate, violation
    assert least < 1e-12
    return best


frictionless = st.just(("half_line", 1))


@ordinary
@given(arrays=well_posed_problems(frictionless))
def test_frictionless_solution_is_the_enumerated_one(arrays):
    """The sweeps end at the one solution, and every measure of it is zero."""
    exact = enumerated_solution(ReferenceProblem.from_arrays(arrays))[:, None]
    result = solve_tightly(arrays)
    assert result.converged
    assert_same(result.impulses, exact, 1e-9)
    names = ("natural_map", "natural_map_velocity", "natural_map_scaled", "fclib_error")
    for name, value in zip(names, measured_at(arrays, exact, *names), strict=True):
        assert value <= 1e-12, name


@ordinary
@given(arrays=well_posed_problems(frictionless), seed=seeds, size=st.floats(1e-6, 1.0))
def test_natural_map_bounds_the_distance_to_the_solution(arrays, seed, size):
    """||lambda - lambda*|| <= (1 + L)/c ||natural map|| where c |x|^2 <= x.Fx, |Fx| <= L |x|.

    F = D^1/2 A D^1/2 with D = diag(rho), in the norm of D^-1: so impulses that do not solve the
    problem cannot have a small natural map.
    """
    reference = ReferenceProblem.from_arrays(arrays)
    exact = enumerated_solution(reference)
    perturbed = np.maximum(0.0, exact + size * np.random.default_rng(seed).normal(size=exact.size))
    rho = 1.0 / np.diag(reference.A)
    eigenvalues = np.linalg.eigvalsh(np.sqrt(rho)[:, None] * reference.A * np.sqrt(rho))
    distance = np.linalg.norm((perturbed - exact) / np.sqrt(rho))
    (largest,) = measured_at(arrays, perturbed[:, None], "natural_map")
    norm_bound = largest * np.linalg.norm(1.0 / np.sqrt(rho))
    bound = (1.0 + eigenvalues[-1]) / eigenvalues[0] * norm_bound
    assert distance <= bound + 1e-12
    # The other direction: a small step away from the solution has a small natural map.
    step = np.max(np.abs(perturbed - exact))
    lipschitz = np.max(rho * np.abs(reference.A).sum(axis=1))
    assert largest <= (2.0 + lipschitz) * step + 1e-12


discs = st.sampled_from((("disc", 2), ("disc", 3)))


@ordinary
@given(arrays=well_posed_problems(discs))
def test_solutions_obey_signorini_and_coulomb(arrays):
    """Open or touching, sticking or sliding against the velocity with the full friction."""
    result = solve_tightly(arrays, stop="natural_map")
    assume(result.converged)
    impulse_scale = np.max(np.abs(result.impulses), initial=1e-3)
    velocity_scale = np.max(np.abs(arrays.b))
    small = 1e-8 * impulse_scale * velocity_scale
    for mu, impulse, velocity in zip(
        arrays.mu, result.impulses, result.residual_velocities, strict=True
    ):
        assert velocity[0] >= -1e-8 * velocity_scale
        assert abs(impulse[0] * velocity[0]) <= small
        # Friction takes the most power the disc allows: equal exactly if stuck or opposed.
        power = impulse[1:] @ velocity[1:]
        assert abs(power + mu * impulse[0] * np.linalg.norm(velocity[1:])) <= small


@ordinary
@given(arrays=well_posed_problems(discs), data=st.data(), size=st.floats(1e-3, 10.0))
def test_a_normal_impulse_too_large_is_measured_exactly(arrays, data, size):
    """rho_n = 1/A_nn moves the projected step by nothing, so Delta_n is the perturbation itself."""
    result = solve_tightly(arrays)
    assume(result.converged)
    (at_solution,) = measured_at(arrays, result.impulses, "natural_map")
    assert at_solution <= 1e-11 * max(1.0, np.max(result.impulses))
    perturbed = result.impulses.copy()
    perturbed[data.draw(st.integers(0, len(perturbed) - 1)), 0] += size
    (moved,) = measured_at(arrays, perturbed, "natural_map")
    assert moved >= size * (1.0 - 1e-6)


@ordinary
@given(arrays=problems(), seed=seeds, solver=solvers, scheme=schemes)
def test_names_of_bodies_do_not_matter(arrays, seed, solver, scheme):
    """Bodies renumbered and, separately, the two partners of some contacts exchanged."""
    rng = np.random.default_rng(seed)
    options = {"method": solver, "scheme": scheme, **FEW_SWEEPS}
    wanted = cs.solve(package_problem(arrays), **options)
    new_index = rng.permutation(len(arrays.Minv))
    renumbered = cs.solve(package_problem(arrays.renumbered(new_index)), **options)
    assert_same(renumbered.impulses, wanted.impulses, 1e-12)
    assert_same(renumbered.body_velocity_change[new_index], wanted.body_velocity_change, 1e-12)
    exchanged = rng.random(len(arrays.b)) < 0.5
    jacobian, bodies = arrays.J.copy(), arrays.bodies.copy()
    jacobian[exchanged], bodies[exchanged] = jacobian[exchanged, ::-1], bodies[exchanged, ::-1]
    swapped = replace(arrays, J=jacobian, bodies=bodies)
    assert_same(cs.solve(package_problem(swapped), **options).impulses, wanted.impulses, 1e-12)


def in_other_units(arrays: ProblemArrays, mass: float, length: float) -> ProblemArrays:
    """The same scene measured with a mass unit 1/mass and a length unit 1/length as large.

    Columns 0-2 of a body are linear and 3-5 angular: J's angular entries are lengths, b is a
    velocity and impulses (box bounds) are mass times velocity.
    """
    per_column = np.array([1.0] * 3 + [length] * 3)
    column_scale = 1.0 / per_column
    if arrays.Minv.ndim == 2:
        minv = arrays.Minv * column_scale**2 / mass
    else:
        minv = arrays.Minv * np.outer(column_scale, column_scale) / mass
    bounds = {
        name: getattr(arrays, name) * (mass * length)
        for name in ("lo", "hi")
        if getattr(arrays, name) is not None
    }
    return replace(arrays, J=arrays.J * per_column, Minv=minv, b=arrays.b * length, **bounds)


@st.composite
def spatial_problems(draw) -> ProblemArrays:
    set_name, rows = draw(set_rows)
    rng = np.random.default_rng(draw(seeds))
    return random_problem(rng, 6, 4, rows, 6, set_name, diagonal=draw(st.booleans()))


@ordinary
@given(
    arrays=spatial_problems(),
    mass=st.floats(1e-6, 1e6),
    length=st.floats(1e-4, 1e4),
    solver=solvers,
    scheme=schemes,
    r_factor=st.sampled_from(("local", "block")),
)
def test_units_do_not_matter_for_the_sweeps(arrays, mass, length, solver, scheme, r_factor):
    names = ("residual", "natural_map", "natural_map_velocity", "natural_map_scaled")
    options = {
        "method": solver,
        "scheme": scheme,
        "r_factor": r_factor,
        "check_every": 1,
        "record": names,
        **FEW_SWEEPS,
    }
    wanted = cs.solve(package_problem(arrays), **options)
    got = cs.solve(package_problem(in_other_units(arrays, mass, length)), **options)
    impulse = mass * length
    assert_same(got.impulses, impulse * wanted.impulses, 1e-11)
    assert_same(got.residual_velocities, length * wanted.residual_velocities, 1e-11)
    for name, unit in zip(names, (impulse, impulse, length, 1.0), strict=True):
        rows = slice(1, None) if name == "residual" else slice(None)
        assert_same(got.history[name][rows], unit * wanted.history[name][rows], 1e-10)


@ordinary
@given(
    arrays=spatial_problems(),
    mass=st.integers(-6, 6).map(lambda power: 4.0**power),
    length=st.integers(-8, 8).map(lambda power: 2.0**power),
    solver=solvers,
    dtype=st.sampled_from(("float64", "float32")),
)
def test_units_do_not_matter_for_stopping(arrays, mass, length, solver, dtype):
    """Powers of two (of four where a root of the mass is taken) scale without rounding.

    So the solve has to stop at the same sweep with the same digits, rollbacks included.
    """
    options = {"method": solver, "dtype": dtype, "rtol": 1e-5, "max_iterations": 200}
    wanted = cs.solve(package_problem(arrays), check_every=1, **options)
    got = cs.solve(package_problem(in_other_units(arrays, mass, length)), check_every=1, **options)
    assert (got.status, got.iterations) == (wanted.status, wanted.iterations)
    np.testing.assert_array_equal(got.impulses, mass * length * wanted.impulses)


@ordinary
@given(arrays=problems(), seed=seeds, scheme=schemes)
def test_jacobi_does_not_depend_on_the_contact_order(arrays, seed, scheme):
    """Neither on the order of the arrays nor on the order of the visits."""
    contact_order = np.random.default_rng(seed).permutation(len(arrays.b))
    options = {"method": "jacobi", "scheme": scheme, **FEW_SWEEPS}
    wanted = cs.solve(package_problem(arrays), **options).impulses
    listed = cs.solve(package_problem(arrays.reordered(contact_order)), **options).impulses
    assert_same(listed, wanted[contact_order], 1e-12)
    visited = cs.solve(package_problem(arrays), order=contact_order, **options).impulses
    assert_same(visited, wanted, 1e-12)


@ordinary
@given(arrays=problems(), seed=seeds, scheme=schemes)
def test_gauss_seidel_depends_on_the_visits_not_on_the_listing(arrays, seed, scheme):
    """Contacts listed in another order but visited in the old one give the old impulses."""
    contact_order = np.random.default_rng(seed).permutation(len(arrays.b))
    options = {"method": "gauss_seidel", "scheme": scheme, **FEW_SWEEPS}
    wanted = cs.solve(package_problem(arrays), order="natural", **options).impulses
    relisted = package_problem(arrays.reordered(contact_order))
    got = cs.solve(relisted, order=np.argsort(contact_order), **options).impulses
    assert_same(got, wanted[contact_order], 1e-12)


@ordinary
@given(
    arrays=well_posed_problems(),
    solver=solvers,
    scheme=schemes,
    dtype=st.sampled_from(("float64", "float32")),
)
def test_warm_start_from_a_solution_takes_no_iteration(arrays, solver, scheme, dtype):
    """The result itself or its impulses as `initial`; nothing is changed on the way in or out."""
    problem = package_problem(arrays)
    options = {
        "method": solver,
        "scheme": scheme,
        "dtype": dtype,
        "rtol": 1e-8 if dtype == "float64" else 1e-4,
        "max_iterations": 20_000,
        # Simultaneous full steps of five coupled contacts can add up to more than converges.
        "relaxation": 0.3 if solver == "jacobi" else 1.0,
    }
    first = cs.solve(problem, **options)
    assume(first.converged)
    for initial in (first, first.impulses):
        again = cs.solve(problem, initial=initial, **options)
        assert again.converged
        assert again.iterations == 0
        np.testing.assert_array_equal(again.impulses, first.impulses)
        np.testing.assert_array_equal(again.residual_velocities, first.residual_velocities)


@ordinary
@given(arrays=problems(), scheme=schemes, solver=solvers)
def test_arguments_are_never_written_to(arrays, scheme, solver):
    """Read-only arrays are accepted, and stay as they were."""
    for array in (arrays.J, arrays.Minv, arrays.b, arrays.bodies):
        array.flags.writeable = False
    initial = np.zeros(arrays.b.shape)
    initial.flags.writeable = False
    result = cs.solve(
        package_problem(arrays), initial=initial, method=solver, scheme=scheme, max_iterations=3
    )
    assert result.impulses.flags.writeable or not np.shares_memory(result.impulses, initial)
    assert not initial.any()


def test_the_drawn_boxes_include_every_kind():
    """Guards the generator: one-sided, unbounded and pinched rows do occur in what is drawn."""
    arrays = random_problem(np.random.default_rng(0), 30, 6, 4, 6, "box")
    boxes = [one for one in arrays.constraint_sets() if isinstance(one, Box)]
    lo, hi = np.concatenate([b.lo for b in boxes]), np.concatenate([b.hi for b in boxes])
    kinds = (np.isneginf(lo), np.isposinf(hi), lo == hi, lo > 0.0)
    assert all(kind.any() for kind in kinds)
