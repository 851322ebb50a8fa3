"""benchmarks/methods/accelerated.py and steps.py: what is taken up, tables, the library's ADMM."""

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import importing_from
from repository import BENCHMARKS


@pytest.fixture
def scripts(monkeypatch, tmp_path):
    with importing_from(BENCHMARKS / "methods"):
        import accelerated
        import common
        import steps

        monkeypatch.setattr(common, "RESULTS", tmp_path)
        yield accelerated, steps


def test_what_there_is_is_not_measured_again(scripts, capsys):
    accelerated, _ = scripts
    accelerated.main(["box_stack", "--methods", "nncg"])
    accelerated.main(["box_stack", "--methods", "nesterov", "nncg"])
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == [
        "nncg", "nesterov"
    ]  # fmt: skip
    accelerated.main(["--table"])
    methods, goals = capsys.readouterr().out.split("\n\n")
    rows = [line.split(" | ")[0] for line in methods.splitlines()]
    assert rows == ["| method", "| ---", "| nesterov", "| nncg", "| goal"]
    assert goals.splitlines()[-1].startswith("| box_stack, 1e-6 | 0.5 ms | ")


class Solve:
    """What a table looks at of a result."""

    def __init__(self, iterations: int, time: float) -> None:
        self.iterations, self.time = iterations, time


def test_what_is_not_solved_takes_for_ever(scripts):
    """Medians and quartiles over all seeds; the share where not all are solved."""
    common = pytest.importorskip("common")
    solves = [(Solve(10 * (k + 1), 1e-3 * (k + 1)), k < 6) for k in range(9)]
    row = common.over_seeds(solves)
    assert (row["solved"], row["seeds"]) == (6, 9)
    assert common.told_over_seeds(row) == "50, 5 ms (3–∞), 6 of 9"
    few = common.over_seeds([(one, k < 4) for k, (one, _) in enumerate(solves)])
    assert common.told_over_seeds(few) == "– (4 of 9)"
    every = common.over_seeds([(Solve(2000, 1.5), True)] * 9)
    assert common.told_over_seeds(every) == "2,000, 1.5 s (1.5–1.5)"
    # Numbers of a CSV are texts.
    assert common.told_over_seeds({name: str(x) for name, x in row.items()}).endswith("6 of 9")


@pytest.mark.parametrize("name", ["accelerated", "outer", "coarse_corrections"])
def test_other_seeds_are_other_problems(name):
    with importing_from(BENCHMARKS / "methods"):
        script = __import__(name)
    if name == "coarse_corrections":
        make, _ = script.SCENES["10 boxes, moving"]
    else:
        make = script.PROBLEMS["box_stack"]
        make = make[0] if isinstance(make, tuple) else make
    assert not np.array_equal(make(0).b, make(1).b)
    np.testing.assert_array_equal(make(1).b, make(1).b)


def test_projection_onto_cones(scripts):
    _, steps = scripts
    points = np.random.default_rng(0).normal(size=(50, 3))
    mu = 0.4
    one = cs.Problem.from_delassus(np.eye(150), points, sets=cs.sets.second_order_cone(mu))
    np.testing.assert_allclose(steps.onto_cones(points, mu), one.sets.project(points), atol=1e-14)


def test_admm_in_numpy_is_the_librarys(scripts):
    _, steps = scripts
    problem = cs.scenarios.ball_grid(2)
    count, reached = steps.plain_admm(problem, "multipliers", 1.6)
    result = steps.run_admm(problem, penalty=1.0, rule="fixed", over_relaxation=1.6)
    assert result.iterations == count
    assert reached == pytest.approx(result.natural_map, rel=1e-6)
