"""Problems built from a state: b, the velocities after the step, impact and drive."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import contactsolve as cs
from agreement import assert_close, generator
from reference_numpy import ProblemArrays, ReferenceProblem, random_problem

RESTITUTIONS = {
    "none": lambda rng, K, m: 0.0,
    "number": lambda rng, K, m: 0.6,
    "per contact": lambda rng, K, m: rng.uniform(0, 1, K),
    "per row": lambda rng, K, m: rng.uniform(0, 1, (K, m)),
}
TIGHT = {"rtol": 1e-12, "max_iterations": 50_000}


def epsilon_rows(value, K, m) -> np.ndarray:
    """Restitution holds for the normals unless every row has its own."""
    full = np.zeros((K, m))
    if np.shape(value) == (K, m):
        full[:] = value
    else:
        full[:, 0] = value
    return full


def scene(rng, diagonal=False) -> tuple[ProblemArrays, dict[str, np.ndarray]]:
    """Random contacts of 8 bodies, 0 kinematic, and a state of theirs."""
    arrays = random_problem(rng, 5, 8, 3, 6, "disc", diagonal=diagonal)
    state = {
        "velocity": rng.normal(size=(8, 6)),
        "impulse": rng.normal(size=(8, 6)),
        "drive": rng.normal(size=(5, 3)),
        "bias": rng.normal(size=(5, 3)),
    }
    return arrays, state


def wanted_b(reference, state, epsilon) -> np.ndarray:
    """Section 1: b = J (u + M^-1 h) + chi + eps (J u + chi) + stabilisation."""
    J, inverse = reference.jacobian, reference.inverse_mass
    u, h, chi, bias = (state[name].ravel() for name in ("velocity", "impulse", "drive", "bias"))
    free = J @ (u + inverse @ h) + chi
    return (free + epsilon.ravel() * (J @ u + chi) + bias).reshape(epsilon.shape)


def velocities_after(reference, state, impulses) -> np.ndarray:
    """Section 1: v+ = J u+ + chi with u+ = u + M^-1 (h + J^T lambda)."""
    J, inverse = reference.jacobian, reference.inverse_mass
    u, h, chi = (state[name].ravel() for name in ("velocity", "impulse", "drive"))
    after = u + inverse @ (h + J.T @ impulses.ravel())
    return (J @ after + chi).reshape(impulses.shape)


@pytest.mark.parametrize("diagonal", (False, True))
@pytest.mark.parametrize("kind", RESTITUTIONS)
def test_b_and_velocities(kind, diagonal):
    rng = generator("b", kind, diagonal)
    arrays, state = scene(rng, diagonal)
    restitution = RESTITUTIONS[kind](rng, 5, 3)
    reference = ReferenceProblem.from_arrays(arrays)
    problem = cs.Problem.from_state(
        arrays.J,
        Minv=arrays.Minv,
        mu=arrays.mu,
        bodies=arrays.bodies,
        restitution=restitution,
        compliance=0.1,
        **state,
    )
    assert_close(problem.b, wanted_b(reference, state, epsilon_rows(restitution, 5, 3)), 1e-14, "b")
    result = cs.solve(problem, max_iterations=3, rtol=None)
    wanted = velocities_after(reference, state, result.impulses)
    assert_close(result.velocities, wanted, 1e-13, "velocities")
    free = state["velocity"].ravel() + reference.inverse_mass @ state["impulse"].ravel()
    assert_close(problem.state.free_velocity.ravel(), free, 1e-14, "free velocity")
    np.testing.assert_array_equal(problem.state.velocity, state["velocity"])
    np.testing.assert_array_equal(problem.state.drive, state["drive"])


def test_numbers_stand_for_full_arrays():
    arrays, state = scene(generator("numbers"))
    given = {"mu": 0.3, "bodies": arrays.bodies, "velocity": state["velocity"]}
    short = cs.Problem.from_state(
        arrays.J, Minv=arrays.Minv, impulse=0.2, drive=0.1, bias=-0.3, restitution=0.5, **given
    )
    full = cs.Problem.from_state(
        arrays.J,
        Minv=arrays.Minv,
        impulse=np.full((8, 6), 0.2),
        drive=np.full((5, 3), 0.1),
        bias=np.full((5, 3), -0.3),
        restitution=np.tile([0.5, 0, 0], (5, 1)),
        **given,
    )
    np.testing.assert_array_equal(short.b, full.b)
    plain = cs.Problem.from_state(arrays.J, Minv=arrays.Minv, **given)
    zeros = cs.Problem.from_state(
        arrays.J, Minv=arrays.Minv, impulse=0, drive=0, bias=0, restitution=0, **given
    )
    np.testing.assert_array_equal(plain.b, zeros.b)


def forms(arrays: ProblemArrays, reference: ReferenceProblem) -> dict[str, dict]:
    """The same bodies as J with bodies, as a pair and as matrices, with M and with M^-1."""
    mass, inverse = np.linalg.inv(arrays.Minv), reference.inverse_mass
    J, bodies = reference.jacobian, {"bodies": arrays.bodies}
    return {
        "blocks, M": {"J": arrays.J, "M": mass, **bodies},
        "pair": {"J": (arrays.J[:, 0], arrays.J[:, 1]), "Minv": arrays.Minv, **bodies},
        "dense, M": {"J": J, "M": np.linalg.inv(inverse)},
        "dense, blocks of M": {"J": J, "M": mass},
        "dense, sparse M^-1": {"J": J, "Minv": scipy.sparse.csr_array(inverse)},
        "sparse, M^-1": {"J": scipy.sparse.coo_array(J), "Minv": inverse},
        "sparse, sparse M": {"J": scipy.sparse.csc_array(J), "M": scipy.sparse.block_diag(mass)},
    }


FORMS = (
    "blocks, M",
    "pair",
    "dense, M",
    "dense, blocks of M",
    "dense, sparse M^-1",
    "sparse, M^-1",
    "sparse, sparse M",
)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_bodies(form):
    rng = generator("forms")
    arrays = random_problem(rng, 5, 4, 3, 6, "disc", awkward=False)
    state = {"velocity": rng.normal(size=(4, 6)), "impulse": rng.normal(size=(4, 6))}
    state |= {"drive": rng.normal(size=(5, 3)), "bias": rng.normal(size=(5, 3))}
    reference = ReferenceProblem.from_arrays(arrays)
    given = forms(arrays, reference)[form]
    flat = "bodies" not in given
    shaped = {
        n: v.ravel() if flat and n in ("velocity", "impulse") else v for n, v in state.items()
    }
    problem = cs.Problem.from_state(**given, mu=arrays.mu, restitution=0.4, **shaped)
    assert_close(problem.b, wanted_b(reference, state, epsilon_rows(0.4, 5, 3)), 1e-12, "b")
    result = cs.solve(problem, max_iterations=3, rtol=None)
    wanted = velocities_after(reference, state, result.impulses)
    assert_close(result.velocities, wanted, 1e-12, "velocities")


def test_the_fixed_world_may_have_another_width():
    """A pair whose first partner is always the world, with no columns or one."""
    arrays = random_problem(generator("width"), 4, 3, 3, 6, "disc", awkward=False)
    arrays.bodies[:] = [[-1, 0], [-1, 1], [-1, 2], [-1, 0]]
    u = generator("u").normal(size=(3, 6))
    full = cs.Problem.from_state(arrays.J, Minv=arrays.Minv, bodies=arrays.bodies, velocity=u)
    for columns in (0, 1):
        pair = np.ones((4, 3, columns)), arrays.J[:, 1]
        given = {"Minv": arrays.Minv, "bodies": arrays.bodies[:, ::-1], "velocity": u}
        problem = cs.Problem.from_state(pair[::-1], **given)
        np.testing.assert_allclose(problem.b, full.b, rtol=1e-14)


# ---- physics ------------------------------------------------------------------------------------


def balls(count: int) -> tuple[np.ndarray, np.ndarray]:
    """J and bodies of `count` balls on a line, neighbours touching: rows of one, d = 1."""
    J = np.zeros((count - 1, 2, 1, 1))
    J[:, 0], J[:, 1] = -1.0, 1.0
    return J, np.stack([np.arange(count - 1), np.arange(1, count)], axis=1)


@pytest.mark.parametrize("epsilon", (0.0, 0.3, 1.0))
def test_two_balls_collide(epsilon):
    """Newton's law v+ = -eps v-, and the momentum stays."""
    J, bodies = balls(2)
    mass, u = np.array([[2.0], [3.0]]), np.array([[1.5], [-0.5]])
    problem = cs.Problem.from_state(J, mass, velocity=u, bodies=bodies, restitution=epsilon)
    result = cs.solve(problem, **TIGHT)
    after = problem.state.free_velocity + result.body_velocity_change
    np.testing.assert_allclose(result.velocities, [[-epsilon * (-0.5 - 1.5)]], atol=1e-14)
    np.testing.assert_allclose((mass * after).sum(), (mass * u).sum(), atol=1e-14)
    energy = [0.5 * float(np.sum(mass * v**2)) for v in (u, after)]
    lost = 0.5 * (2 * 3 / 5) * (1 - epsilon**2) * 2.0**2  # of the relative motion
    np.testing.assert_allclose(energy[0] - energy[1], lost, atol=1e-13)


def test_newtons_law_at_every_closed_contact():
    """v_n+ = -eps v_n- with an impulse, v_n+ >= -eps v_n- without; per-contact eps."""
    rng = generator("newton")
    arrays = random_problem(rng, 8, 12, 3, 6, "disc", awkward=False)
    u, epsilon = rng.normal(size=(12, 6)), rng.uniform(0.1, 0.9, 8)
    problem = cs.Problem.from_state(
        arrays.J, Minv=arrays.Minv, velocity=u, mu=0.2, bodies=arrays.bodies, restitution=epsilon
    )
    result = cs.solve(problem, **TIGHT)
    assert result.converged, result.message
    before, after = problem.contact_velocity(u)[:, 0], result.velocities[:, 0]
    closed = result.impulses[:, 0] > 1e-9
    assert 2 <= closed.sum() <= 7
    np.testing.assert_allclose(after[closed], -epsilon[closed] * before[closed], atol=1e-9)
    assert (after[~closed] >= -epsilon[~closed] * before[~closed] - 1e-9).all()


def block_on_belt(h: float, **state) -> cs.Problem:
    """A block of 2 kg that may move up and along; the belt is the fixed world, driven."""
    J = np.zeros((1, 2, 2, 2))
    J[0, 1] = np.eye(2)  # normal upwards, tangent along the belt
    return cs.Problem.from_state(
        J, [[2.0, 2.0]], impulse=[[-2.0 * 9.81 * h, 0.0]], mu=0.4, bodies=[[-1, 0]], **state
    )


def test_a_belt_carries_a_block():
    """The belt runs at 1 m/s: friction speeds the block up by mu g h a step until it keeps pace."""
    h, u = 0.01, np.zeros((1, 2))
    drive = [[0.0, -1.0]]  # the block's velocity relative to the belt
    for step in range(1, 40):
        problem = block_on_belt(h, velocity=u, drive=drive)
        result = cs.solve(problem, **TIGHT)
        u = problem.state.free_velocity + result.body_velocity_change
        wanted = min(0.4 * 9.81 * h * step, 1.0)
        np.testing.assert_allclose(u, [[0.0, wanted]], atol=1e-12)
        np.testing.assert_allclose(result.velocities, [[0.0, wanted - 1.0]], atol=1e-12)
    assert wanted == 1.0
    np.testing.assert_allclose(result.impulses[0, 1], 0.0, atol=1e-12)


def test_a_kinematic_body_drives_as_the_world_does():
    """Minv = 0 with a velocity: J u knows it, and nothing changes it."""
    h, J = 0.01, np.zeros((1, 2, 2, 2))
    J[0, 0], J[0, 1] = -np.eye(2), np.eye(2)
    u = np.array([[0.0, 1.0], [0.0, 0.2]])  # the belt, the block
    problem = cs.Problem.from_state(
        J,
        Minv=[[0.0, 0.0], [0.5, 0.5]],
        velocity=u,
        impulse=[[5.0, 5.0], [-2.0 * 9.81 * h, 0.0]],
        mu=0.4,
        bodies=[[0, 1]],
    )
    result = cs.solve(problem, **TIGHT)
    driven = block_on_belt(h, velocity=u[1:], drive=[[0.0, -1.0]])
    np.testing.assert_allclose(problem.b, driven.b, atol=1e-15)
    np.testing.assert_allclose(result.velocities, cs.solve(driven, **TIGHT).velocities, atol=1e-14)
    np.testing.assert_array_equal(result.body_velocity_change[0], 0.0)


def test_restitution_counts_the_drive():
    """A ball on a racket: Newton's law holds for the relative velocity J u + chi."""
    J = np.zeros((1, 2, 1, 1))
    J[0, 1] = 1.0
    problem = cs.Problem.from_state(
        J, [[3.0]], velocity=[[-1.0]], drive=-2.0, restitution=0.5, bodies=[[-1, 0]]
    )
    result = cs.solve(problem, **TIGHT)
    np.testing.assert_allclose(result.velocities, [[1.5]], atol=1e-14)
    np.testing.assert_allclose(result.body_velocity_change, [[1.0 + 2.0 + 1.5]], atol=1e-14)


def test_compliance_and_bias_are_not_part_of_the_velocity():
    """v+ = J u+ + chi, while xi = A lambda + b holds Sigma lambda and the bias as well."""
    J = np.ones((1, 2, 1, 1))
    problem = cs.Problem.from_state(
        J, [[1.0]], velocity=[[-1.0]], bias=-0.5, compliance=2.0, bodies=[[-1, 0]]
    )
    result = cs.solve(problem, **TIGHT)
    np.testing.assert_allclose(result.impulses, [[0.5]], atol=1e-14)
    np.testing.assert_allclose(result.residual_velocities, [[0.0]], atol=1e-14)
    np.testing.assert_allclose(result.velocities, [[-0.5]], atol=1e-14)


def test_only_problems_from_a_state_know_their_velocities():
    arrays = random_problem(generator("unknown"), 4, 3, 3, 6, "disc", awkward=False)
    given = {"Minv": arrays.Minv, "bodies": arrays.bodies}
    plain = cs.Problem(arrays.J, b=arrays.b, **given)
    with pytest.raises(AttributeError, match="needs a problem built by"):
        cs.solve(plain).velocities  # noqa: B018
    problem = cs.Problem.from_state(arrays.J, velocity=np.zeros((3, 6)), mu=0.5, **given)
    problem.update(mu=0.2)
    assert cs.solve(problem).velocities.shape == (4, 3)
    problem.update(b=arrays.b)  # of another state, which only the caller knows
    assert problem.state is None
    with pytest.raises(AttributeError, match="not updated since"):
        cs.solve(problem).velocities  # noqa: B018
