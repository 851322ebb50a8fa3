"""Other values of A in a solver that is there: what is kept, and when it is let go."""

import numpy as np
import pytest
from scipy import sparse

import contactsolve as cs
from reference_mlcp import natural_residual, random_mlcp

ENGINES = list(cs.mlcp.engines())
EVERY = pytest.mark.parametrize("engine", ENGINES)


def drawn(kind="sparse", m=40, seed=3):
    A, b, lo, hi = random_mlcp(np.random.default_rng(seed), m, kind)
    return A, b, lo, hi


def moved(A, by, seed=5):
    """A with entries, where there are any, changed by parts of them; positive definite still."""
    change = np.random.default_rng(seed).uniform(-by, by, A.shape)
    return A * (1 + (change + change.T) / 2)


@EVERY
@pytest.mark.parametrize("reuse", [0, 12])
def test_answers_are_those_of_the_new_matrix(engine, reuse):
    A, b, lo, hi = drawn()
    solver = cs.MlcpSolver(A, engine=engine, reuse=reuse)
    last = solver.solve(b, lo, hi)
    for k in range(1, 5):
        now = moved(A, 1e-3, seed=k)
        solver.update(now)
        last = solver.solve(b, lo, hi, initial=last)
        assert last.converged
        assert natural_residual(now, b, lo, hi, last.x) < 1e-12
        np.testing.assert_allclose(last.x, cs.solve_mlcp(now, b, lo, hi).x, rtol=0, atol=1e-11)


@EVERY
def test_a_factor_is_used_again(engine):
    A, b, lo, hi = drawn()
    solver = cs.MlcpSolver(A, engine=engine, reuse=12, islands=False)
    first = solver.solve(b, lo, hi)
    assert first.info["reuse"] == {"solves": 0, "steps": 0, "failed": 0}
    solver.update(moved(A, 1e-3))
    again = solver.solve(b, lo, hi, initial=first)
    assert again.factorizations == 0
    assert again.info["reuse"]["solves"] == 1
    assert 0 < again.info["reuse"]["steps"] <= 12
    same = solver.solve(b, lo, hi, initial=again)  # the factor is an earlier matrix's still
    assert same.info["reuse"]["solves"] == 1
    np.testing.assert_array_equal(same.x, again.x)


@EVERY
def test_without_reuse_factors_are_those_of_a_new_solver(engine):
    A, b, lo, hi = drawn()
    solver = cs.MlcpSolver(A, engine=engine)
    first = solver.solve(b, lo, hi)
    now = moved(A, 1e-2)
    solver.update(now)
    fresh = cs.solve_mlcp(now, b, lo, hi, engine=engine, initial=first)
    again = solver.solve(b, lo, hi, initial=first)
    assert "reuse" not in again.info
    assert again.factorizations >= 1
    np.testing.assert_array_equal(again.x, fresh.x)


@EVERY
def test_a_factor_that_does_not_do_is_made_anew(engine):
    A, b, lo, hi = drawn("plain")
    solver = cs.MlcpSolver(A, engine=engine, reuse=4)
    first = solver.solve(b, lo, hi)
    other, *_ = drawn("plain", seed=9)
    solver.update(other)
    again = solver.solve(b, lo, hi, initial=first)
    assert again.info["reuse"]["failed"] == 1
    assert again.info["reuse"]["solves"] == 0
    assert again.factorizations >= 1
    assert natural_residual(other, b, lo, hi, again.x) < 1e-12


def test_entries_that_come_and_go():
    A, b, lo, hi = drawn()
    solver = cs.MlcpSolver(A, reuse=12)
    solver.solve(b, lo, hi)
    fewer = np.where(np.abs(A) > 0.2, A, 0.0) + np.eye(len(A))
    more = fewer + 0.01
    for now in (fewer, more, A):
        solver.update(now)
        result = solver.solve(b, lo, hi)
        assert natural_residual(now, b, lo, hi, result.x) < 1e-12
    solver.update(sparse.csr_array(fewer))
    assert natural_residual(fewer, b, lo, hi, solver.solve(b, lo, hi).x) < 1e-12


def test_islands_and_asymmetry_are_those_of_the_new_matrix():
    solver = cs.MlcpSolver(np.diag([1.0, 2.0, 3.0]))
    assert solver.info["islands"] == 3
    coupled = np.diag([1.0, 2.0, 3.0])
    coupled[0, 1] = 0.1
    solver.update(coupled)
    assert solver.info["islands"] == 2
    assert "unsymmetric" in solver.info["warnings"][0]
    solver.update(np.diag([1.0, 2.0, 3.0]))
    assert solver.info["warnings"] == []
    assert solver.solve([-1.0, -1.0, -1.0]).x == pytest.approx([1.0, 0.5, 1 / 3])


def test_a_matrix_that_does_not_do_changes_nothing():
    A, b, lo, hi = drawn()
    solver = cs.MlcpSolver(A)
    first = solver.solve(b, lo, hi)
    with pytest.raises(ValueError, match="A has 2 rows: the solver has 40"):
        solver.update(np.eye(2))
    wrong = A.copy()
    wrong[3, 4] = np.nan
    with pytest.raises(ValueError, match=r"A\[3, 4\] is nan"):
        solver.update(wrong)
    np.testing.assert_array_equal(solver.solve(b, lo, hi).x, first.x)


def test_indefinite_matrices_are_told_with_reuse():
    solver = cs.MlcpSolver(np.array([[2.0, 1.0], [1.0, 2.0]]), reuse=8)
    solver.solve([-1.0, -1.0])
    solver.update(np.array([[2.0, 3.0], [3.0, 2.0]]))
    with pytest.raises(ValueError, match="not positive definite"):
        solver.solve([-1.0, -2.0], lo=-np.inf)


def test_updated_problems_use_their_factor_again():
    scene = cs.scenarios.ball_grid(3, velocity=0.1)
    problem = cs.Problem(
        scene.J, scene.Minv, scene.b, bodies=scene.bodies, sets=cs.sets.half_line(), compliance=1e-6
    )
    method = cs.methods.bpp(reuse=12)
    solver = cs.Solver(problem, method=method, rtol=1e-9)
    first = solver.solve()
    assert "reuse" not in first.info
    problem.update(Minv=problem.Minv * np.linspace(1, 1.001, len(problem.Minv))[:, None])
    again = solver.solve(initial=first)
    fresh = cs.solve(problem, method="bpp", rtol=1e-9)
    assert again.converged
    assert again.info["reuse"]["solves"] > 0
    assert again.info["factorizations"] < fresh.info["factorizations"]
    np.testing.assert_allclose(again.impulses, fresh.impulses, rtol=0, atol=1e-10)
