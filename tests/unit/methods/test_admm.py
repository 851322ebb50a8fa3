"""ADMM: what it computes, in either space, by every rule; what it refuses; how it ends."""

import numpy as np
import pytest

import contactsolve as cs
from problems_of_classes import (
    associated,
    coulomb,
    joints,
    moving_stack,
    residual,
    unsymmetric,
)
from reference_numpy import BoxFriction, Disc, cone_projection
from repository import FCLIB

EXACTLY = {"rtol": None, "atol": None}
RULES = cs.methods.describe()["admm"].options["rule"].words


def dense(problem):
    return np.asarray(problem.delassus().toarray())


@pytest.mark.parametrize("friction", ["de_saxce", "bounds"])
@pytest.mark.parametrize("proximal", [0.0, 0.5])
@pytest.mark.parametrize("over", [1.0, 1.7])
def test_admm_is_what_its_equations_say(friction, proximal, over):
    problem, steps, penalty = moving_stack(3), 25, 0.3
    A, b, mu = dense(problem), problem.b, np.broadcast_to(problem.mu, problem.contacts)
    blocks = A.reshape(problem.contacts, 3, problem.contacts, 3)
    scale = [np.diag(blocks[k, :, k]).max() for k in range(problem.contacts)]
    p = penalty * np.repeat(scale, 3)
    z = x = np.zeros(b.size)
    y = -b.ravel()
    if friction == "de_saxce":
        y = y - shift(b, mu).ravel()
    for _ in range(steps):
        s = shift(y.reshape(b.shape), mu).ravel() if friction == "de_saxce" else 0.0
        right = proximal * p * (x - z) - (y + A @ z + b.ravel() + s)
        x = z + np.linalg.solve(A + (1 + proximal) * np.diag(p), right)
        h = over * x + (1 - over) * z
        z = (h + y / p).reshape(b.shape)
        if friction == "de_saxce":
            z = np.array([cone_projection(one, m) for one, m in zip(z, mu, strict=True)]).ravel()
        else:
            z = np.array([Disc(3, m).prox(one, None) for one, m in zip(z, mu, strict=True)])
            z = z.ravel()
        y = y + p * (h - z)
    for space in ("constraints", "bodies"):
        method = cs.methods.admm(
            penalty=penalty, rule="fixed", over_relaxation=over, proximal=proximal,
            friction=friction, space=space,
        )  # fmt: skip
        result = cs.solve(problem, method=method, max_iterations=steps, **EXACTLY)
        np.testing.assert_allclose(result.impulses.ravel(), z, rtol=0, atol=1e-10)
    assert np.abs(z).max() > 1e-2


def shift(v, mu):
    """De Saxcé's, on the normal rows."""
    s = np.zeros_like(v)
    s[:, 0] = mu * np.hypot(v[:, 1], v[:, 2])
    return s


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("make", [coulomb, associated])
def test_every_rule_gets_there_in_either_space(rule, make):
    for seed in range(3):
        problem, sets = make(seed, redundancy=0.3)
        for space in ("constraints", "bodies"):
            method = cs.methods.admm(rule=rule, space=space)
            result = cs.solve(problem, method=method, rtol=1e-8, max_iterations=5000)
            assert result.converged, result.message
            assert residual(problem, sets, result.impulses) <= 1e-8 * (1 + 1e-6)


def test_the_shift_makes_the_cone_coulombs():
    """Without it the answer is that of the associated problem."""
    problem, sets = coulomb(2)
    cones = cs.Problem(
        problem.J, problem.Minv, problem.b, bodies=problem.bodies,
        sets=cs.sets.second_order_cone(problem.mu),
    )  # fmt: skip
    plain = cs.solve(cones, method="admm", rtol=1e-8, max_iterations=5000)
    assert plain.converged
    assert residual(problem, sets, plain.impulses) > 1e-3
    shifted = cs.solve(problem, method="admm", rtol=1e-8, max_iterations=5000)
    assert residual(problem, sets, shifted.impulses) <= 1e-8 * (1 + 1e-6)


def test_compliance_and_joints_in_either_space():
    scene, _ = coulomb(2)
    soft = cs.Problem(scene.J, scene.Minv, scene.b, scene.mu, bodies=scene.bodies, compliance=0.3)
    sets = [Disc(3, float(mu)) for mu in np.broadcast_to(scene.mu, scene.contacts)]
    chain = joints(1, cs.sets.box_friction(0.3), BoxFriction(3, 0.3))
    for problem, of in [(soft, sets), chain]:
        for space in ("constraints", "bodies"):
            result = cs.solve(
                problem, method=cs.methods.admm(space=space), rtol=1e-8, max_iterations=5000
            )
            assert result.converged, result.message
            assert residual(problem, of, result.impulses) <= 1e-8 * (1 + 1e-6)


REAL = [
    "Box_Stacks-i0122-82-5.reduced_local",
    "Confeti-ex13-4contact",
    "FrictionContactProblem00071.2d",
    "LMGC_GFC3D-i00501-4-00000.reduced_local",
    "LMGC_GFC3D_FEM-00046.reduced_local",
    "NESpheres_30_1",
    "OneObject-i100000-499",
    "Rover1039",
    "Rover1040",
    "Rover11035",
    "Rover3865",
    "Rover4396",
]


@pytest.mark.parametrize("file", REAL)
@pytest.mark.parametrize("friction", ["de_saxce", "bounds"])
def test_real_problems(file, friction):
    problem = cs.io.read_fclib(FCLIB / f"{file}.hdf5")
    mu = np.broadcast_to(problem.mu, problem.contacts)
    sets = [Disc(problem.b.shape[1], float(value)) for value in mu]
    method = cs.methods.admm(friction=friction)
    result = cs.solve(problem, method=method, rtol=1e-6, max_iterations=20000)
    assert result.converged, result.message
    assert residual(problem, sets, result.impulses) <= 1e-6 * (1 + 1e-6)


def test_solvers_are_used_again_and_immovable_contacts_keep_their_impulses():
    problem = moving_stack()
    solver = cs.Solver(problem, method="admm", rtol=1e-8, max_iterations=5000)
    first = solver.solve()
    assert solver.solve(initial=first).iterations == 0
    assert solver.solve().impulses.tobytes() == first.impulses.tobytes()
    problem.update(b=1.2 * problem.b)
    assert solver.solve().converged

    J = np.zeros((2, 2, 3, 6))
    J[:, 1, :, :3] = np.eye(3)
    Minv = np.array([[1.0] * 6, [0.0] * 6])
    stuck = cs.Problem(J, Minv, -np.ones((2, 3)), 0.5, bodies=[[-1, 0], [-1, 1]])
    for space in ("constraints", "bodies"):
        method = cs.methods.admm(space=space)
        initial = np.array([[0.0, 0, 0], [2.0, 0.5, 0]])
        result = cs.solve(stuck, method=method, initial=initial, max_iterations=2000)
        assert result.status == "infeasible"  # nothing stops what approaches at contact 1
        assert result.info["certificate_contacts"] == [1]
        assert result.impulses[1].tolist() == [2.0, 0.5, 0.0]


def test_no_contacts_and_one():
    nobody = np.zeros((0, 2), int)
    J, b = np.zeros((0, 2, 3, 6)), np.zeros((0, 3))
    empty = cs.Problem(J, np.ones((1, 6)), b, 0.5, bodies=nobody)
    assert cs.solve(empty, method="admm").converged
    J = np.zeros((1, 2, 3, 6))
    J[0, 1, :, :3] = np.eye(3)
    one = cs.Problem(J, np.ones((1, 6)), [[-1.0, 0.2, 0.0]], 0.5, bodies=[[-1, 0]])
    result = cs.solve(one, method="admm", rtol=1e-10)
    np.testing.assert_allclose(result.impulses, [[1.0, -0.2, 0.0]], atol=1e-8)


def test_what_does_not_fit_is_refused():
    problem = moving_stack(1)
    with pytest.raises(ValueError, match="dtype='float32': method='admm' computes in float64"):
        cs.Solver(problem, method="admm", dtype="float32")
    with pytest.raises(ValueError, match="order='reverse' is for methods that sweep"):
        cs.Solver(problem, method="admm", order="reverse")
    A = np.array([[2.0, 0.5], [0.1, 2.0]])
    given = cs.Problem.from_delassus(
        A, np.array([[-1.0], [-1.0]]), sets=cs.sets.half_line(), rows=1
    )
    with pytest.raises(ValueError, match=r"method='admm' needs a symmetric A"):
        cs.Solver(given, method="admm")
    scene, _ = coulomb(0)
    given = cs.Problem.from_delassus(scene.delassus(), scene.b, scene.mu)
    with pytest.raises(ValueError, match="space='bodies' of method='admm' needs Jacobians"):
        cs.Solver(given, method=cs.methods.admm(space="bodies"))
    indefinite = cs.Problem.from_delassus(
        np.array([[1.0, 9.0], [9.0, 1.0]]),
        np.array([[-1.0], [-1.0]]),
        sets=cs.sets.half_line(),
        rows=1,
    )
    with pytest.raises(ValueError, match="not positive definite"):
        cs.Solver(indefinite, method="admm")


def test_a_slightly_unsymmetric_matrix_is_solved_as_it_is():
    problem, sets = unsymmetric(3)
    result = cs.solve(problem, method="admm", rtol=1e-9, max_iterations=5000)
    assert result.converged
    assert residual(problem, sets, result.impulses) <= 1e-9 * (1 + 1e-6)


def test_patience_and_callbacks_end_solves():
    problem = moving_stack()
    method = cs.methods.admm(rule="fixed", penalty=1e5, patience=50)
    assert cs.solve(problem, method=method, rtol=1e-12, max_iterations=10000).status == "stalled"

    def stop(state):
        if state.iteration == 7:
            raise StopIteration

    assert cs.solve(problem, method="admm", rtol=1e-12, callback=stop).iterations == 7
