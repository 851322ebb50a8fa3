"""What a solve hands out belongs to its impulses, whatever was evaluated before."""

import numpy as np
import pytest

import contactsolve as cs

SETTINGS = (
    {"stop": "residual", "rtol": 1e-4, "atol": 0.1, "record": ()},
    {"rtol": None, "atol": None, "max_iterations": 7, "record": ()},
    {"rtol": 1e-3, "max_iterations": 3, "check_every": 2, "record": ()},
    {"rtol": 1e-3, "max_iterations": 40, "patience": 5, "record": ("residual", "natural_map")},
)


@pytest.fixture(scope="module", params=("disc", "box_friction", "half_line"))
def scene(request):
    grid = cs.scenarios.ball_grid(3, velocity=0.3)
    kind = getattr(cs.sets, request.param)
    sets = kind() if request.param == "half_line" else kind(0.5)
    problem = cs.Problem(grid.J, grid.Minv, grid.b, bodies=grid.bodies, sets=sets)
    A = problem.delassus()
    return problem, A.toarray() if hasattr(A, "toarray") else np.asarray(A)


@pytest.mark.parametrize("settings", SETTINGS, ids=("residual", "fixed", "few", "patient"))
@pytest.mark.parametrize("method", cs.methods.names())
def test_velocities_are_those_of_the_impulses(scene, method, settings):
    problem, A = scene
    try:
        result = cs.solve(problem, method=method, islands=False, **settings)
    except ValueError as refused:
        pytest.skip(str(refused))
    impulses, b = np.ravel(result.impulses), np.ravel(problem.b)
    found = A @ impulses + b
    size = np.abs(A) @ np.abs(impulses) + np.abs(b)
    assert np.all(np.abs(np.ravel(result.residual_velocities) - found) <= 1e-12 * size.max())

    # J times the change of the bodies' velocities is A times the impulses.
    change = result.body_velocity_change
    change = np.concatenate([change, np.zeros_like(change[:1])])  # the fixed world is -1
    moved = np.einsum("ksij,ksj->ki", problem.J, change[problem.bodies])
    assert np.all(np.abs(np.ravel(moved) - A @ impulses) <= 1e-12 * size.max())
