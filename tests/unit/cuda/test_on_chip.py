"""Sweeps over whole rows of T that stay on the chip have the bits of launches of single sweeps."""

import numpy as np
import pytest

import contactsolve as cs
from agreement import package_set
from emulated import (
    DEVICE,
    EMULATED,
    TURNS,
    kernels_of,
    resident,
    rolled_back_alike,
    same_bits,
    same_history,
    shared,
    swept,
    threads,
    turns,
)
from reference_numpy import random_problem

SETS = (("free", 4), ("box", 2), ("half_line", 1), ("disc", 3), ("rolling", 5), ("polygon", 3))


def given(contacts, seed=1):
    """A problem of contacts in discs whose A has no zeros, and is dominated by its diagonal."""
    rng = np.random.default_rng(seed)
    rows = 3 * contacts
    A = rng.uniform(-1, 1, (rows, rows)) / rows
    A = A + A.T + 2 * np.eye(rows)
    return cs.Problem.from_delassus(A, rng.standard_normal((contacts, 3)), mu=0.4)


def sweep(problem, way, sweeps=15, **options):
    return swept(problem, way, sweeps, **{"method": "jacobi", "scheme": "dense", **options})


def same(problem, **options):
    same_history(*(sweep(problem, way, **options) for way in ("launches", "on_chip")))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("set_name", "rows"), SETS)
def test_sets(set_name, rows, dtype):
    arrays = random_problem(np.random.default_rng(rows), 12, 9, rows, 6, set_name)
    problem = cs.Problem(
        arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
    )
    for sweeps in (1, 2, 15):
        same(problem, dtype=dtype, sweeps=sweeps)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("contacts", [1, 2, 5, 100, 101, 256])
def test_sizes(contacts, dtype):
    """Rows in registers of one to six pieces, in shared memory, and in none of them."""
    problem = given(contacts)
    for blocks in (1, 3):
        with resident(blocks):
            same(problem, dtype=dtype, sweeps=3)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("contacts", [2, 100, 101, 256])
def test_gpus_with_fewer_registers(contacts, dtype):
    """A third of the pieces stays in them, of whole rows or of a part; the rest is elsewhere."""
    with threads(256):
        for blocks in (1, 3):
            with resident(blocks):
                same(given(contacts), dtype=dtype, sweeps=3)


@pytest.mark.parametrize(("contacts", "dtype"), [(540, "float64"), (1070, "float32")])
def test_rows_of_large_teams(contacts, dtype):
    """With fewer registers; with all of them below."""
    with threads(256), resident(3):
        same(given(contacts), dtype=dtype, sweeps=2)


def test_rows_that_no_thread_holds_whole():
    """1,602 rows of 13 kB, by teams of 512: whole in registers, in shared memory and in none."""
    with resident(2):
        same(given(534), sweeps=2)


@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_turns_of_threads_do_not_matter(blocks):
    problem = given(60)
    wanted = sweep(problem, "launches", 9)
    for turn in TURNS:
        with turns(turn, blocks), resident(blocks):
            same_bits(wanted, sweep(problem, "on_chip", 9))


@pytest.mark.parametrize("record_every", [1, 5, 40])
def test_divergent_sweeps_are_rolled_back_alike(record_every):
    """In the middle of a launch too; the best iterate comes back."""
    options = {"relaxation": 2.6, "rollback_growth": 1.0, "record_every": record_every}
    problem = cs.scenarios.ball_grid(3)
    here, there = (sweep(problem, way, 40, **options) for way in ("launches", "on_chip"))
    rolled_back_alike(here, there)


def test_the_best_iterate_of_a_launch():
    for sweeps in range(1, 20):
        same(given(9), relaxation=1.9, rollback_growth=1.5, sweeps=sweeps)


@pytest.mark.parametrize(
    "options", [{"averaging": 0.5}, {"bound": "previous"}, {"relaxation": 0.4}]
)
def test_options(options):
    same(cs.scenarios.box_stack(5), **options)


@pytest.mark.parametrize("method", ["nesterov", "anderson", "nncg"])
def test_methods_in_steps(method):
    options = {"method": method, "order": cs.orders.panels(contacts=10**6), "record_every": 1}
    same(given(30), **options)


def test_values_that_change():
    """New b and new R reach the rows that are kept."""
    problems = [given(40) for _ in range(2)]
    solvers = [
        cs.Solver(p, method="jacobi", scheme="dense", device_sweeps=way, rtol=1e-9, **EMULATED)
        for p, way in zip(problems, ("launches", "on_chip"), strict=True)
    ]
    for factor in (1.0, -0.5):
        for problem in problems:
            problem.update(b=factor * given(40).b)
        same_bits(*(solver.solve() for solver in solvers))


def test_auto_takes_it_where_all_rows_fit():
    """And where a graph would take longer: 1.6 MB of T fit 20 blocks, but not one.

    A GPU has all its blocks, and more than 20.
    """
    options = {"method": "jacobi", "scheme": "dense", **EMULATED}
    for contacts, blocks, way in ((150, 20, "on_chip"), (150, 1, "graph"), (60, 3, "graph")):
        if blocks == 1 and DEVICE != "cuda-emulated":
            continue
        with resident(blocks):
            assert cs.Solver(given(contacts), **options).info["kernel"].endswith(f", {way}")


@pytest.mark.parametrize(
    ("contacts", "blocks", "size", "most", "way"),
    [
        (150, 20, 40_000, 1024, "on_chip"),  # rows of three visits a thread in registers
        (150, 20, 40_000, 256, "graph"),  # of one; the others need 43 kB of shared memory
        (150, 20, 80_000, 256, "on_chip"),
        (171, 43, 80_000, 256, "on_chip"),  # no whole row in registers, all in shared memory
        (171, 43, 40_000, 256, "graph"),
    ],
)
def test_auto_knows_the_registers(contacts, blocks, size, most, way):
    options = {"method": "jacobi", "scheme": "dense", **EMULATED}
    problem = given(contacts)
    with resident(blocks), shared(size), threads(most):
        solver = cs.Solver(problem, **options, rtol=None, max_iterations=3)
        assert solver.info["kernel"].endswith(f", {way}")
        result = solver.solve()
    same_bits(sweep(problem, "launches", 3, record_every=1), result)


def test_a_call_is_four_kernels():
    """The sweeps, and at their end sums, the verdict, and the iterates that are kept."""
    one, nine = (kernels_of(lambda n=n: sweep(given(5), "on_chip", n)) for n in (1, 9))
    assert (nine - one) % 4 == 0


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"scheme": "matrix"}, "scheme='dense' is needed"),
        ({"method": "gauss_seidel"}, "some contacts of a sweep see the updates of others"),
    ],
)
def test_where_it_is_not_possible(options, why):
    options = {"method": "jacobi", "scheme": "dense", **EMULATED, **options}
    with pytest.raises(ValueError, match=f"device_sweeps='on_chip' is not possible here: {why}"):
        cs.Solver(cs.scenarios.ball_grid(3), device_sweeps="on_chip", **options)


def test_several_sets():
    one = cs.scenarios.ball_grid(2)
    sets = cs.sets.disc(0.3), cs.sets.second_order_cone(0.3)
    problem = cs.Problem(
        groups=[cs.Group(one.J, one.bodies, one.b, sets=each) for each in sets],
        bodies=[cs.Bodies(one.Minv)],
    )
    with pytest.raises(ValueError, match="blocks have several shapes or sets"):
        sweep(problem, "on_chip")


def test_impulses_too_long_for_a_block():
    with (
        shared(1 << 12),
        pytest.raises(ValueError, match="do not fit the shared memory of a block"),
    ):
        sweep(given(100), "on_chip")
