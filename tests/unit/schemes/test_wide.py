"""Contacts visited several at a time: the same impulses as one after another, but for rounding."""

from __future__ import annotations

import numpy as np
import pytest

import contactsolve as cs
from agreement import (
    EXACTLY,
    SOLVERS,
    TOLERANCE,
    amplification,
    assert_close,
    case_name,
    flat,
    generator,
    package_set,
    pairwise,
)
from reference_numpy import ReferenceProblem, random_impulses, random_problem, run

orders = cs.orders

INSTRUCTIONS = tuple(name for name, runs in cs.info()["instructions"].items() if runs)
BYTES = {"baseline": 16, "avx2": 32, "avx512": 64}
SHAPES = ((3, 6), (4, 6), (2, 3))
SET_ROWS = (
    *((name, *shape) for name in ("free", "box", "half_line") for shape in SHAPES),
    *((name, *shape) for name in ("disc", "box_friction") for shape in ((3, 6), (2, 3))),
    ("contensou", 4, 6),
)
ORDERS = {
    "natural": "natural",
    "reverse": "reverse",
    "greedy": orders.colored(),
    "balanced": orders.colored("balanced"),
    "unsafe ranges": orders.relaxed(5, unsafe="ranges"),
    "ranges": orders.ranges(),
    "cache": orders.cache(chunk=8),
    "partition": orders.partition(),
}
# Mixed: the same rounded factors in both, everything else in double.
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "mixed": 2.0**-52}
WIDE_DTYPES = tuple(EPSILON)


def problem_of(arrays) -> cs.Problem:
    return cs.Problem(
        arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
    )


def lanes(instructions: str, dtype: str) -> int:
    return BYTES[instructions] // (4 if dtype == "float32" else 8)


def sweeps(problem: cs.Problem, instructions: str, *, count: int = 1, initial=None, **options):
    options = {**EXACTLY, "scheme": "factorized", "max_iterations": count, **options}
    return cs.Solver(problem, instructions=instructions, **options).solve(initial=initial)


def assert_as_scalar(problem: cs.Problem, instructions: str, units: float, **options) -> None:
    """After a sweep, up to `units` rounding units of the largest impulse."""
    wide, scalar = (sweeps(problem, name, **options) for name in (instructions, "scalar"))
    dtype = options.get("dtype", "float64")
    kernel = f"wide, {instructions}, {lanes(instructions, dtype)} lanes"
    assert wide.info["kernel"] == kernel
    assert scalar.info["kernel"] == "scalar"
    assert_close(
        flat(wide.impulses), flat(scalar.impulses), units * EPSILON[dtype], f"{kernel}: {options}"
    )
    residuals = (wide.history["residual"][-1], scalar.history["residual"][-1])
    assert residuals[0] == pytest.approx(residuals[1], rel=units * EPSILON[dtype])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", WIDE_DTYPES)
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("set_name", "rows", "dof"), SET_ROWS)
def test_a_sweep_is_the_scalar_one(set_name, rows, dof, order, instructions, dtype):
    """Bodies with and without mass, the world, equal contacts; every body touched several times."""
    rng = generator("wide", set_name, rows, dof, order)
    arrays = random_problem(rng, 29, 17, rows, dof, set_name)
    problem = problem_of(arrays)
    for method in SOLVERS:
        assert_as_scalar(
            problem, instructions, 200, order=ORDERS[order], method=method, dtype=dtype
        )


@pytest.mark.parametrize("dtype", WIDE_DTYPES)
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("count", range(1, 18))
def test_every_remainder(count, instructions, dtype):
    """From one contact to more than the widest vectors have lanes; each with bodies of its own."""
    rng = generator("remainder", count)
    for rows, dof in SHAPES:
        arrays = random_problem(
            rng, count, 2 * count, rows, dof, "box" if rows == 4 else "disc", awkward=False
        )
        arrays.bodies[:] = np.arange(2 * count).reshape(count, 2)
        for method in SOLVERS:
            assert_as_scalar(
                problem_of(arrays), instructions, 100, method=method, order="colored", dtype=dtype
            )


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("method", SOLVERS)
def test_contacts_that_share_everything(method, instructions):
    """All between the same two bodies, all on one body itself, all against the world."""
    rng = generator("share")
    for pair in ((0, 1), (1, 1), (-1, 1), (1, -1), (0, -1), (-1, -1)):
        arrays = random_problem(rng, 11, 2, 3, 6, "disc", awkward=False)
        arrays.Minv[0] = 0.0 if -1 in pair else arrays.Minv[0]
        arrays.bodies[:] = pair
        found = sweeps(problem_of(arrays), instructions, count=3, method=method)
        assert found.info["kernel"].startswith(f"wide, {instructions}")
        wanted = run(ReferenceProblem.from_arrays(arrays), 3, solver=method)[-1]
        assert_close(flat(found.impulses), wanted, TOLERANCE["float64"], f"{method} on {pair}")


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_a_contact_of_a_body_with_itself_is_packed_alike_at_any_place(dtype):
    """Among the first eight contacts, or as the last one: the same impulses, bit for bit."""
    arrays = random_problem(generator("place"), 9, 9, 3, 6, "disc", awkward=False)
    arrays.bodies[:] = np.stack([np.full(9, -1), np.arange(9)], axis=1)
    arrays.bodies[0] = 0
    options = {"method": "jacobi", "scheme": "factorized", "dtype": dtype, "max_iterations": 20}
    options.update(EXACTLY)
    problem = problem_of(arrays)
    first = cs.solve(problem, **options).impulses
    J, b, bodies = problem.J[::-1], problem.b[::-1], problem.bodies[::-1]
    last = cs.solve(cs.Problem(J, problem.Minv, b, problem.mu[::-1], bodies=bodies), **options)
    np.testing.assert_array_equal(last.impulses[::-1], first)


OPTION_VALUES = {
    "shape": (("disc", 3, 6), ("disc", 2, 3), ("free", 3, 6), ("box", 4, 6), ("half_line", 2, 3)),
    "instructions": INSTRUCTIONS,
    "method": SOLVERS,
    "dtype": WIDE_DTYPES,
    "order": ("natural", "greedy", "ranges"),
    "relaxation": (1.0, 0.6),
    "averaging": (None, 0.5, "adjacent"),
    "r_factor": ("local", "diagonal", "block", 0.05),
    "bound": ("current", "previous"),
    "local": ("auto", "projected"),
    "compliance": (False, True),
    "warm": (False, True),
    "diagonal": (False, True),
}


@pytest.mark.parametrize("case", pairwise(OPTION_VALUES, 5), ids=case_name)
def test_options_in_pairs(case):
    case = dict(case)
    (set_name, rows, dof), order = case.pop("shape"), ORDERS[case.pop("order")]
    rng = generator("wide options", set_name, rows)
    arrays = random_problem(rng, 19, 9, rows, dof, set_name, diagonal=case.pop("diagonal"))
    compliance = rng.uniform(0.0, 0.3, arrays.b.shape) if case.pop("compliance") else None
    problem = cs.Problem(
        arrays.J,
        arrays.Minv,
        arrays.b,
        bodies=arrays.bodies,
        sets=package_set(arrays),
        compliance=compliance,
    )
    initial = random_impulses(rng, arrays) if case.pop("warm") else None
    instructions, dtype = case.pop("instructions"), case["dtype"]
    scalar, wide = (
        sweeps(problem, name, count=3, initial=initial, order=order, **case)
        for name in ("scalar", instructions)
    )
    assert wide.info["kernel"].startswith(f"wide, {instructions}")
    tolerance = TOLERANCE["float32" if dtype == "float32" else "float64"]
    tolerance *= amplification(ReferenceProblem.from_arrays(arrays))
    size = 0.0 if initial is None else float(np.abs(initial).max())
    assert_close(flat(wide.impulses), flat(scalar.impulses), tolerance, "impulses", size)
    for name in ("residual", "natural_map"):
        assert_close(wide.history[name], scalar.history[name], 10 * tolerance, name, size)


def scaled_problem(scale: float) -> cs.Problem:
    """Random contacts whose impulses are of order `scale`."""
    arrays = random_problem(generator("scaled"), 29, 17, 3, 6, "disc")
    return cs.Problem(
        arrays.J, arrays.Minv, scale * arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
    )


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [("float64", 1e-200), ("float64", 1e148), ("float32", 1e-25), ("float32", 1e25)],
)
def test_squares_that_leave_the_range(instructions, dtype, scale):
    """Friction is clamped right where the square of an impulse over- or underflows."""
    found = sweeps(scaled_problem(scale), instructions, count=3, dtype=dtype)
    wanted = sweeps(scaled_problem(1.0), "scalar", count=3, dtype="float64")
    assert_close(found.impulses / scale, wanted.impulses, TOLERANCE[dtype], f"scale {scale}")


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
def test_single_precision_is_refreshed(instructions):
    """100 sweeps: u is made anew from the impulses now and then, also from batches."""
    problem = cs.scenarios.ball_grid((4, 4, 4))
    for order in ("natural", "colored", "ranges"):
        options = {"order": order, "dtype": "float32", "count": 100}
        wide = sweeps(problem, instructions, **options)
        scalar = sweeps(problem, "scalar", **options)
        assert_close(wide.impulses, scalar.impulses, 1e-4, order)


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
def test_rollback_restores_impulses_in_batches(instructions):
    arrays = random_problem(generator("rollback"), 40, 6, 3, 6, "disc")
    options = {"method": "jacobi", "relaxation": 3.0, "rollback": 3, "rollback_growth": 1.0}
    # From zero impulses half the R moves them half as far: residuals would tie.
    options["initial"] = random_impulses(generator("rollback"), arrays)
    for count in range(1, 9):
        wide = sweeps(problem_of(arrays), instructions, count=count, **options)
        scalar = sweeps(problem_of(arrays), "scalar", count=count, **options)
        assert wide.info["rollbacks"] == scalar.info["rollbacks"]
        assert_close(wide.impulses, scalar.impulses, 1e-10, f"{count} sweeps")
    assert scalar.info["rollbacks"] > 0


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("order", ("natural", "colored"))
def test_groups_that_fit_beside_those_that_do_not(order, instructions):
    """Contacts in batches and joints of five rows one after another, on the same bodies."""
    rng = generator("groups", order)
    arrays = random_problem(rng, 23, 12, 3, 6, "disc")
    joints = random_problem(rng, 5, 12, 5, 6, "free", awkward=False)
    problem = cs.Problem(
        groups=[
            cs.Group(joints.J, joints.bodies, joints.b, sets=cs.sets.free()),
            cs.Group(arrays.J, arrays.bodies, arrays.b, sets=package_set(arrays)),
        ],
        bodies=[cs.Bodies(arrays.Minv)],
    )
    for method in SOLVERS:
        wide, scalar = (
            sweeps(problem, name, count=3, order=order, method=method)
            for name in (instructions, "scalar")
        )
        assert wide.info["kernel"].endswith("in 1 of 2 groups")
        assert_close(flat(wide.impulses), flat(scalar.impulses), 1e-10, method)


@pytest.mark.parametrize("dtype", WIDE_DTYPES)
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("order", ("colored", "ranges"))
def test_threads_do_not_change_a_bit(order, instructions, dtype):
    problem = cs.scenarios.ball_grid((12, 12, 12))
    for method in SOLVERS:
        options = {"order": order, "method": method, "dtype": dtype, "count": 4}
        options["record"] = ("merit",)
        runs = [
            sweeps(problem, instructions, threads=t, exact_threads=True, **options)
            for t in range(1, 9)
        ]
        assert runs[-1].info["threads"] > 1
        assert {run.impulses.tobytes() for run in runs} == {runs[0].impulses.tobytes()}
        assert len({run.history["merit"].tobytes() for run in runs}) == 1


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
def test_new_values_are_packed_again(instructions):
    rng = generator("update")
    first, second = (random_problem(rng, 13, 9, 3, 6, "disc", awkward=False) for _ in range(2))
    second.bodies[:] = first.bodies
    problem = problem_of(first)
    solver = cs.Solver(
        problem, instructions=instructions, scheme="factorized", max_iterations=2, **EXACTLY
    )
    solver.solve()
    problem.update(J=second.J, Minv=second.Minv, b=second.b, mu=second.mu)
    wanted = sweeps(problem_of(second), instructions, count=2)
    np.testing.assert_array_equal(solver.solve().impulses, wanted.impulses)
    other = sweeps(problem_of(second), "scalar", count=2)
    assert_close(solver.solve(b=2 * second.b).impulses, 2 * other.impulses, 1e-12, "b")


def test_auto_takes_what_is_well_filled():
    """Colours of a grid fill the lanes, a chain visited in its order does not."""
    grid = cs.scenarios.ball_grid((8, 8, 8))
    colored = cs.Solver(grid, scheme="factorized", order="colored").info["kernel"]
    assert colored == "scalar" or colored.startswith("wide")
    assert (colored != "scalar") == any(lanes(name, "float64") >= 4 for name in INSTRUCTIONS)
    natural = cs.Solver(grid, scheme="factorized", order="natural").info["kernel"]
    assert natural == "scalar"


def test_what_is_asked_for_has_to_run(monkeypatch):
    problem = cs.scenarios.ball_grid((2, 2, 2))
    with pytest.raises(ValueError, match="instructions: 'sse' is unknown; known: auto, scalar"):
        cs.Solver(problem, instructions="sse")
    with pytest.raises(TypeError, match="instructions is 3: a name is needed"):
        cs.Solver(problem, instructions=3)
    for name, runs in cs.info()["instructions"].items():
        if not runs:
            with pytest.raises(ValueError, match=f"does not run '{name}', only scalar"):
                cs.Solver(problem, instructions=name)
    monkeypatch.setenv("CONTACTSOLVE_INSTRUCTIONS", "baseline")
    options = {"scheme": "factorized", "order": "colored"}
    assert "baseline" in cs.Solver(problem, **options).info["kernel"]
    assert cs.Solver(problem, instructions="scalar", **options).info["kernel"] == "scalar"
    monkeypatch.setenv("CONTACTSOLVE_INSTRUCTIONS", "mmx")
    with pytest.raises(ValueError, match="CONTACTSOLVE_INSTRUCTIONS: 'mmx' is unknown"):
        cs.Solver(problem)
