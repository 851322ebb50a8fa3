"""A solver that is used again judges as a new one does, whatever it solved before."""

import numpy as np
import pytest

import contactsolve as cs


def pile():
    return cs.scenarios.ball_grid(3, velocity=0.2)


def islands():
    """Boxes that slide, so that V depends on friction; one is far faster than the others."""
    one = cs.scenarios.box_stack(1)
    J, Minv, b = (np.concatenate([part] * 3) for part in (one.J, one.Minv, one.b))
    bodies = np.concatenate([np.where(one.bodies < 0, -1, one.bodies + k) for k in range(3)])
    b[:, 1] = 5 * b[:, 0]
    b[:4] *= 100
    return cs.Problem(J, Minv, b, 0.5, bodies=bodies)


def judged(result):
    names = ("status", "iterations", "natural_map", "natural_map_scaled", "worst_contact")
    columns = [result.history[name] for name in result.history.columns if name != "time"]
    return [getattr(result, name) for name in names], np.array(columns), result.impulses


def assert_same(found, wanted):
    (figures, columns, impulses), (others, rows, answer) = judged(found), judged(wanted)
    assert figures == others
    assert np.array_equal(columns, rows, equal_nan=True)
    assert np.array_equal(impulses, answer)


OPTIONS = (
    {},
    {"method": "gauss_seidel", "record": ("natural_map_scaled",)},
    {"method": "gauss_seidel", "islands": False, "threads": 1},
    {"method": "nesterov", "atol": 1e-5, "rtol": None},
    {"method": "de_saxce", "max_iterations": 30},
    {"method": "tresca", "max_iterations": 30},
    {"method": "newton"},
    {"method": "gauss_seidel", "dtype": "mixed"},
    {"method": "nesterov", "dtype": "float32"},
)


@pytest.mark.parametrize("make", [pile, islands])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_solves_in_turn(make, options):
    problem = make()
    solver = cs.Solver(problem, **options)
    b = problem.b
    steps = [
        {},
        {},
        {"b": 7.0 * b},
        {},
        {"mu": 4.0},
        {"mu": 4.0},
        {},
        {"mu": 0.1, "b": -b},
        {"b": 7.0 * b},
        {"b": 7.0 * b},
        {},
        {"initial": np.full(b.shape, 0.01)},
        {},
    ]
    for step in steps:
        assert_same(solver.solve(**step), cs.Solver(make(), **options).solve(**step))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_updates_in_between(options):
    problem, solver = pile(), None
    solver = cs.Solver(problem, **options)
    solver.solve()
    for change in ({"b": 3.0 * problem.b}, {"mu": 0.2}, {"Minv": 2.0 * problem.Minv}):
        problem.update(**change)
        for _ in range(2):
            new = pile()
            new.update(Minv=problem.Minv, b=problem.b, mu=problem.mu)
            assert_same(solver.solve(), cs.Solver(new, **options).solve())


def test_an_evaluation_in_between():
    problem = pile()
    options = {"method": "gauss_seidel", "rtol": None, "atol": None, "max_iterations": 5}
    silent = cs.Solver(problem, record=(), **options)
    wanted = cs.Solver(pile(), record=("natural_map_scaled",), **options)
    for step in ({"b": 9.0 * problem.b}, {}, {"mu": 0.05}, {}, {}):
        found, other = silent.solve(**step), wanted.solve(**step)
        assert found.natural_map_scaled == other.natural_map_scaled
        assert np.array_equal(found.impulses, other.impulses)
