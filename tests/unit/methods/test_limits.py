"""Every method hears `max_seconds` and Ctrl-C, however long its steps may be."""

import numpy as np
import pytest

import contactsolve as cs
from interruption import ctrl_c_ends, longest_silence, worked

MANY = 10**9
HEARD = 0.2  # seconds of work
ENDLESS = {"rtol": 1e-300, "max_iterations": MANY, "threads": 1}
GRID = (7, 7, 7)
LONG_STEPS = {
    "rounds": ("chain", cs.methods.multilevel(rounds=MANY)),
    "pivots": ("chain", cs.methods.murty(engine="refactor")),
    "sweeps of subspace": ("chain", cs.methods.subspace(sweeps=MANY)),
    "direct steps": ("chain", cs.methods.subspace(subspace_steps=MANY)),
    "sweeps of splitting": ("chain", cs.methods.splitting(sweeps=MANY)),
    "passes": ("chain", cs.methods.splitting(passes=MANY)),
    "passes over joints": ("redundant", cs.methods.splitting(sweeps=0, passes=MANY)),
    "sweeps over no friction": ("frictionless", cs.methods.splitting(sweeps=MANY)),
    "dictionary": ("grid", cs.methods.lemke(directions=4)),
    "interior-point factors": ("grid", "interior_point"),
}


@pytest.fixture(scope="module")
def problems():
    return {
        "chain": cs.scenarios.chain(),
        "frictionless": cs.scenarios.ball_grid(3, rows=1),
        "grid": cs.scenarios.ball_grid(GRID),
        "redundant": redundant_joints(),
    }


def redundant_joints():
    """More rows than a body has motions: a direct step leaves rounding to the next."""
    rng = np.random.default_rng(0)
    J = np.zeros((4, 2, 6, 3))
    J[:, 1] = rng.normal(size=(4, 6, 3))
    b = J[:, 1] @ rng.normal(size=3)
    return cs.Problem(J, np.ones((1, 3)), b, bodies=[[-1, 0]] * 4, sets=cs.sets.free())


@pytest.mark.parametrize("case", LONG_STEPS)
def test_a_long_step_ends_in_time(problems, case):
    name, method = LONG_STEPS[case]
    solver = cs.Solver(problems[name], method=method, max_seconds=0.1, **ENDLESS)
    start = worked()
    result = solver.solve()
    assert worked() - start < 0.1 + HEARD
    if not result.converged and result.status not in ("stalled", "wandering", "inaccurate"):
        assert result.status == "max_seconds"
    assert np.isfinite(result.natural_map)


@pytest.mark.parametrize("case", ["rounds", "sweeps of subspace", "sweeps of splitting"])
def test_a_long_step_hears_ctrl_c(problems, case):
    name, method = LONG_STEPS[case]
    solver = cs.Solver(problems[name], method=method, **ENDLESS)
    ctrl_c_ends(solver.solve, after=0.2, within=0.2 + HEARD)
    again = cs.Solver(problems[name], method=method, max_seconds=0.05, **ENDLESS)
    assert again.solve().status == "max_seconds"


def test_what_time_has_ended_is_no_worse_than_the_start(problems):
    """Murty's rule, left half-way, is worse than the impulses that it began with."""
    good = cs.solve(problems["chain"], method="bpp", rtol=1e-8, max_iterations=1000)
    method = cs.methods.murty(engine="refactor")
    solver = cs.Solver(problems["chain"], method=method, max_seconds=0.05, **ENDLESS)
    result = solver.solve(initial=good)
    assert result.natural_map_scaled <= 2 * good.natural_map_scaled


@pytest.mark.parametrize("method", ["admm", "bpp", "splitting", "interior_point"])
def test_set_up_asks_all_along(method):
    """Orders of minimum degree, patterns and factors of some thousand contacts."""
    scene = cs.scenarios.ball_grid((12, 12, 12))
    sets = cs.sets.second_order_cone(0.5) if method == "interior_point" else None
    sets = cs.sets.box_friction(0.5) if method in ("bpp", "splitting") else sets
    problem = (
        cs.Problem(scene.J, scene.Minv, scene.b, bodies=scene.bodies, sets=sets) if sets else scene
    )
    assert longest_silence(lambda: cs.Solver(problem, method=method, threads=1)) < HEARD


def test_a_dictionary_too_large_is_refused_at_once(problems):
    start = worked()
    text = r"directions is 1000000: the dictionary of \d+ unknowns .* dictionary_bytes is 4e\+09"
    with pytest.raises(ValueError, match=text):
        cs.Solver(problems["grid"], method=cs.methods.lemke(directions=10**6))
    small = cs.methods.lemke(directions=4, dictionary_bytes=1e3)
    with pytest.raises(ValueError, match=r"directions is 4: .*dictionary_bytes is 1e"):
        cs.Solver(problems["grid"], method=small)
    with pytest.raises(ValueError, match=r"dictionary of \d+ rows would take"):
        cs.Solver(problems["frictionless"], method=cs.methods.lemke(dictionary_bytes=100))
    assert worked() - start < HEARD


@pytest.mark.parametrize("method", ["admm", "bpp", "splitting", "subspace"])
def test_max_seconds_holds_for_the_set_up_of_a_call(method):
    problem = cs.scenarios.ball_grid((14, 14, 14))
    if method == "bpp":
        sets = cs.sets.box_friction(0.5)
        problem = cs.Problem(problem.J, problem.Minv, problem.b, bodies=problem.bodies, sets=sets)
    start = worked()
    result = cs.solve(problem, method=method, max_seconds=0.05, threads=1)
    assert worked() - start < 0.05 + HEARD
    assert result.status == "max_seconds"
    assert result.message.startswith(
        f"not started: the set-up of method={method!r} alone took max_"
    )
    assert not result.impulses.any()
    assert result.info["method"] == method
    with pytest.raises(TimeoutError, match="set-up took longer than max_setup_seconds"):
        cs.Solver(problem, method=method, max_setup_seconds=0.05)


def test_a_call_that_is_not_begun_returns_its_start():
    problem = cs.scenarios.ball_grid((14, 14, 14))
    start = np.full((problem.contacts, 3), 0.25)
    result = cs.solve(problem, method="admm", max_seconds=0, initial=start)
    assert np.array_equal(result.impulses, start)
    solved = cs.solve(problem, method="nesterov", max_iterations=10**5)
    again = cs.solve(problem, method="admm", max_seconds=0, initial=solved, rtol=1e-5)
    assert again.converged
    with pytest.raises(TimeoutError):
        cs.solve(problem, method="admm", max_setup_seconds=0)


@pytest.mark.parametrize("value", [-1, float("nan")])
def test_seconds_of_set_up_are_checked(problems, value):
    with pytest.raises(ValueError, match=r"max_setup_seconds is .*: it must be at least 0"):
        cs.Solver(problems["chain"], max_setup_seconds=value)


def test_interior_points_begin_in_linear_time():
    """What a call does before it first looks at the clock, in a grid with 16 times the contacts."""

    def first_look(layers):
        problem = cs.scenarios.ball_grid((8, 8, layers))
        solver = cs.Solver(problem, method="interior_point", max_seconds=0, threads=1)
        took = []
        for _ in range(3):
            start = worked()
            assert solver.solve().status == "max_seconds"
            took.append(worked() - start)
        return problem.contacts, min(took)

    (few, short), (many, long) = first_look(8), first_look(128)
    assert many == 16 * few
    assert long < 3 * short * many / few


@pytest.mark.parametrize("method", [cs.methods.splitting(sweeps=50), "subspace"])
def test_functions_of_the_caller_are_slow_and_limits_are_heard_between_them(method):
    """A prox that asks Python takes as long as thousands of the library's own."""
    stack = cs.scenarios.box_stack(5)
    axes = np.array([1.5, 0.46])
    slow = cs.sets.support(lambda d: axes**2 * d / np.linalg.norm(axes * d))
    b = stack.b + 0.1 * np.random.default_rng(2).normal(size=stack.b.shape)
    problem = cs.Problem(stack.J, stack.Minv, b, bodies=stack.bodies, sets=slow, compliance=1e-6)
    result = cs.solve(problem, method=method, rtol=0.0, max_iterations=10**6, max_seconds=0.1)
    assert not result.converged
    assert result.time < 0.5
