"""Contact problems whose answers can be written down.

Everything is built here from masses, points and normals, so that a wrong sign in a helper of the
package cannot cancel against the same wrong sign in the expected answer. Gravity pulls along -z,
contact velocities are those of partner j minus those of partner i, the normal points from i to j.
"""

from __future__ import annotations

import numpy as np
import pytest

import contactsolve as cs
from agreement import SCHEMES
from reference_numpy import ProblemArrays, ReferenceProblem, natural_map_scaled, run, set_defects

GRAVITY, STEP = 9.81, 0.01
WORLD = -1
UP = np.array([0.0, 0.0, 1.0])
TIGHT = {"rtol": 1e-13, "check_every": 1, "max_iterations": 100_000}


def contact_rows(arm: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """(m, 6) rows of partner j: velocity of the point at `arm` from its centre along each axis."""
    return np.array([np.concatenate([axis, np.cross(arm, axis)]) for axis in axes])


def on_the_world(arms: np.ndarray, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """J (K, 2, m, 6) and bodies (K, 2) of points of body 0 touching the fixed world."""
    jacobian = np.array([[np.zeros((len(axes), 6)), contact_rows(arm, axes)] for arm in arms])
    return jacobian, np.tile([WORLD, 0], (len(arms), 1))


def solid_sphere(mass: float, radius: float) -> np.ndarray:
    return np.array([1.0 / mass] * 3 + [2.5 / (mass * radius**2)] * 3)


def solid_box(mass: float, size: np.ndarray) -> np.ndarray:
    """Diagonal of M^-1 of a box of edges `size`: I_x = m (s_y^2 + s_z^2)/12 and so on."""
    squares = np.asarray(size, dtype=float) ** 2
    return np.concatenate([[1.0 / mass] * 3, 12.0 / (mass * (squares.sum() - squares))])


def corners_below(size: np.ndarray) -> np.ndarray:
    x, y, z = np.asarray(size) / 2
    return np.array([[-x, -y, -z], [x, -y, -z], [x, y, -z], [-x, y, -z]])


@pytest.mark.parametrize("method", ("jacobi", "gauss_seidel"))
def test_sphere_at_rest(method):
    """The ground returns exactly the impulse of gravity; nothing slides and nothing turns."""
    mass, radius = 3.0, 0.7
    jacobian, bodies = on_the_world(np.array([[0.0, 0.0, -radius]]), np.eye(3)[[2, 0, 1]])
    b = np.array([[-GRAVITY * STEP, 0.0, 0.0]])
    minv = solid_sphere(mass, radius)[None]
    result = cs.solve(jacobian, minv, b, 0.5, bodies=bodies, method=method, **TIGHT)
    assert result.converged
    assert result.iterations == 1
    np.testing.assert_allclose(result.impulses, [[mass * GRAVITY * STEP, 0, 0]], rtol=1e-15)
    np.testing.assert_allclose(result.residual_velocities, np.zeros((1, 3)), atol=1e-16)
    change = [[0, 0, GRAVITY * STEP, 0, 0, 0]]
    np.testing.assert_allclose(result.body_velocity_change, change, rtol=1e-15)


@pytest.mark.parametrize(("speed", "sticks"), ((0.1, True), (0.2, False), (-0.1, True)))
def test_sphere_set_rolling(speed, sticks):
    """A sphere dropped with a sliding speed u: rolling takes m u / 3.5, friction gives mu lambda_n.

    1/A_tt = 1/(1/m + R^2/I) = m/3.5 for a solid sphere.
    """
    mass, radius, mu, drop = 3.0, 0.7, 0.4, 0.1
    jacobian, bodies = on_the_world(np.array([[0.0, 0.0, -radius]]), np.eye(3)[[2, 0, 1]])
    b = np.array([[-drop, speed, 0.0]])
    minv = solid_sphere(mass, radius)[None]
    result = cs.solve(jacobian, minv, b, mu, bodies=bodies, **TIGHT)
    friction = -mass * speed / 3.5 if sticks else -mu * mass * drop
    assert result.converged
    np.testing.assert_allclose(result.impulses, [[mass * drop, friction, 0]], rtol=1e-14)
    left_over = 0.0 if sticks else speed - 3.5 * mu * drop
    np.testing.assert_allclose(result.residual_velocities, [[0, left_over, 0]], atol=1e-15)


def incline(angle: float) -> tuple[np.ndarray, np.ndarray]:
    """Axes (normal, down the slope, across) and the velocity gained from gravity in one step."""
    axes = np.array(
        [[np.sin(angle), 0, np.cos(angle)], [np.cos(angle), 0, -np.sin(angle)], [0, 1, 0]]
    )
    return axes, -GRAVITY * STEP * UP


MU_INCLINE = 0.5
INCLINES = [np.arctan(MU_INCLINE) + offset for offset in (-0.2, -1e-3, 1e-3, 0.2)]


@pytest.mark.parametrize("dtype", ("float64", "float32"))
@pytest.mark.parametrize("angle", INCLINES)
def test_point_block_on_an_incline(angle, dtype):
    """Below atan(mu) it sticks with m g h (cos, -sin); above it slides with (cos, -mu cos)."""
    mass, mu = 5.0, MU_INCLINE
    axes, fall = incline(angle)
    jacobian = np.array([[np.zeros((3, 3)), axes]])
    b = (axes @ fall)[None]
    minv = np.full((1, 3), 1.0 / mass)
    options = dict(TIGHT, rtol=1e-13 if dtype == "float64" else 1e-6)
    result = cs.solve(jacobian, minv, b, mu, bodies=[[WORLD, 0]], dtype=dtype, **options)
    weight = mass * GRAVITY * STEP
    pull = np.sin(angle) if np.tan(angle) <= mu else mu * np.cos(angle)
    slip = GRAVITY * STEP * (np.sin(angle) - pull)
    precision = 1e-14 if dtype == "float64" else 1e-6
    wanted = [[weight * np.cos(angle), -weight * pull, 0.0]]
    assert result.converged
    np.testing.assert_allclose(result.impulses, wanted, rtol=precision, atol=precision * weight)
    np.testing.assert_allclose(
        result.residual_velocities, [[0.0, slip, 0.0]], atol=precision * GRAVITY * STEP
    )


@pytest.mark.parametrize("angle", INCLINES)
def test_box_on_an_incline(angle):
    """Four corners: single impulses are not determined, their sum and the box's motion are."""
    mass, mu, size = 5.0, MU_INCLINE, np.array([1.0, 0.8, 0.3])
    # The box lies along the slope, so its frame is (down the slope, across, normal).
    axes = np.eye(3)[[2, 0, 1]]
    jacobian, bodies = on_the_world(corners_below(size), axes)
    fall = GRAVITY * STEP * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    b = np.tile(fall[[2, 0, 1]], (4, 1))
    minv = solid_box(mass, size)[None]
    result = cs.solve(jacobian, minv, b, mu, bodies=bodies, **dict(TIGHT, rtol=1e-12))
    pull = np.sin(angle) if np.tan(angle) <= mu else mu * np.cos(angle)
    weight = mass * GRAVITY * STEP
    assert result.converged, result.message
    np.testing.assert_allclose(
        result.impulses.sum(axis=0),
        [weight * np.cos(angle), -weight * pull, 0.0],
        atol=1e-9 * weight,
    )
    motion = GRAVITY * STEP * np.array([-pull, 0, np.cos(angle), 0, 0, 0])
    np.testing.assert_allclose(result.body_velocity_change, [motion], atol=1e-9 * GRAVITY * STEP)


def planar_resting_box() -> ProblemArrays:
    """S1 fig. 3.1: a box on the ground in the plane, contact points p0 (left) and p1 (right)."""
    mass, width, height = 2.0, 1.0, 0.6
    inertia = mass * (width**2 + height**2) / 12.0
    arms = np.array([[-width / 2, -height / 2], [width / 2, -height / 2]])
    jacobian = np.zeros((2, 2, 2, 3))
    for k, (x, y) in enumerate(arms):
        # Rows n = (0, 1) and t = (1, 0); the last column is the moment x n_y - y n_x.
        jacobian[k, 1] = [[0.0, 1.0, x], [1.0, 0.0, -y]]
    return ProblemArrays(
        J=jacobian,
        Minv=np.array([[1.0 / mass, 1.0 / mass, 1.0 / inertia]]),
        b=np.tile([-GRAVITY * STEP, 0.0], (2, 1)),
        bodies=np.array([[WORLD, 0], [WORLD, 0]]),
        set_name="disc",
        mu=np.full(2, 0.5),
    )


@pytest.mark.parametrize("scheme", ("matrix", "factorized"))
@pytest.mark.parametrize("method", ("jacobi", "gauss_seidel"))
def test_planar_resting_box_of_s1(method, scheme):
    """S1 fig. 3.1: Jacobi's iterates are mirror images left and right, Gauss-Seidel's are not."""
    box = planar_resting_box()
    options = {"bodies": box.bodies, "method": method, "scheme": scheme, "relaxation": 0.5}
    mirror = np.array([1.0, -1.0])
    for sweeps in (1, 2, 3):
        result = cs.solve(
            box.J, box.Minv, box.b, box.mu, max_iterations=sweeps, rtol=None, atol=None, **options
        )
        left, right = result.impulses
        asymmetry = np.max(np.abs(left - right * mirror)) / np.max(result.impulses)
        assert asymmetry <= 1e-15 if method == "jacobi" else asymmetry > 0.05
    result = cs.solve(box.J, box.Minv, box.b, box.mu, **options, **dict(TIGHT, rtol=1e-12))
    assert result.converged, result.message
    change = [[0.0, GRAVITY * STEP, 0.0]]
    np.testing.assert_allclose(result.body_velocity_change, change, atol=1e-10)


@pytest.mark.parametrize("method", ("jacobi", "gauss_seidel"))
def test_resting_box_in_space(method):
    """With four corners the split is not determined: Jacobi keeps it even, Gauss-Seidel not."""
    mass, size = 2.0, np.array([1.0, 1.0, 0.6])
    jacobian, bodies = on_the_world(corners_below(size), np.eye(3)[[2, 0, 1]])
    b = np.tile([-GRAVITY * STEP, 0.0, 0.0], (4, 1))
    minv = solid_box(mass, size)[None]
    result = cs.solve(
        jacobian,
        minv,
        b,
        0.5,
        bodies=bodies,
        method=method,
        relaxation=0.4,
        **dict(TIGHT, rtol=1e-12),
    )
    assert result.converged, result.message
    normals, weight = result.impulses[:, 0], mass * GRAVITY * STEP
    spread = np.ptp(normals) / weight
    assert spread <= 1e-14 if method == "jacobi" else spread > 0.01
    np.testing.assert_allclose(normals.sum(), weight, rtol=1e-10)
    change = [[0, 0, GRAVITY * STEP, 0, 0, 0]]
    np.testing.assert_allclose(result.body_velocity_change, change, atol=1e-10)


def light_and_heavy_ball() -> ProblemArrays:
    """Balls of 1 kg and 4e6 kg lying apart on the ground: two problems that share nothing."""
    masses = np.array([1.0, 4e6])
    jacobian = np.zeros((2, 2, 3, 6))
    jacobian[:, 1] = contact_rows(np.array([0.0, 0.0, -0.5]), np.eye(3)[[2, 0, 1]])
    return ProblemArrays(
        J=jacobian,
        Minv=np.array([solid_sphere(mass, 0.5) for mass in masses]),
        b=np.tile([-GRAVITY * STEP, 0.0, 0.0], (2, 1)),
        bodies=np.array([[WORLD, 0], [WORLD, 1]]),
        set_name="disc",
        mu=np.full(2, 0.5),
    )


@pytest.mark.parametrize("dtype", ("float64", "float32"))
def test_a_light_ball_beside_a_heavy_one_is_not_forgotten(dtype):
    """Start with the heavy ball carried and the light one falling: rtol must see the light one.

    Half steps, so that a stop which comes early also stops far from the answer.
    """
    balls = light_and_heavy_ball()
    weights = np.array([1.0, 4e6]) * GRAVITY * STEP
    initial = np.zeros((2, 3))
    initial[1, 0] = weights[1]
    options = {
        "bodies": balls.bodies,
        "initial": initial,
        "method": "gauss_seidel",
        "relaxation": 0.5,
        "check_every": 1,
        "dtype": dtype,
        "record": ("natural_map", "natural_map_scaled"),
    }
    rtol = 1e-6
    result = cs.solve(balls.J, balls.Minv, balls.b, balls.mu, rtol=rtol, **options)
    assert result.converged
    # The error of the light ball halves each sweep, and rho V is its weight: 2^-19 > rtol >= 2^-20.
    assert result.iterations == 20
    np.testing.assert_allclose(result.impulses[:, 0], weights, rtol=2.1e-6)
    reference = ReferenceProblem.from_arrays(balls)
    assert natural_map_scaled(reference, result.impulses.ravel()) <= rtol

    # One scale for all sets would have accepted the start, with the light ball in free fall.
    global_scale = rtol * float(np.max(initial))
    assert max(defect.delta for defect in set_defects(reference, initial.ravel())) <= global_scale
    too_loose = cs.solve(
        balls.J, balls.Minv, balls.b, balls.mu, rtol=0.0, atol=global_scale, **options
    )
    assert too_loose.converged
    assert too_loose.iterations == 0
    assert too_loose.impulses[0, 0] == 0.0


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("method", ("jacobi", "gauss_seidel"))
@pytest.mark.parametrize("dtype", ("float64", "float32"))
def test_zero_contacts(method, scheme, dtype):
    result = cs.solve(
        np.zeros((0, 2, 3, 6)),
        np.ones((2, 6)),
        np.zeros((0, 3)),
        0.5,
        bodies=np.zeros((0, 2), dtype=int),
        method=method,
        scheme=scheme,
        dtype=dtype,
    )
    assert result.converged
    assert result.status == "converged"
    assert result.iterations == 0
    assert result.impulses.shape == result.residual_velocities.shape == (0, 3)
    np.testing.assert_array_equal(result.body_velocity_change, np.zeros((2, 6)))
    np.testing.assert_array_equal(result.history["natural_map"], [0.0])


@pytest.mark.parametrize("columns", [1, 3])
def test_zero_bodies(columns):
    """Everything is the fixed world: b stays, and there is no body whose velocity could change."""
    J, bodies = np.ones((2, 2, 1, columns)), np.full((2, 2), -1)
    result = cs.solve(J, np.zeros((0, columns)), [1.0, 0.5], bodies=bodies)
    assert result.body_velocity_change.shape == (0, columns)
    assert result.impulses.tolist() == [[0.0], [0.0]]
    assert result.residual_velocities.tolist() == [[1.0], [0.5]]
    assert result.info["immovable_blocks"] == 2


def test_zero_contacts_of_a_given_matrix():
    result = cs.solve(cs.Problem.from_delassus(np.zeros((0, 0)), np.zeros((0, 3)), np.zeros(0)))
    assert result.converged
    assert result.iterations == 0
    assert result.impulses.shape == (0, 3)


@pytest.mark.parametrize(("gap_velocity", "impulse"), ((-2.0, 8.0), (0.0, 0.0), (3.0, 0.0)))
def test_one_row_of_one_contact(gap_velocity, impulse):
    """The smallest problem there is: lambda = max(0, -b/A), for a body of 1/M = 1/4."""
    result = cs.solve([[[[0.0]], [[1.0]]]], [[0.25]], [[gap_velocity]], bodies=[[WORLD, 0]])
    assert result.converged
    np.testing.assert_array_equal(result.impulses, [[impulse]])
    np.testing.assert_array_equal(result.residual_velocities, [[max(0.0, gap_velocity)]])


def two_bodies_in_collision(masses) -> ProblemArrays:
    jacobian = np.array([[-np.eye(3)[[2, 0, 1]], np.eye(3)[[2, 0, 1]]]])
    minv = np.array([np.full(3, 0.0 if np.isinf(mass) else 1.0 / mass) for mass in masses])
    b = np.array([[-1.0, 0.0, 0.0]])
    return ProblemArrays(jacobian, minv, b, np.array([[0, 1]]), "disc", mu=np.array([0.3]))


@pytest.mark.parametrize("masses", ((2.0, 6.0), (np.inf, 6.0), (2.0, np.inf)))
def test_head_on_collision(masses):
    """Equal and opposite: lambda_n = v/(1/m_i + 1/m_j), J_i turned against the normal."""
    pair = two_bodies_in_collision(masses)
    result = cs.solve(pair.J, pair.Minv, pair.b, pair.mu, bodies=pair.bodies, **TIGHT)
    impulse = 1.0 / (1.0 / masses[0] + 1.0 / masses[1])
    np.testing.assert_allclose(result.impulses, [[impulse, 0, 0]], rtol=1e-15)
    wanted = np.outer([-impulse / masses[0], impulse / masses[1]], UP)
    np.testing.assert_allclose(result.body_velocity_change, wanted, rtol=1e-15)
    assert not result.info["warnings"]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("method", ("jacobi", "gauss_seidel"))
@pytest.mark.parametrize("r_factor", ("local", "block", 0.5))
def test_contact_between_immovable_bodies(method, scheme, r_factor):
    """It gets no impulse and is named; the others are solved as if it were not.

    Where the two approach, nothing can stop them: there is no solution.
    """
    pair = two_bodies_in_collision((np.inf, 4.0))
    jacobian, b = np.tile(pair.J, (3, 1, 1, 1)), np.tile(pair.b, (3, 1))
    # Contact 1 holds body 0 (M^-1 = 0) against the world, on either side of it in turn.
    for immovable in ((0, WORLD), (WORLD, 0), (WORLD, WORLD)):
        bodies = np.array([[0, 1], immovable, [0, 1]])
        options = {"bodies": bodies, "method": method, "scheme": scheme, "r_factor": r_factor}
        result = cs.solve(jacobian, pair.Minv, b, 0.3, relaxation=0.5, **options)
        assert result.status == "infeasible"
        assert result.info["certificate"].tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]
        assert "contact 1 " in result.message
        apart = cs.solve(jacobian, pair.Minv, b * [[1], [-1], [1]], 0.3, relaxation=0.5, **options)
        assert apart.converged, apart.message
        np.testing.assert_array_equal(apart.impulses, result.impulses)
        np.testing.assert_array_equal(result.impulses[1], np.zeros(3))
        np.testing.assert_allclose(result.impulses[[0, 2], 0].sum(), 4.0, rtol=1e-5)
        lines = [line for line in result.info["warnings"] if "immovable" in line]
        assert len(lines) == 1
        assert "1" in lines[0]
        with pytest.raises(ValueError, match="immovable"):
            cs.Problem(jacobian, pair.Minv, b, 0.3, bodies=bodies, strict=True)


def test_the_reference_agrees_with_the_planar_box():
    """Guards the reference: its own solution of fig. 3.1 has the body velocity known above."""
    reference = ReferenceProblem.from_arrays(planar_resting_box())
    for solver in ("jacobi", "gauss_seidel"):
        lam = run(reference, 2000, solver=solver, relaxation=0.5)[-1]
        np.testing.assert_allclose(
            reference.body_velocity_change(lam), [0.0, GRAVITY * STEP, 0.0], atol=1e-12
        )
