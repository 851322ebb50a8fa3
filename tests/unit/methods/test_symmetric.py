"""Symmetric Gauss-Seidel: every second sweep backwards, over every order and scheme."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import contactsolve as cs
from agreement import (
    EXACTLY,
    ROW_SCHEMES,
    SCHEMES,
    TOLERANCE,
    assert_close,
    generator,
    package_set,
)
from reference_numpy import ReferenceProblem, random_problem, run, schedule_of

orders = cs.orders

# Name → the package's order, and that of the reference.
ORDERS = {
    "natural": ("natural", {"order": "natural"}),
    "reverse": ("reverse", {"order": "reverse"}),
    "ranges": ("ranges", {"order": "ranges"}),
    "colored": (orders.colored(), {"order": "colored"}),
    "relaxed": (orders.relaxed(3), {"order": "relaxed", "unsafe_below": 3}),
    "relaxed ranges": (
        orders.relaxed(3, unsafe="ranges"),
        {"order": "relaxed ranges", "unsafe_below": 3},
    ),
}
PARTS = 3
ALL = (*SCHEMES, "symmetric_half")


def problem_of(arrays) -> cs.Problem:
    return cs.Problem(
        arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
    )


@pytest.mark.parametrize("scheme", ALL)
@pytest.mark.parametrize("order", ORDERS)
def test_backward_sweeps_are_the_forward_ones_turned_round(order, scheme):
    """Stages from the last, parts from their ends; the stages' own rules as they are."""
    arrays = random_problem(generator("turned", order), 12, 5, 3, 6, "disc")
    reference = ReferenceProblem.from_arrays(arrays)
    given, named = ORDERS[order]
    stages = schedule_of(reference, parts=PARTS, **named)
    for sweeps in (1, 2, 3, 4):
        options = {"scheme": scheme, "max_iterations": sweeps, "parts": PARTS, **EXACTLY}
        result = cs.solve(
            problem_of(arrays), method="symmetric_gauss_seidel", order=given, **options
        )
        wanted = run(
            reference, sweeps, solver="symmetric_gauss_seidel", scheme=scheme, stages=stages
        )[-1]
        assert_close(result.impulses.ravel(), wanted, TOLERANCE["float64"], f"{sweeps} sweeps")


def test_a_pair_of_sweeps_is_symmetric():
    """Without bounds one forward and one backward sweep are lambda + P (-b), with P symmetric."""
    arrays = random_problem(generator("operator"), 8, 5, 2, 6, "free", awkward=False)
    reference = ReferenceProblem.from_arrays(arrays)
    options = {"local": "projected", "max_iterations": 2, **EXACTLY}

    def pair(method):
        columns = []
        for unit in np.eye(16):
            problem = cs.Problem.from_delassus(
                reference.A, -unit.reshape(8, 2), rows=2, sets=cs.sets.free()
            )
            columns.append(cs.solve(problem, method=method, **options).impulses.ravel())
        return np.array(columns).T

    forward, both = pair("gauss_seidel"), pair("symmetric_gauss_seidel")
    assert np.max(np.abs(forward - forward.T)) > 1e-3 * np.max(np.abs(forward))
    np.testing.assert_allclose(both, both.T, rtol=0, atol=1e-13 * np.max(np.abs(both)))


@pytest.mark.parametrize("scheme", ALL)
def test_every_solve_begins_forwards(scheme):
    """An odd number of sweeps does not turn the next solve round."""
    problem = problem_of(random_problem(generator("again"), 10, 5, 3, 6, "disc"))
    options = {"method": "symmetric_gauss_seidel", "scheme": scheme, **EXACTLY}
    options["max_iterations"] = 3
    solver = cs.Solver(problem, **options)
    first, second = solver.solve().impulses, solver.solve().impulses
    np.testing.assert_array_equal(first, second)
    one = cs.solve(problem, **options | {"max_iterations": 1})
    forward = cs.solve(
        problem, **options | {"max_iterations": 1, "method": "gauss_seidel", "scheme": "matrix"}
    )
    assert_close(one.impulses, forward.impulses, TOLERANCE["float64"], "impulses")


def rolled_back(A, b, state, r, growth, sweeps):
    """Symmetric Gauss-Seidel on free rows by S1 section 3.5; iterates and halvings."""
    best = (state, 0)
    scale, least, turn, current, halvings, iterates = 1.0, np.inf, 0, True, 0, []
    for _ in range(sweeps):
        if current:
            best = (state, turn)
        after = state.copy()
        for i in ([0, 1], [1, 0])[turn]:
            after[i] -= scale * r * (A[i] @ after + b[i])
        scaled = np.max(np.abs(after - state)) / scale
        if scaled > growth * least:
            (state, turn), least, current = best, scaled, True
            scale, halvings = scale / 2, halvings + 1
        else:
            state, turn, current = after, 1 - turn, scaled <= least
            least = min(scaled, least)
        iterates.append(state)
    return iterates, halvings


@pytest.mark.parametrize("scheme", [*ROW_SCHEMES, "symmetric_half"])
@pytest.mark.parametrize(("growth", "halvings"), [(1.0, 1), (1.8, 1)])
def test_a_restored_iterate_goes_on_in_its_own_direction(growth, halvings, scheme):
    """The sweep after a rollback is the one that followed the restored iterate, with half of R."""
    A, b = np.array([[2.0, 1.5], [1.5, 2.0]]), np.array([-1.0, 0.5])
    problem = cs.Problem.from_delassus(A, b, rows=1, sets=cs.sets.free())
    iterates, expected = rolled_back(A, b, np.array([0.2, 0.1]), 1.6, growth, 7)
    assert expected == halvings
    for sweeps, wanted in enumerate(iterates, 1):
        result = cs.solve(
            problem,
            method="symmetric_gauss_seidel",
            scheme=scheme,
            local="projected",
            r_factor=1.6,
            rollback_growth=growth,
            initial=[[0.2], [0.1]],
            rtol=None,
            atol=None,
            max_iterations=sweeps,
        )
        np.testing.assert_allclose(result.impulses.ravel(), wanted, rtol=1e-13, atol=1e-13)
    assert result.info["rollbacks"] == halvings


@pytest.mark.sampled(3)
@pytest.mark.parametrize("scheme", ALL)
@pytest.mark.parametrize("dtype", ("float64", "float32"))
def test_threads_do_not_change_a_bit(scheme, dtype):
    # A dense matrix of 12³ balls would have a gigabyte.
    problem = cs.scenarios.ball_grid(6 if scheme == "dense" else 12, ground="body")
    for order in (given for given, _ in ORDERS.values()):
        options = {"scheme": scheme, "order": order, "max_iterations": 5, "dtype": dtype}
        one, *others = (
            cs.solve(
                problem,
                method="symmetric_gauss_seidel",
                threads=n,
                exact_threads=True,
                **options,
                **EXACTLY,
            )
            for n in (1, 2, 3, 8)
        )
        for other in others:
            np.testing.assert_array_equal(one.impulses, other.impulses)


def test_it_converges_to_a_solution():
    problem = cs.scenarios.ball_grid(4)
    for order, _ in itertools.islice(ORDERS.values(), 4):
        result = cs.solve(problem, method="symmetric_gauss_seidel", order=order)
        assert result.converged
