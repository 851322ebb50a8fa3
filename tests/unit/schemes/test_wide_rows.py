"""Rows of A in vectors: the same impulses as by the scalar loop, but for rounding."""

from __future__ import annotations

import numpy as np
import pytest

import contactsolve as cs
from agreement import (
    DTYPES,
    EXACTLY,
    TOLERANCE,
    amplification,
    assert_close,
    case_name,
    flat,
    generator,
    package_set,
    pairwise,
)
from reference_numpy import (
    ReferenceProblem,
    random_impulses,
    random_problem,
    slightly_unsymmetric,
)

orders = cs.orders

INSTRUCTIONS = tuple(name for name, runs in cs.info()["instructions"].items() if runs)
EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23}
# Each scheme with its methods.
RUNS = tuple(
    (method, scheme)
    for method in ("gauss_seidel", "symmetric_gauss_seidel", "jacobi")
    for scheme in ("matrix", "iteration_matrix", "half_sweep", "symmetric_half")
    if scheme != "symmetric_half" or method == "symmetric_gauss_seidel"
)
SET_ROWS = (
    *((name, rows) for name in ("free", "box", "half_line") for rows in range(1, 7)),
    *((name, rows) for name in ("disc", "box_friction") for rows in (2, 3)),
    ("rolling", 5),
)
ORDERS = {
    "natural": "natural",
    "colored": orders.colored(),
    "unsafe ranges": orders.relaxed(5, unsafe="ranges"),
    "ranges": orders.ranges(),
}


def problem_of(arrays, **options) -> cs.Problem:
    return cs.Problem(
        arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays), **options
    )


def sweeps(problem: cs.Problem, instructions: str, *, count: int = 1, initial=None, **options):
    options = {**EXACTLY, "scheme": "matrix", "max_iterations": count, **options}
    return cs.Solver(problem, instructions=instructions, **options).solve(initial=initial)


def assert_as_scalar(problem, instructions, units, **options) -> None:
    """After a sweep, up to `units` rounding units of the largest impulse."""
    wide, scalar = (sweeps(problem, name, **options) for name in (instructions, "scalar"))
    assert wide.info["kernel"] == f"wide rows, {instructions}"
    assert scalar.info["kernel"] == "scalar"
    tolerance = units * EPSILON[options.get("dtype", "float64")]
    assert_close(flat(wide.impulses), flat(scalar.impulses), tolerance, str(options))
    residuals = (wide.history["residual"][-1], scalar.history["residual"][-1])
    assert residuals[0] == pytest.approx(residuals[1], rel=tolerance)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("set_name", "rows"), SET_ROWS)
def test_a_sweep_is_the_scalar_one(set_name, rows, order, instructions):
    """Bodies with and without mass, the world, equal contacts; rows of one block and of many."""
    arrays = random_problem(
        generator("rows", set_name, rows, order), 23, 11, rows, 3 if rows < 3 else 6, set_name
    )
    problem = problem_of(arrays)
    units = 500 * amplification(ReferenceProblem.from_arrays(arrays))
    for method, scheme in RUNS:
        for dtype in DTYPES:
            assert_as_scalar(
                problem,
                instructions,
                units,
                order=ORDERS[order],
                method=method,
                scheme=scheme,
                dtype=dtype,
            )


def full_matrix(rng, contacts: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """A full, slightly unsymmetric A, and b."""
    root = rng.normal(size=(contacts * rows, contacts * rows + 3))
    return slightly_unsymmetric(rng, root @ root.T, 1e-3), rng.normal(size=(contacts, rows))


@pytest.mark.filterwarnings("ignore:A is not symmetric")
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("rows", (2, 3))
def test_given_matrices_of_any_length_of_row(rows, instructions):
    """Full rows of one block to twelve; A is given and stays as it is."""
    for contacts in range(1, 13):
        A, b = full_matrix(generator("given", rows, contacts), contacts, rows)
        kept = A.copy()
        problem = cs.Problem.from_delassus(A, b, 0.4, rows=rows)
        for method, scheme in RUNS:
            for dtype in DTYPES:
                assert_as_scalar(
                    problem, instructions, 500, method=method, scheme=scheme, dtype=dtype
                )
        np.testing.assert_array_equal(A, kept)


OPTION_VALUES = {
    "shape": (("disc", 3), ("disc", 2), ("free", 3), ("box", 4), ("half_line", 1), ("free", 6)),
    "instructions": INSTRUCTIONS,
    "run": RUNS,
    "dtype": DTYPES,
    "order": ("natural", "colored", "ranges"),
    "relaxation": (1.0, 0.6),
    "averaging": (None, 0.5, "adjacent"),
    "r_factor": ("local", "block", "balanced", 0.05),
    "bound": ("current", "previous"),
    "local": ("auto", "projected"),
    "warm": (False, True),
}


@pytest.mark.parametrize("case", pairwise(OPTION_VALUES, 7), ids=case_name)
def test_options_in_pairs(case):
    case = dict(case)
    (set_name, rows), order = case.pop("shape"), ORDERS[case.pop("order")]
    method, scheme = case.pop("run")
    rng = generator("wide rows options", set_name, rows)
    arrays = random_problem(rng, 19, 9, rows, 3 if rows < 3 else 6, set_name)
    initial = random_impulses(rng, arrays) if case.pop("warm") else None
    instructions, dtype = case.pop("instructions"), case["dtype"]
    case |= {"method": method, "scheme": scheme, "order": order, "count": 3, "initial": initial}
    scalar, wide = (sweeps(problem_of(arrays), name, **case) for name in ("scalar", instructions))
    assert wide.info["kernel"] == f"wide rows, {instructions}"
    tolerance = TOLERANCE[dtype] * amplification(ReferenceProblem.from_arrays(arrays))
    size = 0.0 if initial is None else float(np.abs(initial).max())
    assert_close(flat(wide.impulses), flat(scalar.impulses), tolerance, "impulses", size)
    for name in ("residual", "natural_map"):
        assert_close(wide.history[name], scalar.history[name], 10 * tolerance, name, size)


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("scheme", ("matrix", "iteration_matrix"))
def test_rollback_and_new_values(scheme, instructions):
    """R rescaled and restored, rows of T with it; then J, M^-1 and b are other ones."""
    rng = generator("rollback", scheme)
    first, second = (random_problem(rng, 40, 6, 3, 6, "disc", awkward=False) for _ in range(2))
    second.bodies[:] = first.bodies
    initial = random_impulses(rng, first)
    options = {"method": "jacobi", "scheme": scheme, "relaxation": 3.0, "max_iterations": 8}
    options |= {**EXACTLY, "rollback": 3, "rollback_growth": 1.0}
    problem = problem_of(first)
    solvers = [cs.Solver(problem, instructions=i, **options) for i in (instructions, "scalar")]
    for _ in range(2):  # The second solve begins with the R of the first.
        wide, scalar = (solver.solve(initial=initial) for solver in solvers)
        assert wide.info["rollbacks"] == scalar.info["rollbacks"] > 0
        assert_close(wide.impulses, scalar.impulses, 1e-10, "impulses")
    problem.update(J=second.J, Minv=second.Minv, b=second.b, mu=second.mu)
    wide, scalar = (solver.solve(initial=initial) for solver in solvers)
    assert_close(wide.impulses, scalar.impulses, 1e-10, "after the update")


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize(
    ("dtype", "scale"),
    [("float64", 1e-200), ("float64", 1e148), ("float32", 1e-25), ("float32", 1e25)],
)
def test_squares_that_leave_the_range(instructions, dtype, scale):
    """Friction is clamped right where the square of an impulse over- or underflows."""
    arrays = random_problem(generator("scaled"), 29, 17, 3, 6, "disc")
    wanted = sweeps(problem_of(arrays), "scalar", count=3)
    arrays.b[:] *= scale
    found = sweeps(problem_of(arrays), instructions, count=3, dtype=dtype)
    assert_close(found.impulses / scale, wanted.impulses, TOLERANCE[dtype], f"scale {scale}")


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize(("rows", "contact"), [(1, 0), (2, 0), (3, 0), (3, 1)])
def test_what_is_not_a_number_stays_so(rows, contact, instructions):
    """A velocity that overflows to no number is told, not projected onto zero."""
    A = np.eye(2 * rows)
    # Of other columns: a product and a sum rounded once do not overflow where they cancel.
    own, other = contact * rows, (1 - contact) * rows + rows - 1
    A[own, own], A[own, other] = 1e10, -1e10
    initial = np.full((2, rows), 1e30)
    options = {"mu": 0.5} if rows > 1 else {"sets": cs.sets.half_line()}
    problem = cs.Problem.from_delassus(A, np.zeros((2, rows)), rows=rows, **options)
    for name in ("scalar", instructions):
        found = sweeps(problem, name, initial=initial, r_factor=0.5, dtype="float32")
        assert found.status == "diverging"


@pytest.mark.parametrize("instructions", INSTRUCTIONS)
def test_what_does_not_fit_is_visited_one_number_after_another(instructions):
    """Blocks of several sizes, and blocks solved outright."""
    rng = generator("does not fit")
    contacts = random_problem(rng, 13, 9, 3, 6, "disc", awkward=False)
    joints = random_problem(rng, 5, 9, 3, 6, "free", awkward=False)
    others = random_problem(rng, 5, 9, 5, 6, "free", awkward=False)

    def grouped(*parts):
        groups = [cs.Group(p.J, p.bodies, p.b, sets=package_set(p)) for p in parts]
        return cs.Problem(groups=groups, bodies=[cs.Bodies(contacts.Minv)])

    for problem, local, kernel in (
        (grouped(contacts, others), "auto", "scalar"),
        (grouped(contacts), "block", "scalar"),
        (grouped(contacts, joints), "block", f"wide rows, {instructions} in 1 of 2 groups"),
        (grouped(contacts, joints), "auto", f"wide rows, {instructions}"),
    ):
        for method, scheme in RUNS:
            if scheme == "iteration_matrix" and local == "block":
                continue  # It holds R, and such blocks have none.
            options = {"method": method, "scheme": scheme, "local": local, "count": 3}
            wide, scalar = (sweeps(problem, i, **options) for i in (instructions, "scalar"))
            assert wide.info["kernel"] == kernel
            assert_close(flat(wide.impulses), flat(scalar.impulses), 1e-10, f"{kernel}, {scheme}")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("instructions", INSTRUCTIONS)
@pytest.mark.parametrize("order", ("colored", "ranges"))
def test_threads_do_not_change_a_bit(order, instructions, dtype):
    problem = cs.scenarios.ball_grid((12, 12, 12))
    for method, scheme in RUNS:
        options = {"order": order, "method": method, "scheme": scheme, "dtype": dtype, "count": 3}
        options["record"] = ("merit",)
        runs = [
            sweeps(problem, instructions, threads=t, exact_threads=True, **options)
            for t in (1, 2, 3, 8)
        ]
        assert runs[-1].info["threads"] > 1
        assert {run.impulses.tobytes() for run in runs} == {runs[0].impulses.tobytes()}
        assert len({run.history["merit"].tobytes() for run in runs}) == 1


def test_the_widest_vectors_are_taken():
    grid = cs.scenarios.ball_grid((4, 4, 4))
    widest = list(INSTRUCTIONS)[-1]
    for order in ("natural", "colored"):
        solver = cs.Solver(grid, scheme="matrix", order=order)
        assert solver.info["kernel"] == f"wide rows, {widest}"
