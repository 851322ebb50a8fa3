"""The prox of float32 on the emulated device, in double and in single precision: bounds in ULP."""

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import importing_from
from contactsolve import sets
from emulated import EMULATED, TURNS, same_bits, turns
from repository import BENCHMARKS

with importing_from(BENCHMARKS / "cuda"):
    import prox_ulp

# The largest errors in ULP of float32, as in docs/cuda.md: of "double" and of "single".
BOUNDS = {
    ("free", 3): (0.0, 0.0),
    ("box", 3): (0.0, 0.0),
    ("half_line", 3): (0.0, 0.0),
    ("disc", 2): (0.5, 0.5),
    ("disc", 3): (1.5, 2.75),
    ("box_friction", 2): (0.5, 0.5),
    ("box_friction", 3): (0.5, 0.5),
    ("rolling", 5): (1.5, 2.75),
    ("contensou", 4): (2.25, 2.75),
    ("second_order_cone", 2): (1.0, 4.0),
    ("second_order_cone", 3): (1.0, 8.0),
    ("tresca", 2): (0.0, 0.0),
    ("tresca", 3): (0.51, 2.5),
    ("tresca", 4): (0.51, 2.5),
    ("tresca", 5): (0.51, 2.5),
    ("ellipse", 3): (0.51, 0.51),
    ("polygon", 3): (0.51, 0.51),
    ("contensou_coupled", 4): (0.51, 0.51),
    ("support", 3): (0.51, 0.51),
    ("support", 4): (0.51, 0.51),
}
CASES = {(case.name, case.rows): case for case in prox_ulp.CASES}
SEARCHED = ("ellipse", "polygon", "contensou_coupled", "support")
SINGLE = {**EMULATED, "dtype": "float32", "device_prox": "single"}


def test_every_set_has_bounds():
    assert BOUNDS.keys() == CASES.keys()
    assert {name for name, _ in CASES} == set(sets.names()) - {"support_function"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("precision", prox_ulp.PRECISIONS)
@pytest.mark.parametrize("key", CASES, ids=lambda key: f"{key[0]}-{key[1]}")
def test_errors_are_within_their_bounds(key, precision):
    case, bound = CASES[key], BOUNDS[key][prox_ulp.PRECISIONS.index(precision)]
    made, z = prox_ulp.draw(case, 20_000, seed=1)
    for kernel in set(prox_ulp.kernels_of(case)) - {"dense"}:
        got = prox_ulp.impulses_of(made, z, precision, kernel, **EMULATED)
        assert prox_ulp.errors(case, z, got, made.project(z)).max() <= bound, kernel


@pytest.mark.sampled(4)
@pytest.mark.parametrize("key", CASES, ids=lambda key: f"{key[0]}-{key[1]}")
def test_all_kernels_have_the_same_bits(key):
    """In single precision; only searched and exact sets have those of double precision, too."""
    case = CASES[key]
    made, z = prox_ulp.draw(case, 300, seed=3)
    got = [
        prox_ulp.impulses_of(made, z, "single", kernel, **EMULATED)
        for kernel in prox_ulp.kernels_of(case)
    ]
    for other in got[1:]:
        np.testing.assert_array_equal(got[0], other)
    double = prox_ulp.impulses_of(made, z, "double", "visits", **EMULATED)
    assert np.array_equal(got[0], double) == (BOUNDS[key][0] == BOUNDS[key][1])
    assert case.name not in SEARCHED or np.array_equal(got[0], double)


@pytest.mark.parametrize("kernel", ["batches", "visits"])
@pytest.mark.parametrize("key", CASES, ids=lambda key: f"{key[0]}-{key[1]}")
def test_squares_do_not_overflow_or_underflow(key, kernel):
    """Numbers near both ends of float32, and contacts without a normal impulse."""
    case = CASES[key]
    if kernel not in prox_ulp.kernels_of(case):
        pytest.skip("batches have 2 to 4 rows and no shapes")
    for size in (1e-30, 1e-18, 1e-15, 1e15, 1e19, 1e36):
        # Half of them slide or stick; half open, or have tangents far above the bound.
        rng = np.random.default_rng(4)
        z = size * rng.uniform(0.1, 1.0, (64, case.rows))
        z[:32, 1:] *= rng.choice([-1.0, 1e-9, 1.0], (32, case.rows - 1))
        z[32:, 0] *= rng.choice([-1.0, 0.0, 1e-3], 32)
        z = prox_ulp.single(z)
        made = case.make(rng, z)
        if made.takes_mu:
            made = made.with_mu(prox_ulp.single(rng.uniform(0.1, 1.0, 64)))
        got, wanted = prox_ulp.impulses_of(made, z, "single", kernel, **EMULATED), made.project(z)

        # Emulation takes subnormal numbers for 0.
        sizes = np.abs(z if case.of_z else wanted).max(axis=1)
        bound = 8 * np.finfo(np.float32).eps * sizes + 2 * np.finfo(np.float32).tiny
        assert (np.abs(got - wanted).max(axis=1) <= bound).all(), size


@pytest.mark.parametrize("order", ["colored", "natural"])
@pytest.mark.parametrize("bound", ["current", "previous"])
@pytest.mark.parametrize("local", ["projected", "block"])
def test_solves_agree_with_double_precision(local, bound, order):
    options = {"method": "gauss_seidel", "dtype": "float32", "rtol": 1e-4, "bound": bound}
    problem = cs.scenarios.ball_grid(3)
    results = [
        cs.solve(problem, order=order, local=local, device_prox=precision, **options, **EMULATED)
        for precision in prox_ulp.PRECISIONS
    ]
    assert all(result.converged for result in results)
    assert abs(results[0].iterations - results[1].iterations) <= 10
    largest = np.abs(results[0].impulses).max()
    assert np.abs(results[0].impulses - results[1].impulses).max() <= 1e-2 * largest


@pytest.mark.parametrize("order", ["colored", "natural"])
def test_launches_have_the_bits_of_dataflow_and_counters(order):
    """Sets of several kinds in one problem, of which no kernel inlines one."""
    grid, half = cs.scenarios.ball_grid(3), 20
    groups = [
        cs.Group(grid.J[:half], grid.bodies[:half], grid.b[:half], sets=sets.disc(0.5)),
        cs.Group(grid.J[half:], grid.bodies[half:], grid.b[half:], sets=sets.box_friction(0.3)),
    ]
    problem = cs.Problem(groups=groups, bodies=[cs.Bodies(grid.Minv)])
    way = "dataflow" if order == "colored" else "counter"
    options = {"method": "gauss_seidel", "order": order, "rtol": None, "max_iterations": 9}
    one, other = (
        cs.Solver(problem, device_sweeps=sweeps, record=("residual",), **options, **SINGLE).solve()
        for sweeps in ("launches", way)
    )
    for a, b in zip(one.impulses, other.impulses, strict=True):
        np.testing.assert_array_equal(a, b)


def test_turns_of_threads_do_not_matter():
    results = []
    for turn in TURNS:
        with turns(turn, 7):
            options = {"rtol": None, "max_iterations": 10, "record": ("residual",), **SINGLE}
            results.append(cs.solve(cs.scenarios.box_stack(4), method="gauss_seidel", **options))
    same_bits(results[0], results[1])
    same_bits(results[0], results[2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "it is for a device, and device is 'cpu'"),
        ({"dtype": "float32"}, "it is for a device, and device is 'cpu'"),
        ({**EMULATED}, "it is for dtype='float32', and dtype is 'float64'"),
        ({**EMULATED, "dtype": "mixed"}, "it is for dtype='float32', and dtype is 'mixed'"),
    ],
)
def test_single_is_refused_where_it_has_no_effect(options, message):
    with pytest.raises(ValueError, match=f"^device_prox is single: {message}$"):
        cs.Solver(cs.scenarios.box_stack(2), device_prox="single", **options)


def test_words():
    with pytest.raises(ValueError, match="device_prox: 'half' is unknown"):
        cs.Solver(cs.scenarios.box_stack(2), device_prox="half", **EMULATED)
