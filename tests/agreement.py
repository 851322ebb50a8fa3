"""What tests against the NumPy reference share: tolerances, random generators, comparison.

The tolerances are relative to the largest value compared: a sweep of these problems rounds a few
dozen times per row, and the step of a free block goes through the inverse of A_kk.
"""

from __future__ import annotations

import itertools
import zlib

import numpy as np

import contactsolve as cs
from reference_numpy import Free, ProblemArrays, ReferenceProblem, run

TOLERANCE = {"float64": 2e-12, "float32": 5e-6}
SOLVERS = ("jacobi", "gauss_seidel", "symmetric_gauss_seidel")
ROW_SCHEMES = ("matrix", "iteration_matrix", "half_sweep")  # which take a given A
SCHEMES = tuple(  # all that every solver can take
    name for name in cs.schemes.names() if name != "symmetric_half"
)
# Whose sweeps are those of the method, every product up to date.
EXACT_SCHEMES = tuple(scheme for scheme in SCHEMES if scheme != "half_sweep")
DTYPES = tuple(TOLERANCE)
EXACTLY = {"rtol": None, "atol": None, "rollback": 0}


def generator(*key) -> np.random.Generator:
    """A generator of its own for each case, so that no case depends on which others ran."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def package_set(arrays: ProblemArrays):
    return getattr(cs.sets, arrays.set_name)(**arrays.set_parameters())


def flat(value) -> np.ndarray:
    """One vector of an array, or of the list of them that a grouped problem has."""
    parts = value if isinstance(value, list) else [value]
    return np.concatenate([np.zeros(0), *(np.ravel(part) for part in parts)])


def assert_close(got, wanted, tolerance: float, what: str, size: float = 0.0) -> None:
    """Equal up to `tolerance` times the largest wanted value or `size`; NaN where wanted."""
    got, wanted = np.asarray(got, dtype=float), np.asarray(wanted, dtype=float)
    assert got.shape == wanted.shape, what
    scale = max(size, float(np.nanmax(np.abs(wanted), initial=0.0)))
    np.testing.assert_allclose(got, wanted, rtol=0.0, atol=tolerance * scale, err_msg=what)


def rounding_of(problem: cs.Problem, result: cs.Result) -> float:
    """The largest natural map of a contact over |λ| + ρ max|b|, of which it is a difference.

    For contacts that touch no other: their own speed V may be far below their velocities.
    """
    check = result.check(problem.contacts)
    rows = problem.b.shape[1]
    diagonal = problem.delassus().diagonal().reshape(-1, rows).max(axis=1)
    size = np.abs(result.impulses).max(axis=1) + np.abs(problem.b).max() / diagonal
    return float(np.max(check.natural_map / size[check.contact]))


def amplification(reference: ReferenceProblem) -> float:
    """By how much solving its worst free block exactly may magnify rounding: its condition.

    The tolerances leave two digits for everything else, so that the first hundred is theirs.
    """
    blocks = [
        reference.diagonal_block(k)
        for k, one in enumerate(reference.sets)
        if isinstance(one, Free) and not reference.immovable(k)
    ]
    regular = [block for block in blocks if np.linalg.matrix_rank(block) == len(block)]
    return max([1.0, *(np.linalg.cond(block) / 100.0 for block in regular)])


def assert_impulses_agree(
    problem: cs.Problem,
    reference: ReferenceProblem,
    *,
    solver: str,
    scheme: str,
    dtype: str = "float64",
    sweeps: int = 3,
    **options,
) -> cs.Result:
    """Impulses after `sweeps` sweeps, and xi and M^-1 J^T lambda that belong to them."""
    result = cs.solve(
        problem,
        method=solver,
        scheme=scheme,
        dtype=dtype,
        max_iterations=sweeps,
        **EXACTLY,
        **options,
    )
    tolerance = TOLERANCE[dtype] * amplification(reference)
    wanted = run(reference, sweeps, solver=solver, scheme=scheme, **options)[-1]
    case = f"{solver}, {scheme}, {dtype}, {sweeps} sweeps"
    lam = flat(result.impulses)
    assert_close(lam, wanted, tolerance, f"impulses: {case}")
    exact = TOLERANCE["float64"]
    xi, size = reference.xi(lam), float(np.max(np.abs(reference.b), initial=0.0))
    assert_close(flat(result.residual_velocities), xi, exact, f"xi: {case}", size)
    if reference.jacobian is None:
        assert result.body_velocity_change is None
    else:
        wanted = reference.body_velocity_change(lam)
        assert_close(flat(result.body_velocity_change), wanted, exact, f"velocities: {case}")
    return result


def pairwise(values: dict[str, tuple], seed: int) -> list[dict]:
    """Random combinations, drawn until every pair of values of two options has occurred."""
    missing = {
        ((first, i), (second, j))
        for first, second in itertools.combinations(values, 2)
        for i in range(len(values[first]))
        for j in range(len(values[second]))
    }
    rng = np.random.default_rng(seed)
    cases = []
    while missing:
        drawn = {name: int(rng.integers(len(known))) for name, known in values.items()}
        new = missing & set(itertools.combinations(drawn.items(), 2))
        if new:
            missing -= new
            cases.append({name: values[name][index] for name, index in drawn.items()})
    return cases


def case_name(case: dict) -> str:
    return "-".join("".join(str(value).split()) for value in case.values())
