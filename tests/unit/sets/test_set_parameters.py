"""Parameters of sets: one table in C, which functions, checks and texts agree with."""

from __future__ import annotations

import inspect
import math

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core

DECLARED = {name: own for name, own in cs.sets.parameters().items() if own}
MADE = [name for name in cs.sets.names() if name not in ("polygon", "support")]
ROWS = {"box": 2, "rolling": 5, "contensou": 4, "contensou_coupled": 4, "tresca": 4, "free": 2}
VALUES = {"lo": -1.0, "hi": 1.0, "mu2": 0.25, "angle": 0.1}


def made(name, **values):
    """A set with usual values of all parameters but those given."""
    usual = {key: VALUES.get(key, 0.5) for key in cs.sets.parameters()[name]}
    return getattr(cs.sets, name)(**(usual | values))


@pytest.mark.parametrize("name", MADE)
def test_functions_have_signature_and_text_of_the_table(name):
    described = {one["name"]: one for one in _core.sets()}[name]
    make, own = getattr(cs.sets, name), cs.sets.parameters()[name]
    assert name in cs.sets.__all__
    shown = inspect.signature(make).parameters
    assert list(shown) == list(own)
    text = " ".join(make.__doc__.split())
    assert described["summary"][1:] in text
    for key, one in own.items():
        assert f"{key} : {one.range}" in text
        assert one.summary[1:] in text
        assert (shown[key].default is inspect.Parameter.empty) == (not one.optional)


@pytest.mark.parametrize("name", MADE)
def test_parameters_stand_as_in_the_table(name):
    rows, own = ROWS.get(name, 3), cs.sets.parameters()[name]
    made_set = made(name)
    assert [one.name for one in made_set.values] == list(own)
    assert [one.of_rows for one in made_set.values] == [o.kind == "row" for o in own.values()]
    assert made_set.parameters(7, rows).shape == (7, _core.set_parameters(name, rows))
    placed = getattr(cs.sets, name)(*(VALUES.get(key, 0.5) for key in own))
    assert repr(placed) == repr(made_set)


@pytest.mark.parametrize(
    ("name", "key"),
    [(n, k) for n, own in DECLARED.items() for k in own if n in MADE],
)
def test_ranges_are_checked(name, key):
    one, rows = DECLARED[name][key], ROWS.get(name, 3)
    z = np.zeros((2, rows))
    where = rf"{key}\[1, 0\]" if one.kind == "row" else rf"{key}\[1\]"

    def bad(value):
        values = np.full((2, rows) if one.kind == "row" else 2, VALUES.get(key, 0.5))
        values[1] = value
        with pytest.raises(ValueError, match=f"^{where} is "):
            made(name, **{key: values}).project(z)

    bad(math.nan)
    with np.errstate(over="ignore"):
        if math.isfinite(one.least):
            bad(np.nextafter(one.least, -math.inf))
        if math.isfinite(one.most):
            bad(np.nextafter(one.most, math.inf))
    for end in (one.least, one.most):
        if abs(end) < 1e300 and one.kind == "block":
            made(name, **{key: end}).project(z)


def test_calls_are_checked_by_name():
    told = r"^muu is no parameter of sets\.disc; known: mu; did you mean 'mu'\?$"
    with pytest.raises(TypeError, match=told):
        cs.sets.disc(muu=0.5)
    with pytest.raises(TypeError, match=r"sets\.rolling needs mu_r: coefficient of rolling resist"):
        cs.sets.rolling(0.5)
    with pytest.raises(TypeError, match=r"sets\.disc is given mu twice"):
        cs.sets.disc(0.5, mu=0.5)
    with pytest.raises(TypeError, match=r"sets\.disc is given 2 parameters; known: mu$"):
        cs.sets.disc(0.5, 0.5)
    with pytest.raises(TypeError, match=r"mu is no parameter of sets\.free; known: none$"):
        cs.sets.free(mu=0.5)


def test_parameters_that_may_be_left_out():
    assert repr(cs.sets.ellipse(0.5, 0.3)) == "sets.ellipse(0.5, 0.3, 0)"
    assert repr(cs.sets.tresca(0.5)) == repr(cs.sets.tresca(0.5, None)) == "sets.tresca(0.5)"
    for rows, given in ((4, cs.sets.tresca(0.5)), (3, cs.sets.tresca(0.5, 0.1))):
        wanted = "radius and moment" if rows == 4 else "radius alone"
        with pytest.raises(
            ValueError, match=f"blocks of {rows} rows take sets.tresca with {wanted}"
        ):
            given.project(np.zeros(rows))
