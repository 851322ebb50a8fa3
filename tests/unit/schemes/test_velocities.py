"""schemes.factorized(velocities=...): how u follows contacts that do not see each other."""

from __future__ import annotations

import numpy as np
import pytest

import contactsolve as cs
from agreement import (
    DTYPES,
    EXACTLY,
    SOLVERS,
    TOLERANCE,
    assert_close,
    assert_impulses_agree,
    flat,
    generator,
    package_set,
)
from reference_numpy import ReferenceProblem, random_problem

WAYS = ("auto", "recompute", "add", "accumulate")
ORDERS = {
    "natural": "natural",
    "ranges": cs.orders.ranges(),
    "relaxed": cs.orders.relaxed(4),
    "relaxed ranges": cs.orders.relaxed(5, unsafe="ranges"),
    "all unsafe": cs.orders.relaxed(10**6),
}


def scene(*key) -> tuple:
    arrays = random_problem(generator("velocities", *key), 12, 6, 3, 6, "disc")
    problem = cs.Problem(
        arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
    )
    return problem, ReferenceProblem.from_arrays(arrays)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", WAYS)
def test_jacobi_as_in_the_reference(way, dtype):
    problem, reference = scene(way, dtype)
    result = cs.solve(
        problem,
        method="jacobi",
        scheme=cs.schemes.factorized(velocities=way),
        dtype=dtype,
        relaxation=0.4,
        max_iterations=4,
        **EXACTLY,
    )
    wanted = assert_impulses_agree(
        problem, reference, solver="jacobi", scheme="factorized", sweeps=4, relaxation=0.4
    )
    assert_close(flat(result.impulses), flat(wanted.impulses), TOLERANCE[dtype], way)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("method", SOLVERS)
def test_the_ways_differ_by_rounding_only(method, order):
    problem, _ = scene(method, order)
    options = {"method": method, "order": ORDERS[order], "relaxation": 0.4}
    options["parts"] = 3
    runs = [
        flat(
            cs.solve(
                problem,
                scheme=cs.schemes.factorized(velocities=way),
                max_iterations=5,
                **options,
                **EXACTLY,
            ).impulses
        )
        for way in WAYS
    ]
    for way, impulses in zip(WAYS[1:], runs[1:], strict=True):
        assert_close(impulses, runs[0], TOLERANCE["float64"], way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", ORDERS)
def test_the_same_bits_from_any_number_of_threads(way, order):
    problem = cs.scenarios.ball_grid(8)
    options = {"scheme": cs.schemes.factorized(velocities=way), "order": ORDERS[order]}
    for method in SOLVERS:
        runs = [
            cs.solve(
                problem,
                method=method,
                threads=n,
                exact_threads=True,
                max_iterations=4,
                **options,
                **EXACTLY,
            )
            for n in (1, 2, 3, 8)
        ]
        for run in runs[1:]:
            np.testing.assert_array_equal(run.impulses, runs[0].impulses)


@pytest.mark.threads
@pytest.mark.parametrize("dtype", ["float64", "float32", "mixed"])
@pytest.mark.parametrize("order", ["natural", "colored", "cache", "partition", "ranges"])
def test_velocities_computed_anew_have_the_same_bits_for_any_number_of_threads(order, dtype):
    """Before the first sweep from given impulses; in single precision each 32 sweeps as well."""
    problem = cs.scenarios.ball_grid(9, velocity=0.05)
    initial = 0.01 * np.random.default_rng(1).random(problem.b.shape)
    options = {
        **EXACTLY,
        "scheme": "factorized",
        "order": order,
        "dtype": dtype,
        "max_iterations": 40,
        "exact_threads": True,
    }
    for method in ("gauss_seidel", "jacobi"):
        first, *others = (
            cs.solve(problem, method=method, initial=initial, threads=n, **options)
            for n in (1, 2, 3, 8)
        )
        for other in others:
            np.testing.assert_array_equal(other.impulses, first.impulses)


def test_accumulating_takes_memory_and_adding_little():
    problem = cs.scenarios.ball_grid(12)
    size = {
        way: cs.Solver(problem, method="jacobi", scheme=cs.schemes.factorized(velocities=way)).info[
            "bytes"
        ]
        for way in WAYS
    }
    assert size["accumulate"] > size["add"] + 100_000
    assert size["auto"] == size["recompute"] <= size["add"]


def test_words_and_schemes_that_do_not_fit():
    with pytest.raises(ValueError, match="velocities: 'soon' is unknown; known: auto, recompute"):
        cs.schemes.factorized(velocities="soon")
    problem = cs.scenarios.ball_grid(2)
    given = (("velocities", "add"),)
    for name in ("auto", "matrix"):
        with pytest.raises(ValueError, match=f"velocities: scheme='{name}' has no options of its"):
            cs.solve(problem, scheme=cs.schemes.Scheme(name, given))
    with pytest.raises(TypeError, match="scheme is 3: a name is needed"):
        cs.solve(problem, scheme=3)
    assert repr(cs.schemes.factorized(velocities="add")) == "factorized(velocities=add)"
