"""How stages are cut: by blocks of A, into subtasks, one contact each; and that no bit changes."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import contactsolve as cs
from agreement import EXACTLY, SCHEMES, generator, package_set
from reference_numpy import random_problem

pytestmark = pytest.mark.threads

orders = cs.orders
quick = settings(deadline=None, max_examples=60)


def problem_of(arrays) -> cs.Problem:
    return cs.Problem(
        arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
    )


def graph(bodies) -> cs.Problem:
    bodies = np.asarray(bodies, np.int64).reshape(-1, 2)
    count, contacts = int(bodies.max(initial=0)) + 1, len(bodies)
    J = np.ones((contacts, 2, 1, 3))
    return cs.Problem(J, np.ones((count, 3)), np.zeros((contacts, 1)), bodies=bodies)


def greedy_cuts(weights, parts: int) -> list[int]:
    """S1 section 3.7.3: contacts are added until a part's end is at its share of N."""
    total, begins, share = sum(weights), [], 0
    for place in range(len(weights)):
        done = sum(weights[:place])
        if done * parts >= share * total and share < parts:
            begins.append(place)
            share = done * parts // total + 1
    return begins


def begins(found: orders.Schedule) -> list[int]:
    """The visits with which a part begins."""
    key = np.column_stack([found.stage, found.part])[found.visits]
    changes = (np.diff(key, axis=0) != 0).any(axis=1)
    return [0, *(np.flatnonzero(changes) + 1).tolist()] if len(key) else []


pairs = st.lists(st.tuples(st.integers(-1, 6), st.integers(0, 6)), min_size=1, max_size=40)


@quick
@given(pairs, st.integers(1, 12))
def test_weighted_ranges_are_as_even_as_the_greedy_rule(bodies, parts):
    found = orders.describe(graph(bodies), orders.ranges(weighted=True), parts=parts)
    weights = found.row_blocks[found.visits].tolist()
    assert begins(found) == greedy_cuts(weights, parts)
    blocks = np.bincount(found.part, weights=found.row_blocks)
    assert len(blocks) <= parts
    assert (blocks < sum(weights) / parts + max(weights)).all()


@quick
@given(pairs, st.integers(1, 4), st.integers(1, 6), st.booleans())
def test_subtasks_are_even(bodies, parts, count, weighted):
    """Of blocks of A by the greedy rule, of contacts to within one; none is empty."""
    order = orders.subtasks("reverse", count, weighted=weighted)
    found = orders.describe(graph(bodies), order, parts=parts, method="jacobi")
    tasks = min(parts * count, len(bodies))
    sizes = np.bincount(found.part)
    if weighted and tasks < len(bodies):
        weights = found.row_blocks[found.visits].tolist()
        assert begins(found) == greedy_cuts(weights, tasks)
    else:
        assert len(sizes) == tasks
        assert np.ptp(sizes) <= 1
    assert found.visits.tolist() == list(range(len(bodies)))[::-1]


def test_every_stage_is_cut_that_may_be():
    problem = cs.scenarios.ball_grid(6)
    plain = orders.describe(problem, orders.relaxed(60, unsafe="ranges"), parts=3)
    order = orders.subtasks(orders.relaxed(60, unsafe="ranges"), 4, weighted=False)
    cut = orders.describe(problem, order, parts=3)
    assert cut.kinds.tolist() == plain.kinds.tolist()
    assert set(plain.kinds) == {"independent", "concurrent"}
    np.testing.assert_array_equal(cut.parts, np.where(cut.kinds == "concurrent", 3, 12))
    np.testing.assert_array_equal(plain.parts, np.where(cut.kinds == "concurrent", 3, 1))
    unsafe = orders.describe(problem, orders.subtasks(orders.relaxed(10**6), 4), parts=3)
    assert (unsafe.kinds.tolist(), unsafe.parts.tolist()) == (["simultaneous"], [12])


def test_extreme_has_a_task_for_each_contact():
    problem = cs.scenarios.ball_grid(5)
    found = orders.describe(problem, orders.extreme("colored"), parts=2)
    np.testing.assert_array_equal(found.parts, found.sizes)
    flat = orders.describe(problem, orders.extreme(), method="jacobi")
    assert flat.parts.tolist() == [problem.contacts]
    assert found.fill == {4: 0.25, 8: 0.125}


def test_contacts_that_nothing_moves_are_cut_by_their_number():
    """All rows of A are empty: there are no blocks to share out."""
    J = np.ones((10, 2, 1, 3))
    bodies = np.column_stack([np.full(10, -1), np.zeros(10, int)])
    problem = cs.Problem(J, np.zeros((1, 3)), np.zeros((10, 1)), bodies=bodies)
    found = orders.describe(problem, orders.ranges(weighted=True), parts=5)
    assert np.bincount(found.part).tolist() == [2] * 5


def test_relaxed_ranges_may_be_weighted():
    """A hub's contacts cost more than those of a chain."""
    chain = [[i, i + 1] for i in range(20, 60)]
    problem = graph([[0, i] for i in range(1, 20)] + chain)
    plain, weighted = (
        orders.describe(problem, orders.relaxed(10**6, unsafe="ranges", weighted=w), parts=4)
        for w in (False, True)
    )
    assert weighted.balance_blocks[0] < 1.15 < plain.balance_blocks[0]
    assert weighted.balance[0] > plain.balance[0]


@pytest.mark.parametrize("order", ["natural", "random", "ranges", "contact_sets", [3, 1, 0, 2]])
@pytest.mark.parametrize("cut", [orders.extreme, orders.subtasks])
def test_orders_in_turn_have_nothing_to_cut(order, cut):
    """Nothing that threads could share in another way: the option has no effect and is refused."""
    problem = cs.scenarios.box_stack(1)
    told = "subtasks have no effect: order='.*' makes no simultaneous or independent stages here"
    with pytest.raises(ValueError, match=told):
        orders.describe(problem, cut(order), method="gauss_seidel")
    with pytest.raises(ValueError, match=told):
        cs.Solver(problem, method="gauss_seidel", order=cut(order))
    assert orders.describe(problem, cut(order), method="jacobi").kinds.tolist() == ["simultaneous"]
    assert orders.describe(problem, cut("auto"), method="gauss_seidel").contacts == 4


CUTS = {
    "subtasks": lambda order: orders.subtasks(order, 3),
    "of contacts": lambda order: orders.subtasks(order, 5, weighted=False),
    "extreme": orders.extreme,
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("method", "name"),
    [
        *(("jacobi", name) for name in ("natural", "random", "colored", "relaxed", "ranges")),
        *(("gauss_seidel", name) for name in ("colored", "relaxed")),  # others are not cut
    ],
)
def test_cuts_do_not_change_a_bit(method, name, cut, scheme):
    order = orders.relaxed(8) if name == "relaxed" else name
    problem = problem_of(random_problem(generator("cuts"), 120, 40, 3, 6, "disc"))
    options = {"method": method, "scheme": scheme, "max_iterations": 5, **EXACTLY}
    options |= {"rng": 5} if name == "random" else {}
    # How full batches of contacts are depends on the cuts, and which kernel visits them on that.
    options |= {"record": ("residual", "merit"), "instructions": "scalar"}
    plain = cs.solve(problem, order=order, **options)
    finer = cs.solve(problem, order=CUTS[cut](order), threads=3, exact_threads=True, **options)
    np.testing.assert_array_equal(plain.impulses, finer.impulses)
    np.testing.assert_array_equal(plain.history["residual"], finer.history["residual"])
    np.testing.assert_allclose(plain.history["merit"], finer.history["merit"], rtol=1e-13)


def kinds_of_order(contacts: int = 4896) -> dict[str, object]:
    """Every order by its name, and those that have options of their own."""
    permutation = np.random.default_rng(3).permutation(contacts)
    named = {name: permutation if name == "given" else name for name in orders.names()}
    return named | {
        "balanced": orders.colored("balanced"),
        "parallel": orders.colored(parallel=True),
        "relaxed": orders.relaxed(400),
        "relaxed ranges": orders.relaxed(10**6, unsafe="ranges", weighted=True),
        "weighted ranges": orders.ranges(weighted=True),
        "subtasks": orders.subtasks("colored", 7),
        "extreme": orders.extreme("colored"),
    }


@pytest.fixture(scope="module")
def grid():
    problem = cs.scenarios.ball_grid(12)
    assert problem.contacts == 4896
    return problem


@pytest.mark.sampled(4)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", kinds_of_order())
def test_one_hash_from_one_to_eight_threads(name, scheme, grid):
    # A dense matrix of 12³ balls would have a gigabyte.
    grid = cs.scenarios.ball_grid(6) if scheme == "dense" else grid
    order = kinds_of_order(grid.contacts)[name]
    hashes = set()
    for threads in range(1, 9):
        result = cs.solve(
            grid,
            method="gauss_seidel",
            scheme=scheme,
            order=order,
            rng=1,
            threads=threads,
            exact_threads=True,
            max_iterations=3,
            record=("residual", "merit"),
            **EXACTLY,
        )
        digest = hashlib.sha256(result.impulses.tobytes())
        for column in ("residual", "merit"):
            digest.update(result.history[column].tobytes())
        hashes.add(digest.hexdigest())
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("order", "tasks"),
    [("auto", 10), (orders.subtasks("natural", 2), 16), (orders.extreme(), 4896)],
)
def test_jacobi_keeps_its_cuts(order, tasks, grid):
    """As many tasks as asked for, of one flat stage, and one hash here, too."""
    assert orders.describe(grid, order, method="jacobi").parts.tolist() == [tasks]
    options = {"method": "jacobi", "order": order, "max_iterations": 3, **EXACTLY}
    one, *others = (
        cs.solve(grid, threads=threads, exact_threads=True, **options) for threads in (1, 2, 5, 8)
    )
    for other in others:
        np.testing.assert_array_equal(one.impulses, other.impulses)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: orders.subtasks(count=0), ValueError, "count is 0: at least 1 is needed"),
        (lambda: orders.subtasks(count=2.5), TypeError, "count is 2.5: an integer is needed"),
        (
            lambda: cs.Solver(cs.scenarios.box_stack(1), order=orders.extreme("sorted")),
            ValueError,
            "order: 'sorted' is unknown",
        ),
    ],
)
def test_wrong_options(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_permutation_can_be_cut():
    problem = cs.scenarios.box_stack(2)
    found = orders.describe(problem, orders.extreme(np.arange(8)[::-1]), method="jacobi")
    assert found.visits.tolist() == list(range(8))[::-1]
    assert found.parts.tolist() == [8]
