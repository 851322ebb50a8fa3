"""benchmarks/reproducibility/same_bits.py: what is drawn, what is compared."""

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import importing_from
from repository import BENCHMARKS


@pytest.fixture
def script():
    with importing_from(BENCHMARKS / "reproducibility"):
        import same_bits

        yield same_bits


def test_every_pair_of_values_is_drawn_with_every_problem(script):
    values = {"problem": ["a", "b"], "x": ["1", "2", "3"], "y": ["4", "5"], "z": ["6", "7"]}
    cases = list(script.drawn_cases(values, count=32, seed=0))
    for problem in values["problem"]:
        mine = [case for case in cases if case[0] == problem]
        assert {(x, y) for _, x, y, _ in mine} == {(x, y) for x in "123" for y in "45"}
        assert {(x, z) for _, x, _, z in mine} == {(x, z) for x in "123" for z in "67"}
        assert {(y, z) for _, _, y, z in mine} == {(y, z) for y in "45" for z in "67"}
    assert cases == list(script.drawn_cases(values, count=32, seed=0))
    assert len(list(script.all_cases(values))) == 2 * 3 * 2 * 2


def test_there_are_fifty_problems(script):
    assert len(script.problems()) == 50


@pytest.mark.parametrize("name", ["ball_grid 5", "winch", "rolling, 5 rows, A given"])
def test_equal_solves_are_equal_and_others_differ(script, name):
    problem = script.problems()[name]()
    case = (name, "gauss_seidel", "colored", "matrix", "float64", "1", "auto")
    found = script.outcome(cs, problem, case)
    assert found == script.outcome(cs, problem, case)
    assert found != script.outcome(cs, problem, (name, "gauss_seidel", "natural", *case[3:]))
    refused = script.outcome(cs, problem, (name, "gauss_seidel", "colored", "none", *case[4:]))
    assert refused[0] == "ValueError"


def test_one_bit_changes_the_hash_and_signs_of_nan_do_not(script):
    array = np.array([1.0, np.nan])
    assert script.hashed(array) == script.hashed(np.array([1.0, -np.nan]))
    assert script.hashed(array) != script.hashed(np.array([np.nextafter(1.0, 2.0), np.nan]))
    assert script.hashed(np.array([0.0])) != script.hashed(np.array([-0.0]))
