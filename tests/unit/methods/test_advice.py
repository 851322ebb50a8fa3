"""What messages of failed solves advise: what is known of the problem, what helps there."""

from __future__ import annotations

import re

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _advice


def stack(**options) -> cs.Problem:
    return cs.scenarios.box_stack(10, **options)


@pytest.mark.parametrize("method", ["jacobi", "gauss_seidel", "nesterov", "nncg"])
def test_heavy_bodies_are_named_and_what_is_advised_solves(method):
    problem = stack(top_mass=1000.0)
    failed = cs.solve(problem, method=method, max_iterations=200)
    told = "'multilevel' or 'newton' (body 9 has 1,000 times the mass of body 8, which it touches)"
    assert f"Try method={told}; method='auto', which" in failed.message
    for advised in ("multilevel", "newton", "auto"):
        assert cs.solve(problem, method=advised).converged
    assert "times the mass" not in cs.solve(stack(), method=method, max_iterations=5).message


@pytest.mark.parametrize(
    ("options", "changes"),
    [
        ({"dtype": "mixed"}, "dtype='float64'"),
        ({"dtype": "float32"}, ""),
        ({"r_factor": "balanced"}, "r_factor='local'"),
        ({"scheme": "symmetric_half"}, "scheme='auto'"),
        ({"r_factor": "balanced", "dtype": "mixed"}, "dtype='float64' and r_factor='local'"),
    ],
)
def test_other_methods_come_with_the_options_that_they_need(options, changes):
    """Obeying the advice, options and all, is possible."""
    problem = stack(top_mass=1000.0)
    how = {"method": "symmetric_gauss_seidel", "max_iterations": 20}
    told = cs.solve(problem, **how, **options).message
    assert f"method='auto'{f' with {changes}' if changes else ''}, which changes" in told
    wide = "dtype='float64'" if options.get("dtype") == "float32" else changes
    assert f"method='multilevel' or 'newton'{f' with {wide}' if wide else ''} (body 9" in told
    obeyed = options | dict(re.findall(r"(dtype|r_factor|scheme)='(\w+)'", wide))
    for method in ("multilevel", "newton", "auto"):
        assert cs.solve(problem, method=method, **obeyed).converged


def test_auto_in_mixed_precision_is_told_to_leave_it():
    told = cs.solve(stack(top_mass=1000.0), dtype="mixed", max_iterations=20).message
    assert "Try dtype='float64', with which 'auto' does more than Gauss-Seidel; more" in told


def test_what_was_given_is_not_advised():
    problem = stack()
    given = {"r_factor": "balanced", "rollback_growth": 1}
    told = cs.solve(problem, method="jacobi", max_iterations=5, **given).message
    assert "rollback_growth" not in told
    assert "'balanced'" not in told
    start = cs.solve(problem, max_iterations=3)
    again = cs.solve(problem, method="jacobi", max_iterations=1, initial=start)
    assert "initial=" not in again.message
    assert "initial=" in cs.solve(problem, method="jacobi", max_iterations=1).message


def test_only_masses_that_touch_count():
    """A body without contacts, the fixed world and bodies of zero inverse mass do not."""
    single = stack(top_mass=500.0)
    inverse = np.array(single.Minv)
    others = np.stack([np.zeros_like(inverse[0]), 1e-9 * inverse[0]])
    problem = cs.Problem(
        single.J, np.concatenate([inverse, others]), single.b, single.mu, bodies=single.bodies
    )
    told = cs.solve(problem, method="gauss_seidel", max_iterations=5).message
    assert "(body 9 has 500 times the mass of body 8, which" in told
    problem.update(Minv=np.concatenate([np.repeat(inverse[:1], 10, axis=0), others]))
    assert "times the mass" not in cs.solve(problem, method="jacobi", max_iterations=5).message
    given = cs.Problem.from_delassus(single.delassus(), single.b, mu=single.mu)
    assert "times the mass" not in cs.solve(given, method="jacobi", max_iterations=5).message


def test_auto_advises_none_of_the_methods_that_it_tried():
    limited = cs.solve(stack(top_mass=1000.0), max_iterations=30).message
    assert "method=" not in limited
    assert "Try more iterations; a start from an earlier result" in limited
    late = cs.solve(stack(top_mass=1000.0), rtol=1e-300, max_seconds=0.0).message
    assert "Try more seconds; " in late


def test_direct_methods_tell_of_redundant_rows_and_of_a_compliance_that_is_there():
    problem = cs.scenarios.box_stack(3)
    b = problem.b + np.random.default_rng(0).normal(size=problem.b.shape)
    sets = cs.sets.box_friction(problem.mu)
    few = cs.methods.bpp(max_pivots=1)
    made = {"sets": sets, "bodies": problem.bodies}
    soft = cs.Problem(problem.J, problem.Minv, b, compliance=1e-8, **made)
    told = cs.solve(soft, method=few, max_iterations=1).message
    assert told.endswith("Try a larger max_pivots; method='auto'; a larger compliance")
    facts = _advice.Facts(cs.Problem(problem.J, problem.Minv, b, **made))
    told = "a compliance (36 rows act on 18 degrees of freedom: at least 18 are redundant)"
    assert _advice.compliance_advice(facts) == told


def test_single_precision_is_advised_against_where_it_is_used():
    problem = stack()
    for dtype in ("float32", "float64"):
        told = cs.solve(problem, method="gauss_seidel", dtype=dtype, max_iterations=5).message
        assert ("dtype='float64'" in told) == (dtype == "float32")
