"""Orders that cut: partitions, contact sets, the cache order, groups of unsafe contacts."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

import contactsolve as cs
from agreement import (
    EXACT_SCHEMES,
    EXACTLY,
    SCHEMES,
    TOLERANCE,
    assert_close,
    flat,
    generator,
)
from random_case import RandomCase as Case
from reference_numpy import ReferenceProblem, random_problem
from reference_orders import (
    cache,
    conflicts_of,
    conflicts_of_matrix,
    contact_sets,
    greedy,
    moving_bodies,
    pairs_together,
    partition,
    run_stages,
)

pytestmark = pytest.mark.threads

orders = cs.orders
BORDERS = ("colored", "sequential", "checkerboard")
SWEEPS = 3


def check(case, problem, order, stages, scheme, parts=8, dtype="float64"):
    """The package's sweeps are those of the stages."""
    assert sorted(k for _, blocks in stages for k in blocks) == list(range(problem.contacts))
    result = cs.solve(
        problem,
        method="gauss_seidel",
        order=order,
        scheme=scheme,
        parts=parts,
        dtype=dtype,
        initial=case.start,
        max_iterations=SWEEPS,
        **EXACTLY,
    )
    wanted = run_stages(case.reference, stages, case.start, SWEEPS)
    assert_close(flat(result.impulses), wanted, 10 * TOLERANCE[dtype], f"{order}, {scheme}")


# ---- partitions ---------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("scheme", EXACT_SCHEMES)
def test_a_partition_is_gauss_seidel_in_its_order(border, scheme):
    case = Case("partition", border)
    for strategy, parts in itertools.product(("slices", "natural", "own"), (1, 3, 8)):
        labels = case.labels if strategy == "own" else orders.labels(case.problem, strategy, parts)
        order = orders.partition(labels if strategy == "own" else strategy, border=border)
        stages = partition(labels, border, case.conflicts, case.touching)
        for dtype in TOLERANCE:
            check(case, case.problem, order, stages, scheme, parts, dtype)


@pytest.mark.parametrize("border", BORDERS)
def test_contacts_of_a_given_matrix_are_cut(border):
    case = Case("given", border)
    problem, conflicts = case.given(), conflicts_of_matrix(case.reference)
    own = generator("labels").integers(0, 5, problem.contacts)
    for strategy in ("slices", "natural", "own"):
        labels = own if strategy == "own" else orders.labels(problem, strategy, 4)
        order = orders.partition(labels if strategy == "own" else strategy, border=border)
        check(case, problem, order, partition(labels, border, conflicts), "matrix", 4)


def test_a_hub_keeps_its_border():
    """A body with very many contacts is not met from many parts at once."""
    arrays = random_problem(generator("hub"), 200, 151, 1, 3, "half_line")
    arrays.bodies[:150] = np.column_stack([np.full(150, 150), np.arange(150)])
    reference = ReferenceProblem.from_arrays(arrays)
    problem = cs.Problem(arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies)
    labels = np.arange(151) // 10
    touching = moving_bodies(arrays.bodies, arrays.Minv)
    stages = partition(labels, "checkerboard", conflicts_of(touching), touching)
    order = orders.partition(labels, border="checkerboard")
    solver = cs.Solver(problem, method="gauss_seidel", order=order, max_iterations=1, **EXACTLY)
    assert_close(
        flat(solver.solve().impulses), run_stages(reference, stages, np.zeros(200)), 1e-11, "hub"
    )
    assert solver.info["colors"] <= 6


def test_slices_touch_two_others():
    """S1 Fig. 4.3 (b), on a grid of balls and on a scene of several components."""
    grid = cs.scenarios.ball_grid(9, ground="body")
    pile = np.column_stack([np.arange(19), np.arange(1, 20)])
    piles = np.concatenate([20 * i + pile for i in range(9)])
    J = np.ones((len(piles), 2, 1, 3))
    scattered = cs.Problem(J, np.ones((180, 3)), np.zeros((len(piles), 1)), bodies=piles)
    for problem, parts in itertools.product((grid, scattered), (2, 5, 7)):
        labels = orders.labels(problem, "slices", parts)
        quality = orders.partition_quality(problem, labels)
        assert labels.max() == parts - 1
        assert quality.neighbours.max() <= 2
        sizes = quality.interiors
        assert sizes.sum() + quality.border == problem.contacts
        assert sizes.min() > 0
    assert orders.partition_quality(scattered, orders.labels(scattered, "slices", 9)).border <= 8


def test_the_default_cut_leaves_fewer_contacts_between_parts():
    """Slices or ranges of numbers, whichever does; scrambled numbers say nothing."""
    grid = cs.scenarios.ball_grid(6)
    rng = generator("scrambled")
    names = rng.permutation(grid.bodies_count)
    pairs = np.where(grid.bodies >= 0, names[grid.bodies], -1)
    scrambled = cs.Problem(grid.J, grid.Minv, grid.b, grid.mu, bodies=pairs)
    for problem, better in ((grid, "natural"), (scrambled, "slices")):
        border = {
            name: orders.partition_quality(problem, orders.labels(problem, name)).border
            for name in ("auto", "slices", "natural")
        }
        assert border["auto"] == border[better] == min(border.values())
        assert border["slices"] != border["natural"]
        np.testing.assert_array_equal(
            orders.describe(problem, "partition").visits,
            orders.describe(problem, orders.partition(better)).visits,
        )


def test_more_parts_than_bodies_are_labelled_as_they_are_taken():
    stack = cs.scenarios.box_stack(30)
    for strategy in ("slices", "natural", "auto"):
        found = orders.labels(stack, strategy, 64)
        assert found.max() < 30
        assert orders.partition_quality(stack, found).border >= 0
        given = orders.describe(stack, orders.partition(found), parts=64)
        named = orders.describe(stack, orders.partition(strategy), parts=64)
        np.testing.assert_array_equal(given.visits, named.visits)


def test_slices_of_a_grid_need_one_more_colour():
    """Slices thicker than a ball meet on one side only: the whole border is one stage."""
    problem = cs.scenarios.ball_grid(12, ground="body")
    order = orders.partition("natural", border="checkerboard")
    info = cs.Solver(problem, order=order, parts=4).info
    assert (info["stages"], info["colors"]) == (2, 1)


def test_quality_of_a_partition():
    case = Case("quality")
    labels = case.labels
    quality = orders.partition_quality(case.problem, labels)
    met = [{int(labels[body]) for body in bodies} for bodies in case.touching]
    between = [one for one in met if len(one) == 2]
    assert quality.border == quality.edge_cut == len(between)
    inside = [next(iter(one)) for one in met if len(one) == 1]
    np.testing.assert_array_equal(quality.interiors, np.bincount(inside, minlength=4))
    wanted = [len({p for one in between for p in one - {q} if q in one}) for q in range(4)]
    np.testing.assert_array_equal(quality.neighbours, wanted)
    other = labels.copy()
    other[0] = -7  # body 0 cannot move
    np.testing.assert_array_equal(
        orders.partition_quality(case.problem, other).interiors, quality.interiors
    )


def test_quality_of_no_cut():
    empty = cs.Problem(
        np.zeros((0, 2, 1, 3)), np.zeros((0, 3)), np.zeros((0, 1)), bodies=np.zeros((0, 2), int)
    )
    quality = orders.partition_quality(empty, orders.labels(empty))
    assert (quality.border, quality.edge_cut, quality.interiors.tolist()) == (0, 0, [])
    box = cs.scenarios.box_stack(1)
    quality = orders.partition_quality(box, [0])
    assert (quality.border, quality.interiors.tolist()) == (0, [4])
    assert quality.neighbours.tolist() == [0]


def test_quality_for_a_given_matrix():
    case = Case("quality of A")
    problem, conflicts = case.given(), conflicts_of_matrix(case.reference)
    labels = generator("labels of A").integers(0, 3, problem.contacts)
    quality = orders.partition_quality(problem, labels)
    cut = [
        (int(labels[k]), int(labels[other]))
        for k, other in itertools.combinations(range(problem.contacts), 2)
        if conflicts[k, other] and labels[k] != labels[other]
    ]
    assert quality.edge_cut == len(cut)
    lower = [(conflicts[k] & (labels < labels[k])).any() for k in range(problem.contacts)]
    assert quality.border == sum(lower)
    np.testing.assert_array_equal(
        quality.interiors, np.bincount(labels[~np.array(lower)], minlength=3)
    )
    np.testing.assert_array_equal(
        quality.neighbours, [len({p for c in cut for p in c if q in c} - {q}) for q in range(3)]
    )


@pytest.mark.parametrize("strategy", ["metis", "metis_volume", "metis_neighbours"])
def test_metis(strategy):
    pytest.importorskip("pymetis")
    case = Case("metis")
    grid = cs.scenarios.ball_grid(10, ground="body")
    slices = orders.partition_quality(grid, orders.labels(grid, "slices", 8))
    labels = orders.labels(grid, strategy, 8)
    quality = orders.partition_quality(grid, labels)
    assert quality.border < slices.border / 2
    assert quality.interiors.min() > 0.7 * quality.interiors.mean()
    np.testing.assert_array_equal(labels, orders.labels(grid, strategy, 8))  # the same every time
    for problem, conflicts, touching in (
        (case.problem, case.conflicts, case.touching),
        (case.given(), conflicts_of_matrix(case.reference), None),
    ):
        labels = orders.labels(problem, strategy, 3)
        stages = partition(labels, "colored", conflicts, touching)
        check(case, problem, orders.partition(strategy), stages, "matrix", parts=3)


def test_metis_on_small_problems(capfd):
    """More parts than bodies, one part, no contacts: no word from METIS."""
    pytest.importorskip("pymetis")
    J, pairs = np.zeros((0, 2, 3, 6)), np.zeros((0, 2), int)
    for problem in (
        cs.scenarios.box_stack(2),
        cs.Problem(J, np.ones((4, 6)), np.zeros((0, 3)), bodies=pairs),
        cs.Problem.from_delassus(np.eye(6), np.zeros((2, 3))),
    ):
        for parts in (1, 2, 50):
            assert orders.labels(problem, "metis", parts).max(initial=0) < parts
            cs.Solver(problem, order=orders.partition("metis"), parts=parts).solve()
    assert capfd.readouterr() == ("", "")


def test_metis_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(ImportError, match=r"'metis' needs pymetis, .* pip install .*\[partition\]"):
        cs.Solver(cs.scenarios.box_stack(2), order=orders.partition("metis"))


def test_labels_are_the_solvers_own():
    """A solver plans anew when its problem changes, with the labels that it was made with."""
    case = Case("kept")
    labels = case.labels.copy()
    solver = cs.Solver(case.problem, order=orders.partition(labels), max_iterations=2, **EXACTLY)
    first = solver.solve().impulses
    labels[:] = 10**6
    case.problem.update(b=case.problem.b)
    np.testing.assert_array_equal(solver.solve().impulses, first)


# ---- the cache order ----------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", EXACT_SCHEMES)
@pytest.mark.parametrize("parts", [None, 1, 3, 8])
def test_cache_order(parts, scheme):
    case = Case("cache", parts)
    pairs = zip(case.arrays.bodies.tolist(), case.touching, strict=True)
    ends = [body for pair, moving in pairs for body in pair if body in moving]
    degree = np.bincount(ends, minlength=case.bodies)
    for chunk in (1, 7, 4096):
        stages = cache(case.touching, chunk, parts, degree)
        order = orders.cache(bodies="natural", chunk=chunk, domains=parts is not None)
        check(case, case.problem, order, stages, scheme, parts or 8)


def test_breadth_first_undoes_scrambled_numbers():
    """A chain of bodies in scrambled numbers: domains meet in as few contacts as there are cuts."""
    count = 400
    names = generator("scrambled").permutation(count)
    bodies = np.column_stack([names[:-1], names[1:]])[generator("contacts").permutation(count - 1)]
    J = np.ones((count - 1, 2, 1, 3))
    problem = cs.Problem(J, np.ones((count, 3)), -np.ones((count - 1, 1)), bodies=bodies)
    solver = cs.Solver(problem, order=orders.cache(bodies="breadth_first"), parts=4)
    assert (solver.info["stages"], solver.info["colors"]) == (2, 1)
    scrambled = cs.Solver(problem, order=orders.cache(bodies="natural"), parts=4)
    named = cs.Solver(problem, order="cache", parts=4)
    assert named.info["colors"] == 1  # as cache() by default
    assert scrambled.info["colors"] > 1


# ---- contact sets -------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", ["sequential", "simultaneous"])
@pytest.mark.parametrize("colored", [False, True])
@pytest.mark.parametrize("scheme", EXACT_SCHEMES)
def test_contact_sets(inside, colored, scheme):
    case = Case("sets", inside)
    order = orders.contact_sets(inside, colored=colored)
    pairs = pairs_together(case.arrays.bodies)
    each = [[k] for k in range(case.problem.contacts)]
    for problem, conflicts, sets in (
        (case.problem, case.conflicts, pairs),
        (case.given(), conflicts_of_matrix(case.reference), each),
    ):
        if scheme == "factorized" and sets is each:
            continue
        stages = contact_sets(sets, conflicts, inside, colored)
        info = cs.Solver(problem, order=order).info
        assert info["stages"] == len(stages)
        assert info["colors"] == (len(stages) if colored else 0)
        check(case, problem, order, stages, scheme)


def test_contact_sets_need_fewer_colours():
    stack = cs.scenarios.box_stack(10)
    contacts = cs.Solver(stack, order="colored").info["colors"]
    sets = cs.Solver(stack, order=orders.contact_sets(colored=True)).info["colors"]
    assert (contacts, sets) == (8, 2)


@pytest.mark.parametrize("scheme", EXACT_SCHEMES)
def test_box_at_rest(scheme):
    """S1 Fig. 3.1: held evenly by simultaneous contacts, not by Gauss-Seidel."""
    J = np.zeros((2, 2, 2, 3))
    for k, x in enumerate((-0.5, 0.5)):
        J[k, 1] = [[0.0, 1.0, x], [1.0, 0.0, 0.5]]  # normal, tangent; the centre is 1/2 above
    problem = cs.Problem(J, [[1.0, 1.0, 6.0]], [[-0.1, 0.0]] * 2, 0.5, bodies=[[-1, 0]] * 2)

    def impulses(order, sweeps):
        options = {"scheme": scheme, "order": order, "max_iterations": sweeps}
        return cs.solve(problem, **options, **EXACTLY).impulses

    for sweeps in (1, 2, 30):
        even = impulses(orders.contact_sets("simultaneous"), sweeps)
        np.testing.assert_allclose(even[0, 0], even[1, 0], rtol=1e-14)
        np.testing.assert_allclose(even[:, 1], 0.0, atol=1e-16)
    np.testing.assert_allclose(even[:, 0], 0.05)
    uneven = impulses("contact_sets", 1)
    assert abs(uneven[0, 0] - uneven[1, 0]) > 0.1 * uneven[0, 0]
    assert abs(uneven[1, 1]) > 1e-3


# ---- unsafe contacts in groups ------------------------------------------------------------------


@pytest.mark.parametrize("scheme", EXACT_SCHEMES)
@pytest.mark.parametrize("first", [False, True])
def test_groups_of_unsafe_contacts_are_gauss_seidel(first, scheme):
    """S1 section 7.4: what depends on each other is in one part, nothing is hidden."""
    case = Case("groups", first, contacts=50, bodies=60)
    for problem, conflicts in ((case.problem, case.conflicts), (case.given(), None)):
        if conflicts is None and scheme == "factorized":
            continue
        met = conflicts_of_matrix(case.reference) if conflicts is None else conflicts
        colors = greedy(range(50), met)
        for below in (12, 10**6):
            safe = [k for color in colors if len(color) >= below for k in color]
            unsafe = [k for color in colors if len(color) < below for k in color]
            stages = [("sequential", unsafe + safe if first else safe + unsafe)]
            order = orders.relaxed(below, unsafe="groups", first=first)
            check(case, problem, order, stages, scheme, parts=3)


def test_unsafe_ground_contacts_fall_into_single_groups():
    """S1's medium grid: its unsafe contacts lie on the ground, which cannot move."""
    problem = cs.scenarios.ball_grid(24, ground="body", contact_order="forward")
    order = orders.relaxed(100, unsafe="groups", fixed_as_body=True)
    options = {"max_iterations": 2, "r_factor": 5.0, **EXACTLY}
    solver = cs.Solver(problem, order=order, **options)
    assert (solver.info["stages"], solver.info["colors"]) == (7, 576)
    rigid = cs.solve(problem, order=orders.colored(fixed_as_body=True), **options)
    np.testing.assert_array_equal(solver.solve().impulses, rigid.impulses)


# ---- corners ------------------------------------------------------------------------------------

CUTTING = {
    "partition": orders.partition(),
    "natural": orders.partition("natural", border="sequential"),
    "checkerboard": orders.partition(border="checkerboard"),
    "cache": orders.cache(),
    "chunks": orders.cache(domains=False, chunk=2),
    "breadth first": orders.cache(bodies="breadth_first", chunk=1),
    "sets": orders.contact_sets(),
    "simultaneous": orders.contact_sets("simultaneous"),
    "coloured sets": orders.contact_sets(colored=True),
    "groups": orders.relaxed(10**6, unsafe="groups"),
}


@pytest.mark.parametrize("name", CUTTING)
def test_corners(name):
    """No contacts, one, self pairs only, all between immovable bodies; Jacobi takes any order."""
    order = CUTTING[name]
    for count, bodies, mass in (
        (0, [], 1.0),
        (1, [[-1, 0]], 1.0),
        (3, [[1, 1]] * 3, 1.0),
        (3, [[0, -1]] * 3, 0.0),
    ):
        J = np.ones((count, 2, 1, 3))
        pairs = np.array(bodies, int).reshape(count, 2)
        problem = cs.Problem(J, np.full((2, 3), mass), np.full((count, 1), -1.0), bodies=pairs)
        for method in ("gauss_seidel", "jacobi"):
            result = cs.solve(problem, method=method, order=order, relaxation=0.3)
            assert result.status == ("converged" if mass else "infeasible")
            assert np.isfinite(result.impulses).all()
    result = cs.solve(cs.Problem.from_delassus(np.eye(3), -np.ones(3), rows=1), order=order)
    np.testing.assert_allclose(result.impulses, 1.0)


def test_groups_of_different_shapes():
    """Blocks of several groups and precisions of d in one partition."""
    stack = cs.scenarios.box_stack(4)
    J = np.zeros((3, 2, 1, 6))
    J[:, 0, 0, 0], J[:, 1, 0, 0] = -1.0, 1.0
    joints = cs.Group(J, [[0, 1], [1, 2], [2, 3]], np.zeros((3, 1)), sets=cs.sets.free())
    contacts = cs.Group(stack.J, stack.bodies, stack.b, stack.mu)
    problem = cs.Problem(groups=[joints, contacts], bodies=[cs.Bodies(stack.Minv)])
    labels = np.array([0, 0, 1, 1])
    quality = orders.partition_quality(problem, labels)
    assert (quality.border, quality.interiors.tolist()) == (5, [9, 5])
    border = [1, *range(3 + 8, 3 + 12)]
    visits = [0, *range(3, 11), 2, *range(15, 19), *border]
    for scheme in SCHEMES:
        got, wanted = (
            cs.solve(problem, order=order, scheme=scheme, max_iterations=3, **EXACTLY)
            for order in (orders.partition(labels, border="sequential"), visits)
        )
        assert_close(flat(got.impulses), flat(wanted.impulses), 1e-12, scheme)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: orders.partition("even"),
            ValueError,
            "strategy: 'even' is unknown; known: auto, slices",
        ),
        (lambda: orders.partition(border="none"), ValueError, "border: 'none' is unknown"),
        (lambda: orders.partition([[0, 1]]), ValueError, r"labels has shape \(1, 2\)"),
        (lambda: orders.partition([0.5]), TypeError, "labels has dtype float64"),
        (lambda: orders.cache(bodies="random"), ValueError, "bodies: 'random' is unknown"),
        (lambda: orders.cache(chunk=0), ValueError, "chunk is 0: it must be at least 1"),
        (lambda: orders.cache(chunk=1.5), TypeError, "chunk is 1.5: an integer is needed"),
        (lambda: orders.contact_sets("none"), ValueError, "inside: 'none' is unknown"),
        (
            lambda: orders.relaxed(3, unsafe="none"),
            ValueError,
            "known: simultaneous, ranges, groups",
        ),
    ],
)
def test_wrong_options(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_wrong_labels():
    stack = cs.scenarios.box_stack(3)
    given = cs.Problem.from_delassus(np.eye(6), np.zeros((2, 3)))
    for problem, labels, message in (
        (stack, [0, 1], "labels has 2 entries; the problem has 3 bodies"),
        (stack, [0, 1, 3], r"labels\[2\] is 3: parts are numbered from 0 to 2 at most"),
        (stack, [0, -1, 1], r"labels\[1\] is -1: parts are numbered"),
        (given, [0, 1, 1], "labels has 3 entries; the problem has 2 contacts and no bodies"),
    ):
        with pytest.raises(ValueError, match=message):
            cs.Solver(problem, order=orders.partition(labels))
    for labels, message in (
        ([0, 1], r"labels has shape \(2,\): \(3,\) is needed"),
        ([0, 7, 1], r"labels\[1\] is 7: parts are numbered from 0 to 2"),
    ):
        with pytest.raises(ValueError, match=message):
            orders.partition_quality(stack, labels)
    with pytest.raises(ValueError, match="strategy: 'even' is unknown"):
        orders.labels(stack, "even")
    for strategy in ("slices", "natural"):
        with pytest.raises(ValueError, match="parts is 0: it must be at least 1"):
            orders.labels(stack, strategy, 0)


@pytest.mark.parametrize("strategy", ["slices", "natural", "metis"])
def test_labels_of_what_cannot_be_cut(strategy):
    if strategy == "metis":
        pytest.importorskip("pymetis")
    problem = cs.scenarios.ball_grid(3)
    with pytest.raises(TypeError, match=r"parts is 2\.5: an integer is needed"):
        orders.labels(problem, strategy, 2.5)
    with pytest.raises(ValueError, match="parts is 0: it must be at least 1"):
        orders.labels(problem, strategy, 0)
    with pytest.raises(TypeError, match="problem is ndarray: a Problem is needed"):
        orders.labels(np.eye(3), strategy)
    with pytest.raises(TypeError, match="problem is str: a Problem is needed"):
        orders.partition_quality("grid", [0])
