"""Sweeps by counters have the bits of the same order on one thread, over contacts and over rows."""

import numpy as np
import pytest

import contactsolve as cs
from agreement import flat, package_set
from emulated import (
    EMULATED,
    ROUNDED,
    TURNS,
    lost_write,
    resident,
    rolled_back_alike,
    same_bits,
    swept,
    turns,
)
from reference_numpy import random_problem

SCENARIOS = {
    "spheres": cs.scenarios.ball_grid(3),
    "boxes": cs.scenarios.box_stack(5),
    "discs": cs.scenarios.disc_pyramid(6),
}
SCHEMES = ("factorized", "matrix", "iteration_matrix")
ORDERS = {
    "natural": {},
    "reverse": {},
    "random": {"rng": 3},
    "partition": {"parts": 3},
}


def sweep(problem, way, sweeps=15, **options):
    own = {"method": "gauss_seidel", "order": "natural", "scheme": "matrix"}
    here = {"instructions": "scalar"} if way == "cpu" else {}
    return swept(problem, way, sweeps, **{**own, **here, **options})


def same(one, two):
    """The same bits, but for the merit: its sum has another order."""
    same_bits(one, two)
    np.testing.assert_allclose(one.history["merit"], two.history["merit"], rtol=1e-13)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", SCENARIOS)
def test_orders(name, order, scheme):
    options = {"order": order, "scheme": scheme, **ORDERS[order]}
    for method in ("gauss_seidel", "symmetric_gauss_seidel"):
        for record_every in (3, 15):
            options.update(method=method, record_every=record_every)
            same(*(sweep(SCENARIOS[name], way, **options) for way in ("cpu", "counter")))


@pytest.mark.parametrize("scheme", SCHEMES[1:])
def test_colours_of_rows(scheme):
    """Rows have no batches: colours, too, go without a barrier between them."""
    options = {"order": "colored", "scheme": scheme}
    same(*(sweep(SCENARIOS["spheres"], way, **options) for way in ("cpu", "counter")))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("set_name", "rows"), [("rolling", 5), ("polygon", 3), ("box", 2), ("contensou_coupled", 4)]
)
def test_any_set_and_size(set_name, rows, scheme):
    for seed in range(2):
        arrays = random_problem(np.random.default_rng(seed), 12, 9, rows, 6, set_name)
        problem = cs.Problem(
            arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
        )
        here, there = (sweep(problem, way, scheme=scheme) for way in ("cpu", "counter"))
        if set_name in ROUNDED:
            np.testing.assert_allclose(there.impulses, here.impulses, rtol=0, atol=1e-14)
        else:
            same(here, there)


def of_two_sizes():
    """Contacts with 3 and with 1 rows, by turns between a few bodies."""
    rng = np.random.default_rng(5)
    groups = []
    for count, rows, sets in ((14, 3, cs.sets.disc(0.3)), (9, 1, cs.sets.half_line())):
        partners = np.array([rng.choice(7, 2, replace=False) for _ in range(count)])
        J = rng.standard_normal((count, 2, rows, 6))
        groups.append(cs.Group(J, partners, rng.standard_normal((count, rows)), sets=sets))
    return cs.Problem(groups=groups, bodies=[cs.Bodies(np.tile(np.eye(6), (7, 1, 1)))])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_groups_of_several_sizes(scheme):
    problem = of_two_sizes()
    for order, own in ORDERS.items():
        options = {"scheme": scheme, "order": order, **own}
        here, there = (sweep(problem, way, **options) for way in ("cpu", "counter"))
        np.testing.assert_array_equal(flat(here.impulses), flat(there.impulses))
        np.testing.assert_array_equal(here.history["residual"], there.history["residual"])


@pytest.mark.parametrize("dtype", ["float32", "mixed"])
@pytest.mark.parametrize("scheme", SCHEMES[:2])
def test_other_precisions(scheme, dtype):
    options = {"dtype": dtype, "scheme": scheme}
    same(*(sweep(SCENARIOS["boxes"], way, **options) for way in ("launches", "counter")))


@pytest.mark.parametrize("scheme", SCHEMES[:2])
def test_local_problems(scheme):
    options = {"local": "block", "scheme": scheme}
    same(*(sweep(SCENARIOS["boxes"], way, **options) for way in ("launches", "counter")))


@pytest.mark.parametrize("blocks", [1, 2, 7])
@pytest.mark.parametrize("scheme", ["factorized", "matrix"])
def test_neither_turns_nor_blocks_matter(scheme, blocks):
    """More contacts than threads: each makes several visits."""
    problem = cs.scenarios.ball_grid(4)
    for order in ("natural", "partition"):
        options = {"scheme": scheme, "order": order, **ORDERS[order]}
        options["method"] = "symmetric_gauss_seidel"
        wanted = sweep(problem, "cpu", 9, **options)
        for turn in TURNS:
            with turns(turn, blocks), resident(blocks):
                same(wanted, sweep(problem, "counter", 9, **options))


@pytest.mark.parametrize("method", ["nesterov", "anderson", "nncg"])
def test_methods_in_steps(method):
    """Equal but for rounding: some take their factors from the merit."""
    options = {"method": method, "record_every": 1, "scheme": "factorized"}
    one, two = (sweep(SCENARIOS["boxes"], way, **options) for way in ("launches", "counter"))
    assert one.iterations == two.iterations
    largest = np.abs(one.impulses).max()
    np.testing.assert_allclose(two.impulses, one.impulses, rtol=0, atol=1e-12 * largest)


@pytest.mark.parametrize("scheme", ["factorized", "matrix"])
@pytest.mark.parametrize("record_every", [1, 5, 40])
def test_divergent_sweeps_are_rolled_back_alike(record_every, scheme):
    """Over-relaxed sweeps diverge, in the middle of a launch too; best iterates come back."""
    options = {
        "sweeps": 40,
        "relaxation": 2.6,
        "rollback_growth": 1.0,
        "record_every": record_every,
        "scheme": scheme,
    }
    here = sweep(SCENARIOS["spheres"], "cpu", **options)
    there = sweep(SCENARIOS["spheres"], "counter", **options)
    rolled_back_alike(here, there)


def test_an_alarm_that_is_only_rounding():
    """Residuals at the level of rounding grow without divergence: no sweep of a call is lost."""
    options = {"sweeps": 600, "record_every": 200, "rollback_growth": 1.0}
    problem = cs.scenarios.ball_grid(2)
    same(*(sweep(problem, way, scheme="factorized", **options) for way in ("cpu", "counter")))
    options.update(order="colored", scheme="factorized")
    same(*(sweep(problem, way, **options) for way in ("launches", "dataflow")))


def test_the_best_iterate_of_a_launch():
    """Residuals rise and fall: every number of sweeps ends at the iterate of launches."""
    for sweeps in range(1, 20):
        options = {"relaxation": 1.9, "rollback_growth": 1.5, "sweeps": sweeps}
        same(*(sweep(SCENARIOS["boxes"], way, **options) for way in ("launches", "counter")))


def given(pattern, blocks, rows=3):
    """A problem whose A has these blocks (row, column), and is dominated by its diagonal."""
    rng = np.random.default_rng(1)
    A = np.zeros((blocks * rows, blocks * rows))
    for k, other in pattern:
        if k <= other:
            block = 0.1 * rng.standard_normal((rows, rows))
            block = 2 * np.eye(rows) + block + block.T if k == other else block
            A[k * rows :][:rows, other * rows :][:, :rows] = block
            A[other * rows :][:rows, k * rows :][:, :rows] = block.T
    return cs.Problem.from_delassus(A, rng.standard_normal((blocks, rows)), mu=0.4)


def test_a_given_matrix():
    problem = given([(k, o) for k in range(9) for o in range(9) if k == o or (k + o) % 3 == 0], 9)
    same(*(sweep(problem, way) for way in ("cpu", "counter")))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"method": "jacobi"}, "contacts of a stage of the order do not see each other's updates"),
        ({"order": "colored", "scheme": "factorized"}, "contacts are visited in batches"),
    ],
)
def test_where_counters_are_not_possible(options, why):
    options = {"method": "gauss_seidel", "scheme": "matrix", **EMULATED, **options}
    with pytest.raises(ValueError, match=f"device_sweeps='counter' is not possible here: {why}"):
        cs.Solver(SCENARIOS["spheres"], device_sweeps="counter", **options)


def test_a_block_without_its_mirror_image():
    """Contact 2 reads contact 0, which would not wait for it."""
    A = ([2.0, 2.0, 1e-17, 2.0], [0, 1, 0, 2], [0, 1, 2, 4])
    problem = cs.Problem.from_delassus(A, -np.ones(3), rows=1, sets=cs.sets.half_line())
    options = {"method": "gauss_seidel", "order": "natural", "scheme": "matrix", **EMULATED}
    with pytest.raises(ValueError, match="a block whose mirror image is not stored"):
        cs.Solver(problem, device_sweeps="counter", **options)


@pytest.mark.parametrize("turn", TURNS)
def test_a_lost_count_is_reported(turn):
    """A visit that others never hear of ends the solve with an error, and nothing else."""
    problem = cs.scenarios.ball_grid(2)
    with turns(turn, 3), resident(1), lost_write(3):
        solver = cs.Solver(
            problem,
            method="gauss_seidel",
            order="natural",
            scheme="matrix",
            rtol=None,
            max_iterations=4,
            device_sweeps="counter",
            **EMULATED,
        )
        with pytest.raises(RuntimeError, match=r"device has failed: .*the kernel trapped"):
            solver.solve()
    same(sweep(problem, "cpu", 5), sweep(problem, "counter", 5))
