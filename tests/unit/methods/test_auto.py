"""method="auto": the chain's links, what it says of them, and that it is honest."""

import re
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

import contactsolve as cs
from interruption import alarm
from problems_of_classes import (
    coulomb,
    frictionless,
    joints,
    moving_stack,
    residual,
)
from reference_numpy import BoxFriction, Disc
from repository import REFERENCE

LINKS = {"bpp", "nesterov", "newton", "nncg", "interior_point", "gauss_seidel"}
LONG = {"max_iterations": 20000, "check_every": 20}


def heavy_stack():
    """Ten boxes, the uppermost of a ton: sweeps stall, Newton's method does not."""
    return moving_stack(10, top_mass=1000.0)


def hopeless(**options):
    """A tolerance that no double reaches."""
    return {"method": cs.methods.auto(patience=30), "rtol": 1e-300, "max_iterations": 1000000} | (
        options
    )


def endless(**options):
    """The same of a measure without a floor, so that the whole chain is gone through.

    The natural map ends as "inaccurate" where rounding is all that is left.
    """
    return hopeless(stop="natural_map_velocity", atol=1e-300, **options)


def outside(problem, result):
    sets = [Disc(3, float(mu)) for mu in np.broadcast_to(problem.mu, problem.contacts)]
    return residual(problem, sets, result.impulses)


def check_links(result):
    """What the links say agrees with the whole."""
    links = result.info["links"]
    assert {link["method"] for link in links} <= LINKS
    assert links[0]["first"] == 0
    for link, following in pairwise(links):
        assert following["first"] == link["first"] + link["iterations"]
        assert following["reached"] <= link["reached"]
        assert link["status"] != "converged"
    assert sum(link["iterations"] for link in links) == result.iterations
    assert result.sweep_time <= sum(link["seconds"] for link in links) <= result.time
    assert all(link["why"] and link["islands"] == 1 for link in links)
    assert links[-1]["reached"] == pytest.approx(result.natural_map_scaled, rel=1e-6)
    assert (np.diff(result.history["iteration"]) > 0).all()
    assert (np.diff(result.history["time"]) >= 0).all()
    assert result.history["iteration"][-1] == result.iterations
    assert result.history["natural_map"][-1] == pytest.approx(result.natural_map, rel=1e-6)


def test_newton_takes_over_where_sweeps_stall():
    problem = heavy_stack()
    result = cs.solve(problem, rtol=1e-8, **LONG)
    assert result.converged
    assert outside(problem, result) <= 1e-8 * (1 + 1e-6)
    check_links(result)
    first, second = result.info["links"][:2]
    assert (first["method"], second["method"]) == ("nesterov", "newton")
    assert first["why"] == "yielded: Newton's method is expected to converge sooner"
    assert first["reached"] < 0.1
    assert first["iterations"] <= 1000
    assert result.info["links"][-1]["why"] == "converged: the tolerance is met"
    sweeps = cs.solve(problem, rtol=1e-8, method="nesterov", **LONG)
    assert result.iterations < sweeps.iterations


STADIUM = cs.shapes.points([[-0.3, 0.0], [0.3, 0.0]]) + cs.shapes.disc(0.2)


@pytest.mark.parametrize(
    ("sets", "contacts", "seed"),
    [
        (cs.sets.ellipse(1.5, 0.2, 0.5), 2, 388),
        (cs.sets.polygon(1.5, sides=5), 3, 43),
        (cs.sets.polygon(1.5, sides=5), 3, 116),
        (cs.sets.support(STADIUM, 2.5), 3, 262),
    ],
)
def test_newton_takes_over_whatever_the_set(sets, contacts, seed):
    """Few contacts on one body, on which sweeps with momentum wander for ever."""
    rng = np.random.default_rng(seed)
    J = rng.standard_normal((contacts, 2, 3, 3))
    J[:, 0] = 0
    b = rng.standard_normal((contacts, 3))
    problem = cs.Problem(J, np.ones((1, 3)), b, sets=sets, bodies=[[-1, 0]] * contacts)
    assert not cs.solve(problem, method="nesterov", **LONG).converged
    result = cs.solve(problem, **LONG)
    assert result.converged
    check_links(result)
    assert result.info["links"][-1]["method"] == "newton"
    judged = cs.Solver(problem, method="gauss_seidel", max_iterations=0)
    assert judged.solve(initial=result.impulses).natural_map_scaled <= 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_failed_steps_of_newton_are_no_end(seed):
    """Where it does not arrive at once, sweeps go on, and it is tried again later."""
    scene = cs.scenarios.box_stack(10, top_mass=1000.0)
    velocity = 0.05 * np.random.default_rng(seed).standard_normal(scene.Minv.shape[:2])
    velocity = np.vstack([velocity - [0, 0, 0.0981, 0, 0, 0], np.zeros(6)])
    b = np.einsum("ksmd,ksd->km", scene.J, velocity[scene.bodies])
    problem = cs.Problem(scene.J, scene.Minv, b, scene.mu, bodies=scene.bodies)
    result = cs.solve(problem, rtol=1e-8, **LONG)
    assert result.converged
    assert outside(problem, result) <= 1e-8 * (1 + 1e-6)
    check_links(result)
    methods = [link["method"] for link in result.info["links"]]
    assert set(methods) == {"nesterov", "newton"}
    assert result.iterations < 1000


def test_stop_rules_of_sweeps_hand_over_too():
    """Nothing judges the state there, but the halving test."""
    problem = heavy_stack()
    for stop in ("residual", "merit"):
        result = cs.solve(problem, stop=stop, rtol=None, atol=1e-12, **LONG)
        assert result.converged
        links = result.info["links"]
        assert len(links) > 1
        assert links[0]["status"] in ("stalled", "wandering")
        assert sum(link["iterations"] for link in links) == result.iterations
    patient = cs.methods.nesterov(patience=200)
    ended = cs.solve(problem, method=patient, stop="residual", rtol=None, atol=1e-300, **LONG)
    assert ended.status in ("stalled", "wandering")


def test_easy_problems_need_one_link():
    problem, _ = coulomb(1)
    result = cs.solve(problem)
    check_links(result)
    assert [link["method"] for link in result.info["links"]] == ["nesterov"]
    same = cs.solve(problem, method="nesterov")
    np.testing.assert_array_equal(result.impulses, same.impulses)
    np.testing.assert_array_equal(result.history["natural_map"], same.history["natural_map"])


def test_direct_methods_come_first_where_factors_are_sure():
    """Alone without friction; with friction they follow on sweeps."""
    crane = cs.scenarios.crane(60, seed=0)
    for problem, methods in ((frictionless(0)[0], ["bpp"]), (crane, ["nesterov", "bpp"])):
        result = cs.solve(problem, rtol=1e-9)
        assert result.converged
        check_links(result)
        assert [link["method"] for link in result.info["links"]] == methods


def test_a_direct_solve_that_does_not_arrive_leaves_friction_to_others():
    result = cs.solve(cs.scenarios.winch(17, mu=0.4), rtol=1e-14, max_seconds=None)
    check_links(result)
    methods = [link["method"] for link in result.info["links"]]
    assert methods[:4] == ["nesterov", "bpp", "bpp", "nesterov"]
    assert result.info["links"][2]["iterations"] == 60


def test_a_singular_matrix_is_no_end():
    A = np.ones((2, 2))
    problem = cs.Problem.from_delassus(A, [[-1.0], [-1.0]], sets=cs.sets.half_line(), rows=1)
    with pytest.raises(ValueError, match="not positive definite"):
        cs.solve(problem, method="bpp")
    result = cs.solve(problem)
    assert result.converged
    check_links(result)


def test_a_singular_matrix_is_told_once():
    """A first solve, which finds out, goes on at once as the next ones do, which know."""
    factor = np.random.default_rng(3).standard_normal((30, 10))
    A = factor @ factor.T
    b = -A @ np.abs(np.random.default_rng(4).standard_normal((30, 1)))
    problem = cs.Problem.from_delassus(A, b, sets=cs.sets.half_line(), rows=1)
    solver = cs.Solver(problem, **endless(method=cs.methods.auto(patience=1), max_iterations=2000))
    first, second = solver.solve(), solver.solve()
    for result in (first, second):
        check_links(result)
        methods = [link["method"] for link in result.info["links"]]
        assert len(methods) > 1
        assert all(one != following for one, following in pairwise(methods))
    assert first.iterations == second.iterations
    np.testing.assert_array_equal(first.impulses, second.impulses)


def test_hopeless_solves_say_so_and_return_the_best_iterate():
    problem = heavy_stack()
    solver = cs.Solver(problem, **hopeless(record=("natural_map", "natural_map_scaled")))
    result = solver.solve()
    assert result.status == "inaccurate"  # rounding is all that is left
    assert not result.converged
    check_links(result)
    assert {link["method"] for link in result.info["links"]} >= {"nesterov", "newton"}
    seen = np.nanmin(result.history["natural_map_scaled"])
    assert result.natural_map_scaled == pytest.approx(seen, rel=1e-6)
    assert outside(problem, result) == pytest.approx(result.natural_map_scaled, rel=1e-3)
    assert result.status in result.message
    again = solver.solve()
    np.testing.assert_array_equal(again.impulses, result.impulses)
    assert [one["method"] for one in again.info["links"]] == [
        one["method"] for one in result.info["links"]
    ]


def test_sweeps_that_follow_on_each_other_are_one_link():
    """Without Newton's method both kinds of sweeps take turns, from the best iterate each."""
    problem = cs.scenarios.ball_grid(5, mass=1.0, velocity=0.1, rng=18)
    method = cs.methods.auto(patience=10, factor_bytes=1)
    chain = cs.solve(problem, method=method, rtol=1e-9, check_every=5, max_iterations=100000)
    links = chain.info["links"]
    assert chain.converged
    check_links(chain)
    assert {link["method"] for link in links} == {"nesterov", "nncg"}
    assert all(one["method"] != following["method"] for one, following in pairwise(links))
    reached = [link["reached"] for link in links]
    assert reached == sorted(reached, reverse=True)


def test_a_few_sweeps_make_the_direct_method_quick():
    problem = cs.scenarios.vehicle(60, seed=0)
    direct = cs.solve(problem, method="bpp", rtol=1e-8)
    result = cs.solve(problem, rtol=1e-8)
    assert result.converged
    check_links(result)
    links = result.info["links"]
    assert [link["method"] for link in links] == ["nesterov", "bpp", "bpp"]
    assert links[0]["why"] == "yielded: the direct method is expected to converge sooner"
    assert links[0]["reached"] <= 1e-2
    assert links[1]["why"] == "yielded: its index set needs too many pivots"
    assert links[2]["iterations"] < direct.iterations
    loose = cs.solve(problem, rtol=1e-3)
    assert loose.converged
    assert [link["method"] for link in loose.info["links"]] == ["nesterov"]


def test_the_history_tells_of_what_a_link_has_handed_over():
    """The direct method sets out from the start again, which is no iterate of the last sweep."""
    problem = cs.scenarios.log_tower(10)
    result = cs.solve(problem, rtol=1e-8, check_every=20, record=("natural_map_scaled",))
    links = result.info["links"]
    assert [link["method"] for link in links] == ["nesterov", "bpp"]
    row = np.flatnonzero(result.history["iteration"] == links[0]["iterations"])
    assert result.history["natural_map_scaled"][row] == pytest.approx(links[0]["reached"])


def test_what_is_cut_off_is_no_worse_than_the_start():
    """The first factor's impulses, with boundless friction, are far worse than next to none."""
    problem = cs.scenarios.winch(17, mu=0.4)
    start = [np.zeros_like(b) for b in problem.b]
    start[0][0] = 1e-9
    nothing = cs.solve(problem, method="gauss_seidel", max_iterations=0, initial=start)
    result = cs.solve(problem, rtol=1e-8, max_iterations=1, initial=start)
    (link,) = result.info["links"]
    assert (link["method"], link["why"]) == ("bpp", "stopped: its iterations are used up")
    assert not result.converged
    assert result.natural_map_scaled <= nothing.natural_map_scaled
    np.testing.assert_array_equal(result.impulses[0], nothing.impulses[0])


@pytest.mark.parametrize("every", [3, 7, 50])
def test_rows_that_are_not_recorded_do_not_take_the_place_of_others(every):
    problem = cs.scenarios.winch(17, mu=0.4)
    result = cs.solve(problem, rtol=1e-8, record_every=every)
    links = result.info["links"]
    assert len(links) > 2
    wanted = set(range(0, result.iterations + 1, every)) | {link["first"] for link in links}
    assert list(result.history["iteration"]) == sorted(wanted | {result.iterations})


@pytest.mark.parametrize("scale", [1.0001, 1.1])
def test_warm_starts_are_not_swept_first(scale):
    problem = cs.scenarios.vehicle(60, seed=0)
    solver = cs.Solver(problem, rtol=1e-8)
    first = solver.solve()
    warm = solver.solve(initial=[scale * x for x in first.impulses])
    assert warm.converged
    assert [link["method"] for link in warm.info["links"]] == ["bpp"]
    assert warm.iterations <= 2


@pytest.mark.parametrize("stop", ["residual", "merit"])
def test_measures_without_a_pace_wait_for_as_many_sweeps(stop):
    problem = cs.scenarios.vehicle(60, seed=0)
    result = cs.solve(problem, stop=stop, rtol=None, atol=1e-12)
    assert result.converged
    assert [link["method"] for link in result.info["links"]] == ["nesterov", "bpp", "bpp"]
    assert result.info["links"][0]["iterations"] == 120


@pytest.mark.parametrize("seconds", [0.0005, 0.002, 0.005, 0.01])
def test_an_interrupt_while_the_direct_method_is_prepared(seconds):
    rng = np.random.default_rng(0)
    contacts, bodies = 200, 20
    pairs = rng.integers(0, bodies, (contacts, 2))
    pairs[:, 1] = (pairs[:, 0] + rng.integers(1, bodies, contacts)) % bodies
    J, b = rng.standard_normal((contacts, 2, 3, 6)), rng.standard_normal((contacts, 3))
    sets = cs.sets.box_friction(0.5)
    problem = cs.Problem(J, np.ones((bodies, 6)), b, bodies=pairs, sets=sets, compliance=1.0)
    solver = cs.Solver(problem, rtol=1e-8)

    def interrupt(*_):
        raise KeyboardInterrupt

    def solve_and_wait():
        solver.solve()
        while True:
            time.sleep(0.1)

    with alarm(interrupt, after=seconds), pytest.raises(KeyboardInterrupt):
        solve_and_wait()
    result = solver.solve()
    assert result.converged
    fresh = cs.solve(problem, rtol=1e-8)
    np.testing.assert_array_equal(result.impulses, fresh.impulses)


def test_what_is_given_up_after_a_direct_link_is_as_the_last_sweeps_were():
    problem = cs.scenarios.winch(17, mu=0.4)
    result = cs.solve(problem, **endless(max_iterations=100000))
    links = result.info["links"]
    assert "bpp" in [link["method"] for link in links]
    sweeps = [link for link in links if link["method"] in ("nesterov", "nncg")]
    assert result.iterations < 100000
    assert result.status == sweeps[-1]["status"] in ("stalled", "wandering")
    assert re.search("Try a method other than .*nesterov.*, which were tried", result.message)


def test_patience_stops_growing_at_the_most_that_links_take():
    """An indefinite A, on which every link soon diverges: the second round has the most."""
    A = np.array([[1.0, -3.0], [-3.0, 1.0]])
    problem = cs.Problem.from_delassus(A, [[-1.0], [-1.0]], sets=cs.sets.half_line(), rows=1)
    for patience in (1_500_000_000, 2_000_000_000):
        result = cs.solve(problem, method=cs.methods.auto(patience=patience), max_iterations=5000)
        assert result.status == "diverging", result.message
        assert len(result.info["links"]) > 3


@pytest.mark.parametrize("number", range(5))
def test_interrupts_inside_each_link(number):
    problem = heavy_stack()
    solver = cs.Solver(problem, **hopeless(max_iterations=20000))
    whole = solver.solve()
    links = whole.info["links"]
    assert len(links) > number
    at = links[number]["first"] + max(1, links[number]["iterations"] // 2)

    def interrupt(state):
        if state.iteration == at:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        solver.solve(callback=interrupt)

    def stop(state):
        if state.iteration == at:
            raise StopIteration

    stopped = solver.solve(callback=stop)
    assert (stopped.status, stopped.iterations) == ("stopped", at)
    assert len(stopped.info["links"]) == number + 1
    assert stopped.info["links"][-1]["why"] == "stopped by the callback"
    after = solver.solve()
    np.testing.assert_array_equal(after.impulses, whole.impulses)


@pytest.mark.parametrize("most", [0, 1, 7, 20, 333])
def test_the_number_of_iterations_is_kept_to(most):
    result = cs.solve(heavy_stack(), **hopeless(max_iterations=most))
    assert (result.status, result.iterations) == ("max_iterations", most)
    check_links(result)


def test_threads_give_the_same_bits():
    problem = cs.scenarios.ball_grid(4, mass=1.0)
    J, b = problem.J, problem.b + 0.1 * np.random.default_rng(0).standard_normal(problem.b.shape)
    problem = cs.Problem(J, problem.Minv, b, 0.5, bodies=problem.bodies)
    longer = endless(method=cs.methods.auto(patience=100), max_iterations=4000)
    results = [
        cs.solve(problem, threads=threads, exact_threads=True, order="colored", **longer)
        for threads in (1, 2, 3)
    ]
    assert {link["method"] for link in results[0].info["links"]} == {"nesterov", "newton", "nncg"}
    for other in results[1:]:
        np.testing.assert_array_equal(other.impulses, results[0].impulses)
        np.testing.assert_array_equal(
            other.history["natural_map"], results[0].history["natural_map"]
        )


@pytest.mark.parametrize(
    "options",
    [
        {"rtol": None, "atol": None, "max_iterations": 30},
        {"dtype": "mixed"},
        {"r_factor": "balanced"},
    ],
    ids=str,
)
def test_where_it_is_plain_gauss_seidel(options):
    problem, _ = coulomb(2)
    result = cs.solve(problem, **options)
    same = cs.solve(problem, method="gauss_seidel", **options)
    np.testing.assert_array_equal(result.impulses, same.impulses)
    assert (result.status, result.iterations) == (same.status, same.iterations)
    assert [link["method"] for link in result.info["links"]] == ["gauss_seidel"]


def test_what_is_asked_of_sweeps_is_kept_to():
    """Orders, local solves and precision hold for every link; those that cannot are left out."""
    problem = heavy_stack()
    plain = hopeless(max_iterations=2000)
    narrow = cs.solve(problem, dtype="float32", **plain)
    assert {link["method"] for link in narrow.info["links"]} == {"nesterov", "nncg"}
    previous = cs.solve(problem, bound="previous", **plain)
    assert {link["method"] for link in previous.info["links"]} == {"nesterov", "nncg"}
    assert cs.solve(problem, local="block", order="reverse", rtol=1e-6, **LONG).converged
    boxes, _ = frictionless(0)
    for option in ({"order": "reverse"}, {"averaging": 0.5}, {"rollback_growth": 2.0}):
        asked = cs.solve(boxes, **option)
        assert [link["method"] for link in asked.info["links"]] == ["nesterov"]


def test_small_and_special_problems():
    empty = cs.Problem(np.zeros((0, 2, 3, 6)), np.ones((2, 6)), np.zeros((0, 3)), 0.5,
                       bodies=np.zeros((0, 2), int))  # fmt: skip
    assert cs.solve(empty).converged
    one = cs.scenarios.random(1, 2, rng=0)
    result = cs.solve(one, rtol=1e-10)
    assert result.converged
    assert outside(one, result) <= 1e-10
    problem, sets = joints(0, cs.sets.box_friction(0.3), BoxFriction(3, 0.3))
    jointed = cs.solve(problem, rtol=1e-8, **LONG)
    assert jointed.converged
    assert residual(problem, sets, jointed.impulses) <= 1e-8 * (1 + 1e-6)
    only = cs.Problem(
        groups=[cs.Group(np.eye(3)[None, None].repeat(2, 1) * [[[[1.0]], [[-1.0]]]],
                         [[0, 1]], [[1.0, 2.0, 3.0]], sets=cs.sets.free())],
        bodies=[cs.Bodies(np.ones((2, 3)), diagonal=True)],
    )  # fmt: skip
    joined = cs.solve(only, rtol=1e-12)
    assert joined.converged
    np.testing.assert_allclose(joined.impulses[0], [[-0.5, -1.0, -1.5]], rtol=1e-10)


def test_islands_have_chains_of_their_own():
    stacks = [moving_stack(4, top_mass=1000.0) for _ in range(40)]
    J = np.concatenate([one.J for one in stacks])
    count = len(stacks[0].Minv)
    bodies = np.concatenate(
        [np.where(one.bodies < 0, -1, one.bodies + i * count) for i, one in enumerate(stacks)]
    )
    Minv, b = (np.concatenate([getattr(one, name) for one in stacks]) for name in ("Minv", "b"))
    problem = cs.Problem(J, Minv, b, 0.5, bodies=bodies)
    result = cs.solve(problem, rtol=1e-8, order="natural", **LONG)
    assert result.info["clusters"] > 1
    assert result.converged
    assert outside(problem, result) <= 1e-8 * (1 + 1e-6)
    links = result.info["links"]
    assert links[0]["method"] == "nesterov"
    assert links[0]["islands"] == result.info["clusters"]
    assert sum(link["iterations"] for link in links) >= result.iterations


def test_links_of_islands_tell_of_the_worst():
    """Pairs with an indefinite A, on which every link diverges, and triples that stand still."""
    pair, triple = [[1.0, -10.0], [-10.0, 1.0]], np.eye(3) + 0.3
    A = scipy.linalg.block_diag(*[pair] * 150, *[triple] * 100)
    b = -np.linspace(1.0, 2.0, len(A))[:, None]
    given = cs.Problem.from_delassus(A, b, sets=cs.sets.half_line(), rows=1)
    result = cs.solve(given, order="natural", **hopeless(averaging=1.0, max_iterations=30000))
    assert result.info["clusters"] > 1
    assert result.status in ("diverging", "wandering")
    assert result.info["links"][0]["method"] == "nesterov"
    assert result.info["links"][0]["status"] == "diverging"


def test_seconds_end_a_solve():
    problem = cs.scenarios.ball_grid(10, mass=1.0, velocity=0.1)
    for method in ("auto", "nesterov", "gauss_seidel", "newton", "admm"):
        result = cs.solve(
            problem, method=method, rtol=1e-300, max_seconds=0.02, max_iterations=10**8
        )
        assert result.status == "max_seconds", result.message
        assert "max_seconds" in result.message
        assert "more seconds" in result.message
        assert result.iterations < 10**6
        assert result.time < 5
    assert cs.solve(problem, max_seconds=0).iterations <= 1
    with pytest.raises(ValueError, match="max_seconds is -1: it must be at least 0"):
        cs.Solver(problem, max_seconds=-1)
    with pytest.raises(TypeError, match="max_seconds is '1': a number is needed"):
        cs.Solver(problem, max_seconds="1")


def test_seconds_end_a_solve_within_a_factor():
    problem = cs.scenarios.ball_grid(12, mass=1.0, velocity=0.1)
    method = cs.methods.newton(start=0)
    result = cs.solve(problem, method=method, rtol=1e-300, max_seconds=0.02)
    assert (result.status, result.iterations) == ("max_seconds", 0)


def test_updates_are_noticed():
    problem = heavy_stack()
    solver = cs.Solver(problem, rtol=1e-8, **LONG)
    assert solver.solve().converged
    problem.update(Minv=0.5 * problem.Minv)
    result = solver.solve()
    assert result.converged
    np.testing.assert_array_equal(result.impulses, cs.solve(problem, rtol=1e-8, **LONG).impulses)


def test_no_number_of_iterations_ends_the_chain_by_default():
    """1,000 iterations ended it on problems that it solves in a tenth of a second."""
    problem = cs.scenarios.ball_grid(8, velocity=0.05, rng=0)
    assert cs.solve(problem, max_iterations=1000).status == "max_iterations"
    result = cs.solve(problem)
    assert result.converged
    assert result.iterations > 1000
    assert cs.solve(problem, method="gauss_seidel", rtol=1e-9).iterations == 1000
    exactly = cs.solve(problem, rtol=None, atol=None)
    assert exactly.iterations == 1000


def test_seconds_end_the_chain_by_default(monkeypatch):
    monkeypatch.setattr("contactsolve.solver._SECONDS_OF_AUTO", 0.05)
    problem = cs.scenarios.ball_grid(12, velocity=0.05, rng=0)
    result = cs.solve(problem, rtol=1e-300)
    assert result.status in ("max_seconds", "inaccurate")
    assert result.time < 1.0
    with pytest.raises(TypeError, match="max_seconds is 'soon': a number is needed"):
        cs.Solver(problem, max_seconds="soon")


ROBOTS = sorted((REFERENCE / "robots").glob("*.h5"))


@pytest.mark.parametrize("path", ROBOTS, ids=lambda path: path.stem)
def test_interior_points_solve_what_sweeps_and_newton_do_not(path):
    """Humanoids whose feet slide: the other links end far from a solution, in cycles."""
    problem = cs.load_problem(path)
    result = cs.solve(problem, rtol=1e-6, islands=False, **LONG)
    check_links(result)
    *others, last = result.info["links"]
    assert result.converged
    assert last["method"] == "interior_point"
    assert last["iterations"] < 100
    assert all(link["reached"] > 1e-5 for link in others)

    # Judged without the library: no step of a prox leads away, relative to the largest impulse.
    A = problem.delassus().toarray()
    b, lam = (np.concatenate(list(map(np.ravel, each))) for each in (problem.b, result.impulses))
    step = (A @ lam + b) / np.diag(A)
    rho = 1 / np.diag(A)[:24].reshape(8, 3).max(axis=1)
    contacts = (lam[:24] - np.repeat(rho, 3) * (A @ lam + b)[:24]).reshape(8, 3)
    near = [Disc(3, 0.6).prox(row) for row in contacts]
    bound = problem.sets[1].parameters(28, 1)
    within = np.clip((lam - step)[24:], bound[:, 0], bound[:, 1])
    away = np.concatenate([np.ravel(near), within]) - lam
    assert np.abs(away).max() <= 1e-3 * np.abs(lam).max()

    # A second solve of the same solver has the same bits; a start at the solution needs no round.
    solver = cs.Solver(problem, rtol=1e-6, islands=False, **LONG)
    first, again = solver.solve(), solver.solve()
    for one, other, own in zip(first.impulses, again.impulses, result.impulses, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, own)
    warm = solver.solve(initial=first.impulses)
    assert warm.converged
    assert warm.iterations <= 40


def test_interior_points_run_once_in_a_solve():
    result = cs.solve(heavy_stack(), **endless(max_iterations=60000))
    methods = [link["method"] for link in result.info["links"]]
    assert methods.count("interior_point") <= 1


def test_no_interior_points_where_the_factor_does_not_fit():
    problem = cs.load_problem(ROBOTS[0])
    method = cs.methods.auto(factor_bytes=100)
    result = cs.solve(problem, method=method, rtol=1e-6, islands=False, max_iterations=20000)
    assert not result.converged
    assert {link["method"] for link in result.info["links"]} <= {"nesterov", "nncg"}


def test_interior_points_count_products_of_their_own_solve():
    """A later solve reports its own, not those before the link of the first one."""
    problem = cs.load_problem(ROBOTS[0])
    options = LONG | {"rtol": 1e-6, "islands": False, "scheme": "matrix"}
    b = [each + 0.01 * np.abs(each).max() for each in problem.b]
    solver = cs.Solver(problem, **options)
    solver.solve()
    again, alone = solver.solve(b=b), cs.Solver(problem, **options).solve(b=b)
    assert alone.info["links"][-1]["method"] == "interior_point"
    assert again.info["block_products"] == alone.info["block_products"] > 0


ON_A_PLATFORM = """
import re

import numpy as np
import contactsolve as cs

def kilobytes():  # most so far; getrusage would count those of the process that began this one
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])

n, rng = 400, np.random.default_rng(0)
J = np.zeros((n, 2, 3, 6))
J[:, 0, :, :3], J[:, 1, :, :3] = -np.eye(3), np.eye(3)
J[:, 0, :, 3:] = rng.normal(size=(n, 3, 3))
bodies = np.stack([np.zeros(n, int), np.arange(1, n + 1)], axis=1)
Minv = np.broadcast_to(np.eye(6), (n + 1, 6, 6))
b = rng.normal(size=(n, 3)) - [1.0, 0.0, 0.0]
problem = cs.Problem(J, Minv, b, 0.5, bodies=bodies)
before = kilobytes()
result = cs.solve(
    problem, method=cs.methods.auto(patience=30), rtol=1e-300, atol=1e-300, max_iterations=1000000,
    stop="natural_map_velocity",
)
assert "interior_point" in [link["method"] for link in result.info["links"]]
print(kilobytes() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_interior_points_assemble_no_matrix_of_bodies(tmp_path):
    """Of bodies on one that moves A is dense, while the factor over bodies is not."""
    command = [sys.executable, "-c", ON_A_PLATFORM]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(run.stdout) * 1024 < 8 * (3 * 400) ** 2
