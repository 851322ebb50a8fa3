"""Colourings: proper on every graph, those of S1 section 4.3 in rounds, the same on any threads."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import contactsolve as cs

pytestmark = pytest.mark.threads

orders = cs.orders
quick = settings(deadline=None, max_examples=80, suppress_health_check=[HealthCheck.too_slow])


def problem_of(bodies, count: int, fixed=()) -> cs.Problem:
    """Contacts of one row between these pairs of bodies."""
    bodies = np.asarray(bodies, np.int64).reshape(-1, 2)
    masses = np.ones((count, 3))
    masses[list(fixed)] = 0
    J = np.ones((len(bodies), 2, 1, 3))
    return cs.Problem(J, masses, np.zeros((len(bodies), 1)), bodies=bodies)


def star(contacts: int) -> cs.Problem:
    ends = np.arange(1, contacts + 1)
    return problem_of(np.column_stack([np.zeros_like(ends), ends]), contacts + 1)


def clique(bodies: int) -> cs.Problem:
    return problem_of(np.column_stack(np.triu_indices(bodies, 1)), bodies)


def conflicts_of(problem: cs.Problem, *, fixed_as_body: bool = False) -> list[set[int]]:
    """The contacts that each may not go with, from the bodies alone."""
    movable = np.append(problem.Minv.any(axis=1) | fixed_as_body, False)
    touching: list[list[int]] = [[] for _ in movable]
    for k, pair in enumerate(problem.bodies.tolist()):
        for body in set(pair):
            touching[body].append(k)
    return [
        {other for body in set(pair) if movable[body] for other in touching[body]} - {k}
        for k, pair in enumerate(problem.bodies.tolist())
    ]


def color_in_rounds(conflicts: list[set[int]], ranges: int) -> tuple[list[int], int]:
    """S1 section 4.3: ranges at once, lowest free colours, conflicts anew; without hubs."""
    count = len(conflicts)
    ranges = min(ranges, count)
    cuts = [count * n // ranges for n in range(ranges + 1)]
    of = [n for n in range(ranges) for _ in range(cuts[n], cuts[n + 1])]
    settled: dict[int, int] = {}
    rounds = 0
    while len(settled) < count:
        rounds += 1
        tentative: dict[int, int] = {}
        for k in range(count):
            if k in settled:
                continue
            taken = {settled[j] for j in conflicts[k] if j in settled}
            taken |= {tentative[j] for j in conflicts[k] if j in tentative and of[j] == of[k]}
            tentative[k] = next(c for c in range(count) if c not in taken)
        lost = {
            k
            for k, color in tentative.items()
            if any(of[j] < of[k] and tentative.get(j) == color for j in conflicts[k])
        }
        settled.update({k: color for k, color in tentative.items() if k not in lost})
    used = sorted(set(settled.values()))
    return [used.index(settled[k]) for k in range(count)], rounds


def assert_proper(problem: cs.Problem, found: orders.Schedule, *, fixed_as_body=False) -> int:
    """No conflict inside a colour; returns the highest degree."""
    conflicts = conflicts_of(problem, fixed_as_body=fixed_as_body)
    for k, others in enumerate(conflicts):
        assert all(found.stage[k] != found.stage[j] for j in others), k
    assert found.color_sizes.tolist() == np.bincount(found.stage).tolist()
    assert found.rounds >= 1
    return max((len(others) for others in conflicts), default=0)


@st.composite
def graphs(draw) -> cs.Problem:
    """Any contacts: duplicates, a body with itself, the fixed world, immovable bodies."""
    count = draw(st.integers(1, 9))
    body = st.integers(-1, count - 1)
    bodies = draw(st.lists(st.tuples(body, body), max_size=40))
    return problem_of(bodies, count, draw(st.sets(st.integers(0, count - 1), max_size=2)))


@quick
@given(
    graphs(),
    st.sampled_from(["greedy", "balanced"]),
    st.sampled_from(["degree", "tentative", 3]),
    st.booleans(),
    st.booleans(),
    st.integers(1, 9),
)
def test_colours_are_proper(problem, strategy, aim, multiple, fixed_as_body, parts):
    for parallel in (False, True):
        order = orders.colored(
            strategy,
            **({"colors": aim, "multiple_of_parts": multiple} if strategy == "balanced" else {}),
            fixed_as_body=fixed_as_body,
            parallel=parallel,
        )
        found = orders.describe(problem, order, parts=parts)
        if problem.contacts:
            degree = assert_proper(problem, found, fixed_as_body=fixed_as_body)
            assert found.rounds <= (parts if parallel else 1)
            if strategy == "greedy":
                assert found.colors <= degree + 1
        else:
            assert (found.colors, found.rounds) == (0, 0)


@quick
@given(graphs(), st.integers(1, 9))
def test_parallel_colours_are_those_of_the_rounds(problem, parts):
    found = orders.describe(problem, orders.colored(parallel=True), parts=parts)
    if problem.contacts:
        colors, rounds = color_in_rounds(conflicts_of(problem), parts)
        assert (found.stage.tolist(), found.rounds) == (colors, rounds)


@quick
@given(graphs(), st.sampled_from(["greedy", "balanced"]))
def test_one_range_is_the_sequential_colouring(problem, strategy):
    one = orders.describe(problem, orders.colored(strategy, parallel=True), parts=1)
    plain = orders.describe(problem, orders.colored(strategy), parts=1)
    np.testing.assert_array_equal(one.stage, plain.stage)


@quick
@given(st.integers(1, 12), st.integers(0, 2**31), st.integers(1, 5), st.booleans())
def test_colours_of_a_given_matrix(count, seed, parts, parallel):
    """A may be unsymmetric: a conflict seen from one side is one."""
    rng = np.random.default_rng(seed)
    A = np.eye(count) + (rng.random((count, count)) < 0.2)
    problem = cs.Problem.from_delassus(A, -np.ones(count), rows=1)
    found = orders.describe(problem, orders.colored(parallel=parallel), parts=parts)
    together = found.stage[:, None] == found.stage[None]
    assert not ((A != 0) & together)[~np.eye(count, dtype=bool)].any()


@pytest.mark.parametrize("strategy", ["greedy", "balanced"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: star(1000),
        lambda: clique(24),
        # Two bodies that touch very often; a hub with all its leaves touching another one.
        lambda: problem_of([[0, 1]] * 300, 2),
        lambda: problem_of(
            [[hub, leaf] for hub in (0, 1) for leaf in range(2, 302)] + [[0, 1]], 302
        ),
        # Hubs of quite different sizes, in one chain.
        lambda: problem_of(
            [[0, i] for i in range(3, 903)] + [[1, i] for i in range(3, 203)] + [[2, 1]] * 140, 903
        ),
    ],
)
def test_hubs(make, strategy):
    problem = make()
    for parallel, parts in ((False, 1), (True, 2), (True, 7)):
        order = orders.colored(strategy, parallel=parallel)
        found = orders.describe(problem, order, parts=parts)
        assert found.colors <= assert_proper(problem, found) + 1
        assert found.rounds <= parts


def test_a_star_takes_as_many_colours_as_contacts_and_rounds_as_ranges():
    for parts in (1, 3, 8):
        found = orders.describe(star(400), orders.colored(parallel=True), parts=parts)
        assert (found.colors, found.rounds) == (400, parts)


def test_rounds_are_told():
    """Two ranges that meet at one pair of contacts: that one is coloured anew."""
    problem = problem_of([[0, 1], [1, 2], [2, 3], [3, 4]], 5)
    solver = cs.Solver(problem, order=orders.colored(parallel=True), parts=2)
    # Both ranges begin with colour 0, then 1: contact 1 has 1, contact 2 has 0.
    assert (solver.info["rounds"], solver.info["colors"]) == (1, 2)
    problem = problem_of([[0, 1], [1, 2]], 3)
    solver = cs.Solver(problem, order=orders.colored(parallel=True), parts=2)
    assert (solver.info["rounds"], solver.info["colors"]) == (2, 2)
    assert cs.Solver(problem, order="colored").info["rounds"] == 1
    assert cs.Solver(problem).info["rounds"] == 0


@pytest.mark.parametrize("strategy", ["greedy", "balanced"])
def test_threads_do_not_change_a_colour(strategy):
    """The same impulses, which follow the colours, whatever the threads that found them."""
    rng = np.random.default_rng(4)
    bodies = rng.integers(-1, 400, size=(3000, 2))
    bodies[:400, 0] = 0  # a hub
    problem = problem_of(bodies, 400)
    b = rng.normal(size=(3000, 1))
    options = {"order": orders.colored(strategy, parallel=True), "parts": 6}
    options |= {"rtol": None, "atol": None, "max_iterations": 2}
    results = [
        cs.Solver(problem, threads=threads, exact_threads=True, **options).solve(b=b)
        for threads in (1, 2, 3, 8)
    ]
    assert results[0].info["rounds"] > 1
    found = [
        orders.describe(
            problem, options["order"], parts=6, threads=threads, exact_threads=True
        ).stage
        for threads in (1, 2, 3, 8)
    ]
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].impulses, other.impulses)


def test_colouring_of_a_hub_is_not_quadratic():
    """Ten times the contacts take about ten times the work; a hundred times would not pass."""

    def seconds(contacts, order):
        problem = star(contacts)
        best = np.inf
        for _ in range(3):
            start = time.process_time()
            orders.describe(problem, order, parts=4)
            best = min(best, time.process_time() - start)
        return best

    for order in (orders.colored(), orders.colored("balanced")):
        assert seconds(100_000, order) < 40 * seconds(10_000, order) + 0.05
