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


def test_words_of_other_libraries_come_before_options_of_methods(problem):
    for word, meant in (("tolerance", "rtol"), ("sweeps", "max_iterations"), ("Tolerance", "rtol")):
        with pytest.raises(TypeError, match=f"has no option '{word}': did you mean '{meant}'\\?$"):
            cs.solve(problem, **{word: 1})
    # `Solver` has no mu that could be meant.
    with pytest.raises(
        TypeError, match=r"it is an option of methods, as .*admm\(friction=\.\.\.\)"
    ):
        cs.Solver(problem, friction=1)


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


@pytest.mark.parametrize(
    ("module", "name", "meant"),
    [
        (cs.sets, "disk", "disc"),
        (cs.methods, "pgs", "gauss_seidel"),
        (cs.orders, "colord", "colored"),
        (cs.schemes, "factorised", "factorized"),
        (cs.scenarios, "boxstack", "box_stack"),
    ],
)
def test_misspelt_names_of_modules_get_the_nearest(module, name, meant):
    told = f"module '{module.__name__}' has no attribute '{name}'; did you mean '{meant}'?"
    with pytest.raises(AttributeError, match=f"^{re.escape(told)}$"):
        getattr(module, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'colour_of_the_sky'$"):
        module.colour_of_the_sky  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no attribute '__path_of__'$"):
        module.__path_of__  # noqa: B018


def test_misspelt_scenarios_get_the_nearest():
    with pytest.raises(ValueError, match=r"winch; did you mean 'box_stack'\?$"):
        cs.scenarios.get("boxstack")
    with pytest.raises(ValueError, match=r"winch$"):
        cs.scenarios.get("colour_of_the_sky")


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ("disc", "use contactsolve.sets.disc(mu)"),
        ("rolling", "use contactsolve.sets.rolling(mu, mu_r)"),
        ("polygon", "use contactsolve.sets.polygon(mu)"),
        ("support", "use contactsolve.sets.support(shape)"),
        ("free", "use contactsolve.sets.free()"),
        (
            "disk",
            "a set of contactsolve.sets is needed; did you mean contactsolve.sets.disc(mu)?",
        ),
        ("colour_of_the_sky", "a set of contactsolve.sets is needed"),
    ],
)
def test_names_in_place_of_sets_get_the_call(problem, given, advice):
    told = f"^{re.escape(f'sets is {given!r}: {advice}')}$"
    with pytest.raises(TypeError, match=told):
        cs.Problem(problem.J, problem.Minv, problem.b, bodies=problem.bodies, sets=given)
    with pytest.raises(TypeError, match=told):
        problem.update(sets=given)


def test_every_set_has_a_call_to_suggest(problem):
    for name in cs.sets.names():
        with pytest.raises(TypeError, match=rf"use contactsolve\.sets\.{name}\("):
            cs.Problem.from_delassus(problem.delassus(), problem.b, sets=name)
