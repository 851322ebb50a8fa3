"""The order "regions": colours inside regions of bodies, then colours between them."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import contactsolve as cs
from agreement import EXACT_SCHEMES, EXACTLY, generator
from random_case import RandomCase
from reference_orders import (
    conflicts_of_matrix,
    interiors,
    joined,
    regions,
    run_stages,
)

pytestmark = pytest.mark.threads

orders = cs.orders


Case = functools.partial(RandomCase, contacts=120, bodies=50)


def sweeps(problem, order, scheme, **options):
    options = {"max_iterations": 3, **EXACTLY, **options}
    return cs.solve(problem, method="gauss_seidel", order=order, scheme=scheme, **options)


@pytest.mark.parametrize("scheme", EXACT_SCHEMES)
def test_a_sweep_is_gauss_seidel_in_its_order(scheme):
    case = Case("regions", scheme)
    stages = regions(case.labels, case.conflicts, case.touching)
    order = orders.regions(case.labels)
    assert orders.describe(case.problem, order).visits.tolist() == joined([s for _, s in stages])
    result = sweeps(case.problem, order, scheme)
    wanted = run_stages(case.reference, stages, np.zeros(case.arrays.b.shape), 3)
    np.testing.assert_allclose(result.impulses.ravel(), wanted, rtol=0, atol=1e-12)


def test_contacts_of_a_given_matrix():
    case = Case("given")
    problem, conflicts = case.given(), conflicts_of_matrix(case.reference)
    labels = generator("labels").integers(0, 5, problem.contacts)
    stages = regions(labels, conflicts)
    found = orders.describe(problem, orders.regions(labels))
    assert found.visits.tolist() == joined([s for _, s in stages])
    for count in (1, 3, 1000):
        found = orders.describe(problem, orders.regions(count))
        check_stages(found, conflicts)


def check_stages(found, conflicts):
    """Every stage is independent, and all contacts are visited."""
    assert sorted(found.visits) == list(range(found.contacts))
    assert set(found.kinds) == {"independent"}
    for stage in range(found.stages):
        own = np.flatnonzero(found.stage == stage)
        among = conflicts[np.ix_(own, own)]
        assert not (among & ~np.eye(len(own), dtype=bool)).any()


@pytest.mark.parametrize("count", [1, 2, 7, 50, 1000, "auto"])
def test_every_colour_is_independent(count):
    case = Case("independent", count)
    check_stages(orders.describe(case.problem, orders.regions(count)), case.conflicts)


def test_parts_inside_are_regions():
    """A part of an inner stage has the contacts of one region; outer stages have the others."""
    case = Case("parts")
    region = np.array(interiors(case.labels, case.conflicts, case.touching))
    found = orders.describe(case.problem, orders.regions(case.labels))
    inner = 1 + max(found.stage[region >= 0])
    assert min(found.stage[region < 0]) == inner
    for stage in range(inner):
        own = found.stage == stage
        parts = [np.unique(region[own & (found.part == p)]) for p in range(found.parts[stage])]
        assert [len(part) for part in parts] == [1] * len(parts)
        assert len({int(part[0]) for part in parts}) == len(parts)


@pytest.mark.parametrize("count", [2, 8, 27])
def test_regions_of_a_grid_are_even_and_compact(count):
    grid = cs.scenarios.ball_grid(12)
    found = orders.describe(grid, orders.regions(count))
    solver = cs.Solver(grid, order=orders.regions(count))
    assert solver.info["parts"] == count
    sizes = np.zeros(count)
    inner = int(np.argmax(found.parts < count)) if (found.parts < count).any() else found.stages
    for stage in range(inner):
        sizes += np.bincount(found.part[found.stage == stage], minlength=count)
    assert sizes.max() < 1.5 * sizes.mean()
    assert sizes.sum() > 0.55 * grid.contacts


def test_the_number_of_regions():
    grid = cs.scenarios.ball_grid(4)
    for count, wanted in (("auto", 1), (3, 3), (1000, 64)):
        assert cs.Solver(grid, order=orders.regions(count)).info["parts"] == wanted
    larger = cs.scenarios.ball_grid(9)
    assert cs.Solver(larger, order="regions").info["parts"] == -(-larger.contacts // 256)
    labels = np.arange(64) % 5
    assert cs.Solver(grid, order=orders.regions(labels)).info["parts"] == 5


def test_fixed_bodies_join_nothing():
    """Balls that only touch the same fixed body are all of one colour, in any number of regions."""
    count = 10
    J = generator("fixed").normal(size=(count, 2, 3, 6))
    minv = np.ones((count + 1, 6))
    minv[0] = 0
    pairs = np.column_stack([np.zeros(count, int), np.arange(1, count + 1)])
    pairs[::2, 0] = -1
    problem = cs.Problem(J, minv, np.ones((count, 3)), 0.5, bodies=pairs)
    for regions_wanted in (1, 3, 100):
        found = orders.describe(problem, orders.regions(regions_wanted))
        assert found.sizes.tolist() == [count]
        assert found.parts.tolist() == [min(regions_wanted, count)]


@pytest.mark.parametrize("order", [orders.regions(5), orders.subtasks(orders.regions(5), 2)])
def test_bits_do_not_depend_on_threads(order):
    grid = cs.scenarios.ball_grid(8)
    one, *others = (
        sweeps(grid, order, "factorized", threads=threads, exact_threads=True)
        for threads in (1, 2, 3)
    )
    for other in others:
        np.testing.assert_array_equal(one.impulses, other.impulses)


def test_subtasks_cut_in_place_of_regions():
    grid = cs.scenarios.ball_grid(8)
    cut = orders.describe(grid, orders.subtasks(orders.regions(3), 2), parts=4)
    whole = orders.describe(grid, orders.regions(3))
    assert cut.parts.max() == 8
    assert whole.parts.max() == 3
    np.testing.assert_array_equal(cut.visits, whole.visits)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"count": 0}, ValueError, "count is 0: it must be at least 1"),
        ({"count": "some"}, ValueError, "count: 'some' is unknown"),
        ({"count": [[0, 1]]}, ValueError, r"labels has shape \(1, 2\): one for each body"),
    ],
)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        orders.regions(**options)


def test_wrong_labels():
    with pytest.raises(ValueError, match="labels has 3 entries"):
        cs.Solver(cs.scenarios.ball_grid(2), order=orders.regions([0, 1, 2]))
