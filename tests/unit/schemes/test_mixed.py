"""Mixed precision: float32 factors, float64 impulses, and the accuracy of float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import contactsolve as cs
from agreement import (
    EXACTLY,
    SOLVERS,
    TOLERANCE,
    amplification,
    assert_close,
    flat,
    generator,
    package_set,
)
from reference_numpy import (
    ReferenceProblem,
    natural_map_scaled,
    random_impulses,
    random_problem,
    run,
)

SCHEMES = ("factorized", "matrix")
INSTRUCTIONS = ("scalar", *(name for name, runs in cs.info()["instructions"].items() if runs))
ORDERS = ("natural", "colored", "ranges", "random")
SET_ROWS = (
    ("free", 3, 6),
    ("box", 4, 6),
    ("half_line", 1, 6),
    ("disc", 3, 6),
    ("disc", 2, 3),
    ("box_friction", 3, 6),
    ("ellipse", 3, 6),
)


def problem_of(arrays, **options) -> cs.Problem:
    return cs.Problem(
        arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays), **options
    )


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("set_name", "rows", "dof"), SET_ROWS)
def test_sweeps_are_those_of_float64_but_for_rounded_factors(set_name, rows, dof, scheme):
    rng = generator("mixed", set_name, rows, dof)
    arrays = random_problem(rng, 23, 11, rows, dof, set_name, awkward=False)
    problem, reference = problem_of(arrays), ReferenceProblem.from_arrays(arrays)
    for method in SOLVERS:
        options = {"method": method, "scheme": scheme, "local": "projected", **EXACTLY}
        options["order"] = "natural"
        mixed = cs.solve(problem, dtype="mixed", max_iterations=3, **options)
        wanted = run(reference, 3, solver=method, local="projected")[-1]
        assert mixed.info["dtype"] == "mixed"
        assert_close(flat(mixed.impulses), wanted, TOLERANCE["float32"], f"{method}, {scheme}")
        exact = cs.solve(problem, max_iterations=3, **options)
        assert not np.array_equal(flat(mixed.impulses), flat(exact.impulses))


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("compressed", (True, False))
def test_reaches_what_float32_does_not(compressed, instructions):
    """The stack stalls at 1e-8 .. 1e-5 of its impulses in float32, and goes to 1e-10 in mixed."""
    problem = cs.scenarios.box_stack(4)
    options = {"scheme": "factorized", "order": "colored", "compressed": compressed}
    options |= {"instructions": instructions, "max_iterations": 4000, "rtol": 1e-10}
    narrow = cs.solve(problem, dtype="float32", **options)
    mixed = cs.solve(problem, dtype="mixed", **options)
    assert not narrow.converged
    assert narrow.natural_map_scaled > 1e-8
    assert mixed.converged
    assert mixed.natural_map_scaled <= 1e-10


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("method", SOLVERS)
def test_converges_to_the_floor_of_float64(method, order, scheme):
    """Compliance, a warm start, immovable bodies; in every order and by every way to sweep."""
    rng = generator("mixed floor", order)
    arrays = random_problem(rng, 19, 9, 3, 6, "disc", awkward=False)
    arrays.Minv[0] = 0.0
    arrays = replace(arrays, compliance=rng.uniform(0.1, 0.3, arrays.b.shape))
    problem = problem_of(arrays, compliance=arrays.compliance)
    options = {"method": method, "order": order, "scheme": scheme, "dtype": "mixed"}
    if method == "jacobi":
        options["averaging"] = "adjacent"
    result = cs.solve(
        problem, rtol=1e-12, max_iterations=20000, initial=random_impulses(rng, arrays), **options
    )
    assert result.converged
    reference = ReferenceProblem.from_arrays(arrays)
    assert natural_map_scaled(reference, flat(result.impulses)) <= 2e-12


def test_the_fixed_point_is_corrected_in_every_solve_anew():
    problem = cs.scenarios.box_stack(3)
    solver = cs.Solver(problem, scheme="factorized", dtype="mixed", rtol=1e-10, max_iterations=4000)
    first = solver.solve()
    assert first.converged
    other = solver.solve(b=2 * problem.b)
    assert other.converged
    again = solver.solve()
    np.testing.assert_array_equal(again.impulses, first.impulses)
    warm = solver.solve(initial=first.impulses)
    assert warm.converged
    assert warm.iterations <= 1


def test_restored_iterates_have_their_own_correction():
    """Rollbacks on the way to a fixed point do not leave another iterate's b behind."""
    arrays = random_problem(generator("mixed rollback"), 40, 6, 3, 6, "disc", awkward=False)
    result = cs.solve(
        problem_of(arrays, compliance=np.full(arrays.b.shape, 2.0)),
        method="jacobi",
        relaxation=2.0,
        scheme="factorized",
        dtype="mixed",
        rtol=1e-11,
        max_iterations=20000,
    )
    assert result.info["rollbacks"] > 0
    assert result.converged


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("order", ("colored", "ranges"))
def test_threads_do_not_change_a_bit(order, scheme):
    problem = cs.scenarios.ball_grid((12, 12, 12))
    options = {"order": order, "scheme": scheme, "dtype": "mixed", "max_iterations": 40}
    runs = [
        cs.solve(problem, threads=t, exact_threads=True, **options, **EXACTLY) for t in (1, 2, 4)
    ]
    assert {run.impulses.tobytes() for run in runs} == {runs[0].impulses.tobytes()}


def test_other_schemes_refuse():
    problem = cs.scenarios.box_stack(2)
    for scheme in ("iteration_matrix", "half_sweep"):
        with pytest.raises(ValueError, match="dtype='mixed' is for scheme='factorized' and"):
            cs.Solver(problem, scheme=scheme, dtype="mixed")
    with pytest.raises(ValueError, match="'mixed' is for sweeps that are not accelerated"):
        cs.Solver(problem, method="nesterov", dtype="mixed")
    with pytest.raises(ValueError, match="'float16' is unknown; known: float64, float32, mixed"):
        cs.Solver(problem, dtype="float16")


def test_a_given_matrix():
    rng = generator("mixed matrix")
    root = rng.standard_normal((30, 30))
    b = rng.standard_normal((10, 3))
    problem = cs.Problem.from_delassus(root @ root.T + np.eye(30), b, mu=0.4)
    result = cs.solve(problem, dtype="mixed", rtol=1e-12, max_iterations=20000)
    assert result.info["scheme"] == "matrix"
    assert result.converged


@pytest.mark.parametrize("instructions", INSTRUCTIONS[1:])
@pytest.mark.parametrize(("set_name", "rows", "dof"), [*SET_ROWS, ("free", 5, 6), ("free", 6, 6)])
def test_rows_in_vectors_are_the_scalar_ones(set_name, rows, dof, instructions):
    """Both multiply the same float rows by the same float64 impulses, in another order."""
    arrays = random_problem(
        generator("mixed rows", set_name, rows), 33, 12, rows, dof, set_name, awkward=False
    )
    problem = problem_of(arrays)
    for method in SOLVERS:
        options = {"method": method, "scheme": "matrix", "local": "projected", "dtype": "mixed"}
        options |= {"max_iterations": 4, **EXACTLY}
        scalar = cs.solve(problem, instructions="scalar", **options)
        found = cs.solve(problem, instructions=instructions, **options)
        assert (scalar.info["kernel"], found.info["kernel"]) == (
            "scalar",
            f"wide rows, {instructions}",
        )
        wanted = flat(scalar.impulses)
        scale = amplification(ReferenceProblem.from_arrays(arrays)) * np.abs(wanted).max()
        assert np.abs(flat(found.impulses) - wanted).max() <= TOLERANCE["float64"] * scale
