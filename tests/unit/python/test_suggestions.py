"""Names that there are not: what the caller may have meant."""

from __future__ import annotations

import re

import pytest

import contactsolve as cs


@pytest.fixture
def problem():
    return cs.scenarios.box_stack(1)


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("tol", "'rtol'"),
        ("maxiter", "'max_iterations'"),
        ("max_iteration", "'max_iterations'"),
        ("omega", "'relaxation'"),
        ("num_threads", "'threads'"),
        ("recrod", "'record'"),
    ],
)
def test_options_of_other_libraries_and_slips_are_known(problem, option, meant):
    told = re.escape(f"has no option {option!r}: did you mean {meant}?")
    for call in (cs.solve, cs.Solver):
        with pytest.raises(TypeError, match=told):
            call(problem, **{option: 1})
    with pytest.raises(TypeError, match=f"Method {told}"):
        cs.Method("jacobi", **{option: 1})


def test_options_of_methods_name_their_method(problem):
    told = "solve has no option 'engine': it is an option of methods, as contactsolve.methods.bpp("
    with pytest.raises(TypeError, match=re.escape(told)):
        cs.solve(problem, method="bpp", engine="skyline")


def test_what_is_like_nothing_gets_no_suggestion(problem):
    with pytest.raises(TypeError, match=r"solve has no option 'colour_of_the_sky'$"):
        cs.solve(problem, colour_of_the_sky="blue")
    with pytest.raises(ValueError, match=r"unknown; known: [^;]*$"):
        cs.solve(problem, method="magic")


def test_what_solve_alone_takes_is_suggested_by_it_alone(problem):
    with pytest.raises(TypeError, match=r"did you mean 'initial'"):
        cs.solve(problem, x0=0)
    with pytest.raises(TypeError, match=r"has no option 'x0'$"):
        cs.Solver(problem, x0=0)


@pytest.mark.parametrize(
    ("option", "word", "meant"),
    [
        ("method", "pgs", "gauss_seidel"),
        ("method", "Gauss-Seidel", "gauss_seidel"),
        ("method", "nestrov", "nesterov"),
        ("scheme", "factorised", "factorized"),
        ("order", "coloured", "colored"),
        ("stop", "natural-map", "natural_map"),
        ("record", ("residuals",), "residual"),
    ],
)
def test_unknown_names_get_the_nearest(problem, option, word, meant):
    with pytest.raises(ValueError, match=f"; did you mean '{meant}'\\?$"):
        cs.solve(problem, **{option: word})


def test_orders_are_described_with_the_nearest_name(problem):
    with pytest.raises(ValueError, match=r"did you mean 'colored'\?"):
        cs.orders.describe(problem, "coloured")
