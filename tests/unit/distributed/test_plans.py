"""Labels, colours and stages that ranks find together are those of one process."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core
from contactsolve.distributed._plan import plan_of
from distributed_problems import PROBLEMS, SIZES, hub, random_labels
from ranks import on_ranks

distributed, orders = cs.distributed, cs.orders

ORDERS = {
    "colored": orders.colored(),
    "hashed": orders.colored(priority="hash"),
    "border": orders.partition,
    "hashed border": orders.partition,
    "checkerboard": orders.partition,
}


def order_of(name: str, labels: np.ndarray) -> cs.orders.Order:
    """The order of one process, with labels where it has parts."""
    if name in ("colored", "hashed"):
        return ORDERS[name]
    border = "checkerboard" if name == "checkerboard" else "colored"
    options = {"priority": "hash"} if name == "hashed border" else {}
    return orders.partition(labels, border=border, **options)


def clique(bodies: int) -> cs.Problem:
    """Every two of some bodies touch: more than 64 colours."""
    pairs = np.column_stack(np.triu_indices(bodies, 1))
    J = np.random.default_rng(1).normal(size=(len(pairs), 2, 1, 3))
    return cs.Problem(J, np.ones((bodies, 3)), np.zeros((len(pairs), 1)), bodies=pairs)


CASES = {**PROBLEMS, "clique": lambda: clique(75)}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", CASES)
def test_plans_are_those_of_one_process(name, order, size):
    problem, parts = CASES[name](), 6
    labels = random_labels(problem, parts)
    # One process takes as many parts as the labels of bodies with contacts name.
    labels[problem._partners()[0, 1]] = parts - 1
    if name == "hub":
        labels[3] = parts - 1
    assert_plans(problem, labels, parts, order, size)


def assert_plans(problem, labels, parts, order, size) -> None:
    """The stages of all ranks are those of one process."""
    chosen = order_of(order, labels)
    whole = orders.describe(problem, chosen, parts=parts)

    def planned(comm):
        found = distributed.scatter(problem, labels=labels, parts=parts, comm=comm)
        return found.share, plan_of(found.share, chosen)

    stages = {name: number for number, name in enumerate(_core.stage_kinds())}
    kinds = [stages[kind] for kind in whole.kinds]
    for share, plan in on_ranks(size, planned):
        # The process has no stage without contacts.
        stage = np.repeat(np.arange(len(plan.kind)), np.diff(plan.start))
        of_contact = np.empty(len(stage), np.int64)
        of_contact[plan.block] = stage
        shift = len(plan.kind) - len(kinds)  # 1 if there are no interiors
        assert plan.kind[shift:].tolist() == kinds
        assert (of_contact - shift).tolist() == whole.stage[share.contact].tolist()
        assert sorted(plan.block.tolist()) == list(range(len(share.contact)))

        # The sequence within disjoint stages, and which contacts are in one part of them.
        place = np.empty(problem.contacts, np.int64)
        place[whole.visits] = np.arange(problem.contacts)
        visits = share.contact[plan.block]
        disjoint = plan.kind[stage] == stages["disjoint"]
        assert (np.diff(place[visits[disjoint]]) > 0).all()
        theirs = whole.part[visits]
        same = (theirs[1:] == theirs[:-1]) & (stage[1:] == stage[:-1])
        begins = np.append(True, ~same)[: len(visits)] & disjoint
        assert plan.cut.tolist() == begins.tolist()
        assert plan.colors == len(whole.color_sizes)


@pytest.mark.parametrize("order", ORDERS)
def test_plans_of_random_problems(order):
    """Contacts of one to four bodies, some of them immovable, the same or the world; hubs."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        contacts, bodies, partners = rng.integers([1, 9, 1], [200, 30, 5])
        pairs = rng.integers(-1, bodies, (contacts, partners))
        if seed % 3 == 0:
            pairs[:, 0] = rng.integers(0, 2, contacts)
        inverse = rng.uniform(0.5, 2, (bodies, 3))
        inverse[rng.random(bodies) < 0.15] = 0
        J = rng.normal(size=(contacts, partners, 2, 3))
        problem = cs.Problem(J, inverse, np.zeros((contacts, 2)), 0.3, bodies=pairs)
        parts = int(rng.integers(1, 8))
        labels = rng.integers(0, parts, bodies)

        # One process takes as many parts as the labels of bodies with contacts name.
        used = np.zeros(bodies + 1, bool)
        used[pairs] = True
        moving = np.flatnonzero(used[:-1] & inverse.any(axis=1))
        if len(moving):
            labels[moving[0]] = parts - 1
            assert_plans(problem, labels, parts, order, int(rng.integers(1, parts + 1)))


@pytest.mark.parametrize("size", SIZES)
def test_hashes_need_few_rounds(size):
    """A chain in the sequence of its numbers needs many more rounds than hashes."""
    count = 100
    pairs = np.column_stack([np.arange(count), np.arange(1, count + 1)])
    problem = cs.Problem(
        np.ones((count, 2, 1, 1)), np.ones((count + 1, 1)), np.zeros((count, 1)), bodies=pairs
    )
    labels = np.arange(count + 1) % 5

    def rounds(comm):
        share = distributed.scatter(problem, labels=labels, parts=5, comm=comm).share
        return [plan_of(share, orders.colored(priority=one)).rounds for one in ("natural", "hash")]

    for natural, hashed in on_ranks(size, rounds):
        if size == 1:
            assert (natural, hashed) == (1, 1)
        else:
            assert hashed < 12 < natural


@pytest.mark.parametrize("size", SIZES)
def test_jacobi_takes_any_order_in_one_stage(size):
    problem = cs.scenarios.ball_grid(3)

    def planned(comm):
        share = distributed.scatter(problem, parts=5, comm=comm).share
        return share, plan_of(share, orders.chosen("natural"), simultaneous=True)

    for share, plan in on_ranks(size, planned):
        assert plan.block.tolist() == list(range(len(share.contact)))
        assert [_core.stage_kinds()[kind] for kind in plan.kind] == ["simultaneous"]


def test_orders_that_ranks_cannot_share_are_named():
    problem = cs.scenarios.ball_grid(2)

    def planned(comm, order, parts):
        share = distributed.scatter(problem, parts=parts, comm=comm).share
        return plan_of(share, orders.chosen(order))

    assert on_ranks(1, planned, "natural", 1)[0].kind.tolist() == [0]
    for order, message in {
        "natural": "order='natural' is sequential, which 2 parts cannot share",
        "cache": "not for distributed problems",
        orders.colored("balanced"): "not for distributed problems",
        orders.partition(border="sequential"): "border='sequential' visits",
        orders.partition("slices"): "give labels='slices' to the problem",
        orders.partition("metis"): "give labels='metis' to the problem",
        orders.partition([0, 1] * 4): r"labels\[1\] is 1, but the problem has that body in part 0",
        orders.partition([0, 1]): "labels has 2 entries: there are 8 bodies",
    }.items():
        with pytest.raises(Exception, match=message):
            on_ranks(2, planned, order, 2)


# ---- labels -------------------------------------------------------------------------------------


def labels_on(size: int, problem: cs.Problem, positions=None, **options) -> np.ndarray:
    def scattered(comm):
        found = distributed.scatter(problem, positions=positions, comm=comm, **options)
        return found.gather_labels()

    every = on_ranks(size, scattered)
    for other in every[1:]:
        assert other.tolist() == every[0].tolist()
    return every[0]


@pytest.mark.parametrize("strategy", ["natural", "metis", "metis_volume"])
@pytest.mark.parametrize("name", ["grid", "random", "joined"])
def test_labels_are_those_of_one_process(name, strategy):
    problem = PROBLEMS[name]()
    if strategy != "natural":
        pytest.importorskip("pymetis")
    found = [labels_on(size, problem, labels=strategy, parts=4) for size in (1, 3)]
    assert found[0].tolist() == found[1].tolist()
    used = np.zeros(problem.bodies_count + 1, bool)
    used[problem._partners()] = True
    theirs = orders.labels(problem, strategy, 4)
    assert found[0][used[:-1]].tolist() == theirs[used[:-1]].tolist()


def bisected(position: np.ndarray, weight: np.ndarray, parts: int) -> np.ndarray:
    """Recursive bisection, box by box."""
    label = np.zeros(len(weight), np.int64)
    boxes = [(np.arange(len(weight)), 0, parts)]
    while boxes:
        points, first, count = boxes.pop()
        if count == 1 or not len(points):
            label[points] = first
            continue
        heavy = position[points][weight[points] > 0]
        axis = int(np.argmax(np.ptp(heavy, axis=0))) if len(heavy) else 0
        points = points[np.lexsort((points, position[points, axis]))]
        half = count // 2
        limit = weight[points].sum() * half // count
        fits = np.cumsum(weight[points]) <= limit
        cut = len(points) if not weight[points].sum() else int(np.argmin(np.append(fits, False)))
        boxes += [(points[:cut], first, half), (points[cut:], first + half, count - half)]
    return label


@pytest.mark.parametrize(
    ("size", "parts"), [(1, 1), (1, 2), (1, 7), (2, 2), (2, 5), (3, 8), (5, 6)]
)
def test_bisection_is_that_of_the_boxes(size, parts):
    problem = cs.scenarios.random(300, 120, rng=5)
    rng = np.random.default_rng(parts)
    position = rng.normal(size=(120, 3))
    position[:60] = rng.integers(-2, 3, (60, 3))  # many with the same coordinates
    position[60:64] *= [[0.0], [-0.0], [1e-320], [1e300]]
    weight = np.bincount(problem.bodies[problem.bodies >= 0], minlength=120)
    found = labels_on(size, problem, position, labels="bisection", parts=parts)
    assert found.tolist() == bisected(position, weight, parts).tolist()
    shares = np.bincount(found, weights=weight, minlength=parts)
    assert shares.max() <= weight.sum() / parts + 3 * weight.max()


def test_positions_choose_bisection():
    grid = cs.scenarios.ball_grid((8, 1, 1))
    position = np.zeros((8, 2))
    position[:, 1] = [3, 1, 4, 1, 5, 9, 2, 6]
    found = labels_on(2, grid, position, parts=2)
    assert found.tolist() == [0, 0, 1, 0, 1, 1, 0, 1]


# ---- the option of local orders -----------------------------------------------------------------


def greedy(problem: cs.Problem, sequence: np.ndarray, taken=None) -> list[int]:
    """Colours in a sequence, from the bodies alone."""
    moves = np.append(problem.Minv.any(axis=1), False)
    at: dict[int, set[int]] = {}
    color = [-1] * problem.contacts
    for k in sequence.tolist():
        if taken is not None and not taken[k]:
            continue
        ends = {body for body in problem.bodies[k].tolist() if moves[body]}
        used = set().union(*(at.setdefault(body, set()) for body in ends))
        color[k] = next(c for c in range(problem.contacts) if c not in used)
        for body in ends:
            at[body].add(color[k])
    return color


def test_hashed_colours_are_greedy_in_the_sequence_of_the_hashes():
    problem = hub()
    sequence = _core.hash_sequence(np.arange(problem.contacts))
    assert sorted(sequence.tolist()) == list(range(problem.contacts))
    assert (np.diff(sequence) < 0).any()
    found = orders.describe(problem, orders.colored(priority="hash"))
    assert found.stage.tolist() == greedy(problem, sequence)
    assert found.stage.tolist() != greedy(problem, np.arange(problem.contacts))

    # The border of a partition.
    labels = random_labels(problem, 4)
    labels[1] = 3
    border = orders.describe(problem, orders.partition(labels, priority="hash"))
    colors = greedy(problem, sequence, border.stage > 0)
    assert (border.stage - 1)[border.stage > 0].tolist() == [c for c in colors if c >= 0]


def test_hashes_are_those_of_splitmix64():
    """The order depends on the number of each contact alone."""
    numbers = np.array([0, 1, 2, 5, 2**40, 2**62])

    def mixed(z: int) -> int:
        z = (z + 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    wanted = sorted(range(len(numbers)), key=lambda i: mixed(int(numbers[i])))
    assert _core.hash_sequence(numbers).tolist() == wanted


def test_the_option_of_priority_is_checked():
    with pytest.raises(ValueError, match="parallel is for priority='natural' of order='colored'"):
        orders.colored(priority="hash", parallel=True)
    with pytest.raises(ValueError, match="priority is for border='colored' of order='partition'"):
        orders.partition(border="checkerboard", priority="hash")
    with pytest.raises(ValueError, match="priority: 'size' is unknown; known: natural, hash"):
        orders.colored(priority="size")
    assert "hash" in str(orders.colored.__doc__)
    assert "hash" in str(orders.partition.__doc__)
    assert repr(orders.colored(priority="hash")) == "colored(priority='hash')"


def test_hashed_orders_solve_and_keep_the_problem_whole():
    """A hash is that of a contact's number in the problem, so that islands are swept together."""
    problem = cs.scenarios.ball_grid((3, 3, 4))
    for order in (orders.colored(priority="hash"), orders.partition(priority="hash")):
        first = cs.solve(problem, order=order, method="gauss_seidel", threads=1)
        second = cs.solve(problem, order=order, method="gauss_seidel", threads=2, islands=False)
        assert first.converged
        assert first.impulses.tobytes() == second.impulses.tobytes()


def test_a_round_refuses_what_other_ranks_cannot_have_sent():
    bodies, own = np.zeros((2, 2), np.int64), np.ones(2, np.uint8)
    for sequence, at, colors, message in [
        ([0, 2], bodies, [-1, -1], r"sequence\[1\] is 2: there are 2 contacts"),
        ([0, 1], bodies + 1, [-1, -1], r"bodies\[0, 0\] is 1: there are 1 bodies"),
        ([0, 1], bodies, [-2, -1], r"colors\[0\] is -2: it is no colour"),
        ([0, 1], bodies, [2**40, -1], r"colors\[0\] is 1099511627776: it is no colour"),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.color_shared(np.array(sequence), at, 1, own, np.array(colors, np.int64), False)
    with pytest.raises(ValueError, match="colors has another type or shape"):
        _core.color_shared(np.arange(2), bodies, 1, own, np.zeros(2), False)


def test_out_of_memory_leaves_nothing():
    """Each request for memory of the colourings fails once."""
    problem, order = clique(70), orders.colored(priority="hash")
    border = orders.partition(random_labels(problem, 3), priority="hash")
    pairs = np.ascontiguousarray(problem.bodies)

    def shared(by_palette):
        colors = np.full(len(pairs), -1)
        own = np.ones(len(pairs), np.uint8)
        sequence = _core.hash_sequence(np.arange(len(pairs)))
        return _core.color_shared(sequence, pairs, 70, own, colors, by_palette)

    calls = [
        lambda: orders.describe(problem, order),
        lambda: orders.describe(problem, border),
        lambda: shared(False),
        lambda: shared(True),
    ]
    for call in calls:
        call()
        gc.collect()
        before, failures = _core.memory_live(), 0
        for successes in range(40):
            _core.memory_fail_after(successes)
            try:
                call()
            except MemoryError:
                failures += 1
            finally:
                _core.memory_fail_after(-1)
            assert _core.memory_live() == before
        assert failures > 0
