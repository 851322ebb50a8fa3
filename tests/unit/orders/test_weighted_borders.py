"""Concurrent borders whose changes have a weight, and whose parts see split masses.

The sweeps are compared with a NumPy reference, and what the two remedies promise is tested: fixed
points are solutions, and on fixed convex sets the energy falls in every sweep.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import contactsolve as cs
from agreement import EXACTLY, TOLERANCE, amplification, assert_close, flat, generator
from contactsolve import _core
from problems_of_classes import residual
from random_case import RandomCase as Case
from reference_numpy import Disc, ReferenceProblem, step_matrix, sweep
from reference_orders import interiors

pytestmark = pytest.mark.threads

REMEDIES = ((0.3, False), (1.0, True), (0.7, True))
INSTRUCTIONS = tuple(name for name, runs in cs.info()["instructions"].items() if runs)
SWEEPS = 3


def concurrent(labels, weight=1.0, split_masses=False):
    return cs.orders.partition(
        labels, border="concurrent", weight=weight, split_masses=split_masses
    )


# ---- the reference ------------------------------------------------------------------------------


def border_parts(case: Case) -> tuple[list[int], list[list[int]]]:
    """The contacts inside parts, part by part, and those on the border by the part that visits."""
    part = interiors(case.labels, case.conflicts, case.touching)
    inside = sorted((k for k in range(len(part)) if part[k] >= 0), key=lambda k: part[k])
    lowest = {
        k: min(int(case.labels[body]) for body in case.touching[k])
        for k in range(len(part))
        if part[k] < 0 and case.touching[k]
    }
    loose = [k for k in range(len(part)) if part[k] < 0 and not case.touching[k]]
    assert not loose
    return inside, [
        [k for k in sorted(lowest) if lowest[k] == p] for p in sorted(set(lowest.values()))
    ]


def split_reference(case: Case, parts: list[list[int]]) -> ReferenceProblem:
    """The reference with the mass of each body divided by the number of parts that visit it."""
    met = [{body for k in part for body in case.touching[k]} for part in parts]
    count = np.maximum(1, [sum(body in one for one in met) for body in range(case.bodies)])
    assert count.max() > 1
    inverse = case.reference.inverse_mass * np.repeat(count, 6)[:, None]
    jacobian, sigma = case.reference.jacobian, case.reference.compliance
    return replace(
        case.reference, A=jacobian @ inverse @ jacobian.T + np.diag(sigma), inverse_mass=inverse
    )


def border_stage(case, parts, lam, weight, split_masses):
    """All parts from the same impulses, each with its own velocities of its own bodies."""
    whole = case.reference
    own = split_reference(case, parts) if split_masses else whole
    change = np.zeros_like(lam)
    for part in parts:
        for k in part:
            rows, one = whole.blocks[k], whole.sets[k]
            mine = np.zeros_like(lam)
            for j in part:
                mine[whole.blocks[j]] = change[whole.blocks[j]]
            xi = whole.b[rows] + whole.A[rows] @ lam + own.A[rows] @ mine
            step = step_matrix(own, k, "local", "auto")
            change[rows] = one.prox(lam[rows] - step @ xi, None) - lam[rows]
    return lam + weight * change


def reference_sweeps(case, weight, split_masses):
    inside, parts = border_parts(case)
    lam = case.start.ravel().copy()
    for _ in range(SWEEPS):
        lam = sweep(case.reference, lam, solver="gauss_seidel", order=inside)
        lam = border_stage(case, parts, lam, weight, split_masses)
    return lam


@pytest.mark.parametrize("dtype", [*TOLERANCE, "mixed"])
@pytest.mark.parametrize(("weight", "split_masses"), REMEDIES)
def test_sweeps_are_those_of_the_reference(weight, split_masses, dtype):
    case = Case("weighted border", weight)
    schemes = ["factorized"] if split_masses else ["factorized", "matrix", "iteration_matrix"]
    for scheme in schemes if dtype != "mixed" else ["factorized"]:
        result = cs.solve(
            case.problem,
            method="gauss_seidel",
            order=concurrent(case.labels, weight, split_masses),
            scheme=scheme,
            islands=False,
            dtype=dtype,
            initial=case.start,
            max_iterations=SWEEPS,
            **EXACTLY,
        )
        wanted = reference_sweeps(case, weight, split_masses)
        tolerance = 10 * TOLERANCE.get(dtype, 5e-6) * amplification(case.reference)
        assert_close(flat(result.impulses), wanted, tolerance, f"{weight}, {scheme}")


@pytest.mark.parametrize("scene", ["disc_pyramid", "ball_grid", "log_tower", "folded_cloth"])
@pytest.mark.parametrize(("weight", "split_masses"), REMEDIES)
def test_vectors_and_compressed_factors_are_those_of_scalars(scene, weight, split_masses):
    """Contacts of spheres, of solids, in the plane, and of four vertices."""
    problem = cs.scenarios.get(scene)()
    count = problem.bodies_count
    labels = generator(scene).integers(0, max(2, count // 4), count)
    options = {
        "order": concurrent(labels, weight, split_masses),
        "method": "gauss_seidel",
        "scheme": "factorized",
        "islands": False,
        "record": ("merit",),
        **EXACTLY,
    }
    start = cs.solve(problem, max_iterations=2, **options)
    options |= {"max_iterations": 2, "initial": start}
    scalar = cs.solve(problem, instructions="scalar", **options)
    for instructions, compressed in itertools.product(INSTRUCTIONS, (True, False)):
        wide = cs.solve(problem, instructions=instructions, compressed=compressed, **options)
        kernel = wide.info["kernel"]
        assert ("compressed" in kernel) == compressed
        assert_close(flat(wide.impulses), flat(scalar.impulses), 1e-10, kernel)
        np.testing.assert_allclose(wide.history["merit"], scalar.history["merit"], rtol=1e-8)


def test_solving_on_is_one_solve():
    """Velocities that are computed from impulses are those that sweeps have kept."""
    problem = cs.scenarios.ball_grid(4, mu=0.3, velocity=0.5)
    labels = generator("on").integers(0, 16, problem.bodies_count)
    for (weight, split_masses), instructions in itertools.product(REMEDIES, ("scalar", "auto")):
        options = {"order": concurrent(labels, weight, split_masses), "method": "gauss_seidel"}
        options |= {"scheme": "factorized", "islands": False, "instructions": instructions}
        half = cs.solve(problem, max_iterations=4, **options, **EXACTLY)
        on = cs.solve(problem, max_iterations=4, initial=half, **options, **EXACTLY)
        whole = cs.solve(problem, max_iterations=8, **options, **EXACTLY)
        assert_close(flat(on.impulses), flat(whole.impulses), 1e-12, str(weight))


def test_threads_do_not_change_a_bit():
    problem = cs.scenarios.ball_grid(5, mu=0.3, velocity=0.5)
    labels = generator("threads").integers(0, 30, problem.bodies_count)
    for weight, split_masses in REMEDIES:
        found = {
            cs.solve(
                problem,
                method="gauss_seidel",
                order=concurrent(labels, weight, split_masses),
                scheme="factorized",
                islands=False,
                threads=threads,
                exact_threads=True,
                max_iterations=5,
                **EXACTLY,
            ).impulses.tobytes()
            for threads in (1, 2, 3)
        }
        assert len(found) == 1


def test_one_part_at_each_body_is_the_plain_border():
    """All contacts between two parts are visited by the lower one: there is nothing to split."""
    problem = cs.scenarios.ball_grid(4, mu=0.1, velocity=0.5)
    labels = np.arange(problem.bodies_count) * 2 // problem.bodies_count
    options = {"method": "gauss_seidel", "scheme": "factorized", "islands": False}
    options |= {"max_iterations": 10, **EXACTLY}
    plain = cs.solve(problem, order=concurrent(labels), **options)
    split = cs.solve(problem, order=concurrent(labels, split_masses=True), **options)
    assert plain.impulses.tobytes() == split.impulses.tobytes()


# ---- what the remedies promise ------------------------------------------------------------------


def crowded():
    """Contacts without friction between few bodies of many parts, where a plain border diverges."""
    problem = cs.scenarios.random(contacts=300, bodies=40, mu=0.0, rng=1)
    return problem, np.random.default_rng(0).integers(0, 30, problem.bodies_count)


def parts_at_a_body(problem, labels):
    """The most parts that visit contacts of one body on the border."""
    pairs = problem.bodies
    moves = np.any(problem.Minv, axis=tuple(range(1, problem.Minv.ndim)))
    met = [set() for _ in labels]
    for pair in pairs:
        bodies = [body for body in pair if body >= 0 and moves[body]]
        own = {int(labels[body]) for body in bodies}
        if len(own) > 1:
            for body in bodies:
                met[body].add(min(own))
    return max(map(len, met))


def energies(problem, order, sweeps):
    """The energy 1/2 l.A l + b.l before and after each sweep."""
    A, b = problem.delassus().toarray(), problem.b.ravel()
    seen = [0.0]

    def look(state):
        x = np.array(state.impulses).ravel()
        seen.append(0.5 * x @ A @ x + b @ x)

    cs.solve(
        problem,
        method="gauss_seidel",
        order=order,
        scheme="factorized",
        islands=False,
        max_iterations=sweeps,
        callback=look,
        **EXACTLY,
    )
    return np.array(seen)


def falls(values):
    return bool((np.diff(values) <= 1e-13 * np.abs(values).max()).all())


def test_the_energy_falls_in_every_sweep():
    problem, labels = crowded()
    most = parts_at_a_body(problem, labels)
    assert most > 3
    assert not falls(energies(problem, concurrent(labels), 100))
    for order in (
        concurrent(labels, split_masses=True),
        concurrent(labels, 0.6, split_masses=True),
        concurrent(labels, 1 / most),
    ):
        values = energies(problem, order, 100)
        assert falls(values), order
        assert values[-1] < values[1] < 0


@pytest.mark.parametrize(("weight", "split_masses"), [(0.2, False), (1.0, True), (0.8, True)])
def test_they_converge_where_a_plain_border_diverges(weight, split_masses):
    """The natural map of the result, with the true masses, is below the tolerance."""
    problem, labels = crowded()
    options = {"method": "gauss_seidel", "scheme": "factorized", "islands": False, "atol": 0.0}
    options |= {"rollback": 0, "rtol": 1e-5, "max_iterations": 5000}
    plain = cs.solve(problem, order=concurrent(labels), **options)
    assert not plain.converged
    assert plain.natural_map_scaled > 0.1
    result = cs.solve(problem, order=concurrent(labels, weight, split_masses), **options)
    exact = cs.solve(problem, order="natural", **options)
    assert result.converged
    assert exact.converged
    sets = [Disc(3, 0.0)] * problem.contacts
    assert residual(problem, sets, result.impulses) <= 1e-5 * (1 + 1e-6)
    speeds = [one.residual_velocities for one in (result, exact)]
    assert_close(speeds[0], speeds[1], 1e-3, "residual velocities")


@pytest.mark.parametrize("method", ["gauss_seidel", "symmetric_gauss_seidel", "nesterov"])
@pytest.mark.parametrize(("weight", "split_masses"), REMEDIES)
def test_fixed_points_with_friction_are_solutions(weight, split_masses, method):
    problem = cs.scenarios.ball_grid(4, mu=0.3, velocity=0.5)
    labels = generator("friction").integers(0, 16, problem.bodies_count)
    order = concurrent(labels, weight, split_masses)
    result = cs.solve(problem, method=method, order=order, rtol=1e-6, max_iterations=20_000)
    assert result.converged
    sets = [Disc(3, 0.3)] * problem.contacts
    assert residual(problem, sets, result.impulses) <= 1e-6 * (1 + 1e-6)


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"weight": 0.0}, ValueError, "weight is 0: a finite number above 0 is needed"),
        ({"weight": -0.5}, ValueError, r"weight is -0\.5: a finite number above 0 is needed"),
        ({"weight": 1.5}, ValueError, r"weight is 1\.5: it must be at most 1"),
        ({"weight": np.nan}, ValueError, "weight is nan: a finite number above 0 is needed"),
        ({"weight": "half"}, TypeError, "weight is 'half'"),
        ({"weight": "0.5"}, TypeError, r"weight is '0\.5': a number is needed"),
        ({"weight": True}, TypeError, "weight is True: a number is needed"),
        ({"weight": None}, TypeError, "weight is None: a number is needed"),
        ({"split_masses": 2}, TypeError, "split_masses is 2"),
    ],
)
def test_values_that_are_refused(options, error, message):
    with pytest.raises(error, match=message):
        cs.orders.partition(border="concurrent", **options)


@pytest.mark.parametrize("border", ["colored", "sequential", "checkerboard"])
@pytest.mark.parametrize("option", [{"weight": 0.5}, {"split_masses": True}])
def test_other_borders_have_none(border, option):
    name = next(iter(option))
    with pytest.raises(ValueError, match=f"{name} is for border='concurrent'"):
        cs.orders.partition(border=border, **option)


@pytest.mark.parametrize("options", [{"weight": 0.5}, {"split_masses": True}])
def test_methods_without_borders_have_none(options):
    problem, name = cs.scenarios.ball_grid(3), next(iter(options))
    order = cs.orders.partition(border="concurrent", **options)
    message = rf"{name} of order='partition' is for methods .* 'gauss_seidel': it has no effect"
    for method in ("jacobi", "mass_splitting", cs.methods.nesterov(over="jacobi")):
        with pytest.raises(ValueError, match=message):
            cs.Solver(problem, method=method, order=order)
        with pytest.raises(ValueError, match=message):
            cs.Solver(problem, method=method, order=order, islands=False)


@pytest.mark.skipif(
    _core.build()["threading"] == "serial", reason="ranks as threads need a build with threads"
)
@pytest.mark.parametrize("options", [{"weight": 0.5}, {"split_masses": True}])
def test_methods_without_borders_have_none_on_ranks(options):
    problem, name = cs.scenarios.ball_grid(3), next(iter(options))
    order = cs.orders.partition(border="concurrent", **options)
    message = rf"{name} of order='partition' is for methods .* 'gauss_seidel': it has no effect"

    def work(comm):
        spread = cs.distributed.scatter(problem, parts=2, comm=comm)
        for method in ("jacobi", cs.methods.nesterov(over="jacobi")):
            with pytest.raises(ValueError, match=message):
                cs.distributed.Solver(spread, method=method, order=order)
        plain = cs.orders.partition(border="concurrent")
        solver = cs.distributed.Solver(spread, method="jacobi", order=plain, max_iterations=2)
        return solver.solve().iterations

    assert cs.distributed.run(work, 2, timeout=20) == [2, 2]


def test_schemes_without_weights_or_masses():
    case = Case("refused")
    weighted, split = concurrent(case.labels, 0.5), concurrent(case.labels, split_masses=True)
    for scheme in ("dense", "half_sweep"):
        with pytest.raises(ValueError, match=rf"weight of order='partition' .* '{scheme}'"):
            cs.Solver(case.problem, method="gauss_seidel", order=weighted, scheme=scheme)
    with pytest.raises(ValueError, match=r"split_masses of order='partition' .* is 'matrix'"):
        cs.Solver(case.problem, method="gauss_seidel", order=split, scheme="matrix")
    given, by_contact = case.given(), generator("contacts").integers(0, 4, 60)
    split = concurrent(by_contact, split_masses=True)
    with pytest.raises(ValueError, match="needs Jacobians and masses"):
        cs.Solver(given, method="gauss_seidel", order=split)
    assert cs.Solver(case.problem, order=concurrent(case.labels, split_masses=True)).info


def test_a_given_matrix_takes_a_weight():
    grid = cs.scenarios.ball_grid(3, mu=0.3, velocity=0.5)
    given = cs.Problem.from_delassus(grid.delassus(), grid.b, grid.mu)
    labels = generator("contacts").integers(0, 8, grid.contacts)
    for weight in (0.4, 0.8):
        result = cs.solve(given, method="gauss_seidel", order=concurrent(labels, weight), rtol=1e-8)
        assert result.converged
        sets = [Disc(3, 0.3)] * grid.contacts
        assert residual(given, sets, result.impulses) <= 1e-8 * (1 + 1e-6)


def test_masses_stay_whole_without_a_border():
    problem = cs.scenarios.random(60, bodies=30, mu=0.4, rng=3)
    labels = np.zeros(30, dtype=int)
    fixed = {"rtol": None, "max_iterations": 5, "islands": False, "scheme": "factorized"}
    found = [
        cs.solve(problem, order=cs.orders.partition(labels, **options), **fixed).impulses
        for options in ({}, {"border": "concurrent", "split_masses": True})
    ]
    assert np.array_equal(*found)


def test_the_call_as_text():
    order = cs.orders.partition("natural", border="concurrent", weight=0.5, split_masses=True)
    text = "partition('natural', border='concurrent', weight=0.5, split_masses=True)"
    assert repr(order) == text
