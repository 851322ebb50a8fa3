"""benchmarks/wandering/wandering.py: what is written, taken up, drawn, and seen in impulses."""

import csv
import sys

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import importing_from
from repository import BENCHMARKS


@pytest.fixture
def wandering(monkeypatch, tmp_path):
    with importing_from(BENCHMARKS / "wandering"):
        import wandering

        monkeypatch.setattr("common.RESULTS", tmp_path)
        monkeypatch.setattr(wandering, "PICTURE", tmp_path / "wandering.png")
        yield wandering


@pytest.fixture
def runs(wandering):
    return sys.modules["runs"]


@pytest.fixture
def tries(wandering, monkeypatch):
    """What is tried, in short."""
    tries = sys.modules["tries"]
    shorter = {
        "LOOKS": 6,
        "NEWTON_STEPS": 4,
        "STARTS": 1,
        "RELAXED_SWEEPS": 400,
        "AVERAGES": 2,
        "AFTERWARDS": 1000,
    }
    shorter |= {"WINDOW": 4, "WINDOW_STEP": 2, "WINDOW_SWEEPS": 500}
    for name, value in shorter.items():
        monkeypatch.setattr(tries, name, value)
    return tries


def read(folder, name):
    with next(folder.glob(f"*/{name}.csv")).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def small(wandering, mu=0.5, compliance=0.0):
    return wandering.Case(4, mu, 0.05, compliance, "nesterov", 2000)


def test_the_quick_form_writes_draws_and_is_taken_up_again(
    wandering, runs, tries, tmp_path, capsys
):
    pytest.importorskip("matplotlib")
    wandering.main(["--quick", "--piece", "0"])
    wandering.main(["--quick"])
    rows = read(tmp_path, "wandering_quick")
    assert len(rows) == len(wandering.quick_cases(["nesterov"]))
    assert {row["status"] for row in rows} == {"converged", "max_iterations"}
    for row in rows:
        assert (float(row["reached"]) <= runs.TOLERANCE) == (row["status"] == "converged")
        assert float(row["band_least"]) <= float(row["band_median"]) <= float(row["band_most"])
        states = sum(int(row[name]) for name in ("open", "sticking", "sliding"))
        assert states == int(row["contacts"])
    tried = read(tmp_path, "wandering_quick_tries")
    assert {row["experiment"] for row in tried} == set(tries.EXPERIMENTS)
    assert next(tmp_path.glob("*/wandering_quick.png")).exists()
    capsys.readouterr()
    wandering.main(["--quick"])
    assert len(capsys.readouterr().out.splitlines()) == 1  # the picture alone
    assert read(tmp_path, "wandering_quick") == rows
    assert read(tmp_path, "wandering_quick_tries") == tried


def test_states_of_contacts(runs):
    impulses = np.array([[0.0, 0.0, 0.0], [2.0, 0.3, 0.4], [2.0, 0.6, 0.8]])
    assert runs.states(impulses, np.full(3, 0.5)).tolist() == [0, 1, 2]


def test_random_starts_are_within_the_sets(wandering, runs):
    problem = small(wandering).problem()
    start = runs.random_start(problem, 2.0)
    assert np.allclose(problem.sets.project(start), start, atol=1e-15)
    assert 1.5 < start[:, 0].max() <= 2.0


def test_a_descent_ends_without_compliance(wandering, runs, tries):
    rows = [row for row, _ in tries.descend(small(wandering), tries.DESCENTS[0])]
    sigma = [row["compliance"] for row in rows]
    assert sigma[0] == 0.1
    assert sigma[-1] == 0.0
    assert sigma == sorted(sigma, reverse=True)
    assert rows[-1]["reached"] == rows[-1]["reached_rigid"] <= runs.TOLERANCE
    assert rows[0]["reached_rigid"] > 1.2 * rows[0]["reached"]


def test_a_ladder_goes_on_from_the_best_of_its_way(wandering, runs, tries):
    rows = list(tries.ladder_rows(small(wandering)))
    ends = [(row["inner"], row["then"]) for row in rows]
    thens = ("nothing", "newton", "gauss_seidel")
    assert ends == [(inner, then) for inner in tries.INNER for then in thens]
    for row in rows:
        assert row["reached"] <= row.get("began", np.inf)
        assert row["reached"] <= runs.TOLERANCE


def test_of_what_is_solved_averages_are_solved(wandering, runs, tries):
    rows = list(tries.average_rows(small(wandering)))
    assert [row["iterations"] for row in rows] == [200, 400, 2000, 4000]
    assert rows[-1]["reached"] <= runs.TOLERANCE


def test_relaxations_begin_alike(wandering, runs, tries):
    rows = list(tries.relaxation_rows(wandering.Case(7, 0.8, 0.05, 0.0, "nesterov", 200)))
    assert [row["relaxation"] for row in rows] == list(tries.RELAXATIONS)
    assert len({row["began"] for row in rows}) == 1
    assert len({row["reached"] for row in rows}) == len(rows)
    for row in rows:
        assert runs.TOLERANCE < row["band_least"] <= row["band_median"]


def test_a_cube_is_solved_where_the_whole_is(wandering, runs, tries):
    case = wandering.Case(6, 0.3, 0.05, 0.0, "nesterov", 2000)
    problem, impulses = case.problem(), runs.long_run(case.problem(), case).impulses
    corner = np.array([1, 0, 2])
    inside = tries.within(problem, 6, corner)
    part = tries.cube(problem, 6, impulses, corner)
    assert part.contacts == inside.sum() == 3 * 4 * 4 * 3
    whole, alone = (
        cs.solve(one, method="gauss_seidel", initial=start, max_iterations=0)
        for one, start in ((problem, impulses), (part, impulses[inside]))
    )
    assert np.allclose(alone.residual_velocities, whole.residual_velocities[inside], atol=1e-12)
    (row,) = tries.window_rows(case)
    assert row["cubes"] == row["solved"] == 8


def test_compliance_is_along_the_tangents(wandering):
    soft, rigid = small(wandering, compliance=0.1).problem(), small(wandering).problem()
    added = (soft.delassus() - rigid.delassus()).diagonal().reshape(-1, 3)
    assert np.allclose(added, [0.0, 0.1, 0.1])


def test_the_map_tells_of_changes_and_of_other_solutions(wandering, runs):
    row, windows = wandering.map_row(small(wandering))
    assert row["status"] == "converged"
    assert row["changing"] == 0
    assert row["reached_from_random"] <= runs.TOLERANCE
    assert windows[-1]["least"] <= runs.TOLERANCE
    few = wandering.map_row(wandering.Case(7, 0.8, 0.05, 0.0, "nesterov", 200))[0]
    assert few["status"] == "max_iterations"
    assert few["changing"] > 0


def test_a_drift_ends_where_it_is_solved(wandering, runs, tries):
    (row,) = tries.drift_rows(small(wandering))
    assert row["reached"] <= runs.TOLERANCE
    assert row["moved"] < 1e-5
    assert row["changed"] == 0
    rows = list(tries.drift_rows(wandering.Case(7, 0.8, 0.05, 0.0, "nesterov", 200)))
    assert [row["iterations"] for row in rows[:3]] == [1000, 2000, 3000]
    assert all(row["moved"] > 1e-4 for row in rows[:2])


def test_the_judge_is_the_natural_map(wandering, runs):
    problem = small(wandering).problem()
    result = cs.solve(problem, method="gauss_seidel", max_iterations=5)
    assert runs.judge(problem, result.impulses) == pytest.approx(result.natural_map)
