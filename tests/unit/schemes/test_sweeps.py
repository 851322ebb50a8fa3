"""Every scheme, solver, set and precision against the NumPy reference after 1, 2 and 3 sweeps."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

import contactsolve as cs
from agreement import (
    DTYPES,
    EXACTLY,
    ROW_SCHEMES,
    SCHEMES,
    SOLVERS,
    TOLERANCE,
    amplification,
    assert_close,
    case_name,
    generator,
    package_set,
    pairwise,
)
from reference_numpy import (
    ProblemArrays,
    ReferenceProblem,
    measures,
    random_impulses,
    random_problem,
    run,
    slightly_unsymmetric,
)

pytestmark = pytest.mark.threads

SET_ROWS = [
    *(("free", rows) for rows in range(1, 7)),
    *(("box", rows) for rows in range(1, 7)),
    *(("half_line", rows) for rows in range(1, 7)),
    *(("disc", rows) for rows in (2, 3)),
    *(("box_friction", rows) for rows in (2, 3)),
    ("rolling", 5),
    ("ellipse", 3),
    ("polygon", 3),
    ("contensou", 4),
    ("contensou_coupled", 4),
    *(("second_order_cone", rows) for rows in (2, 3)),
    *(("tresca", rows) for rows in (2, 3, 4, 5)),
]
MEASURES = (
    "residual",
    "merit",
    "quality",
    "natural_map",
    "natural_map_velocity",
    "natural_map_scaled",
    "infeasibility",
)
OF_CONTACTS = ("penetration", "complementarity", "dissipation_gap")


def package_problem(arrays: ProblemArrays) -> cs.Problem:
    return cs.Problem(
        arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, sets=package_set(arrays)
    )


def recorded_measures(arrays: ProblemArrays) -> tuple[str, ...]:
    if arrays.set_name == "free":
        return (*MEASURES, "fclib_error")
    if arrays.set_name in ("box", "tresca"):
        return MEASURES
    has_cone = arrays.set_name in ("half_line", "disc", "rolling")
    return (*MEASURES, *OF_CONTACTS, *(("fclib_error",) if has_cone else ()))


@functools.lru_cache(maxsize=64)
def sweeps_of_reference(reference: ReferenceProblem, solver: str, scheme: str):
    """Iterates of three sweeps and their measures, the same for every precision and container."""
    iterates = run(reference, 3, solver=solver, scheme=scheme)
    return iterates, measures(reference, iterates)


def assert_sweeps_agree(
    problem: cs.Problem,
    reference: ReferenceProblem,
    names: tuple[str, ...],
    *,
    solver: str,
    scheme: str,
    dtype: str,
) -> None:
    """Impulses after 1, 2 and 3 sweeps, then history, xi and velocity change of the last solve."""
    tolerance = TOLERANCE[dtype] * amplification(reference)
    iterates, wanted = sweeps_of_reference(reference, solver, scheme)
    for sweeps in (1, 2, 3):
        result = cs.solve(
            problem,
            method=solver,
            scheme=scheme,
            dtype=dtype,
            max_iterations=sweeps,
            check_every=1,
            record=names,
            **EXACTLY,
        )
        assert (result.status, result.iterations) == ("max_iterations", sweeps)
        assert result.impulses.dtype == np.float64
        iterate = iterates[sweeps].reshape(result.impulses.shape)
        assert_close(result.impulses, iterate, tolerance, f"impulses after {sweeps} sweeps")
    assert_history_agrees(result, reference, iterates, wanted, names, tolerance)
    assert_velocities_agree(result, reference)


def term_sizes(reference: ReferenceProblem, iterates: list[np.ndarray]) -> dict[str, float]:
    """How large the terms are that cancel in a measure which may be zero but for rounding."""
    impulse = max(float(np.max(np.abs(lam))) for lam in iterates)
    velocity = max(
        float(np.max(np.abs(reference.A) @ np.abs(lam) + np.abs(reference.b))) for lam in iterates
    )
    power = impulse * velocity
    return {
        "infeasibility": impulse,
        "penetration": velocity,
        "complementarity": power,
        "dissipation_gap": power,
    }


def assert_history_agrees(result, reference, iterates, wanted, names, tolerance) -> None:
    """All rows within the precision of the iterates; the last to f64, at the impulses returned."""
    at_the_end = measures(reference, [result.impulses.ravel()])
    assert set(names) == set(wanted)
    np.testing.assert_array_equal(result.history["iteration"], np.arange(len(iterates)))
    sizes = term_sizes(reference, iterates)
    for name in names:
        # A measure is a difference of impulses, or its square: rounding enters in their size.
        column = result.history[name]
        factor = 20.0 if name in ("merit", "quality") else 10.0
        size = sizes.get(name, 0.0)
        assert_close(column, wanted[name], factor * tolerance, name, size)
        if name not in ("residual", "merit"):
            scale = max(size, np.nanmax(wanted[name]))
            assert abs(column[-1] - at_the_end[name][0]) <= TOLERANCE["float64"] * scale, name


def assert_velocities_agree(result, reference: ReferenceProblem) -> None:
    """xi and M^-1 J^T lambda belong to the impulses returned, in f64 for every dtype."""
    lam = result.impulses.ravel()
    xi, size = reference.xi(lam), float(np.max(np.abs(reference.b), initial=0.0))
    assert_close(result.residual_velocities.ravel(), xi, TOLERANCE["float64"], "xi", size)
    if reference.jacobian is None:
        assert result.body_velocity_change is None
    else:
        wanted = reference.body_velocity_change(lam)
        assert_close(
            result.body_velocity_change.ravel(), wanted, TOLERANCE["float64"], "velocity change"
        )


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dof", (1, 3, 6))
@pytest.mark.parametrize(("set_name", "rows"), SET_ROWS)
def test_sweeps_of_every_set_and_size(set_name, rows, dof, dtype):
    """Both solvers over both schemes; M^-1 as blocks and as diagonals in turn."""
    rng = generator("size", set_name, rows, dof)
    arrays = random_problem(rng, 7, 4, rows, dof, set_name, diagonal=rows % 2 == 0)
    problem, reference = package_problem(arrays), ReferenceProblem.from_arrays(arrays)
    for solver, scheme in itertools.product(SOLVERS, SCHEMES):
        assert_sweeps_agree(
            problem,
            reference,
            recorded_measures(arrays),
            solver=solver,
            scheme=scheme,
            dtype=dtype,
        )


OPTION_VALUES = {
    "set_rows": (
        ("free", 1),
        ("free", 3),
        ("box", 2),
        ("box", 4),
        ("half_line", 1),
        ("half_line", 3),
        ("disc", 2),
        ("disc", 3),
        ("box_friction", 2),
        ("box_friction", 3),
        ("rolling", 5),
        ("ellipse", 3),
        ("polygon", 3),
        ("contensou", 4),
        ("contensou_coupled", 4),
        ("second_order_cone", 3),
    ),
    "dof": (3, 6),
    "solver": SOLVERS,
    "scheme": SCHEMES,
    "dtype": DTYPES,
    "relaxation": (1.0, 0.6, 1.3),
    "averaging": (None, 0.5, 1.0, "adjacent"),
    "r_factor": ("local", "diagonal", "block", "global", 0.05),
    "bound": ("current", "previous"),
    "local": ("auto", "projected"),
    "order": ("natural", "reverse", "permutation"),
    "warm": (False, True),
    "diagonal": (False, True),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", pairwise(OPTION_VALUES, 3), ids=case_name)
def test_options_in_pairs(case):
    case = dict(case)
    (set_name, rows), dof = case.pop("set_rows"), case.pop("dof")
    rng = generator("options", set_name, rows, dof)
    arrays = random_problem(rng, 6, 4, rows, dof, set_name, diagonal=case.pop("diagonal"))
    visits = {"natural": None, "reverse": np.arange(6)[::-1], "permutation": rng.permutation(6)}
    order = case.pop("order")
    initial = random_impulses(rng, arrays) if case.pop("warm") else None
    reference = ReferenceProblem.from_arrays(arrays)
    iterates = run(
        reference,
        3,
        initial=initial,
        order=visits[order],
        **{name: value for name, value in case.items() if name != "dtype"},
    )
    solver, dtype = case.pop("solver"), case.pop("dtype")
    result = cs.solve(
        package_problem(arrays),
        method=solver,
        dtype=dtype,
        order=visits[order] if order == "permutation" else order,
        initial=initial,
        max_iterations=3,
        check_every=1,
        record=recorded_measures(arrays),
        **EXACTLY,
        **case,
    )
    iterate = iterates[-1].reshape(result.impulses.shape)
    tolerance = TOLERANCE[dtype] * amplification(reference)
    # A warm start is rounded in its own size, however small the impulses are that it leads to.
    size = max(float(np.max(np.abs(lam))) for lam in iterates)
    assert_close(result.impulses, iterate, tolerance, "impulses", size)
    names, wanted = recorded_measures(arrays), measures(reference, iterates)
    assert_history_agrees(result, reference, iterates, wanted, names, tolerance)
    assert_velocities_agree(result, reference)


DELASSUS_FORMS = ("dense", "csr", "bsr", "unsorted_csr")


def delassus_form(matrix: np.ndarray, rows: int, form: str):
    """The same A as the containers a user may have it in."""
    if form == "dense":
        return matrix
    sparse = pytest.importorskip("scipy.sparse")
    if form == "bsr":
        return sparse.csr_array(matrix).tobsr((rows, rows))
    csr = sparse.csr_array(matrix)
    if form == "unsorted_csr":
        for row in range(csr.shape[0]):
            span = slice(csr.indptr[row], csr.indptr[row + 1])
            csr.indices[span] = csr.indices[span][::-1].copy()
            csr.data[span] = csr.data[span][::-1].copy()
        csr.has_sorted_indices = False
    return csr


@functools.lru_cache(maxsize=4)
def unsymmetric_problem(set_name: str, rows: int):
    """One object for all containers of its A, so that its reference is computed once."""
    rng = generator("delassus", set_name, rows)
    arrays = random_problem(rng, 6, 4, rows, 6, set_name)
    matrix = slightly_unsymmetric(rng, ReferenceProblem.from_arrays(arrays).A)
    return arrays, matrix, ReferenceProblem.from_delassus(matrix, arrays)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("form", DELASSUS_FORMS)
@pytest.mark.parametrize(("set_name", "rows"), SET_ROWS)
def test_sweeps_over_a_given_matrix(set_name, rows, form):
    """A slightly unsymmetric A, used as it stands: swapping A for its transpose would be seen."""
    arrays, matrix, reference = unsymmetric_problem(set_name, rows)
    problem = cs.Problem.from_delassus(
        delassus_form(matrix, rows, form), arrays.b, rows=rows, sets=package_set(arrays)
    )
    for solver, scheme, dtype in itertools.product(SOLVERS, ROW_SCHEMES, DTYPES):
        assert_sweeps_agree(
            problem,
            reference,
            recorded_measures(arrays),
            solver=solver,
            scheme=scheme,
            dtype=dtype,
        )


@pytest.mark.parametrize("diagonal", (False, True))
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_body_may_touch_itself(solver, scheme, diagonal):
    """Both partners the same body: their J add up before A_kk is formed."""
    rng = generator("self", diagonal)
    arrays = random_problem(rng, 5, 3, 3, 6, "disc", diagonal=diagonal)
    arrays.bodies[2] = (1, 1)
    assert_sweeps_agree(
        package_problem(arrays),
        ReferenceProblem.from_arrays(arrays),
        recorded_measures(arrays),
        solver=solver,
        scheme=scheme,
        dtype="float64",
    )


@pytest.mark.parametrize("scheme", SCHEMES)
def test_flat_b_and_scalar_friction_mean_the_same(scheme):
    rng = generator("forms", scheme)
    arrays = random_problem(rng, 5, 3, 3, 6, "disc")
    options = {"scheme": scheme, "max_iterations": 2, **EXACTLY}
    plain = cs.solve(
        arrays.J, arrays.Minv, arrays.b, np.full(5, 0.4), bodies=arrays.bodies, **options
    )
    short = cs.solve(arrays.J, arrays.Minv, arrays.b.ravel(), 0.4, bodies=arrays.bodies, **options)
    np.testing.assert_array_equal(plain.impulses.ravel(), short.impulses.ravel())


@pytest.mark.parametrize("rows", (1, 3))
def test_default_sets_are_the_named_ones(rows):
    """mu means disc, lo and hi mean box, and neither means frictionless."""
    rng = generator("defaults", rows)
    options = {"max_iterations": 2, **EXACTLY}
    for set_name in ("half_line", "box", "disc") if rows > 1 else ("half_line", "box"):
        arrays = random_problem(rng, 5, 3, rows, 6, set_name)
        by_default = cs.Problem(
            arrays.J, arrays.Minv, arrays.b, bodies=arrays.bodies, **arrays.set_parameters()
        )
        np.testing.assert_array_equal(
            cs.solve(by_default, **options).impulses,
            cs.solve(package_problem(arrays), **options).impulses,
        )


def test_constant_of_the_quality_measure():
    rng = generator("quality")
    arrays = random_problem(rng, 5, 3, 3, 6, "disc")
    reference = ReferenceProblem.from_arrays(arrays)
    result = cs.solve(
        package_problem(arrays),
        method="gauss_seidel",
        max_iterations=2,
        check_every=1,
        record=("quality",),
        quality_r=0.3,
        **EXACTLY,
    )
    wanted = measures(reference, run(reference, 2, solver="gauss_seidel"), quality_r=0.3)
    assert_close(result.history["quality"], wanted["quality"], 2e-11, "quality")


def test_measures_that_cost_a_sweep_follow_check_every():
    """Evaluated in the first and last row and at every third iteration, NaN in between."""
    rng = generator("check_every")
    arrays = random_problem(rng, 5, 3, 3, 6, "disc")
    result = cs.solve(
        package_problem(arrays),
        max_iterations=8,
        check_every=3,
        record=("residual", "natural_map", "quality"),
        **EXACTLY,
    )
    np.testing.assert_array_equal(result.history["iteration"], np.arange(9))
    for name in ("natural_map", "quality"):
        evaluated = np.flatnonzero(~np.isnan(result.history[name]))
        np.testing.assert_array_equal(evaluated, [0, 3, 6, 8], err_msg=name)
    np.testing.assert_array_equal(np.isnan(result.history["residual"]), np.arange(9) == 0)


def test_random_order_is_a_visiting_order_and_repeatable():
    """One sweep over three contacts must be that of one of the six permutations."""
    rng = generator("random order")
    arrays = random_problem(rng, 3, 3, 3, 6, "disc", awkward=False)
    problem, reference = package_problem(arrays), ReferenceProblem.from_arrays(arrays)
    options = {"method": "gauss_seidel", "order": "random", "max_iterations": 1, **EXACTLY}
    candidates = [
        run(reference, 1, solver="gauss_seidel", order=order)[-1].reshape(3, 3)
        for order in itertools.permutations(range(3))
    ]
    found = set()
    for seed in range(30):
        first = cs.solve(problem, rng=seed, **options).impulses
        again = cs.solve(problem, rng=seed, **options).impulses
        np.testing.assert_array_equal(first, again)
        found |= {i for i, one in enumerate(candidates) if np.allclose(first, one, 1e-11, 0.0)}
        assert any(np.allclose(first, one, 1e-11, 1e-13) for one in candidates)
    assert len(found) >= 4


@pytest.mark.parametrize("scheme", SCHEMES)
def test_exact_local_solve_of_free_rows_ignores_the_r_factor(scheme):
    rng = generator("exact", scheme)
    arrays = random_problem(rng, 6, 4, 3, 6, "free")
    problem = package_problem(arrays)
    options = {"scheme": scheme, "max_iterations": 2, **EXACTLY}
    by_default = cs.solve(problem, **options).impulses
    named = cs.solve(problem, local="exact", r_factor=0.01, **options).impulses
    np.testing.assert_array_equal(by_default, named)
    wanted = run(ReferenceProblem.from_arrays(arrays), 2, solver="gauss_seidel", scheme=scheme)
    assert_close(named.ravel(), wanted[-1], TOLERANCE["float64"], "impulses")
