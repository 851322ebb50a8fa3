"""Whole rows of T on the emulated device: to rounding, because a row is summed by many threads."""

import numpy as np
import pytest

import contactsolve as cs
from agreement import package_set
from emulated import (
    EMULATED,
    TURNS,
    kernels_of,
    on_both,
    same_history,
    shared,
    swept,
    turns,
)
from reference_numpy import random_problem

SETS = (("free", 4), ("box", 2), ("half_line", 1), ("disc", 3), ("rolling", 5), ("contensou", 4))
ORDERS = {"natural": "natural", "panels": "panels", "pairs": cs.orders.panels(contacts=2)}


def given(contacts, seed=1):
    """A problem of contacts in discs whose A has no zeros, and is dominated by its diagonal."""
    rng = np.random.default_rng(seed)
    rows = 3 * contacts
    A = rng.uniform(-1, 1, (rows, rows)) / rows
    A = A + A.T + 2 * np.eye(rows)
    return cs.Problem.from_delassus(A, rng.standard_normal((contacts, 3)), mu=0.4)


def agree(problem, sweeps, **options):
    """The processor and the device, to rounding."""
    options = {"scheme": "dense", **options}
    here, there = on_both(problem, sweeps, **options)
    eps = np.finfo(options.get("dtype", "float64")).eps
    bound = 10 * sweeps * problem.rows * eps * max(1, np.abs(here.impulses).max())
    assert np.abs(here.impulses - there.impulses).max() <= bound
    return here, there


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("set_name", "rows"), SETS)
def test_agrees_with_the_processor(set_name, rows, dtype):
    """Sums of n products in another order: n roundings of the largest term, in each sweep."""
    for method, order in (("jacobi", "natural"), *(("gauss_seidel", name) for name in ORDERS)):
        arrays = random_problem(np.random.default_rng(rows), 12, 9, rows, 6, set_name)
        problem = cs.Problem(
            arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
        )
        options = {"method": method, "order": ORDERS[order], "scheme": "dense", "dtype": dtype}
        here, there = on_both(problem, 3, **options)
        bound = 3 * 12 * rows * np.finfo(dtype).eps * max(1, np.abs(here.impulses).max())
        assert np.abs(here.impulses - there.impulses).max() <= 10 * bound


@pytest.mark.parametrize("sweeps", ["launches", "graph"])
@pytest.mark.parametrize("method", ["jacobi", "gauss_seidel", "symmetric_gauss_seidel", "nesterov"])
def test_turns_of_threads_do_not_matter(method, sweeps):
    problem = cs.scenarios.box_stack(4)
    options = {"order": ORDERS["pairs"], "scheme": "dense", "device_sweeps": sweeps}
    results = []
    for turn in TURNS:
        with turns(turn, 5):
            solver = cs.Solver(
                problem, method=method, max_iterations=15, rtol=None, **options, **EMULATED
            )
            results.append(solver.solve().impulses)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_best_iterate_and_rollbacks():
    """Growth is undone as on the processor."""
    A = np.array([[2.0, 1.5], [1.5, 2.0]])
    problem = cs.Problem.from_delassus(A, [-1.0, -1.0], rows=1, sets=cs.sets.free())
    options = {"local": "projected", "r_factor": 1.0, "rollback_growth": 1.0, "rtol": None}
    for sweeps, wanted in enumerate([1.0, 1.0, -0.25, 0.6875], 1):
        result = cs.solve(
            problem, method="jacobi", scheme="dense", max_iterations=sweeps, **options, **EMULATED
        )
        np.testing.assert_array_equal(result.impulses, [[wanted], [wanted]])


@pytest.mark.parametrize("order", ["ranges", "partition"])
def test_parts_that_see_only_themselves_are_refused(order):
    with pytest.raises(ValueError, match=f"order='{order}'"):
        cs.Solver(
            cs.scenarios.ball_grid(4), order=order, parts=3, scheme="dense", **EMULATED
        ).solve()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", ["natural", "reverse"])
@pytest.mark.parametrize("method", ["gauss_seidel", "symmetric_gauss_seidel"])
def test_full_sor_by_panels(method, order, dtype):
    """Two panels, of 32 contacts and of 5, in both directions and through a turn."""
    options = {"method": method, "order": order, "dtype": dtype}
    here, there = agree(given(37), 3, **options)
    np.testing.assert_allclose(here.history["residual"], there.history["residual"], rtol=1e-3)


@pytest.mark.parametrize("order", ["natural", "reverse"])
@pytest.mark.parametrize("method", ["gauss_seidel", "symmetric_gauss_seidel"])
def test_calls_do_not_matter_in_full_sor(method, order):
    """A sweep has the same bits where it begins a call and where it does not."""
    options = {"method": method, "order": order, "scheme": "dense"}
    one, five = (
        swept(given(37), "graph", 5, **options, record_every=every).impulses for every in (1, 5)
    )
    np.testing.assert_array_equal(one, five)


def test_panels_fit_the_shared_memory_of_a_block():
    """Five contacts in place of 32: of 15 rows, each 97 numbers long."""
    wanted = agree(given(12), 3, method="gauss_seidel", order="natural")[1]
    with shared(17_000):
        got = agree(given(12), 3, method="gauss_seidel", order="natural")[1]
    np.testing.assert_allclose(got.impulses, wanted.impulses, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("options", [{"averaging": 0.5}, {"bound": "previous"}])
def test_options_of_full_sor(options):
    agree(given(34), 3, method="gauss_seidel", order="natural", **options)


@pytest.mark.parametrize("order", ["natural", "random"])
def test_turns_of_threads_in_full_sor(order):
    """By panels, and, where impulses do not follow one another, by one block."""
    results = []
    for turn in TURNS:
        with turns(turn, 5):
            options = {"method": "symmetric_gauss_seidel", "order": order, "scheme": "dense"}
            results.append(swept(given(34), "graph", 3, rng=4, **options).impulses)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


ITERATIONS = {
    "jacobi": ({"method": "jacobi"}, 40, 1, 3),
    "full_sor": ({"method": "gauss_seidel", "order": "natural"}, 40, 2, 4),
    "panels": ({"method": "gauss_seidel", "order": ORDERS["pairs"]}, 6, 3, 3),
}


@pytest.mark.parametrize("way", ["graph", "launches"])
@pytest.mark.parametrize("name", ITERATIONS)
def test_an_iteration_is_a_kernel_a_stage(name, way):
    """Of Jacobi one, of full SOR one for each 32 contacts. What else a call has, it has once.

    How many calls make the sweeps depends on the time that they take.
    """
    options, contacts, kernels, once = ITERATIONS[name]
    problem = given(contacts)
    options = {"scheme": "dense", **options}
    one, six = (kernels_of(lambda n=n: swept(problem, way, n, **options)) for n in (1, 6))
    more = six - one - 5 * kernels
    assert more % once == 0
    assert 0 <= more <= 5 * once


@pytest.mark.parametrize("method", ["jacobi", "gauss_seidel", "symmetric_gauss_seidel"])
def test_launches_and_graphs_have_the_same_bits(method):
    """Graphs of other numbers of sweeps as well."""
    options = {"method": method, "order": "natural", "scheme": "dense"}
    same_history(*(swept(given(34), way, 5, **options) for way in ("launches", "graph")))
    every = [swept(given(5), "graph", 9, record_every=n, **options) for n in (1, 7, 9)]
    for other in every[1:]:
        np.testing.assert_array_equal(every[0].impulses, other.impulses)


@pytest.mark.parametrize("method", ["jacobi", "gauss_seidel", "symmetric_gauss_seidel"])
def test_divergent_sweeps_of_a_graph_are_rolled_back(method):
    """As in calls of one sweep each."""
    A = np.array([[2.0, 1.5, 0.5], [1.5, 2.0, 0.25], [0.5, 0.25, 2.0]])
    problem = cs.Problem.from_delassus(A, [-1.0, -1.0, 0.5], rows=1, sets=cs.sets.free())
    options = {"method": method, "order": "natural", "scheme": "dense", "rollback_growth": 1.0}
    options |= {"local": "projected", "r_factor": 1.2}
    here, there = (swept(problem, "graph", 20, record_every=every, **options) for every in (1, 20))
    assert here.info["rollbacks"] > 0
    assert there.info["rollbacks"] == here.info["rollbacks"]
    np.testing.assert_array_equal(here.impulses, there.impulses)


@pytest.mark.parametrize("method", ["jacobi", "gauss_seidel"])
def test_prox_of_floats_has_the_bits_of_the_processor(method):
    """Of contacts that open, stick and slide, with T = 0: the signs of zeros as well."""
    rng = np.random.default_rng(8)
    c = rng.standard_normal((60, 3))
    c[::7, 1] = 0
    mu = rng.uniform(0, 1, 60)
    problem = cs.Problem.from_delassus(2 * np.eye(180), c, mu)
    options = {"method": method, "order": "natural", "scheme": "dense", "r_factor": "diagonal"}
    here, there = on_both(problem, 1, {"instructions": "scalar"}, dtype="float32", **options)
    np.testing.assert_array_equal(here.impulses, there.impulses)
    np.testing.assert_array_equal(np.signbit(here.impulses), np.signbit(there.impulses))
    normal, tangents = there.impulses[:, 0], np.linalg.norm(there.impulses[:, 1:], axis=1)
    slides = np.isclose(tangents, mu * normal, rtol=1e-5)
    assert 0 < (slides & (normal > 0)).sum() < (normal > 0).sum() < 60
