"""Problem.update: new values for the same structure, which solvers notice; all or nothing."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import time

import numpy as np
import pytest
import scipy.sparse

import contactsolve as cs
from agreement import EXACTLY, ROW_SCHEMES, SCHEMES, SOLVERS, assert_close, flat, generator
from contactsolve import _core
from reference_numpy import ReferenceProblem, random_problem

OPTIONS = {"max_iterations": 4, **EXACTLY}


def values(seed: int, kind: str) -> dict:
    """Two seeds give other values of the same structure."""
    rng, structure = generator("values", seed), generator("structure")
    arrays = random_problem(structure, 5, 4, 3, 6, "disc", awkward=False)
    J, b = rng.normal(size=arrays.J.shape), rng.normal(size=arrays.b.shape)
    Minv, mu = arrays.Minv * rng.uniform(0.5, 2.0, (4, 1, 1)), rng.uniform(0.1, 1.0, 5)
    if kind == "single":
        return {"J": J, "Minv": Minv, "b": b, "mu": mu}
    if kind == "pair":
        return {"J": (J[:, 0], J[:, 1]), "Minv": Minv, "b": b, "mu": mu}
    if kind == "groups":
        robot = rng.uniform(0.5, 1.0, (1, 4))
        joint = rng.normal(size=(2, 2, 6)), rng.normal(size=(2, 2, 4))
        joints = rng.normal(size=(2, 2))
        return {"J": [J, joint], "Minv": [Minv, robot], "b": [b, joints], "mu": [mu, None]}
    if kind == "given A":
        return {"b": b, "mu": mu}
    made = arrays.__class__(J, Minv, b, arrays.bodies, "disc", mu=mu)
    reference = ReferenceProblem.from_arrays(made)
    J = reference.jacobian
    if kind == "matrix, sparse":
        J, Minv = scipy.sparse.csr_array(J), scipy.sparse.csr_array(reference.inverse_mass)
    return {"J": J, "Minv": Minv, "b": b, "mu": mu}


def build(kind: str, given: dict) -> cs.Problem:
    arrays = random_problem(generator("structure"), 5, 4, 3, 6, "disc", awkward=False)
    if kind in ("single", "pair"):
        return cs.Problem(**given, bodies=arrays.bodies, compliance=0.1, name="named")
    if kind == "groups":
        (J, joint), (Minv, robot), (b, joints), (mu, _) = (
            given[name] for name in ("J", "Minv", "b", "mu")
        )
        contacts = cs.Group(J, arrays.bodies, b, mu, compliance=0.1)
        held = cs.Group(joint, [[0, 4], [2, 4]], joints, sets=cs.sets.free())
        return cs.Problem(groups=[contacts, held], bodies=[cs.Bodies(Minv), cs.Bodies(robot)])
    if kind == "given A":
        A = ReferenceProblem.from_arrays(arrays).A
        return cs.Problem.from_delassus(A, **given)
    return cs.Problem(**given, compliance=0.1)


KINDS = ("single", "pair", "groups", "matrix", "matrix, sparse", "given A")
CHANGES = [
    (kind, name) for kind in KINDS for name in (*values(1, kind), "all") if name != "structure"
]


def schemes_of(kind: str) -> tuple[str, ...]:
    return SCHEMES if kind in ("single", "pair", "groups") else ROW_SCHEMES


def known(value):
    """All values that a problem holds, to the last bit, in what can be compared."""
    if isinstance(value, np.ndarray):
        return (value.shape, value.dtype.str, value.tobytes())
    if isinstance(value, (list, tuple)):
        return [known(item) for item in value]
    if isinstance(value, dict):
        return {name: known(item) for name, item in value.items()}
    if scipy.sparse.issparse(value):
        return known((value.data, value.indices, value.indptr))
    if isinstance(value, cs.Problem):
        (*kept, _), *values = value.__getstate__()  # all but the number of updates
        return known([kept, *values])
    if type(value).__name__ == "Operator":
        return known(value.__reduce__()[1])
    return known(vars(value)) if hasattr(value, "__dict__") else value


@pytest.mark.parametrize(("kind", "name"), CHANGES)
def test_updated_problems_are_new_problems(kind, name):
    """In all that can be read of them, for solvers made before and after."""
    before, after = values(1, kind), values(2, kind)
    changed = after if name == "all" else before | {name: after[name]}
    problem, wanted = build(kind, before), build(kind, changed)
    cases = [(method, scheme) for method in SOLVERS for scheme in schemes_of(kind)]
    solvers = [cs.Solver(problem, method=m, scheme=s, **OPTIONS) for m, s in cases]
    for solver in solvers:
        solver.solve()
    problem.update(**(after if name == "all" else {name: after[name]}))
    assert known(problem) == known(wanted)
    for solver, (method, scheme) in zip(solvers, cases, strict=True):
        fresh = cs.solve(wanted, method=method, scheme=scheme, **OPTIONS)
        for result in (solver.solve(), cs.solve(problem, method=method, scheme=scheme, **OPTIONS)):
            np.testing.assert_array_equal(flat(result.impulses), flat(fresh.impulses))
            xi = flat(fresh.residual_velocities)
            np.testing.assert_array_equal(flat(result.residual_velocities), xi)
            if result.body_velocity_change is not None:
                change = flat(fresh.body_velocity_change)
                np.testing.assert_array_equal(flat(result.body_velocity_change), change)
            np.testing.assert_array_equal(
                result.history["natural_map"], fresh.history["natural_map"]
            )


def test_none_keeps_a_group():
    before, after = values(1, "groups"), values(2, "groups")
    problem = build("groups", before)
    problem.update(J=[None, after["J"][1]], Minv=[after["Minv"][0], None], b=[None, after["b"][1]])
    mixed = {
        "J": [before["J"][0], after["J"][1]],
        "Minv": [after["Minv"][0], before["Minv"][1]],
        "b": [before["b"][0], after["b"][1]],
        "mu": before["mu"],
    }
    assert known(problem) == known(build("groups", mixed))


def test_flat_b_and_one_mu():
    given = values(1, "single")
    problem = build("single", given)
    problem.update(b=2 * given["b"].ravel(), mu=0.25)
    np.testing.assert_array_equal(problem.b, 2 * given["b"])
    np.testing.assert_array_equal(problem.mu, np.full(5, 0.25))


def test_a_problem_by_its_mass_takes_an_inverse_mass():
    given = values(1, "matrix")
    inverse = np.diag(np.linspace(0.5, 2.0, 24))
    problem = cs.Problem(given["J"], b=given["b"], mass=np.eye(24) + 0.1)
    assert problem.Minv is None
    problem.update(Minv=inverse)
    wanted = cs.Problem(given["J"], inverse, given["b"])
    np.testing.assert_array_equal(problem.delassus().toarray(), wanted.delassus().toarray())
    np.testing.assert_array_equal(problem.Minv, inverse)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_bodies_may_stop_and_start(solver, scheme):
    """Minv to 0 and back: contacts couple and uncouple, and the solver says which do not move."""
    given = values(1, "single")
    problem = build("single", given)
    made = cs.Solver(problem, method=solver, scheme=scheme, **OPTIONS)
    first = made.solve()
    assert first.info["immovable_blocks"] == 0
    stopped = given["Minv"].copy()
    stopped[:3] = 0.0
    problem = cs.Problem(**given, bodies=(pairs := [[-1, 0], [0, 1], [1, 2], [2, 3], [3, -1]]))
    made = cs.Solver(problem, method=solver, scheme=scheme, **OPTIONS)
    first, blocks = made.solve(), problem.block_count
    problem.update(Minv=stopped)
    wanted = cs.Problem(**(given | {"Minv": stopped}), bodies=pairs)
    result, fresh = made.solve(), cs.solve(wanted, method=solver, scheme=scheme, **OPTIONS)
    np.testing.assert_array_equal(result.impulses, fresh.impulses)
    np.testing.assert_array_equal(result.impulses[:3], 0.0)
    assert result.info["immovable_blocks"] == made.info["immovable_blocks"] == 3
    assert result.info["warnings"] == fresh.info["warnings"] != []
    assert problem.block_count == wanted.block_count < blocks
    problem.update(Minv=given["Minv"])
    again = made.solve()
    np.testing.assert_array_equal(again.impulses, first.impulses)
    assert again.info["warnings"] == []
    assert problem.block_count == blocks


REFUSED = {
    "J nan": ("single", {"J": np.full((5, 2, 3, 6), np.nan)}),
    "b inf after a good J": ("single", {"J": np.ones((5, 2, 3, 6)), "b": np.full((5, 3), np.inf)}),
    "mu negative": ("single", {"b": np.ones((5, 3)), "mu": -1.0}),
    "Minv indefinite": ("single", {"mu": 0.3, "Minv": -np.ones((4, 6, 6))}),
    "Minv as diagonals": ("single", {"Minv": np.ones((4, 6))}),
    "more bodies": ("single", {"Minv": np.tile(np.eye(6), (5, 1, 1))}),
    "fewer contacts": ("single", {"J": np.ones((4, 2, 3, 6))}),
    "fewer rows": ("single", {"J": np.ones((5, 2, 2, 6))}),
    "other dof": ("single", {"J": np.ones((5, 2, 3, 5))}),
    "short b": ("single", {"b": np.ones((4, 3))}),
    "short mu": ("single", {"mu": np.ones(4)}),
    "no list": ("groups", {"b": np.ones(19)}),
    "short list": ("groups", {"b": [np.ones((5, 3))]}),
    "mu of a free group": ("groups", {"b": [np.ones((5, 3)), None], "mu": [0.1, 0.1]}),
    "second group nan": ("groups", {"b": [np.ones((5, 3)), np.full((2, 2), np.nan)]}),
    "matrix J nan": ("matrix", {"b": np.ones(15), "J": np.full((15, 24), np.nan)}),
    "matrix J short": ("matrix", {"J": np.ones((12, 24))}),
    "matrix J wide": ("matrix", {"J": np.ones((15, 25)), "Minv": np.ones(25)}),
    "matrix Minv short": ("matrix", {"Minv": np.ones(23)}),
    "matrix Minv indefinite": ("matrix", {"b": np.ones(15), "Minv": -np.ones(24)}),
    "sparse J nan": (
        "matrix, sparse",
        {"mu": 0.1, "J": scipy.sparse.csr_array(([np.nan], ([0], [0])), shape=(15, 24))},
    ),
    "J of a given A": ("given A", {"b": np.ones(15), "J": np.ones((15, 24))}),
    "Minv of a given A": ("given A", {"mu": 0.1, "Minv": np.ones(24)}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_update_changes_nothing(name):
    kind, bad = REFUSED[name]
    problem = build(kind, values(1, kind))
    solver = cs.Solver(problem, **OPTIONS)
    gc.collect()  # what other tests left
    before, first, live = known(problem), solver.solve(), _core.memory_live()
    with pytest.raises((ValueError, TypeError)):
        problem.update(**bad)
    assert known(problem) == before
    np.testing.assert_array_equal(flat(solver.solve().impulses), flat(first.impulses))
    gc.collect()
    assert _core.memory_live() == live


def test_no_other_problem_replaces_the_values():
    """The C library looks at the structure itself."""
    problem = build("single", values(1, "single"))
    before = known(problem)
    others = [
        build("groups", values(1, "groups")),
        build("matrix", values(1, "matrix")),
        cs.Problem(**values(1, "single"), bodies=[[0, 1]] * 5),
        cs.Problem(
            *(values(1, "single")[name] for name in ("J", "Minv", "b")),
            bodies=problem.bodies,
            sets=cs.sets.free(),
        ),
    ]
    for other in others:
        with pytest.raises(ValueError, match="another structure"):
            problem._core.replace(other._core)
    with pytest.raises(TypeError, match="another Problem"):
        problem._core.replace(problem._core)
    with pytest.raises(TypeError, match="another Problem"):
        problem._core.replace(problem)
    assert known(problem) == before


def test_an_update_from_a_callback_is_refused():
    problem = build("single", values(1, "single"))
    solver = cs.Solver(problem, **OPTIONS)
    before, plain, refused = known(problem), solver.solve(), []

    def change(state):
        try:
            problem.update(b=np.zeros((5, 3)))
        except RuntimeError as error:
            refused.append(str(error))

    result = solver.solve(callback=change)
    assert len(refused) == 4
    assert "a Solver is using this problem" in refused[0]
    assert known(problem) == before
    np.testing.assert_array_equal(result.impulses, plain.impulses)
    problem.update(b=np.ones((5, 3)))  # the solve has ended
    with pytest.raises(RuntimeError, match="a Solver is using this problem"):
        solver.solve(callback=lambda state: problem.update(mu=0.1))
    problem.update(mu=0.1)  # an exception ends it as well


def test_an_update_from_another_thread_is_refused():
    problem = build("single", values(1, "single"))
    inside, leave = threading.Event(), threading.Event()
    results = []

    def wait(state):
        inside.set()
        assert leave.wait(20)

    def work():
        solver = cs.Solver(problem, max_iterations=2, **EXACTLY)
        results.append(solver.solve(callback=wait))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert inside.wait(20)
        with pytest.raises(RuntimeError, match="a Solver is using this problem"):
            problem.update(b=np.zeros((5, 3)))
        meanwhile = cs.solve(problem, max_iterations=2, **EXACTLY)  # reading is allowed
    finally:
        leave.set()
        thread.join(20)
    problem.update(b=np.zeros((5, 3)))
    np.testing.assert_array_equal(results[0].impulses, meanwhile.impulses)


def test_updates_beside_readers():
    """A thread assembles A while another updates: each sees one state, or is refused."""
    given = values(1, "single")
    problem = build("single", given)
    wanted, blocks = [problem.delassus().toarray()], problem.block_count
    problem.update(J=3 * given["J"])
    wanted.append(problem.delassus().toarray())
    stop, wrong = threading.Event(), []

    def read():
        while not stop.is_set():
            time.sleep(1e-4)
            try:
                A = problem.delassus().toarray()
                count = problem.block_count
            except RuntimeError:
                continue
            if count != blocks or not any(np.array_equal(A, one) for one in wanted):
                wrong.append((A, count))

    thread = threading.Thread(target=read)
    thread.start()
    tries = refused = 0
    deadline = time.monotonic() + 20  # a thread that waits for a processor may hold the problem
    try:
        while tries < 300 or (refused == tries and time.monotonic() < deadline):
            tries += 1
            try:
                problem.update(J=(1 if tries % 2 else 3) * given["J"])
            except RuntimeError:
                refused += 1
    finally:
        stop.set()
        thread.join(20)
    assert not wrong
    assert refused < tries


def test_memory_over_many_updates_and_solves():
    for kind in ("single", "groups", "matrix"):
        one, two = values(1, kind), values(2, kind)
        problem = build(kind, one)
        solver = cs.Solver(problem, max_iterations=1, **EXACTLY)
        solver.solve()
        problem.update(**two)
        solver.solve()
        gc.collect()
        live = _core.memory_live()
        for i in range(1000 if kind == "single" else 100):
            problem.update(**(one if i % 2 else two))
            if i % 10 == 0:
                with pytest.raises(ValueError, match="mu"):
                    problem.update(J=one["J"], mu=[-1.0, None] if kind == "groups" else -1.0)
            solver.solve()
        gc.collect()
        assert _core.memory_live() == live


def test_a_failed_allocation_leaves_the_problem():
    """Every allocation of an update and of the solve after it fails once."""
    one, two = values(1, "single"), values(2, "single")
    problem = build("single", one)
    solver = cs.Solver(problem, **OPTIONS)
    solver.solve()
    before, failures = known(problem), 0
    try:
        for successes in range(200):
            _core.memory_fail_after(successes)
            try:
                problem.update(**two)
            except MemoryError:
                failures += 1
                assert known(problem) == before
            else:
                break
        _core.memory_fail_after(-1)
        assert failures >= 2  # a block of the arena each
        for successes in range(200):
            _core.memory_fail_after(successes)
            try:
                result = solver.solve()
            except MemoryError:
                failures += 1
            else:
                break
    finally:
        _core.memory_fail_after(-1)
    wanted = cs.solve(build("single", two), **OPTIONS)
    np.testing.assert_array_equal(result.impulses, wanted.impulses)


def test_values_at_a_solve_hold_for_that_solve_only():
    """solve(b=, mu=) of grouped problems: lists, flat vectors, one mu for those that have one."""
    one, two = values(1, "groups"), values(2, "groups")
    problem = build("groups", one)
    solver = cs.Solver(problem, **OPTIONS)
    plain = solver.solve()
    wanted = cs.solve(build("groups", one | {"b": two["b"], "mu": [0.3, None]}), **OPTIONS)
    for b in (two["b"], tuple(two["b"]), flat(two["b"]), [two["b"][0].ravel(), two["b"][1]]):
        for mu in (0.3, [0.3, None], [np.full(5, 0.3), None]):
            result = solver.solve(b=b, mu=mu)
            np.testing.assert_array_equal(flat(result.impulses), flat(wanted.impulses))
    np.testing.assert_array_equal(flat(solver.solve().impulses), flat(plain.impulses))
    half = cs.Solver(problem, **(OPTIONS | {"max_iterations": 2}))
    for initial in (half.solve(), half.solve().impulses, flat(half.solve().impulses)):
        warm = half.solve(initial=initial)
        assert_close(flat(warm.impulses), flat(plain.impulses), 1e-15, "two and two sweeps")


# ---- pickles ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_problems_and_results_survive_a_pickle(kind):
    problem = build(kind, values(1, kind))
    result = cs.solve(problem, **OPTIONS)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(result, protocol))
        assert known(back.problem) == known(problem)
        assert repr(back.problem) == repr(problem)
        assert repr(copy.deepcopy(problem).info) == repr(problem.info)
        assert repr(back.problem.info) == repr(problem.info)
        np.testing.assert_array_equal(flat(back.impulses), flat(result.impulses))
        assert back.history == result.history
        assert (back.message, back.info) == (result.message, result.info)
        again = cs.solve(back.problem, **OPTIONS)
        np.testing.assert_array_equal(flat(again.impulses), flat(result.impulses))
    back.problem.update(**values(2, kind))
    assert known(back.problem) == known(build(kind, values(2, kind)))


def test_pickles_keep_names_states_and_given_matrices():
    arrays = random_problem(generator("pickle"), 4, 3, 3, 6, "disc", awkward=False)
    problem = cs.Problem.from_state(
        arrays.J,
        Minv=arrays.Minv,
        velocity=np.ones((3, 6)),
        mu=0.5,
        bodies=arrays.bodies,
        name="thrown",
    )
    result = cs.solve(problem)
    back = pickle.loads(pickle.dumps(result))
    assert back.problem.name == "thrown"
    np.testing.assert_array_equal(back.velocities, result.velocities)
    A = ReferenceProblem.from_arrays(arrays).A
    A[0, 4] *= 1.001
    given = cs.Problem.from_delassus(A, arrays.b, arrays.mu)
    back = pickle.loads(pickle.dumps(given))
    for one, other in zip(back.delassus_csr(), given.delassus_csr(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert back.info == given.info
    assert back.info["asymmetry"] > 0


def test_groups_and_bodies_survive_a_pickle():
    given = values(1, "groups")
    group = cs.Group(given["J"][1], [[0, 4], [2, 4]], given["b"][1], lo=-1.0, hi=2.0)
    contacts = cs.Group(given["J"][0], [[0, 1]] * 5, given["b"][0], 0.3, compliance=0.1)
    bodies = [cs.Bodies(one) for one in given["Minv"]]
    one = cs.Problem(groups=[contacts, group], bodies=bodies)
    groups, bodies = pickle.loads(pickle.dumps(([contacts, group], bodies)))
    assert known(cs.Problem(groups=groups, bodies=bodies)) == known(one)


@pytest.mark.parametrize("change", ["update", "impulses"])
def test_changes_of_velocities_are_those_of_the_solve(change):
    problem = cs.Problem(np.eye(2), np.eye(2), -np.ones(2), rows=1, sets=cs.sets.half_line())
    result = cs.solve(problem)
    if change == "update":
        problem.update(Minv=10 * np.eye(2))
    else:
        result.impulses[...] = 0
    assert np.allclose(result.body_velocity_change, 1, rtol=1e-12)
