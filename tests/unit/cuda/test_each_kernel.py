"""Each kind of kernel once, on the least problem that needs it: what sanitizers run."""

import numpy as np
import pytest

import contactsolve as cs
from emulated import DEVICE, EMULATED, same_bits, swept

STACK, SPHERES = cs.scenarios.box_stack(1), cs.scenarios.ball_grid(2)
PAIR = cs.Problem.from_delassus(np.eye(6) + 0.1, [[-1.0, 0.2, 0.1], [-0.5, 1.0, 0.0]], mu=0.5)
# Two panels of 96 rows, and of 95, which are no multiple of what a thread reads.
LONG = cs.Problem.from_delassus(np.eye(123) + 0.01, np.ones((41, 3)) * [-1, 0.2, 0.1], mu=0.5)
FIVE = cs.Problem.from_delassus(np.eye(105) + 0.01, np.ones(105), rows=5, sets=cs.sets.free())
GAUSS_SEIDEL = {"method": "gauss_seidel", "scheme": "factorized"}
COLOURED = {**GAUSS_SEIDEL, "order": "colored"}
NATURAL = {**GAUSS_SEIDEL, "order": "natural"}
JACOBI = {"method": "jacobi", "scheme": "factorized", "order": "colored"}
DENSE = {"scheme": "dense", "order": "natural"}

# By kernel: problem, way of sweeps, options of the solver, and those of the processor whose bits it
# has; None: they differ by rounding.
VECTORS, SCALAR = {"instructions": "avx2"}, {"instructions": "scalar"}
SWEEPS = {
    "batches": (SPHERES, "launches", {**COLOURED, "compressed": False}, VECTORS),
    "batches, compressed": (SPHERES, "graph", {**COLOURED, "compressed": True}, VECTORS),
    "batches, single": (STACK, "launches", {**COLOURED, "dtype": "float32"}, None),
    "batches, mixed": (STACK, "launches", {**COLOURED, "dtype": "mixed"}, VECTORS),
    "batches, jacobi": (SPHERES, "launches", {**JACOBI, "averaging": "adjacent"}, VECTORS),
    "visits": (STACK, "launches", NATURAL, SCALAR),
    "visits of rows": (STACK, "graph", {**NATURAL, "scheme": "matrix"}, SCALAR),
    "counter": (STACK, "counter", NATURAL, SCALAR),
    "dataflow": (SPHERES, "dataflow", COLOURED, VECTORS),
    "dataflow, single": (SPHERES, "dataflow", {**COLOURED, "dtype": "float32"}, None),
    "regions": (SPHERES, "regions", {**COLOURED, "order": cs.orders.regions(2)}, VECTORS),
    "dense": (PAIR, "launches", {**DENSE, "method": "jacobi"}, None),
    "panels": (PAIR, "graph", {**DENSE, "method": "gauss_seidel"}, None),
    "panels, long": (LONG, "graph", {**DENSE, "method": "gauss_seidel"}, None),
    "panels, long, reverse": (LONG, "graph", {"scheme": "dense", "order": "reverse"}, None),
    "panels, long, five rows": (FIVE, "graph", {**DENSE, "method": "gauss_seidel"}, None),
    "on_chip": (PAIR, "on_chip", {**DENSE, "method": "jacobi"}, None),
}
ROUNDING = {"float32": 1e-6, "float64": 1e-14}


@pytest.mark.parametrize("name", SWEEPS)
def test_sweeps(name):
    problem, way, options, like = SWEEPS[name]
    there = swept(problem, way, 2, **options)
    here = swept(problem, "cpu", 2, **options, **(like or {}))
    if like and (like is SCALAR or cs.info()["instructions"].get("avx2")):
        same_bits(there, here)
    bound = ROUNDING[options.get("dtype", "float64").replace("mixed", "float64")]
    largest = np.abs(here.impulses).max()
    assert np.abs(there.impulses - here.impulses).max() <= bound * largest


def test_verdicts():
    options = {**COLOURED, "rtol": 0.1, "check_every": 2}
    here, there = cs.Solver(STACK, **options), cs.Solver(STACK, **options, **EMULATED)
    result = there.solve(on_device=True)
    assert result.converged
    np.testing.assert_allclose(result.impulses, here.solve().impulses, rtol=0, atol=1e-12)


def test_points():
    options = {**COLOURED, "method": "nesterov", "rtol": None, "max_iterations": 3}
    here, there = cs.Solver(STACK, **options), cs.Solver(STACK, **options, **EMULATED)
    np.testing.assert_allclose(there.solve().impulses, here.solve().impulses, rtol=0, atol=1e-12)


@pytest.mark.parametrize("per", ["thread", "half_warp", "warp"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_batches(per, dtype):
    options = {"dtype": dtype, "compressed": True, "rtol": None, "max_iterations": 3}
    here, there = (
        cs.solve_batch([STACK, STACK], **options, **device)
        for device in ({}, {**EMULATED, "per": per})
    )
    np.testing.assert_array_equal(there.flat_impulses, here.flat_impulses)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "kernel", ["gemv+add+prox", "all_in_one_128", "own_gemv+prox", "full_sor_96", "relaxed_sor"]
)
def test_s2_dense(kernel, dtype):
    # Contacts that are not coupled: one iteration solves them, another one changes nothing.
    T, d = np.zeros((6, 6), dtype), np.array([1.0, 2.0, 0.0, -1.0, 1.0, 1.0], dtype)
    done = cs.cuda.iterate_dense(
        T, d, 0.5, kernel=kernel, iterations=2, criterion="each", check_every=2, device=DEVICE
    )
    assert done.converged
    np.testing.assert_array_equal(done.impulses, [1.0, 0.5, 0.0, 0.0, 0.0, 0.0])
