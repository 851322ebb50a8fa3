"""Corners where a wrong answer would be quiet: scales, stale values, patterns, names."""

from __future__ import annotations

import gc

import numpy as np
import pytest
import scipy.sparse

import contactsolve as cs
from agreement import EXACTLY


def one_contact(scale: float, mu: float = 0.1) -> cs.Problem:
    """A contact that is pressed and slides; its friction is mu times its normal impulse."""
    return cs.Problem.from_delassus(np.eye(3), [[-scale, scale / 2, 0.0]], mu)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("exponent", [-36, -20, -18, 0, 18, 19, 30])
def test_friction_holds_at_every_scale(exponent, dtype):
    scale = 10.0**exponent
    result = cs.solve(one_contact(scale), dtype=dtype, max_iterations=5, **EXACTLY)
    np.testing.assert_allclose(result.impulses / scale, [[1.0, -0.1, 0.0]], rtol=1e-6)


@pytest.mark.parametrize("exponent", [-290, -163, -150, 150])
def test_friction_holds_where_squares_do_not(exponent):
    scale = 10.0**exponent
    result = cs.solve(one_contact(scale), max_iterations=5, **EXACTLY)
    np.testing.assert_allclose(result.impulses / scale, [[1.0, -0.1, 0.0]], rtol=1e-12)


def test_beyond_what_squares_hold_nothing_is_claimed():
    """Norms of such impulses are infinite: no judge could tell."""
    for scale in (1e155, 1e290):
        result = cs.solve(one_contact(scale), max_iterations=5)
        assert not result.converged


def test_no_friction_without_a_normal_impulse():
    problem = cs.Problem.from_delassus(np.eye(3), [[1.0, 1e-25, 0.0]], 0.5)
    result = cs.solve(problem, dtype="float32", max_iterations=3, **EXACTLY)
    np.testing.assert_array_equal(result.impulses, 0.0)


def test_conflicts_of_an_unsymmetric_pattern_count_from_either_side():
    size = 4000
    A = scipy.sparse.diags_array([2.0, -1.0], offsets=[0, 512], shape=(size, size)).tocsr()
    problem = cs.Problem.from_delassus(A, -np.ones(size), rows=1)
    solver = cs.Solver(problem, order="colored")
    assert solver.info["colors"] == 2
    sums = {
        threads: cs.solve(
            problem,
            order="colored",
            threads=threads,
            exact_threads=True,
            max_iterations=3,
            **EXACTLY,
        ).impulses.tobytes()
        for threads in (1, 2, 4)
    }
    assert len(set(sums.values())) == 1


NAMES = {
    "order": "colored",
    "scheme": "matrix",
    "instructions": "scalar",
    "local": "projected",
    "r_factor": "block",
    "bound": "current",
    "dtype": "float64",
    "stop": "natural_map",
}


def passing(word):
    """The word in a string that nobody else holds."""
    return "".join([word[:3], word[3:]])


@pytest.mark.parametrize("method", ["auto", "gauss_seidel", "nesterov", "bpp", "tresca"])
def test_names_are_not_needed_after_a_solver_is_made(method):
    swept = method not in ("bpp", "tresca")
    names = NAMES if swept else {n: NAMES[n] for n in ("scheme", "instructions", "stop")}
    if method == "tresca":
        names = names | {"order": "colored"}
    problem = cs.scenarios.disc_pyramid(2)
    solver = cs.Solver(
        problem,
        method=passing(method),
        record=[passing("residual"), passing("penetration")],
        **{name: passing(word) for name, word in names.items()},
    )
    gc.collect()
    problem.update(b=problem.b)
    junk = ["x" * n for n in range(50)]
    result = solver.solve()
    assert "order" not in names or result.info["order"] == "colored"
    assert set(result.history) >= {"residual", "penetration"}
    assert junk


def test_a_result_does_not_judge_itself_by_later_values():
    problem = one_contact(1.0)
    result = cs.solve(problem)
    assert result.active[0] == "slide"
    work = result.energy().contact_work
    problem.update(mu=3.0)
    for look in (lambda: result.active, result.check, result.energy):
        with pytest.raises(RuntimeError, match="has been updated since then"):
            look()
    assert work < 0
    assert cs.solve(problem, initial=result).active[0] == "stick"


def test_static_friction_refuses_groups():
    J = np.zeros((1, 2, 3, 3))
    J[0, 1] = np.eye(3)
    group = cs.Group(J, [[-1, 0]], [[-1.0, 5.0, 0.0]], 0.5)
    problem = cs.Problem(groups=[group], bodies=[cs.Bodies(np.ones((1, 3)))])
    with pytest.raises(TypeError, match="problems of one group"):
        cs.solve_static_kinetic(problem, 0.8, 0.3)


def test_a_pair_may_have_its_bodies_on_either_side():
    first, second = np.zeros((1, 1, 0)), np.array([[[0.0, 1.0, 0.0]]])
    problem = cs.Problem((first, second), np.ones((1, 3)), [-1.0], bodies=[[-1, 0]])
    np.testing.assert_allclose(cs.solve(problem).impulses, [[1.0]])


@pytest.mark.parametrize("name", ["drive", "bias"])
def test_what_belongs_to_rows_is_given_by_rows(name):
    J = np.zeros((3, 2, 3, 3))
    J[:, 1] = np.eye(3)
    arrays = {"bodies": [[-1, 0]] * 3, "velocity": np.zeros((1, 3)), "mu": 0.5}
    with pytest.raises(ValueError, match=rf"{name} has shape \(3,\): one number or shape \(3, 3\)"):
        cs.Problem.from_state(J, np.ones((1, 3)), **arrays, **{name: [1.0, 2.0, 3.0]})


def test_check_does_not_hide_what_overflows():
    problem = cs.Problem.from_delassus(np.diag([1e300, 1.0]), [-1.0, -1.0], rows=1)
    result = cs.solve(problem, initial=[1e300, 0.0], max_iterations=0)
    check = result.check()
    assert result.natural_map == check.natural_map[0] == 1e300
    assert result.natural_map_scaled == check.natural_map_scaled[0] == np.inf
    assert check.contact[0] == 0


def test_the_global_factor_reaches_singular_free_blocks():
    problem = cs.Problem.from_delassus(np.ones((2, 2)), [-1.0, -1.0], rows=2, sets=cs.sets.free())
    solver = cs.Solver(problem, r_factor="global", max_iterations=1, **EXACTLY)
    r = solver.info["r_factor"]
    assert r == pytest.approx(1.9 / 2)
    np.testing.assert_allclose(solver.solve().impulses, [[r, r]])


def test_jacobi_has_no_colours():
    info = cs.Solver(cs.scenarios.ball_grid(3), method="jacobi", order="colored").info
    assert (info["colors"], info["stages"]) == (0, 1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: cs.orders.colored("balanced", colors=2.5),
        lambda: cs.orders.relaxed(2.7),
    ],
)
def test_counts_are_whole(make):
    with pytest.raises(TypeError, match="an integer is needed"):
        make()


def test_more_parts_than_contacts_cost_nothing():
    problem = cs.scenarios.ball_grid(3)
    for order in ("ranges", "colored", cs.orders.colored("balanced", colors=2 * 10**9)):
        info = cs.Solver(problem, order=order, parts=2**31 - 1).info
        assert info["bytes"] < 10**7
