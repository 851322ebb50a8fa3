"""S4 on the emulated device: Jacobi in the plane, each contact weighted by 1 / #adjacent."""

import numpy as np
import pytest

import contactsolve as cs
from agreement import package_set
from emulated import EMULATED, TURNS, on_both, same_bits, turns
from reference_numpy import random_problem

PYRAMIDS = {
    "on nothing": cs.scenarios.disc_pyramid(7),
    "on the ground": cs.scenarios.disc_pyramid(6, ground=True, gravity=9.81),
}
OPTIONS = {"method": "jacobi", "averaging": "adjacent"}
needs_avx2 = pytest.mark.skipif(
    not cs.info()["instructions"].get("avx2"), reason="this processor has no AVX2"
)


@needs_avx2
@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("dtype", ["float64", "mixed"])
@pytest.mark.parametrize("name", PYRAMIDS)
def test_velocities_are_gathered_body_by_body(name, dtype, compressed):
    for bound in ("current", "previous"):
        options = {**OPTIONS, "dtype": dtype, "compressed": compressed, "bound": bound}
        here, there = on_both(
            PYRAMIDS[name], scheme="factorized", here={"instructions": "avx2"}, **options
        )
        same_bits(here, there)
        assert np.abs(there.impulses).max() > 0


@pytest.mark.parametrize("scheme", ["matrix", "iteration_matrix"])
@pytest.mark.parametrize("name", PYRAMIDS)
def test_rows(name, scheme):
    same_bits(*on_both(PYRAMIDS[name], scheme=scheme, here={"instructions": "scalar"}, **OPTIONS))


@pytest.mark.parametrize("scheme", ["factorized", "matrix"])
def test_local_problems_are_solved_as_in_s4(scheme):
    """S4's `solver` solves the problem of each contact; the device does it by repeated steps."""
    options = {**OPTIONS, "local": "block", "scheme": scheme}
    here, there = on_both(PYRAMIDS["on the ground"], **options)
    largest = np.abs(here.impulses).max()
    np.testing.assert_allclose(there.impulses, here.impulses, atol=1e-9 * largest)


@needs_avx2
@pytest.mark.parametrize("device_sweeps", ["launches", "graph", "auto"])
def test_solves_stop_after_as_many_sweeps(device_sweeps):
    problem = PYRAMIDS["on nothing"]
    options = {**OPTIONS, "scheme": "factorized", "rtol": 1e-6, "max_iterations": 20000}
    here = cs.Solver(problem, instructions="avx2", **options).solve()
    there = cs.Solver(problem, device_sweeps=device_sweeps, **EMULATED, **options).solve()
    assert here.converged
    assert there.converged
    assert here.iterations == there.iterations
    np.testing.assert_array_equal(here.impulses, there.impulses)


def test_turns_of_threads_do_not_matter():
    results = []
    for turn in TURNS:
        with turns(turn, 5):
            options = {**OPTIONS, "scheme": "factorized", "rtol": None, "max_iterations": 20}
            solver = cs.Solver(
                PYRAMIDS["on the ground"], record=("residual",), **EMULATED, **options
            )
            results.append(solver.solve())
    for result in results[1:]:
        same_bits(results[0], result)


def grouped(*parts):
    """One problem of random contacts: for each part, its bodies, rows and kind of set."""
    bodies, groups, first, count = [], [], 0, 0
    for seed, (dof, rows, name, own) in enumerate(parts):
        arrays = random_problem(np.random.default_rng(seed), 40, 9, rows, dof, name)
        if own:
            first, count = count, count + len(arrays.Minv)
            bodies.append(cs.Bodies(arrays.Minv))
        pairs = np.where(arrays.bodies < 0, -1, arrays.bodies + first)
        groups.append(cs.Group(arrays.J, pairs, arrays.b, sets=package_set(arrays)))
    return cs.Problem(bodies=bodies, groups=groups)


@needs_avx2
@pytest.mark.parametrize("dtype", ["float64", "mixed"])
@pytest.mark.parametrize(
    "parts",
    [
        ((6, 3, "disc", True), (3, 2, "disc", True)),  # bodies of different sizes
        ((6, 3, "disc", True), (6, 1, "half_line", False)),  # some contacts are not in batches
    ],
)
def test_velocities_of_several_groups(parts, dtype):
    options = {"method": "jacobi", "scheme": "factorized", "dtype": dtype, "relaxation": 0.2}
    here, there = on_both(grouped(*parts), here={"instructions": "avx2"}, **options)
    for one, two in zip(here.impulses, there.impulses, strict=True):
        np.testing.assert_array_equal(one, two)
        assert np.abs(one).max() > 0
