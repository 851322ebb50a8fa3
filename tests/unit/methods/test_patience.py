"""Patience ends solves that no longer halve their natural map, whatever the method."""

import numpy as np
import pytest

import contactsolve as cs

# Jacobi's method circles on friction that all contacts of a body change at once.
CIRCLING = {"rtol": 1e-10, "max_iterations": 400, "r_factor": 0.5, "rollback": 0}
OWN = ("nesterov", "nncg", "momentum", "newton", "admm", "tresca")


@pytest.fixture(scope="module")
def grid():
    return cs.scenarios.ball_grid(6, velocity=0.05)


@pytest.mark.parametrize("islands", [False, "auto"])
def test_plain_sweeps_end_where_they_circle(grid, islands):
    patient = cs.solve(grid, method="jacobi", islands=islands, **CIRCLING)
    result = cs.solve(grid, method="jacobi", islands=islands, patience=25, **CIRCLING)
    assert patient.status == "max_iterations"
    assert result.status in ("stalled", "wandering")
    assert 25 <= result.iterations < patient.iterations
    low, middle, high = result.info["band"]
    assert 0 < low <= middle <= high


def test_iterates_do_not_depend_on_it(grid):
    settings = {"max_iterations": 300, "record": ("residual", "natural_map")}
    free = cs.solve(grid, method="gauss_seidel", **settings)
    patient = cs.solve(grid, method="gauss_seidel", patience=300, **settings)
    assert free.iterations == patient.iterations
    assert np.array_equal(free.impulses, patient.impulses)
    for name in ("residual", "natural_map"):
        assert np.array_equal(free.history[name], patient.history[name], equal_nan=True)


@pytest.mark.parametrize("name", OWN)
def test_it_is_the_methods_own_option(grid, name):
    settings = {"rtol": 1e-15, "max_iterations": 600}
    own = cs.solve(grid, method=getattr(cs.methods, name)(patience=20), **settings)
    common = cs.solve(grid, method=name, patience=20, **settings)
    patient = cs.solve(grid, method=getattr(cs.methods, name)(patience=10_000), **settings)
    assert own.status in ("stalled", "wandering", "inaccurate")
    assert own.iterations < patient.iterations
    assert (common.status, common.iterations) == (own.status, own.iterations)


def test_the_methods_own_option_goes_first(grid):
    settings = {"rtol": 1e-15, "max_iterations": 2000}
    method = cs.methods.nesterov(patience=150)
    alone = cs.solve(grid, method=method, **settings)
    both = cs.solve(grid, method=method, patience=10, **settings)
    assert both.iterations == alone.iterations


def test_direct_methods_hear_it():
    scene = cs.scenarios.box_stack(3)
    problem = cs.Problem(
        scene.J,
        scene.Minv,
        np.add(scene.b, [0, 3, 1]),
        bodies=scene.bodies,
        sets=cs.sets.box_friction(0.5),
        compliance=1e-6,
    )
    # Friction bounds that hardly move: no solve is nearer to the solution than the last.
    settings = {"rtol": 1e-12, "averaging": 1e-9, "max_iterations": 50}
    patient = cs.solve(problem, method="bpp", **settings)
    result = cs.solve(problem, method="bpp", patience=3, **settings)
    assert (patient.status, patient.iterations) == ("max_iterations", 50)
    assert result.status == "stalled"
    assert result.iterations <= 10


@pytest.mark.parametrize("patience", [0, -3, 1.5, "long"])
def test_what_is_no_patience_is_refused(grid, patience):
    with pytest.raises((TypeError, ValueError), match="patience"):
        cs.solve(grid, patience=patience)
