"""What messages of failed solves advise: what is known of the problem, what helps there."""

from __future__ import annotations

import re

import numpy as np
import pytest

import contactsolve as cs


def stack(**options) -> cs.Problem:
    return cs.scenarios.box_stack(10, **options)


@pytest.mark.parametrize("method", ["jacobi", "gauss_seidel", "nesterov", "nncg"])
def test_heavy_bodies_are_named_and_what_is_advised_solves(method):
    problem = stack(top_mass=1000.0)
    failed = cs.solve(problem, method=method, max_iterations=200)
    told = r"'multilevel' or 'newton' \(body 9 has 1,000 times the mass of body 0, and sweeps"
    assert re.search(f"Try method={told}", failed.message)
    for advised in ("multilevel", "newton", "auto"):
        assert cs.solve(problem, method=advised).converged
    assert "times the mass" not in cs.solve(stack(), method=method, max_iterations=5).message


def test_masses_of_groups_and_blocks_are_looked_at():
    """The fixed world has no mass, bodies of zero inverse mass none either."""
    single = stack(top_mass=500.0)
    inverse = np.concatenate([np.array(single.Minv), np.zeros((1, *single.Minv.shape[1:]))])
    problem = cs.Problem(single.J, inverse, single.b, single.mu, bodies=single.bodies)
    told = cs.solve(problem, method="gauss_seidel", max_iterations=5).message
    assert "(body 9 has 500 times the mass of body 0," in told
    problem.update(
        Minv=np.concatenate([np.tile(inverse[:1], (10, 1, 1)), inverse[-1:]])
        if inverse.ndim == 3
        else np.concatenate([np.tile(inverse[:1], (10, 1)), inverse[-1:]])
    )
    assert "times the mass" not in cs.solve(problem, method="jacobi", max_iterations=5).message
    given = cs.Problem.from_delassus(single.delassus(), single.b, mu=single.mu)
    assert "times the mass" not in cs.solve(given, method="jacobi", max_iterations=5).message


def test_auto_advises_none_of_the_methods_that_it_tried():
    limited = cs.solve(stack(top_mass=1000.0), max_iterations=30).message
    assert "method=" not in limited
    assert "Try more iterations; a start from an earlier result" in limited
    late = cs.solve(stack(top_mass=1000.0), rtol=1e-300, max_seconds=0.0).message
    assert "Try more seconds; " in late


def test_direct_methods_tell_of_redundant_rows():
    problem = cs.scenarios.box_stack(3)
    boxes = cs.Problem(
        problem.J,
        problem.Minv,
        problem.b + np.random.default_rng(0).normal(size=problem.b.shape),
        bodies=problem.bodies,
        sets=cs.sets.box_friction(problem.mu),
        compliance=1e-8,
    )
    few = cs.solve(boxes, method=cs.methods.bpp(max_pivots=1), max_iterations=1).message
    assert "(36 rows act on 18 degrees of freedom: at least 18 are redundant)" in few
    assert few.endswith("a larger max_pivots, or method='auto'")


def test_single_precision_is_advised_against_where_it_is_used():
    problem = stack()
    for dtype in ("float32", "float64"):
        told = cs.solve(problem, method="gauss_seidel", dtype=dtype, max_iterations=5).message
        assert ("dtype='float64'" in told) == (dtype == "float32")
