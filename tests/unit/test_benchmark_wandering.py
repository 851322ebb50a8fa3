"""benchmarks/wandering.py: what is written, taken up again and drawn; what it sees in impulses."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest

import contactsolve as cs

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def wandering(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    modules = ("wandering", "hard_problems", "common")
    for name in modules:
        monkeypatch.delitem(sys.modules, name, raising=False)
    import common
    import wandering

    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setattr(wandering, "SECONDS_A_SWEEP", 1.0)  # a busy machine changes nothing
    monkeypatch.setattr(wandering, "PICTURE", tmp_path / "wandering.png")
    yield wandering
    for name in modules:
        sys.modules.pop(name, None)


def read(folder, name):
    with next(folder.glob(f"*/{name}.csv")).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def small(wandering, mu=0.5, compliance=0.0):
    return wandering.Case(4, mu, 0.05, compliance, "nesterov", 2000)


def test_the_quick_form_writes_draws_and_is_taken_up_again(wandering, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    wandering.main(["--quick", "--piece", "0"])
    wandering.main(["--quick"])
    rows = read(tmp_path, "wandering_quick")
    assert len(rows) == len(wandering.quick_cases(["nesterov"]))
    assert {row["status"] for row in rows} == {"converged", "max_iterations"}
    for row in rows:
        assert (float(row["reached"]) <= wandering.TOLERANCE) == (row["status"] == "converged")
        assert float(row["band_least"]) <= float(row["band_median"]) <= float(row["band_most"])
        states = sum(int(row[name]) for name in ("open", "sticking", "sliding"))
        assert states == int(row["contacts"])
    tried = read(tmp_path, "wandering_quick_tries")
    assert {row["experiment"] for row in tried} == {
        "starts", "drift", "damping", "continuation"
    }  # fmt: skip
    assert next(tmp_path.glob("*/wandering_quick.png")).exists()
    capsys.readouterr()
    wandering.main(["--quick"])
    assert len(capsys.readouterr().out.splitlines()) == 1  # the picture alone
    assert read(tmp_path, "wandering_quick") == rows
    assert read(tmp_path, "wandering_quick_tries") == tried


def test_states_of_contacts(wandering):
    impulses = np.array([[0.0, 0.0, 0.0], [2.0, 0.3, 0.4], [2.0, 0.6, 0.8]])
    assert wandering.states(impulses, np.full(3, 0.5)).tolist() == [0, 1, 2]


def test_random_starts_are_within_the_sets(wandering):
    problem = small(wandering).problem()
    start = wandering.random_start(problem, 2.0)
    assert np.allclose(problem.sets.project(start), start, atol=1e-15)
    assert 1.5 < start[:, 0].max() <= 2.0


def test_a_descent_ends_without_compliance(wandering):
    case = small(wandering)
    rows = list(wandering.continuation_rows(case, wandering.DESCENTS[0]))
    sigma = [row["compliance"] for row in rows]
    assert sigma[0] == 0.1
    assert sigma[-1] == 0.0
    assert sigma == sorted(sigma, reverse=True)
    assert rows[-1]["reached"] == rows[-1]["reached_rigid"] <= wandering.TOLERANCE
    assert rows[0]["reached_rigid"] > 1.2 * rows[0]["reached"]


def test_compliance_is_along_the_tangents(wandering):
    soft, rigid = small(wandering, compliance=0.1).problem(), small(wandering).problem()
    added = (soft.delassus() - rigid.delassus()).diagonal().reshape(-1, 3)
    assert np.allclose(added, [0.0, 0.1, 0.1])


def test_the_map_tells_of_changes_and_of_other_solutions(wandering):
    row, windows = wandering.map_row(small(wandering))
    assert row["status"] == "converged"
    assert row["changing"] == 0
    assert row["reached_from_random"] <= wandering.TOLERANCE
    assert windows[-1]["least"] <= wandering.TOLERANCE
    few = wandering.map_row(wandering.Case(7, 0.8, 0.05, 0.0, "nesterov", 200))[0]
    assert few["status"] == "max_iterations"
    assert few["changing"] > 0


def test_the_drift_of_what_is_solved_is_nothing(wandering, monkeypatch):
    monkeypatch.setattr(wandering, "LOOKS", 3)
    rows = list(wandering.drift_rows(small(wandering)))
    assert [row["iterations"] for row in rows] == [1000, 2000, 3000]
    assert all(row["moved"] < 1e-5 and row["changed"] == 0 for row in rows[1:])


def test_the_judge_is_the_natural_map(wandering):
    problem = small(wandering).problem()
    result = cs.solve(problem, method="gauss_seidel", max_iterations=5)
    assert wandering.judge(problem, result.impulses) == pytest.approx(result.natural_map)
