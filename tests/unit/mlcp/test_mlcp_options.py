"""Options of MLCP solvers: one table in C, which signature, text, checks and methods agree with."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core
from contactsolve._specific_options import options_of

TABLE = options_of(_core.mlcp_options())
OTHER_DEFAULTS = {"islands": "auto"}  # as that of `Solver`
NUMBERS = [name for name, option in TABLE.items() if option.kind in ("count", "number")]


def test_solvers_take_what_the_table_has():
    shown = inspect.signature(cs.MlcpSolver).parameters
    assert set(shown) - {"A", "unknown"} == set(TABLE)
    for name, option in TABLE.items():
        assert shown[name].default == OTHER_DEFAULTS.get(name, option.default), name
        assert f"    {name}\n" in cs.MlcpSolver.__doc__


def test_methods_have_the_same_options():
    """The direct methods for contacts: name, range, default and sentence are those of the table."""
    own = cs.methods.describe()["bpp"].options
    assert set(own) < set(TABLE)
    for name, option in own.items():
        assert option == TABLE[name]


@pytest.mark.parametrize("name", NUMBERS)
def test_ranges_are_checked(name):
    option = TABLE[name]
    outside = int(option.least) if option.above else int(option.least) - 1
    with pytest.raises(ValueError, match=rf"^{name} is {outside}: "):
        cs.MlcpSolver(np.eye(2), **{name: outside})
    with pytest.raises(TypeError, match=f"^{name} is 'x': a"):
        cs.MlcpSolver(np.eye(2), **{name: "x"})
    if option.kind == "count":
        with pytest.raises(TypeError, match=rf"^{name} is 2\.0: an integer is needed"):
            cs.MlcpSolver(np.eye(2), **{name: 2.0})
        with pytest.raises(ValueError, match=rf"^{name} is {2**40}: "):
            cs.MlcpSolver(np.eye(2), **{name: 2**40})
    else:
        for value in (np.nan, np.inf):
            with pytest.raises(ValueError, match=f"^{name} is {value}: a finite number"):
                cs.MlcpSolver(np.eye(2), **{name: value})
    least = 0.5 if option.above else int(option.least)
    beside = {"engine": "cached"} if name == "cache_bytes" else {}
    assert cs.solve_mlcp(np.eye(2), [1.0, 2.0], **{name: least}, **beside).converged


@pytest.mark.parametrize(
    ("name", "word", "meant"),
    [
        ("method", "keler", "keller"),
        ("method", "Dantzig", "dantzig"),
        ("engine", "sky_line", "skyline"),
    ],
)
def test_unknown_words_get_the_nearest(name, word, meant):
    known = ", ".join(TABLE[name].words)
    told = f"{name}: '{word}' is unknown; known: {known}; did you mean '{meant}'?"
    with pytest.raises(ValueError, match=f"^{re.escape(told)}$"):
        cs.solve_mlcp(np.eye(2), [1.0, 2.0], **{name: word})


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("tol", "tolerance"),
        ("rtol", "tolerance"),
        ("maxiter", "max_pivots"),
        ("rule", "method"),
        ("cachebytes", "cache_bytes"),
        ("block_step", "block_steps"),
    ],
)
def test_slips_and_names_of_other_libraries_are_known(option, meant):
    told = f"has no option '{option}': did you mean '{meant}'"
    with pytest.raises(TypeError, match=f"^solve_mlcp {told}"):
        cs.solve_mlcp(np.eye(2), [1.0, 2.0], **{option: 1})
    with pytest.raises(TypeError, match=f"^MlcpSolver {told}"):
        cs.MlcpSolver(np.eye(2), **{option: 1})


def test_what_is_like_nothing_is_told_what_there_is():
    with pytest.raises(TypeError, match=r"has no option 'colour'; known: method, engine, toler"):
        cs.solve_mlcp(np.eye(2), [1.0, 2.0], colour="blue")


def test_optional_ones_may_be_left_open():
    left_open = {name: None for name, option in TABLE.items() if option.default is None}
    assert set(left_open) == {"max_pivots", "threads"}
    assert cs.solve_mlcp(np.eye(2), [1.0, 2.0], **left_open).converged
