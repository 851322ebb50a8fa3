"""`orders.describe`: what an order makes of a problem, against hand counts and what solvers do."""

from __future__ import annotations

import numpy as np
import pytest

import contactsolve as cs
from agreement import EXACTLY, generator, package_set
from reference_numpy import random_problem

pytestmark = pytest.mark.threads

orders = cs.orders


def problem_of(arrays) -> cs.Problem:
    return cs.Problem(
        arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
    )


@pytest.fixture(scope="module")
def grid():
    """S1's medium ball grid, the ground counted as a body."""
    return cs.scenarios.ball_grid(24, ground="body", contact_order="forward")


@pytest.fixture(scope="module")
def chain():
    """Ten spheres in a row, each touching the next: nine contacts."""
    J = np.ones((9, 2, 1, 3))
    bodies = np.column_stack([np.arange(9), np.arange(1, 10)])
    return cs.Problem(J, np.ones((10, 3)), np.zeros((9, 1)), bodies=bodies)


def test_s1_greedy_colours(grid):
    """S1 section 7.3, math: 6912 to 5329 contacts in six colours, 570 of one contact."""
    found = orders.describe(grid, orders.colored(fixed_as_body=True))
    assert found.color_sizes[:6].tolist() == [6912, 6911, 6898, 6906, 6794, 5329]
    assert found.color_sizes[6:].tolist() == [1] * 570
    assert (found.colors, found.stages, found.rounds) == (576, 576, 1)
    assert (found.smallest, found.largest) == (1, 6912)
    np.testing.assert_array_equal(found.sizes, found.color_sizes)
    assert set(found.kinds) == {"independent"}
    assert found.synchronizations == 576
    # 14 chunks of 512 in 6912 contacts, the last of 256.
    assert found.parts.tolist() == [14, 14, 14, 14, 14, 11] + [1] * 570
    assert found.balance[0] == pytest.approx(512 / (6912 / 14))
    chunks = [min(512, size - at) for size in found.sizes for at in range(0, size, 512)]
    for lanes in (4, 8):
        assert found.fill[lanes] == 40320 / sum(-(-chunk // lanes) * lanes for chunk in chunks)


def test_s1_balanced_colours(grid):
    found = orders.describe(grid, orders.colored("balanced", fixed_as_body=True))
    assert found.colors == 580
    assert (found.smallest, found.largest) == (69, 70)
    assert found.fill[4] == found.fill[8] == 40320 / (580 * 72)


def test_s1_relaxed_colours_keep_their_sizes(grid):
    found = orders.describe(grid, orders.relaxed(100, fixed_as_body=True))
    assert (found.colors, found.stages) == (576, 7)
    assert found.sizes.tolist() == [6912, 6911, 6898, 6906, 6794, 5329, 570]
    assert found.kinds.tolist() == ["independent"] * 6 + ["simultaneous"]
    assert found.color_sizes.sum() == 40320


def test_a_chain_by_hand(chain):
    found = orders.describe(chain, "colored")
    assert found.visits.tolist() == [0, 2, 4, 6, 8, 1, 3, 5, 7]
    assert found.stage.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    assert found.part.tolist() == [0] * 9
    assert found.place.tolist() == [0, 5, 1, 6, 2, 7, 3, 8, 4]
    assert found.row_blocks.tolist() == [2, 3, 3, 3, 3, 3, 3, 3, 2]
    assert found.fill == {4: 9 / 12, 8: 9 / 16}
    assert found.balance.tolist() == found.balance_blocks.tolist() == [1, 1]
    ranges = orders.describe(chain, "ranges", parts=4)
    assert ranges.kinds.tolist() == ["concurrent"]
    assert ranges.part.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 3]
    assert ranges.parts.tolist() == [4]
    assert ranges.balance.tolist() == [3 / (9 / 4)]
    assert ranges.balance_blocks.tolist() == [8 / (25 / 4)]
    assert all(np.isnan(share) for share in ranges.fill.values())
    assert (ranges.colors, ranges.rounds) == (0, 0)


def test_jacobi_makes_one_stage_of_any_order(chain):
    found = orders.describe(chain, "colored", method="jacobi")
    assert (found.kinds.tolist(), found.sizes.tolist()) == (["simultaneous"], [9])
    assert (found.colors, found.rounds, found.method) == (0, 0, "jacobi")
    assert found.visits.tolist() == [0, 2, 4, 6, 8, 1, 3, 5, 7]


@pytest.mark.parametrize(
    "order", ["auto", "reverse", "random", "colored", "ranges", np.arange(20)[::-1]]
)
def test_it_is_what_a_solver_does(order):
    """One after another, in the order of the visits: a sweep in which no values are hidden."""
    problem = problem_of(random_problem(generator("describe"), 20, 12, 3, 6, "disc"))
    options = {"rng": 3, "parts": 1}
    found = orders.describe(problem, order, **options)
    solver = cs.Solver(problem, order=order, **options)
    info = solver.info
    assert (found.order, found.method) == (info["order"], info["method"])
    assert (found.stages, found.colors, found.rounds) == (
        info["stages"],
        info["colors"],
        info["rounds"],
    )
    sweeps = {"max_iterations": 2, "scheme": "matrix", **EXACTLY}
    one = cs.solve(problem, order=order, rng=3, parts=1, **sweeps)
    listed = cs.solve(problem, order=found.visits, **sweeps)
    np.testing.assert_allclose(one.impulses, listed.impulses, rtol=0, atol=1e-13)


COLORED_ELSEWHERE = {
    "partition": orders.partition(),
    "partition in turn": orders.partition(border="sequential"),
    "checkerboard": orders.partition(border="checkerboard"),
    "regions": orders.regions(3),
    "cache": orders.cache(),
    "chunks": orders.cache(domains=False, chunk=7),
    "contact sets": orders.contact_sets(colored=True),
    "simultaneous sets": orders.contact_sets("simultaneous", colored=True),
}


@pytest.mark.parametrize("name", COLORED_ELSEWHERE)
@pytest.mark.parametrize("given", [False, True])
def test_sizes_of_colours_of_a_part_of_the_contacts(name, given):
    """Orders that colour a border, chunks or contact sets tell the sizes of these colours."""
    problem = problem_of(random_problem(generator("sizes"), 30, 12, 3, 6, "disc"))
    if given:
        problem = cs.Problem.from_delassus(problem.delassus(), problem.b, 0.5)
    order = COLORED_ELSEWHERE[name]
    found = orders.describe(problem, order, parts=3)
    assert found.colors == cs.Solver(problem, order=order, parts=3).info["colors"]
    if name == "chunks":
        assert found.colors > 1
        assert (found.color_sizes.sum(), found.color_sizes.min() > 0) == (30, True)
    elif name == "partition in turn":
        assert found.colors == 0
    else:
        assert found.colors > 0
        assert found.color_sizes.tolist() == found.sizes[found.stages - found.colors :].tolist()
    assert f"{found.colors:,} color" in repr(found) or not found.colors
    flat = orders.describe(problem, order, parts=3, method="jacobi")
    assert (flat.colors, flat.color_sizes.tolist()) == (0, [])


def test_blocks_of_each_row():
    """S1 Corollary 3.2, with pairs that touch twice, bodies with themselves and fixed ones."""
    rng = generator("rows")
    for case in range(20):
        arrays = random_problem(rng, 25, int(rng.integers(2, 12)), 1, 3, "half_line")
        arrays.bodies[rng.integers(25, size=3)] = rng.integers(0, 2)
        problem = problem_of(arrays)
        movable = np.append(arrays.Minv.reshape(len(arrays.Minv), -1).any(axis=1), False)
        touching = [{b for b in pair if movable[b]} for pair in arrays.bodies.tolist()]
        wanted = [sum(bool(one & other) for other in touching) for one in touching]
        found = orders.describe(problem).row_blocks
        assert found.tolist() == wanted, case
        assert found.sum() == problem.count_blocks()
    A = problem.delassus().toarray()
    given = orders.describe(cs.Problem.from_delassus(A, problem.b, rows=1)).row_blocks
    # A given A keeps its diagonal where it is zero.
    np.testing.assert_array_equal(given, np.maximum(np.count_nonzero(A, axis=1), 1))


def test_without_contacts():
    problem = cs.Problem(
        np.zeros((0, 2, 3, 6)), np.eye(6)[None], np.zeros((0, 3)), bodies=np.zeros((0, 2), int)
    )
    for order in ("natural", "colored", "ranges", orders.extreme()):
        found = orders.describe(problem, order)
        assert (found.contacts, found.stages, found.smallest, found.largest) == (0, 0, 0, 0)
        assert repr(found) == f"Schedule({found.order}, 0 contacts, no stages)"
        assert "<table>" in found._repr_html_()


def test_groups_fill_lanes_by_themselves():
    J = np.ones((5, 2, 1, 3))
    bodies = np.column_stack([np.arange(5), np.full(5, -1)])
    shifted = [bodies, bodies + np.array([5, 0])]
    groups = [cs.Group(J, pairs, np.zeros((5, 1))) for pairs in shifted]
    problem = cs.Problem(groups=groups, bodies=[cs.Bodies(np.ones((10, 3)))])
    found = orders.describe(problem, "colored")
    assert found.sizes.tolist() == [10]
    assert found.fill == {4: 10 / 16, 8: 10 / 16}


def test_how_it_is_shown(grid):
    found = orders.describe(grid, orders.relaxed(100, unsafe="ranges", fixed_as_body=True), parts=5)
    assert repr(found) == (
        "Schedule(colored, 40,320 contacts, 6 independent stages of 5,329 to 6,912, "
        "1 concurrent stage of 570, 576 colors, up to 14 parts at once)"
    )
    table = found._repr_html_()
    for text in ("576, 1 to 6,912 contacts each", "full lanes", "<td>concurrent</td>"):
        assert text in table
    many = orders.describe(grid, orders.colored(fixed_as_body=True))
    assert many._repr_html_().count("<tr>") < 30


def test_without_a_problem_all_orders_are_listed():
    assert list(orders.describe()) == [*orders.names(), "relaxed", "subtasks", "extreme"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"order": "sorted"}, ValueError, "order: 'sorted' is unknown; known: auto, natural"),
        ({"method": "sor"}, ValueError, "method: 'sor' is unknown; known: auto, "),
        ({"method": 3}, TypeError, "method is 3: a name is needed"),
        ({"order": "ranges", "parts": 0}, ValueError, "parts is 0: it must be at least 1"),
        ({"threads": -1}, ValueError, "threads is -1: it must be at least 0"),
        ({"threads": "two"}, TypeError, "threads is 'two': an integer is needed"),
        ({"parts": 2.5}, TypeError, "parts is 2.5: an integer is needed"),
        ({"order": "given"}, ValueError, "order='given' needs a permutation"),
        ({"order": [0, 1, 1, 2, 3, 4, 5, 6, 7]}, ValueError, r"order\[2\] is 1, as order\[1\] is"),
        ({"order": [0, 1]}, ValueError, "order has 2 entries; the problem has 9 contacts"),
        ({"order": "random", "rng": -1}, ValueError, "rng is -1"),
    ],
)
def test_wrong_options(chain, options, error, message):
    with pytest.raises(error, match=message):
        orders.describe(chain, **options)


def test_a_problem_is_needed():
    with pytest.raises(TypeError, match="problem is str: a Problem is needed"):
        orders.describe("ball_grid")


@pytest.mark.parametrize("order", orders.names())
def test_orders_by_name_are_described(order):
    grid = cs.scenarios.ball_grid(5)
    if order == "given":
        order = np.arange(grid.contacts)[::-1]
    found = orders.describe(grid, order, parts=3, rng=0)
    assert sorted(found.visits) == list(range(grid.contacts))
    assert found.sizes.sum() == grid.contacts
    assert found.colors == cs.Solver(grid, order=order, parts=3, rng=0).info["colors"]


@pytest.mark.parametrize(
    "order",
    [
        orders.partition("natural"),
        orders.partition("natural", border="checkerboard"),
        orders.contact_sets("simultaneous", colored=True),
        orders.contact_sets(colored=True),
        orders.regions(5),
        orders.cache(chunk=30),
        orders.cache(chunk=30, domains=False),
    ],
)
def test_sizes_of_the_colours_of_other_orders(order):
    """Colours are the stages behind the first, or those of a chunk one after another."""
    grid = cs.scenarios.ball_grid(5)
    found = orders.describe(grid, order, parts=3)
    assert found.colors == cs.Solver(grid, order=order, parts=3).info["colors"] > 1
    if order.settings.get("domains", True):
        np.testing.assert_array_equal(found.color_sizes, found.sizes[-found.colors :])
        return
    start = np.cumsum(found.sizes) - found.sizes
    color, wanted = 0, np.zeros(found.colors, int)
    for s in range(found.stages):
        color = 0 if start[s] % 30 == 0 else color + 1
        wanted[color] += found.sizes[s]
    np.testing.assert_array_equal(found.color_sizes, wanted)


def test_blocks_are_those_of_a_problem():
    with pytest.raises(TypeError, match="problem is ndarray: a Problem is needed"):
        cs.block_count(np.eye(3))
