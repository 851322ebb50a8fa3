"""Schemes' own options: one table in C, which functions, checks and texts agree with."""

from __future__ import annotations

import inspect
import re

import pytest

import contactsolve as cs
from contactsolve import _core


@pytest.fixture
def problem():
    return cs.scenarios.ball_grid(3)


def test_every_scheme_has_a_function(problem):
    for name in cs.schemes.names():
        make = getattr(cs.schemes, name)
        assert name in cs.schemes.__all__
        assert make() == cs.schemes.Scheme(name)
        assert repr(make()) == name
        method = "symmetric_gauss_seidel" if name == "symmetric_half" else "gauss_seidel"
        assert cs.Solver(problem, method=method, scheme=make()).info["scheme"] == name


def test_functions_have_signature_and_text_of_the_table():
    for described in _core.schemes():
        make = getattr(cs.schemes, described["name"])
        own = {option["name"]: option for option in described["options"]}
        shown = inspect.signature(make).parameters
        assert list(shown) == list(own) == list(cs.schemes.options()[described["name"]])
        assert cs.schemes.describe()[described["name"]] == described["summary"]
        text = " ".join(make.__doc__.split())
        assert described["summary"][1:] in text
        for name, option in own.items():
            assert f"{name} : " in text
            assert option["summary"][1:] in text
            assert all(repr(word) in text for word in option["words"])
    assert inspect.signature(cs.schemes.factorized).parameters["velocities"].default == "auto"


def test_options_are_checked_by_name_and_value(problem):
    known = "known: auto, recompute, add, accumulate; did you mean 'accumulate'?"
    with pytest.raises(ValueError, match=re.escape(f"velocities: 'acumulate' is unknown; {known}")):
        cs.schemes.factorized(velocities="acumulate")
    told = "velocites is no option of scheme='factorized'; known: velocities; did you mean 'veloci"
    with pytest.raises(TypeError, match=told):
        cs.schemes.factorized(velocites="add")
    with pytest.raises(TypeError, match="velocities is no option of scheme='matrix'; known: none"):
        cs.schemes.matrix(velocities="add")
    with pytest.raises(TypeError, match="velocities is 3: a name is needed"):
        cs.schemes.factorized(velocities=3)
    hint = "velocities': it is an option of schemes, as contactsolve.schemes.factorized(velocities="
    with pytest.raises(TypeError, match=re.escape(hint)):
        cs.Solver(problem, velocities="add")
    with pytest.raises(TypeError, match=r"call it, schemes\.matrix\(\.\.\.\)"):
        cs.Solver(problem, scheme=cs.schemes.matrix)


def test_defaults_are_not_shown_and_equal_the_name(problem):
    assert cs.schemes.factorized(velocities="auto") == cs.schemes.factorized()
    assert hash(cs.schemes.factorized(velocities="add")) != hash(cs.schemes.factorized())
    label = cs.Method("jacobi", scheme=cs.schemes.factorized(velocities="add")).label
    assert label == "jacobi, scheme=factorized(velocities=add)"


def test_options_reach_parts_and_inner_solvers():
    """Islands that are solved separately, and the inner method of an outer one, have them, too."""
    J, Minv, b, bodies = loose_pairs(600)
    apart = cs.Problem(J, Minv, b, bodies=bodies)
    grid = cs.scenarios.ball_grid(6)
    outer = cs.methods.tresca(inner="jacobi")
    size = {}
    for way in ("add", "accumulate"):
        scheme = cs.schemes.factorized(velocities=way)
        parts = cs.Solver(apart, method="jacobi", scheme=scheme)
        assert parts.info["clusters"] > 1
        inner = cs.Solver(grid, method=outer, scheme=scheme)
        size[way] = parts.info["bytes"], inner.info["bytes"]
    assert size["accumulate"][0] > size["add"][0] + 8_000
    assert size["accumulate"][1] > size["add"][1] + 8_000


def loose_pairs(count):
    """Two contacts on each of `count` / 2 bodies."""
    J = [[[[0.0, 0.0, 0.0]], [[1.0, 0.0, 0.0]]]] * count
    bodies = [[-1, k // 2] for k in range(count)]
    return J, [[1.0] * 3] * (count // 2), [[-1.0]] * count, bodies
