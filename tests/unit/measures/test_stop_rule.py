"""The stop rule: velocities, set by set and island by island, down to rounding and no further."""

import re
import time
from dataclasses import replace

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _advice, _report
from reference_numpy import ReferenceProblem, natural_maps, random_impulses, random_problem

GRAVITY = 9.81 * 0.01  # what a body gains in a step [m/s]
METHODS = ("auto", "gauss_seidel", "jacobi", "nesterov", "newton", "anderson", "admm", "de_saxce")


def column(masses, *, slide=0.0, beside=(), compliance=None, mu=0.5):
    """Bodies one upon the other, the lowest on the ground; beside them single bodies of (mass, b).

    The ground moves to the side at `slide` [m/s].
    """
    n = len(masses)
    bodies = [[k - 1, k] for k in range(n)] + [[-1, n + k] for k in range(len(beside))]
    J = np.zeros((len(bodies), 2, 3, 3))
    J[:, 1] = np.eye(3)
    J[1:n, 0] = -np.eye(3)
    b = np.zeros((len(bodies), 3))
    b[0] = (-GRAVITY, slide, 0.0)
    b[n:] = np.reshape([one for _, one in beside], (-1, 3))
    Minv = [[1 / mass] * 3 for mass in [*masses, *(mass for mass, _ in beside)]]
    return cs.Problem(J, Minv, b, mu, bodies=bodies, compliance=compliance)


def weights(masses):
    return np.cumsum(np.asarray(masses)[::-1])[::-1] * GRAVITY


def assert_carried(problem, result, masses, rtol=1e-6):
    """Normal impulses are off by no more than rtol V / λ_min(A) of the column; V is gravity's."""
    rows = 3 * len(masses)
    A = problem.delassus().toarray()[:rows:3, :rows:3]
    allowed = 1.01 * len(masses) * rtol * GRAVITY / np.linalg.eigvalsh(A)[0]
    error = np.abs(result.impulses[: len(masses), 0] - weights(masses))
    assert error.max() <= allowed, (result, error.max(), allowed)


def test_a_light_body_is_not_crushed_under_a_heavy_one():
    """It was called converged after 117 iterations, with a third of the impulses."""
    masses = [1.0, 1e6]
    problem = column(masses, slide=0.01)
    for method in ("gauss_seidel", "nesterov", "jacobi"):
        result = cs.solve(problem, method=method, max_iterations=2000)
        assert result.status == "max_iterations", (method, result.message)
        assert result.natural_map_scaled > 0.1
    for method in ("auto", "newton", "interior_point"):
        result = cs.solve(problem, method=method)
        assert result.converged, result.message
        np.testing.assert_allclose(result.impulses[:, 0], weights(masses), rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("slide", "beside"),
    [
        (0.0, [(0.01, (1e5, 0.0, 0.0))]),
        (0.0, [(0.01, (-1e5, 30.0, 0.0))]),
        (300.0, []),
    ],
    ids=["a bullet leaves", "a bullet hits elsewhere", "the column slides"],
)
def test_a_fast_body_loosens_nothing(slide, beside, method):
    masses = [1.0] * 5
    problem = column(masses, slide=slide, beside=beside)
    result = cs.solve(problem, method=method, max_iterations=20000)
    assert result.converged, result.message
    assert_carried(problem, result, masses)


@pytest.mark.parametrize("method", METHODS)
def test_a_soft_spring_loosens_nothing(method):
    """b = 1e3 against Σ = 1e6: its bodies are moved by 1e-3 [N s], which is V there."""
    masses = [1.0] * 4
    compliance = np.zeros((5, 3))
    compliance[4] = 1e6
    problem = column(masses, beside=[(1.0, (-1e3, 0.0, 0.0))], compliance=compliance)
    result = cs.solve(problem, method=method, max_iterations=20000)
    assert result.converged, result.message
    assert_carried(problem, result, masses)
    np.testing.assert_allclose(result.impulses[4, 0], 1e3 / (1e6 + 1), rtol=1e-5)

    # On one body with the column it counts by what it moves, not by its b.
    J = np.concatenate([np.zeros((1, 2, 3, 3)), np.zeros((1, 2, 3, 3))])
    J[:, 1] = np.eye(3)
    soft = cs.Problem(
        J,
        [[1.0] * 3],
        [[-GRAVITY, 0, 0], [-1e3, 0, 0]],
        0.5,
        bodies=[[-1, 0], [-1, 0]],
        compliance=[[0, 0, 0], [1e6, 0, 0]],
    )
    result = cs.solve(soft, method=method, max_iterations=20000)
    assert result.converged
    np.testing.assert_allclose(result.impulses[0, 0], GRAVITY - 1e-3, rtol=2e-5)


@pytest.mark.parametrize("method", [*METHODS, "interior_point", "tresca", "nncg"])
def test_what_needs_no_impulses_has_none_whatever_it_begins_with(method):
    """V = 0 in the second island; the first one is a column at rest."""
    masses = [1.0] * 3
    problem = column(masses, beside=[(2.0, (0.0, 0.0, 0.0)), (2.0, (0.5, 1.0, 0.0))])
    start = np.zeros((5, 3))
    start[3:] = (7.0, 1.0, 0.5)
    result = cs.solve(problem, method=method, initial=start, max_iterations=20000)
    assert result.converged, result.message
    assert (result.impulses[3:] == 0).all()
    assert_carried(problem, result, masses)

    nothing = cs.Solver(problem, method=method).solve(b=np.zeros((5, 3)), initial=start)
    assert nothing.converged
    assert (nothing.impulses == 0).all()


@pytest.mark.parametrize("ratio", [1e2, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("method", ["auto", "newton", "interior_point", "gauss_seidel"])
def test_mass_ratios(method, ratio):
    masses = [1.0, ratio]
    problem = column(masses, slide=0.01, beside=[(1.0, (-GRAVITY, 0.0, 0.0))])
    result = cs.solve(problem, method=method, max_iterations=3000)
    if method in ("auto", "newton"):
        assert result.status in ("converged", "inaccurate"), result.message
    if result.converged:
        assert_carried(problem, result, masses)
        np.testing.assert_allclose(result.impulses[2, 0], GRAVITY, rtol=1e-5)


def test_below_the_floor_nothing_is_called_converged():
    """Ratio 1e10: rounding alone exceeds the tolerance, whatever the natural map happens to be."""
    masses = [1.0, 1e10]
    result = cs.solve(column(masses, slide=0.01), method="interior_point", max_iterations=4000)
    assert result.status == "inaccurate", result.message
    assert not result.converged
    assert result.info["floor"] > 1e-6
    assert result.info["floor_contact"] in (0, 1)
    assert "rounding alone" in result.message
    np.testing.assert_allclose(result.impulses[:, 0], weights(masses), rtol=1e-3)

    # What the message advises does it.
    advised = float(result.message.rsplit("rtol=", 1)[1])
    again = cs.solve(
        column(masses, slide=0.01), method="interior_point", max_iterations=4000, rtol=advised
    )
    assert again.converged, again.message


def test_single_precision_ends_at_its_own_floor():
    problem = column([1.0] * 30)
    result = cs.solve(
        problem, method="gauss_seidel", dtype="float32", rtol=1e-9, max_iterations=20000
    )
    assert result.status == "inaccurate", result.message
    assert "dtype='float64'" in result.message
    assert result.natural_map_scaled < 1e-4
    assert cs.solve(problem, method="gauss_seidel", rtol=1e-9, max_iterations=20000).converged


def test_islands_apart_and_together_are_judged_alike():
    """600 contacts: islands are solved apart, each by its own speed."""
    masses = [1.0] * 4
    one = column(masses, beside=[(1.0, (-1e4, 0.0, 0.0))] * 596)
    for islands in ("auto", False):
        result = cs.solve(
            one, method="gauss_seidel", order="natural", islands=islands, max_iterations=5000
        )
        assert result.converged, result.message
        assert_carried(one, result, masses)
        assert bool(result.info.get("clusters")) == (islands == "auto")


@pytest.mark.parametrize("name", ["disc", "box_friction", "free", "box", "half_line"])
def test_scaled_map_is_that_of_the_reference(name):
    """Islands of very different speeds, compliance, and blocks that nothing moves."""
    rng = np.random.default_rng(5)
    for seed in range(10):
        arrays = random_problem(rng, 9, 12, 3, 6, name, awkward=seed % 2 == 1)
        arrays.b[:] *= 10.0 ** rng.uniform(-4, 4, (9, 1))
        if seed % 3 == 0:
            arrays = replace(arrays, compliance=10.0 ** rng.uniform(-3, 3, (9, 3)))
        sets = getattr(cs.sets, name)(**arrays.set_parameters())
        problem = cs.Problem(
            arrays.J,
            arrays.Minv,
            arrays.b,
            bodies=arrays.bodies,
            sets=sets,
            compliance=arrays.compliance,
        )
        reference = ReferenceProblem.from_arrays(arrays)
        lam = random_impulses(rng, arrays)
        exactly = {"rtol": None, "atol": None, "max_iterations": 0, "method": "gauss_seidel"}
        result = cs.solve(problem, initial=lam, **exactly)
        wanted = natural_maps(reference, lam.ravel())["natural_map_scaled"]
        np.testing.assert_allclose(result.natural_map_scaled, wanted, rtol=1e-9)
        np.testing.assert_allclose(result.check(1).natural_map_scaled, [wanted], rtol=1e-9)


def test_the_floor_of_single_precision_is_told_in_it():
    """What the message calls unreachable is not below what was asked for."""
    problem = column([1.0] * 30)
    result = cs.solve(
        problem, method="gauss_seidel", dtype="float32", rtol=1e-9, max_iterations=20000
    )
    assert result.info["floor"] >= result.natural_map_scaled > 1e-9


def test_a_solve_cut_short_pays_for_its_sweeps():
    """Proofs are looked for where impulses have grown, not in every solve that needs more time."""
    problem = cs.scenarios.ball_pile(30)
    solver = cs.Solver(problem, method="gauss_seidel", rtol=1e-9, max_iterations=5)
    exactly = cs.Solver(problem, method="gauss_seidel", rtol=None, max_iterations=5)

    def seconds(one):
        start = time.process_time()
        for _ in range(10):
            one.solve()
        return time.process_time() - start

    ratios = [seconds(solver) / seconds(exactly) for _ in range(5)]
    assert min(ratios) < 3, ratios


@pytest.mark.parametrize("method", ["auto", "gauss_seidel", "newton", "admm"])
def test_rounding_of_b_is_no_speed(method):
    """A body slides along an oblique plane without load: b_n is what its projection rounds to."""
    rng = np.random.default_rng(11)
    for _ in range(40):
        frame = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        J = np.zeros((1, 2, 3, 3))
        J[0, 1] = frame
        u = frame[1:].T @ rng.normal(size=2) * 300
        b = J[:, 1] @ u
        problem = cs.Problem(J, [[1.0] * 3], b, 0.5, bodies=[[-1, 0]])
        result = cs.solve(problem, method=method)
        assert result.converged, result.message
        assert np.max(np.abs(result.impulses)) <= 1e-10


def test_a_floor_above_all_tolerances_gives_no_advice_on_these():
    stack = cs.scenarios.box_stack(10)
    result = cs.solve(
        stack, method="gauss_seidel", dtype="float32", rtol=1e-9, max_iterations=20000
    )
    assert result.status == "inaccurate"
    assert re.search(r"Try dtype='float64', or rtol=1e-\d$", result.message)
    info, worst = {**result.info, "floor": 27.0}, _report.Worst(0, "normal", 0.0)
    facts = _advice.Facts(stack)
    given = _advice.Given("auto", "current", "local", None, started=False)
    asked = "rtol=1e-06, atol=0.0"
    told = _report.message_of("inaccurate", 1, 0.0, 0.0, worst, info, asked, facts, given)
    assert told.endswith("Try dtype='float64'")


def test_what_overflows_is_not_called_inaccurate():
    A = np.array([[2.0, -1.0], [-1.0, 1.0]]) * 1e-200
    problem = cs.Problem.from_delassus(A, [-1e150, 1e149], rows=1)
    for method in ("auto", "gauss_seidel", "nesterov"):
        assert cs.solve(problem, method=method).status not in ("inaccurate", "converged")


# ---- rows of a contact of a body with itself, whose Jacobians cancel -----------------------------

REACH = {"rolling": 5, "disc": 3, "box_friction": 3, "box": 3}  # rows of each set
# Methods that end without an answer where b_t is not zero but tangential impulses move nothing.
STUCK = {("admm", "disc"), ("interior_point", "disc")}


def cancelling(name):
    """Contacts of bodies with themselves, and their solution: only normal impulses move anything.

    Normal impulses are -b_n / A_nn; all others are as far against b as the set allows.
    """
    rng = np.random.default_rng(3)
    count, rows = 6, REACH[name]
    J = np.zeros((count, 2, rows, 6))
    J[:, 1, 0, 0] = 1.0
    J[:, 1, 1:] = rng.standard_normal((count, rows - 1, 6))
    J[:, 0, 1:] = -J[:, 1, 1:]
    Minv = rng.uniform(0.5, 2.0, (count, 6))
    b = rng.uniform(0.5, 1.0, (count, rows))
    b[:, 0] *= -1.0
    normal = -b[:, :1] / Minv[:, :1]
    pairs = b[:, 1:].reshape(count, -1, 2)
    against = -pairs / np.linalg.norm(pairs, axis=2, keepdims=True)
    sets, rest = {
        "rolling": lambda: (
            cs.sets.rolling(mu=0.5, mu_r=0.3),
            normal[:, None] * [[0.5], [0.3]] * against,
        ),
        "disc": lambda: (cs.sets.disc(mu=0.5), 0.5 * normal[:, None] * against),
        "box_friction": lambda: (cs.sets.box_friction(mu=0.5), -0.5 * normal * np.sign(b[:, 1:])),
        "box": lambda: (
            cs.sets.box(lo=[0.0, -0.5, -0.5], hi=[np.inf, 0.5, 0.5]),
            -0.5 * np.sign(b[:, 1:]),
        ),
    }[name]()
    bodies = np.repeat(np.arange(count), 2).reshape(count, 2)
    problem = cs.Problem(J, Minv, b, bodies=bodies, sets=sets)
    return problem, np.concatenate([normal, rest.reshape(count, -1)], axis=1)


def solver_of(problem, method):
    """A solver, or None where the method does not take the set."""
    try:
        return cs.Solver(problem, method=method)
    except ValueError:
        return None


@pytest.mark.parametrize("method", cs.methods.names())
def test_what_cancels_moves_nothing(method):
    """Rounding of J M^-1 J^T does not make rows movable whose J_0 and J_1 add up to zero."""
    taken = 0
    for name in REACH:
        problem, wanted = cancelling(name)
        solver = solver_of(problem, method)
        if solver is None:
            continue
        result = solver.solve()
        taken += result.converged
        assert result.converged or (method, name) in STUCK, (name, result.message)
        if result.converged:
            np.testing.assert_allclose(result.impulses, wanted, rtol=1e-5, err_msg=name)
    assert taken
