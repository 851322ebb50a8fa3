"""benchmarks/accelerated.py and steps.py: taken up again, tables, and ADMM as the library's."""

from pathlib import Path

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import importing_from

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def scripts(monkeypatch, tmp_path):
    with importing_from(BENCHMARKS):
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


def test_what_is_not_reached_is_told(scripts):
    accelerated, _ = scripts
    row = {"tolerance": "1e-06", "iterations": "2000", "ms": "1500.0"}
    assert accelerated.told({**row, "natural_map": "1.27e-06"}) == "– (1.3e-6)"
    assert accelerated.told({**row, "natural_map": "9.9e-07"}) == "2,000, 1.5 s"


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
