"""Methods as objects with options of their own: made, described, checked, refused."""

import inspect

import numpy as np
import pytest

import contactsolve as cs
from contactsolve import _core

DESCRIPTIONS = cs.methods.describe()
EVERY = pytest.mark.parametrize("name", list(DESCRIPTIONS))


@EVERY
def test_every_method_has_a_function_that_tools_can_show(name):
    make, method = getattr(cs.methods, name), DESCRIPTIONS[name]
    assert make.__name__ == name
    signature = inspect.signature(make)
    assert list(signature.parameters) == list(method.options)
    for option in method.options.values():
        assert signature.parameters[option.name].default == option.default
        assert f"{option.name} : {option.range}" in make.__doc__
    assert method.summary[1:] in make.__doc__
    assert name in cs.methods.__all__
    assert str(make()) == name == make().name


@EVERY
def test_every_method_tells_what_it_is(name):
    method = DESCRIPTIONS[name]
    assert method.summary == cs.methods.summaries()[name]
    assert method.paper
    assert method.solves
    assert set(method.needs) <= set(cs.methods.needs())
    assert set(method.solves) <= set(cs.methods.classes())
    assert method.paper in str(method)
    assert all(option.summary for option in method.options.values())


@EVERY
def test_defaults_are_taken_and_what_lies_outside_of_the_range_is_not(name):
    make = getattr(cs.methods, name)
    for option in DESCRIPTIONS[name].options.values():
        assert make(**{option.name: option.default}).settings == ()
        if option.kind == "word":
            for text in option.words:
                make(**{option.name: text})
            with pytest.raises(ValueError, match=f"{option.name}: 'steam' is unknown; known"):
                make(**{option.name: "steam"})
            with pytest.raises(TypeError, match=f"{option.name} is 3: a name is needed"):
                make(**{option.name: 3})
        elif option.kind == "flag":
            with pytest.raises(TypeError, match=f"{option.name} is 1: True or False"):
                make(**{option.name: 1})
        else:
            kind = int if option.kind == "count" else float
            outside = kind(option.least if option.above else option.least - 1)
            with pytest.raises(
                ValueError, match=f"{option.name} is .*: (it must be|a finite number above)"
            ):
                make(**{option.name: outside})
            with pytest.raises(TypeError, match=f"{option.name} is 'x': an? .* is needed"):
                make(**{option.name: "x"})
        if option.kind == "number":
            with pytest.raises(ValueError, match=f"{option.name} is inf: a finite number"):
                make(**{option.name: np.inf})


def test_options_of_others_are_refused():
    with pytest.raises(TypeError, match=r"steam is no option of method='bpp'; known: tolerance, "):
        cs.methods.bpp(steam=1)
    with pytest.raises(TypeError, match=r"steam is no option of method='jacobi'; known: none"):
        cs.methods.jacobi(steam=1)
    for name, message in [
        ("jacobi", "steam: method='jacobi' has no options of its own"),
        ("bpp", "steam is no option of method='bpp'; known: tolerance, "),
    ]:
        with pytest.raises(ValueError, match=message):
            _core.check_method(name, {"steam": 1.0})
    with pytest.raises(ValueError, match="tolerance is 'x': a number is needed"):
        _core.check_method("bpp", {"tolerance": "x"})
    with pytest.raises(ValueError, match="engine: '3' is unknown"):
        _core.check_method("bpp", {"engine": 3.0})
    with pytest.raises(ValueError, match=r"refinements is 1.5: an integer is needed"):
        _core.check_method("bpp", {"refinements": 1.5})
    with pytest.raises(ValueError, match="17 options are given; at most 16"):
        _core.check_method("bpp", {f"option{i}": 1.0 for i in range(17)})


def test_choices_are_values():
    choice = cs.methods.bpp(engine="skyline", tolerance=1e-8)
    assert choice == cs.methods.bpp(tolerance=1e-8, engine="skyline")
    assert len({choice, cs.methods.bpp(engine="skyline", tolerance=1e-8)}) == 1
    assert str(choice) == "bpp(tolerance=1e-08, engine=skyline)"
    assert str(cs.methods.bpp(max_pivots=7)) == "bpp(max_pivots=7)"


def test_an_option_reaches_the_method():
    scene = cs.scenarios.ball_grid(3, velocity=0.1)
    boxes = cs.sets.box_friction(0.5)
    problem = cs.Problem(
        scene.J, scene.Minv, scene.b, bodies=scene.bodies, sets=boxes, compliance=1e-6
    )
    usual = cs.solve(problem, method="bpp", max_iterations=1)
    single = cs.solve(problem, method=cs.methods.bpp(block_steps=0), max_iterations=1)
    assert usual.info["single_pivots"] == 0 < single.info["single_pivots"]
    few = cs.solve(problem, method=cs.methods.lemke(max_pivots=1), max_iterations=1)
    assert few.info["pivoting"] == "max_pivots"


def test_what_may_change_says_so():
    experimental = {name for name, method in DESCRIPTIONS.items() if method.experimental}
    assert experimental == {"multilevel", "splitting"}
    assert str(DESCRIPTIONS["splitting"]).startswith("splitting (experimental): ")
    assert str(DESCRIPTIONS["newton"]).startswith("newton: ")


def test_one_method_is_described_alone():
    for name, described in DESCRIPTIONS.items():
        assert cs.methods.describe(name) == described
        for option in described.options.values():
            assert all(word in str(described) for word in option.words)
    with pytest.raises(ValueError, match=r"method: 'bbp' is unknown; known: auto, jacobi, "):
        cs.methods.describe("bbp")
    with pytest.raises(ValueError, match=r"; did you mean 'gauss_seidel'\?$"):
        cs.methods.describe("pgs")
