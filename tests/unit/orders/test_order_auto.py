"""order="auto": the order for speed where it brings something, and why it was chosen."""

from __future__ import annotations

import numpy as np
import pytest

import contactsolve as cs
from agreement import EXACTLY, flat, generator
from reference_numpy import random_problem

orders = cs.orders


@pytest.fixture(scope="module")
def grid():
    return cs.scenarios.ball_grid(12)


def chosen(problem, **options):
    """The order's name, and the sentence on it."""
    info = cs.Solver(problem, method="gauss_seidel", **options).info
    (why,) = [line for line in info["why"] if line.startswith("order=")]
    assert why.startswith(f"order='auto' is '{info['order']}': ")
    return info["order"], why


def batches(problem, visits, part, lanes):
    """Runs of visits of one part that share no moving body, `lanes` at most."""
    count, met, before = 0, set(), None
    used = lanes
    for k in visits:
        ends = {int(body) for body in problem.bodies[k] if body >= 0}
        if used == lanes or part[k] != before or ends & met:
            count, used, met = count + 1, 0, set()
        met |= ends
        used, before = used + 1, part[k]
    return count


def shuffled(problem, key):
    """The same problem with bodies and contacts in no order."""
    rng = generator(key)
    new = rng.permutation(problem.bodies_count)
    contacts = rng.permutation(problem.contacts)
    bodies = np.where(problem.bodies >= 0, new[problem.bodies], -1)[contacts]
    minv = np.empty_like(problem.Minv)
    minv[new] = problem.Minv
    return cs.Problem(
        problem.J[contacts], minv, problem.b[contacts], problem.mu[contacts], bodies=bodies
    )


def with_hub(share):
    """Balls on the ground, a share of which also touch one body."""
    count, rng = 1000, generator("hub")
    J = rng.normal(size=(count, 2, 3, 6))
    bodies = np.column_stack([np.arange(count), np.full(count, -1)])
    bodies[: int(share * count), 1] = count
    return cs.Problem(J, np.ones((count + 1, 6)), rng.normal(size=(count, 3)), 0.5, bodies=bodies)


# ---- the choice ---------------------------------------------------------------------------------


def test_large_problems_go_by_the_cache_order(grid):
    order, why = chosen(grid)
    assert order == "cache"
    assert "for speed" in why
    own = orders.describe(grid, "auto")
    assert own.order == "cache"
    assert np.array_equal(own.visits, orders.describe(grid, "cache").visits)


@pytest.mark.parametrize(("balls", "order"), [(1, "natural"), (2, "natural"), (3, "cache")])
def test_a_few_contacts(balls, order):
    """Three balls that do not meet fill three of four lanes, and two fill half of them."""
    J = generator("few").normal(size=(balls, 2, 3, 6))
    bodies = np.column_stack([np.arange(balls), np.full(balls, -1)])
    problem = cs.Problem(J, np.ones((balls, 6)), np.ones((balls, 3)), 0.5, bodies=bodies)
    found, why = chosen(problem)
    assert found == order
    assert ("too few" in why) == (order == "natural")
    assert np.array_equal(orders.describe(problem).visits, np.arange(balls))


@pytest.mark.parametrize(("boxes", "order"), [(1, "natural"), (3, "natural"), (10, "cache")])
def test_boxes_with_four_contacts_between_them(boxes, order):
    """Ten boxes have five pairs that share no box, one has none."""
    assert chosen(cs.scenarios.box_stack(boxes))[0] == order


@pytest.mark.parametrize(("count", "order"), [(2, "natural"), (3, "cache")])
def test_groups_without_a_kernel_do_not_count(count, order):
    """Contacts fill vectors or not, whatever joints there are, here all of one body."""
    rng = generator("joints", count)
    contacts = [[i + 1, -1] for i in range(count)]
    problem = cs.Problem(
        groups=[
            cs.Group(rng.normal(size=(20, 2, 5, 6)), [[0, -1]] * 20, rng.normal(size=(20, 5)),
                     sets=cs.sets.free()),
            cs.Group(rng.normal(size=(count, 2, 3, 6)), contacts, -np.ones((count, 3)), 0.5),
        ],
        bodies=[cs.Bodies(np.ones((count + 1, 6)), diagonal=True)],
    )  # fmt: skip
    assert chosen(problem)[0] == order


@pytest.mark.parametrize(("share", "order"), [(0.0, "cache"), (0.02, "cache"), (0.5, "natural")])
def test_a_body_with_many_contacts(share, order):
    """Contacts with one body fill no lanes; a few of them do no harm."""
    found, why = chosen(with_hub(share))
    assert found == order
    assert ("share a body" in why) == (order == "natural")


@pytest.mark.parametrize(("rows", "dof", "kind"), [(5, 6, "rolling"), (3, 4, "disc")])
def test_shapes_without_a_kernel(rows, dof, kind):
    rng = generator("shapes", kind)
    few, many = (random_problem(rng, count, 3000, rows, dof, kind) for count in (1000, 5000))
    for arrays, order in ((few, "natural"), (many, "cache")):
        problem = cs.Problem(
            arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=_set_of(kind)
        )
        found, why = chosen(problem)
        assert found == order
        assert ("neither vectors nor threads" in why) == (order == "natural")


def _set_of(kind):
    return cs.sets.rolling(0.5, 0.1) if kind == "rolling" else cs.sets.disc(0.5)


def test_a_given_matrix():
    """Rows of A gain by threads alone, and those of one dense block by nothing."""
    for count, order in ((1000, "natural"), (5000, "cache")):
        scattered = np.arange(3 * count + 1)
        A = (np.ones(3 * count), scattered[:-1], scattered)
        problem = cs.Problem.from_delassus(A, -np.ones((count, 3)), 0.5)
        assert chosen(problem, islands=False)[0] == order


@pytest.mark.parametrize("method", ["gauss_seidel", "symmetric_gauss_seidel", "jacobi"])
def test_threads_do_not_change_a_bit(grid, method):
    results = [
        cs.solve(
            grid, method=method, threads=threads, exact_threads=True, max_iterations=4, **EXACTLY
        )
        for threads in (1, 2, 3, 8)
    ]
    assert {result.info["order"] for result in results} == {
        "natural" if method == "jacobi" else "cache"
    }
    for other in results[1:]:
        assert np.array_equal(other.impulses, results[0].impulses)


@pytest.mark.parametrize("sweeps", [3, 4])
def test_a_second_solve_has_the_bits_of_the_first(grid, sweeps):
    """Also after a sweep that went backwards."""
    solver = cs.Solver(grid, method="symmetric_gauss_seidel", max_iterations=sweeps, **EXACTLY)
    start = np.full((grid.contacts, 3), 0.1)
    first, second = (solver.solve(initial=start).impulses for _ in range(2))
    assert np.array_equal(first, second)


def test_machines_do_not_change_the_order(grid):
    """Scalar and vector kernels visit in the same order, so that they agree to rounding."""
    scalar, wide = (
        cs.solve(grid, method="gauss_seidel", instructions=name, max_iterations=5, **EXACTLY)
        for name in ("scalar", "auto")
    )
    assert scalar.info["order"] == wide.info["order"] == "cache"
    assert np.allclose(flat(scalar.impulses), flat(wide.impulses), rtol=0, atol=1e-11)


# ---- what it is worth ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "problem",
    [
        cs.scenarios.ball_grid(16),
        shuffled(cs.scenarios.ball_grid(14), "worth"),
        cs.scenarios.disc_pyramid(70),
        cs.scenarios.ball_pile((40, 20, 20)),
    ],
    ids=["grid", "shuffled grid", "pyramid", "pile"],
)
@pytest.mark.parametrize("lanes", [8, 16])
def test_lanes_are_full_and_threads_seldom_wait(problem, lanes):
    found = orders.describe(problem)
    assert found.order == "cache"
    assert found.stages <= 3
    part = found.stage * 1000 + found.part
    count = batches(problem, found.visits, part, lanes)
    assert problem.contacts / (count * lanes) >= (0.98 if lanes == 8 else 0.95)
    assert found.balance[0] < 1.35


def test_parts_share_no_body(grid):
    found = orders.describe(grid)
    for stage in range(found.stages):
        inside = np.flatnonzero(found.stage == stage)
        owner = np.full(grid.bodies_count, -1)
        for k in inside:
            for body in grid.bodies[k][grid.bodies[k] >= 0]:
                assert owner[body] in (-1, found.part[k])
                owner[body] = found.part[k]


def test_bodies_without_order_are_lined_up(grid):
    """Most contacts of random bodies lie between parts; lined up, few do."""
    problem = shuffled(grid, "lined up")
    natural = orders.describe(problem, orders.cache(bodies="natural"))
    found = orders.describe(problem)
    assert natural.sizes[0] < 0.2 * grid.contacts
    assert found.sizes[0] > 0.6 * grid.contacts
    lined = orders.describe(problem, orders.cache(bodies="breadth_first"))
    assert np.array_equal(found.visits, lined.visits)
    in_order = orders.describe(grid, orders.cache(bodies="natural"))
    assert np.array_equal(orders.describe(grid).visits, in_order.visits)


def test_groups_do_not_break_batches(grid):
    """Contacts of two groups between the same bodies: a chunk takes one group after the other."""
    of = np.arange(grid.contacts) % 2
    groups = [
        cs.Group(grid.J[of == g], grid.bodies[of == g], grid.b[of == g], sets=one)
        for g, one in enumerate((cs.sets.disc(0.5), cs.sets.box_friction(0.5)))
    ]
    problem = cs.Problem(groups=groups, bodies=[cs.Bodies(grid.Minv)])
    found = orders.describe(problem)
    assert found.order == "cache"
    group = np.repeat([0, 1], [len(one.bodies) for one in groups])[found.visits]
    runs = 1 + np.count_nonzero(np.diff(group))
    assert runs <= 2 * (problem.contacts / 1024 + 2 * int(found.parts.sum()))
    wide, scalar = (
        cs.solve(problem, method="gauss_seidel", instructions=name, max_iterations=5, **EXACTLY)
        for name in ("auto", "scalar")
    )
    assert wide.info["kernel"] == "scalar" or "of 2 groups" not in wide.info["kernel"]
    assert np.allclose(flat(wide.impulses), flat(scalar.impulses), rtol=0, atol=1e-11)


@pytest.mark.parametrize("scene", ["grid", "pyramid"])
def test_it_costs_few_sweeps(scene):
    problem = cs.scenarios.ball_grid(8) if scene == "grid" else cs.scenarios.disc_pyramid(20)
    sweeps = {
        order: cs.solve(problem, method="gauss_seidel", order=order, rtol=1e-4, max_iterations=4000)
        for order in ("natural", "auto")
    }
    assert all(result.converged for result in sweeps.values())
    assert sweeps["auto"].info["order"] == "cache"
    assert sweeps["auto"].iterations <= 1.25 * sweeps["natural"].iterations


def test_short_problems_take_one_thread(grid):
    """Below 4,096 contacts; beyond, as many as there are, up to a number of parts."""
    assert cs.Solver(cs.scenarios.ball_grid(8)).info["threads"] == 1
    assert cs.Solver(grid).info["threads"] == min(cs.info()["threads"], 8)
    assert cs.Solver(cs.scenarios.ball_grid(8), threads=2, exact_threads=True).info["threads"] == 1
