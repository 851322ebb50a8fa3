"""benchmarks/reproducibility/same_bits.py: what is drawn, what is compared."""

import json

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


def test_long_cases_have_every_word_of_methods_and_solves(script):
    cases = script.long_cases(seed=0)
    assert 300 < len(cases) < 800
    assert cases == script.long_cases(seed=0) != script.long_cases(seed=1)
    choices = [json.loads(choice) for choice in {choice for _, choice in cases}]
    methods = [choice["method"] for choice in choices]
    of_words = {("newton", "kind"), ("bpp", "engine"), ("tresca", "inner"), ("de_saxce", "inner")}
    of_words |= {("anderson", "over"), ("nncg", "over"), ("nncg", "formula")}
    for method, option in of_words:
        found = {own.get(option) for name, own in methods if name == method}
        assert found >= set(script.words(method, option)), (method, option)
    assert all(own["start"] == 5 for name, own in methods if name == "newton" and "kind" in own)
    assert ["auto", {"patience": 20}] in methods
    assert {"projected", "exact", "block", "newton", "quartic"} <= {c.get("local") for c in choices}
    for wanted in ({"relaxation": 1.9, "rollback_growth": 1}, {"again": True}):
        assert any(choice.items() >= wanted.items() for choice in choices), wanted
    assert sum(own.get("patience") == 50 for _, own in methods) > 5


def test_long_cases_stand_on_small_problems_with_and_without_a_matrix(script):
    known = {**script.problems(), script.ISLANDS: script.islands}
    problems = {name: known[name]() for name, _ in script.long_cases(seed=0)}
    assert problems[script.ISLANDS].contacts >= 512
    assert max(problem.contacts for problem in problems.values()) <= 600
    assert set(script.GIVEN) & set(problems)


def test_no_long_case_is_refused(script):
    made = script.problems()
    seen = set()
    for name, choice in script.long_cases(seed=0)[::11]:
        problem = script.islands() if name == script.ISLANDS else made[name]()
        found = script.outcome(cs, problem, (name, choice))
        assert len(found) == (8 if json.loads(choice).get("again") else 4), (name, choice, found)
        seen |= {found[2], *(["long"] if found[3] > 100 else [])}
    assert seen >= {"long", "converged", "max_iterations"}


def test_long_solves_roll_back_stagnate_and_go_on_to_the_next_link(script):
    made = {**script.problems(), script.ISLANDS: script.islands}
    done = {"rolled back": False, "stagnated": False, "several links": False}
    for name, choice in script.long_cases(seed=0):
        wanted = ("rollback_growth", '"patience": 50', '"auto"')
        if name not in ("box_stack", "disc_pyramid") or not any(word in choice for word in wanted):
            continue
        problem = made[name]()
        options = script.options_of(cs, (name, choice), problem.contacts)
        options.pop("again", None)
        result = cs.solve(problem, rng=1, **options)
        done["rolled back"] |= result.info["rollbacks"] > 0
        done["stagnated"] |= result.status == "stalled"
        done["several links"] |= len(result.info.get("links", ())) > 1
    assert all(done.values()), done


def test_a_second_solve_starts_from_the_first_result(script):
    problem = script.problems()["disc, 3 rows"]()
    once, twice = (
        json.dumps({"method": ["gauss_seidel", {}], "iterations": 7, **again})
        for again in ({}, {"again": True})
    )
    first = script.outcome(cs, problem, ("disc, 3 rows", once))
    both = script.outcome(cs, problem, ("disc, 3 rows", twice))
    assert both[:4] == first
    assert both[4] != first[0]
