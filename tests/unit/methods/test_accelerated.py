"""Methods in steps over sweeps: what they compute, what they return, how they end."""

import math

import numpy as np
import pytest

import contactsolve as cs
from problems_of_classes import moving_stack

STEPPING = [n for n, method in cs.methods.describe().items() if "over" in method.options]
EVERY = pytest.mark.parametrize("name", STEPPING)
SWEEPS = cs.methods.describe()["nesterov"].options["over"].words
EXACTLY = {"rtol": None, "atol": None}


def sweeps_of(problem, over, **options):
    """S and |S(y) - y|^2, by the plain method: forward and backward where it is symmetric."""
    if over == "jacobi":
        bound = cs.Solver(problem, method=cs.methods.nesterov(over=over)).info["step_bound"]
        options["relaxation"] = min(1.0, 1.0 / bound)
    solver = cs.Solver(
        problem, method=over, max_iterations=2 if "symmetric" in over else 1, rollback=0,
        record=("merit",), **EXACTLY, **options,
    )  # fmt: skip

    def sweep(y):
        result = solver.solve(initial=y)
        return result.impulses, np.nansum(result.history["merit"])

    return sweep


def run(problem, method, steps, over="gauss_seidel", **options):
    count = steps * (2 if "symmetric" in over else 1)
    result = cs.solve(problem, method=method, max_iterations=count, **EXACTLY, **options)
    assert result.iterations == count
    return result


@pytest.mark.parametrize("over", SWEEPS)
@pytest.mark.parametrize("contraction", [0.0, 2.0])
@pytest.mark.parametrize("restart", [1.0, 1.5])
def test_nesterov_is_what_its_equations_say(over, restart, contraction):
    problem, steps = moving_stack(), 40
    sweep = sweeps_of(problem, over)
    x_before = y = np.zeros(problem.b.shape)
    t, least, last, restarts, bounded = 1.0, math.inf, math.inf, 0, 0
    for step in range(steps):
        x, change = sweep(y)
        length = math.sqrt(change)
        if step == steps - 1:
            break
        if length > restart * least:
            t, least, last, y, restarts = 1.0, math.inf, math.inf, x, restarts + 1
        else:
            t_next = (1 + math.sqrt(1 + 4 * t * t)) / 2
            beta, most = (t - 1) / t_next, min(1, length / last) ** contraction
            bounded += most < beta
            y = x + min(beta, most) * (x - x_before)
            t, least, last = t_next, min(least, length), length
        x_before = x
    method = cs.methods.nesterov(over=over, restart=restart, contraction=contraction)
    result = run(problem, method, steps, over)
    np.testing.assert_allclose(result.impulses, x, rtol=0, atol=1e-9)
    assert result.info["restarts"] == restarts
    assert restarts > 0 or restart > 1 or contraction > 0
    assert (bounded > 0) == (contraction > 0)


@pytest.mark.parametrize("over", SWEEPS)
@pytest.mark.parametrize("formula", ["fletcher_reeves", "polak_ribiere"])
def test_nncg_is_what_its_equations_say(over, formula):
    problem, steps = moving_stack(), 40
    sweep = sweeps_of(problem, over)
    y, p, g_before, restarts = np.zeros(problem.b.shape), None, None, 0
    for _ in range(steps):
        x, _change = sweep(y)
        g = y - x
        if p is None:
            p, y = -g, x
        elif (g * g).sum() > (g_before * g_before).sum():
            p, y, restarts = 0 * g, x, restarts + 1
        else:
            rise = (g * g_before).sum() if formula == "polak_ribiere" else 0.0
            beta = min(1.0, max(0.0, ((g * g).sum() - rise) / (g_before * g_before).sum()))
            y, p = x + beta * p, beta * p - g
        g_before = g
    result = run(problem, cs.methods.nncg(over=over, formula=formula), steps, over)
    np.testing.assert_allclose(result.impulses, x, rtol=0, atol=1e-9)
    assert abs(result.info["restarts"] - restarts) <= 1  # that of the last step is not made


@pytest.mark.parametrize("over", SWEEPS)
@pytest.mark.parametrize("depth", [1, 4])
def test_anderson_is_what_its_equations_say(over, depth):
    problem, steps = moving_stack(3), 25
    sweep = sweeps_of(problem, over)
    y = np.zeros(problem.b.shape)
    least, restarts, safe, images, moves = math.inf, 0, y, [], []
    record, pause, wait = math.inf, 0, 0
    for _ in range(steps):
        x, _change = sweep(y)
        f = x - y
        if np.linalg.norm(f) > 2 * least:
            least, restarts, y, images, moves = math.inf, restarts + 1, safe, [], []
            wait = pause = min(2 * pause + 1, 1023)
            continue
        if np.linalg.norm(f) <= record / 2:
            record, pause = np.linalg.norm(f), 0
        safe, least = (x, np.linalg.norm(f)) if np.linalg.norm(f) < least else (safe, least)
        if wait:
            wait, y = wait - 1, x
            continue
        images, moves = [*images, x][-depth - 1 :], [*moves, f][-depth - 1 :]
        y = x
        if len(moves) > 1:
            df = np.diff([move.ravel() for move in moves], axis=0).T
            dx = np.diff([image.ravel() for image in images], axis=0).T
            gram = df.T @ df
            gram += 1e-10 * np.trace(gram) / len(gram) * np.eye(len(gram))
            y = x - (dx @ np.linalg.solve(gram, df.T @ f.ravel())).reshape(x.shape)
    result = run(problem, cs.methods.anderson(over=over, depth=depth), steps, over)
    np.testing.assert_allclose(result.impulses, x, rtol=0, atol=1e-6)
    assert abs(result.info["restarts"] - restarts) <= 1


@pytest.mark.parametrize("over", SWEEPS)
@pytest.mark.parametrize("rho", [None, 0.9])
def test_chebyshev_is_what_its_equations_say(over, rho):
    problem, steps = moving_stack(), 60
    sweep = sweeps_of(problem, over)
    y = y_before = np.zeros(problem.b.shape)
    used, least, length_before, made, restarts = rho or 0.0, math.inf, 0.0, 0, 0
    for _ in range(steps):
        x, change = sweep(y)
        length = math.sqrt(change)
        ratio = length / length_before if length_before else 0.0
        length_before = length
        if length > 4 * least:
            used, restarts = max(0.0, 1 - 2 * (1 - used)), restarts + 1
            used = used or rho or 0.0
            least, length_before, made, y = math.inf, 0.0, 0, x
            continue
        least, made = min(least, length), made + 1
        if made == 10 and used == 0:
            used = min(ratio, 0.9999)
        if made <= 10:
            omega, y_next = 1.0, x
        else:
            omega = 2 / (2 - used**2) if made == 11 else 4 / (4 - used**2 * omega)
            y_next = y_before + omega * (x - y_before)
        y_before, y = y, y_next
    result = run(problem, cs.methods.chebyshev(over=over, rho=rho), steps, over)
    np.testing.assert_allclose(result.impulses, x, rtol=0, atol=1e-9)
    assert abs(result.info["restarts"] - restarts) <= 1


@pytest.mark.parametrize("over", SWEEPS)
def test_momentum_is_what_its_equation_says(over):
    problem = moving_stack()
    sweep = sweeps_of(problem, over)
    x_before = y = np.zeros(problem.b.shape)
    for _ in range(30):
        x, _change = sweep(y)
        y, x_before = x + 0.6 * (x - x_before), x
    result = run(problem, cs.methods.momentum(over=over, beta=0.6), 30, over)
    np.testing.assert_allclose(result.impulses, x, rtol=0, atol=1e-10)
    plain = run(problem, cs.methods.momentum(over=over, beta=0.0), 30, over)
    if over != "jacobi":
        same = cs.solve(
            problem, method=over, max_iterations=plain.iterations, rollback=0, **EXACTLY
        )
        assert plain.impulses.tolist() == same.impulses.tolist()


@EVERY
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("over", SWEEPS)
def test_every_scheme_and_precision_gets_there(name, over, dtype):
    problem = moving_stack(2)
    method = getattr(cs.methods, name)(over=over)
    for scheme in cs.schemes.names():
        if scheme == "half_sweep" or (scheme == "symmetric_half" and "symmetric" not in over):
            continue  # delayed; of no other method
        rtol = 1e-7 if dtype == "float64" else 3e-5
        result = cs.solve(
            problem, method=method, scheme=scheme, dtype=dtype, rtol=rtol, max_iterations=8000
        )
        assert result.converged, (scheme, result.message)


@EVERY
@pytest.mark.parametrize(
    "order",
    [
        "natural",
        "reverse",
        "colored",
        "ranges",
        "partition",
        "regions",
        "cache",
        "contact_sets",
    ],
)
def test_every_order_gets_there(name, order):
    result = cs.solve(cs.scenarios.ball_grid(3), method=name, order=order, max_iterations=3000)
    assert result.converged, result.message


@EVERY
def test_bits_do_not_depend_on_the_number_of_threads(name):
    problem = cs.scenarios.ball_grid(24, velocity=0.1)
    results = [
        cs.solve(
            problem,
            method=name,
            order="colored",
            threads=threads,
            exact_threads=True,
            max_iterations=6,
            **EXACTLY,
        )
        for threads in (1, 2, 3)
    ]
    assert results[1].info["threads"] == 2
    for result in results[1:]:
        assert result.impulses.tobytes() == results[0].impulses.tobytes()


@EVERY
def test_the_best_iterate_is_returned(name):
    """Between checks that fall: the heavy box makes every one of these rise in passing."""
    problem = moving_stack(6, top_mass=1000.0)
    most = 40 if name == "multilevel" else 300  # it converges after 55
    options = {"max_iterations": most, "check_every": 1, "rtol": 1e-12}
    result = cs.solve(problem, method=name, record=("natural_map_scaled",), **options)
    assert not result.converged
    judged = result.history["natural_map_scaled"]
    assert result.natural_map_scaled == judged.min() == judged[-1]
    best = result.info["best_iteration"]
    assert best == most or result.natural_map_scaled == judged[best]
    again = cs.solve(problem, method=name, max_iterations=best, **EXACTLY)
    np.testing.assert_allclose(again.impulses, result.impulses, atol=1e-10)


@EVERY
def test_without_a_tolerance_the_last_iterate_is_returned(name):
    problem = moving_stack(6, top_mass=1000.0)
    result = cs.solve(problem, method=name, max_iterations=37, **EXACTLY)
    assert result.info["best_iteration"] == result.iterations == 37


@EVERY
def test_patience_ends_hopeless_solves(name):
    problem = moving_stack(10, top_mass=1e6)
    own = {"rounds": 2} if "rounds" in cs.methods.describe(name).options else {}
    method = getattr(cs.methods, name)(patience=400, **own)
    result = cs.solve(problem, method=method, rtol=1e-13, max_iterations=100000)
    assert result.status in ("stalled", "wandering"), result.message
    assert result.status in result.message
    assert not result.converged
    low, middle, high = result.info["band"]
    assert low <= middle <= high
    assert (result.status == "stalled") == (high <= 2 * low)
    assert result.natural_map_scaled <= low
    assert result.iterations < 100000
    patient = cs.solve(problem, method=name, rtol=1e-13, max_iterations=result.iterations + 100)
    assert patient.status == "max_iterations"
    assert "band" not in patient.info


def test_callbacks_stop_and_solvers_are_used_again():
    problem = moving_stack()
    solver = cs.Solver(problem, method="nesterov", rtol=1e-9, max_iterations=3000)
    first = solver.solve()

    def stop(state):
        if state.iteration == 7:
            raise StopIteration

    stopped = solver.solve(callback=stop)
    assert (stopped.status, stopped.iterations) == ("stopped", 7)
    assert solver.solve().impulses.tobytes() == first.impulses.tobytes()
    assert solver.solve(initial=first).iterations == 0
    assert solver.solve(b=1.1 * problem.b, initial=first).converged


@EVERY
def test_what_does_not_fit_is_refused(name):
    problem = moving_stack(1)
    with pytest.raises(ValueError, match=f"r_factor='balanced' follows .*method='{name}'"):
        cs.Solver(problem, method=name, r_factor="balanced")
    method = getattr(cs.methods, name)(over="gauss_seidel")
    with pytest.raises(ValueError, match="scheme='symmetric_half' needs sweeps forwards"):
        cs.Solver(problem, method=method, scheme="symmetric_half")


@pytest.mark.parametrize("name", [name for name in STEPPING if name != "chebyshev"])
def test_steps_that_are_too_long_are_halved(name):
    result = cs.solve(moving_stack(), method=name, relaxation=4.0, rtol=1e-6, max_iterations=20000)
    assert result.info["rollbacks"] > 0
    assert result.converged


def test_figures_are_those_of_the_method():
    """None is guessed: a method that has no inner solves does not tell that it made 0 of them."""
    expected = {
        "newton": {"restarts"},
        "nesterov": {"restarts"},
        "momentum": set(),
        "jacobi": set(),
        "multilevel": {"restarts", "corrections"},
        "tresca": {"inner_iterations"},
    }
    problem = cs.scenarios.box_stack(3)
    for method, figures in expected.items():
        info = cs.solve(problem, method=method).info
        assert info.keys() & {"restarts", "corrections", "inner_iterations"} == figures, method
        described = cs.methods.describe()[method].figures
        assert {name.partition(".")[0] for name in described} == figures, method
