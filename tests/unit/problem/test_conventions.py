"""The recipes of docs/conventions.md, on arrays built from the other libraries' definitions."""

import itertools

import numpy as np
import pytest

import contactsolve as cs

CONTACTS, BODIES = 6, 5


@pytest.fixture
def problem():
    return cs.scenarios.random(CONTACTS, BODIES, mass_ratio=3.0, fixed=0.3, rng=3)


def solved(problem):
    result = cs.solve(problem, method="gauss_seidel", rtol=1e-12, max_iterations=50000)
    assert result.converged
    return result.impulses


def full_jacobian(problem):
    """J as one matrix."""
    K, _, m, d = problem.J.shape
    J = np.zeros((K * m, problem.bodies_count * d))
    for k, pair in enumerate(problem.bodies):
        for side, body in enumerate(pair):
            if body >= 0:
                J[m * k : m * (k + 1), d * body : d * (body + 1)] += problem.J[k, side]
    return J


def mass_matrix(problem):
    return np.diag(1.0 / problem.Minv.ravel())


def test_siconos_local_and_global(problem):
    """u = (velocity of the first) - (of the second) along a normal from the second to the first."""
    turned = cs.Problem(
        problem.J[:, ::-1], problem.Minv, problem.b, problem.mu, bodies=problem.bodies[:, ::-1]
    )
    H = full_jacobian(turned).T
    M = mass_matrix(problem)
    v_free = np.linalg.lstsq(H.T, problem.b.ravel())[0]
    A = H.T @ np.linalg.solve(M, H)
    q = H.T @ np.linalg.solve(M, M @ v_free)
    local = cs.Problem.from_delassus(A, q, problem.mu, rows=3)
    np.testing.assert_allclose(local.delassus().toarray(), problem.delassus().toarray(), atol=1e-14)
    np.testing.assert_allclose(local.b, problem.b, atol=1e-13)
    np.testing.assert_allclose(solved(local), solved(problem), atol=1e-9)


def test_swapped_bodies_with_swapped_halves_are_the_same_problem(problem):
    swapped = cs.Problem(
        problem.J[:, ::-1], problem.Minv, problem.b, problem.mu, bodies=problem.bodies[:, ::-1]
    )
    np.testing.assert_allclose(solved(swapped), solved(problem), atol=1e-10)


def test_pinocchio_row_order_and_compliance(problem):
    rows = np.arange(3 * CONTACTS).reshape(CONTACTS, 3)
    theirs = rows[:, [1, 2, 0]].ravel()  # ours, in the order t1, t2, n
    R = np.tile([0.1, 0.1, 0.2], CONTACTS)
    G = problem.delassus().toarray()[np.ix_(theirs, theirs)] + np.diag(R)
    g = problem.b.ravel()[theirs]
    order = np.arange(3 * CONTACTS).reshape(CONTACTS, 3)[:, [2, 0, 1]].ravel()
    back = cs.Problem.from_delassus(G[np.ix_(order, order)], g[order], problem.mu)
    A = problem.delassus().toarray() + np.diag(np.tile([0.2, 0.1, 0.1], CONTACTS))
    np.testing.assert_allclose(back.delassus().toarray(), A, atol=1e-15)
    np.testing.assert_array_equal(back.b, problem.b)


def test_forces_and_accelerations(problem):
    step = 0.004
    A = problem.delassus().toarray()
    acceleration = problem.b.ravel() / step
    impulses = solved(cs.Problem.from_delassus(A, step * acceleration, problem.mu))
    force = impulses / step
    expected = cs.Problem.from_delassus(A, acceleration, problem.mu)
    np.testing.assert_allclose(force, solved(expected), rtol=1e-8, atol=1e-7)


def lcp_solution(M, q):
    """By trying every set of positive unknowns."""
    for active in itertools.product([False, True], repeat=len(q)):
        on = np.array(active)
        z = np.zeros(len(q))
        z[on] = np.linalg.solve(M[np.ix_(on, on)], -q[on])
        if np.all(z >= 0) and np.all((M @ z + q)[~on] >= -1e-12):
            return z
    raise AssertionError("no solution")


@pytest.mark.parametrize("seed", range(5))
def test_textbook_lcp(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(6, 6))
    M, q = root @ root.T + np.eye(6), rng.normal(size=6)
    problem = cs.Problem.from_delassus(M, q, rows=1)
    np.testing.assert_allclose(solved(problem)[:, 0], lcp_solution(M, q), atol=1e-9)


def test_textbook_mlcp_with_bounds():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(8, 8))
    M, q = root @ root.T + np.eye(8), rng.normal(size=8)
    lo = np.array([-np.inf, -np.inf, 0.0, 0.0, -0.05, -0.05, -0.05, -np.inf])[:, None]
    hi = np.array([np.inf, np.inf, np.inf, np.inf, 0.05, 0.05, 0.05, 0.0])[:, None]
    z = solved(cs.Problem.from_delassus(M, q, lo=lo, hi=hi, rows=1))
    w = (M @ z[:, 0] + q)[:, None]
    assert np.all((lo <= z) & (z <= hi))
    np.testing.assert_allclose(np.where((lo < z) & (z < hi), w, 0.0), 0.0, atol=1e-9)
    assert np.all(w[z == lo] >= 0)
    assert np.all(w[z == hi] <= 0)
    assert np.any(z == lo)
    assert np.any((lo < z) & (z < hi))


def test_mujoco_pyramid_lies_in_the_disc():
    """One contact that slides diagonally: 1/sqrt(2) of the disc's friction."""
    mu = 0.5
    edges = np.array([[1.0, 1.0, 1.0, 1.0], [mu, -mu, 0.0, 0.0], [0.0, 0.0, mu, -mu]])
    b = np.array([-1.0, 40.0, 40.0])
    R = np.full(4, 1e-7)
    pyramid = cs.Problem.from_delassus(edges.T @ edges + np.diag(R), edges.T @ b, rows=1)
    n, t1, t2 = edges @ solved(pyramid)[:, 0]
    assert n > 1
    assert np.hypot(t1, t2) == pytest.approx(mu * n / np.sqrt(2), rel=1e-5)
    n, t1, t2 = solved(cs.Problem.from_delassus(np.eye(3), b, mu))[0]
    assert n == pytest.approx(1.0)
    assert np.hypot(t1, t2) == pytest.approx(mu * n)


def test_compliance_of_a_spring_in_an_implicit_step():
    mass, compliance, step, stretch, speed = 2.0, 0.03, 0.01, 0.2, -0.7
    A = np.array([[1 / mass + compliance / step**2]])
    problem = cs.Problem.from_delassus(A, [speed + stretch / step], rows=1, sets=cs.sets.free())
    after = speed + solved(problem)[0, 0] / mass
    # m (v - u) = - h (x + h v) / c
    expected = (speed - step * stretch / (compliance * mass)) / (1 + step**2 / (compliance * mass))
    assert after == pytest.approx(expected, rel=1e-9)


def test_angular_velocities_in_the_frame_of_the_body(problem):
    rng = np.random.default_rng(5)
    rotations = np.linalg.qr(rng.normal(size=(BODIES, 3, 3)))[0]
    rotations *= np.sign(np.linalg.det(rotations))[:, None, None]
    inverse_inertia = rng.uniform(1.0, 3.0, (BODIES, 3))
    Minv = np.zeros((BODIES, 6, 6))
    Minv[:, :3, :3] = np.eye(3)
    Minv_body = Minv.copy()
    Minv_body[:, 3:, 3:] = inverse_inertia[:, :, None] * np.eye(3)
    Q = rotations
    Minv[:, 3:, 3:] = Q @ Minv_body[:, 3:, 3:] @ Q.transpose(0, 2, 1)
    # The world's angular velocity is Q times the body's, so theirs has J Q in these columns.
    of_pair = Q[problem.bodies]
    J_body = problem.J.copy()
    J_body[..., 3:] = problem.J[..., 3:] @ of_pair
    theirs = cs.Problem(J_body, Minv_body, problem.b, bodies=problem.bodies)
    J = J_body.copy()
    J[..., 3:] = J_body[..., 3:] @ of_pair.transpose(0, 1, 3, 2)
    np.testing.assert_allclose(J, problem.J, atol=1e-14)
    ours = cs.Problem(J, Minv, problem.b, bodies=problem.bodies)
    np.testing.assert_allclose(ours.delassus().toarray(), theirs.delassus().toarray(), atol=1e-13)


def test_angular_before_linear(problem):
    first = [3, 4, 5, 0, 1, 2]
    turned = cs.Problem(
        problem.J[..., first], problem.Minv[:, first], problem.b, bodies=problem.bodies
    )
    np.testing.assert_allclose(
        turned.delassus().toarray(), problem.delassus().toarray(), atol=1e-14
    )
