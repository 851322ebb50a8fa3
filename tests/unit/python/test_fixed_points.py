"""Outer fixed points with an inner solver of one's own, of the library, of Clarabel and of SCS."""

import importlib.util

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import fixed_points
from problems_of_classes import associated, coulomb, moving_stack, residual
from reference_numpy import Disc

LAWS = pytest.mark.parametrize("law", ["de_saxce", "tresca"])


def peer(name):
    missing = importlib.util.find_spec(name) is None
    return pytest.param(name, marks=pytest.mark.skipif(missing, reason=f"needs {name}"))


PEERS = pytest.mark.parametrize("name", [peer("clarabel"), peer("scs")])


def discs(problem):
    mu = np.broadcast_to(problem.mu, problem.contacts)
    return [Disc(problem.b.shape[1], float(value)) for value in mu]


def planar():
    J = np.random.default_rng(1).standard_normal((5, 2, 2, 3))
    bodies = np.column_stack([np.arange(5), np.arange(5) + 1])
    b = np.random.default_rng(2).standard_normal((5, 2)) - [1.0, 0.0]
    return cs.Problem(J, np.ones((6, 3)), b, [0.3, 0.0, 0.2, 0.1, 0.3], bodies=bodies)


def problems():
    return [coulomb(0)[0], coulomb(1)[0], moving_stack(3), planar()]


@LAWS
@pytest.mark.parametrize("method", ["nesterov", "apgd"])
def test_with_the_library_inside(law, method):
    for problem in problems():
        inner = fixed_points.library(method)
        result = fixed_points.solve(problem, inner, law=law, rtol=1e-7, tolerance=0.01)
        assert result.converged, result.message
        assert residual(problem, discs(problem), result.impulses) <= 1e-7 * (1 + 1e-6)
        assert len(result.history) == result.iterations + 1
        assert result.status == "converged"


@PEERS
@LAWS
def test_with_peers_inside(law, name):
    for problem in problems():
        inner = getattr(fixed_points, name)()
        result = fixed_points.solve(problem, inner, law=law, rtol=1e-5, tolerance=0.01)
        assert result.converged, result.message
        assert residual(problem, discs(problem), result.impulses) <= 1e-5 * (1 + 1e-6)


@PEERS
def test_peers_solve_the_convex_problems_themselves(name):
    """The associated problem, and discs of fixed radii, some without friction."""
    inner = getattr(fixed_points, name)()
    problem, sets = associated(2)
    convex = fixed_points.Convex(problem.delassus(), problem.b, mu=np.full(problem.contacts, 0.4))
    x = inner(convex, np.zeros(problem.b.shape), 1e-9)
    assert residual(problem, sets, x) < 1e-6
    radius = np.linspace(0.0, 0.3, problem.contacts)
    fixed = cs.Problem(
        problem.J, problem.Minv, problem.b, bodies=problem.bodies, sets=cs.sets.tresca(radius)
    )
    convex = fixed_points.Convex(problem.delassus(), problem.b, radius=radius)
    x = inner(convex, np.zeros(problem.b.shape), 1e-9)
    judged = cs.solve(fixed, initial=x, max_iterations=0)
    assert judged.natural_map_scaled < 1e-6
    assert np.abs(x[:, 1:]).max() > 1e-3


@LAWS
def test_what_does_not_converge_says_so_and_returns_the_best(law):
    problem = moving_stack(3)
    inner = fixed_points.library("gauss_seidel", max_iterations=3)
    result = fixed_points.solve(problem, inner, law=law, rtol=1e-12, max_iterations=4)
    assert result.status == "max_iterations"
    assert not result.converged
    assert result.iterations == 4
    assert "not converged after 4 convex problems" in result.message
    assert result.natural_map_scaled == result.history["natural_map_scaled"].min()
    again = fixed_points.solve(problem, inner, law=law, initial=result, max_iterations=0)
    assert again.natural_map == result.natural_map


def test_bad_arguments():
    problem, inner = moving_stack(1), fixed_points.library()
    with pytest.raises(ValueError, match="law: 'coulomb' is unknown; known: de_saxce, tresca"):
        fixed_points.solve(problem, inner, law="coulomb")
    with pytest.raises(ValueError, match="weight is 2: it must be above 0 and below 2"):
        fixed_points.solve(problem, inner, weight=2)
    for numbers, message in [
        ({"tolerance": 0}, "tolerance is 0: it must be above 0 and below 1"),
        ({"tolerance": np.nan}, "tolerance is nan"),
        ({"floor": -1e-9}, "floor is -1e-09: it must be at least 0"),
        ({"max_iterations": -1}, "max_iterations is -1: it must be at least 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            fixed_points.solve(problem, inner, **numbers)
    with pytest.raises(TypeError, match=r"inner is 'apgd': a function .* library\('apgd'\)"):
        fixed_points.solve(problem, "apgd")
    boxes = cs.Problem(
        problem.J, problem.Minv, problem.b, bodies=problem.bodies, sets=cs.sets.box_friction(0.3)
    )
    for other in (cs.scenarios.ball_grid(2, rows=1), boxes, cs.scenarios.winch(1)):
        with pytest.raises(ValueError, match="one group of contacts with discs is needed"):
            fixed_points.solve(other, inner)
    with pytest.raises(ValueError, match=r"inner returned an array of shape \(2,\)"):
        fixed_points.solve(problem, lambda convex, start, tolerance: np.zeros(2))
    with pytest.raises(ValueError, match="that is not finite"):
        fixed_points.solve(problem, lambda convex, start, tolerance: start * np.nan)


def test_missing_peers_name_the_extra(monkeypatch):
    for name in ("clarabel", "scs"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
        with pytest.raises(ImportError, match=rf"{name} .*contactsolve\[peers\]"):
            getattr(fixed_points, name)()
