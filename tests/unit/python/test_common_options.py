"""Options that every solver has: one table in C, which signatures, types and flags agree with."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core
from contactsolve._cli_options import SOLVER_OPTIONS
from contactsolve._specific_options import options_of
from contactsolve.solver import Options

TABLE = options_of(_core.options())
PYTHONS_OWN = {"max_setup_seconds", "record", "rng"}
# What Python takes beside the library's values: chosen by the method or the precision.
OTHER_DEFAULTS = {"rtol": "auto", "atol": 0.0, "max_iterations": None, "max_seconds": "auto"}
OTHER_DEFAULTS |= {"islands": "auto"}


@pytest.fixture
def stack():
    return cs.scenarios.box_stack(1)


def test_solvers_take_what_the_table_has():
    shown = inspect.signature(cs.Solver).parameters
    assert set(Options.__annotations__) | {"method"} == set(TABLE) | PYTHONS_OWN
    assert set(shown) - {"problem", "arrays", "unknown"} == set(TABLE) | PYTHONS_OWN
    for name, option in TABLE.items():
        default = OTHER_DEFAULTS.get(name, option.default)
        assert shown[name].default == default, name
        assert f"    {name}" in cs.Solver.__doc__ or f", {name}" in cs.Solver.__doc__


def test_flags_of_the_command_are_those_of_the_table():
    flags = {name for name, option in TABLE.items() if option.kind != "flag"}
    assert set(SOLVER_OPTIONS) == flags | {"rng", "exact_threads"}
    for name in flags:
        summary = TABLE[name].summary.replace("None", "none")  # as the command line spells it
        assert summary in SOLVER_OPTIONS[name][1]


def test_no_word_is_named_twice():
    for name, option in TABLE.items():
        assert len(set(option.words)) == len(option.words), name


@pytest.mark.parametrize("name", [name for name, o in TABLE.items() if o.kind == "word"])
def test_words_are_checked(stack, name):
    with pytest.raises(ValueError, match=f"^{name}: 'steam' is unknown; known: "):
        cs.Solver(stack, **{name: "steam"})
    if name != "order":  # where it is a permutation that is wrong
        with pytest.raises(TypeError, match=f"^{name} is 3"):
            cs.Solver(stack, **{name: 3})


@pytest.mark.parametrize("name", [n for n, o in TABLE.items() if o.kind in ("count", "number")])
def test_ranges_are_checked(stack, name):
    option = TABLE[name]
    outside = int(option.least) if option.above else int(option.least) - 1
    with pytest.raises(ValueError, match=rf"^{name} is {outside}: "):
        cs.Solver(stack, **{name: outside})
    with pytest.raises((TypeError, ValueError), match=f"^{name}( is|:) 'x'"):
        cs.Solver(stack, **{name: "x"})
    if option.kind == "count":
        with pytest.raises(TypeError, match=rf"^{name} is 2\.0: an integer is needed"):
            cs.Solver(stack, **{name: 2.0})
    if np.isfinite(option.most) and option.most < 2**31:
        with pytest.raises(ValueError, match=f"^{name} is "):
            cs.Solver(stack, **{name: int(option.most) + 1})


@pytest.mark.parametrize(
    "name", [name for name, o in TABLE.items() if o.words and o.kind != "word"]
)
def test_numbers_may_be_words(stack, name):
    for word in TABLE[name].words:
        cs.Solver(stack, method="gauss_seidel", **{name: word})
    with pytest.raises(ValueError, match=f"^{name}: 'steam' is unknown; known: .*, or a number"):
        cs.Solver(stack, **{name: "steam"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"r_factor": "global", "local": "block"},
            "r_factor is global: it determines R, and local='bl",
        ),
        (
            {"r_factor": 0.5, "local": "block"},
            "r_factor is 0.5: it determines R, and local='block'",
        ),
        (
            {"relaxation": 1.5, "local": "block"},
            "relaxation is 1.5: it scales R, and local='block'",
        ),
    ],
)
def test_options_without_effect_are_refused(stack, options, message):
    with pytest.raises(ValueError, match=message):
        cs.Solver(stack, method="gauss_seidel", **options)


def test_results_are_told_when_they_are_looked_at(stack):
    solver = cs.Solver(stack, method="gauss_seidel")
    result = solver.solve()
    slots = {name for name in cs.Result.__slots__ if not name.startswith("_")}
    slots -= {"problem", "wall_time"}
    assert not [name for name in slots if _is_set(result, name)]
    first = result.impulses
    other = solver.solve(b=2.0 * stack.b)
    assert result.impulses is first
    assert result.iterations == len(result.history["iteration"]) - 1
    assert other.info is other.info
    assert result.info["solve_seconds"] == result.time != other.time
    with pytest.raises(AttributeError, match="'Result' object has no attribute 'impulse'"):
        _ = result.impulse


def _is_set(result, name):
    try:
        object.__getattribute__(result, name)
    except AttributeError:
        return False
    return True


def test_messages_tell_of_the_problem_that_was_solved():
    """Advice looks at masses; an update between the solve and the look changes nothing."""
    stack = cs.scenarios.box_stack(4)
    kept, changed = (cs.Solver(stack, method="jacobi", max_iterations=2) for _ in range(2))
    wanted = kept.solve().message
    result = changed.solve()
    stack.update(Minv=stack.Minv * np.array([1e-4, 1, 1, 1])[:, None])
    assert result.message == wanted
