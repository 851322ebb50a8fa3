"""`benchmarks/convergence/fclib.py`: every file, every method, nothing left out of the table."""

import csv
import shutil

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import importing_from
from repository import BENCHMARKS, FCLIB


@pytest.fixture
def benchmark(monkeypatch, tmp_path):
    with importing_from(BENCHMARKS / "convergence"):
        import fclib

        monkeypatch.setattr("common.RESULTS", tmp_path / "results")
        yield fclib


def read_rows(tmp_path):
    (path,) = (tmp_path / "results").glob("*/trial.csv")
    text = path.read_text(encoding="utf-8")
    assert str(tmp_path) not in text
    return list(csv.DictReader(text.splitlines()))


def test_rows_of_a_folder(benchmark, tmp_path, capsys):
    folder = tmp_path / "collection"
    folder.mkdir()
    shutil.copy(FCLIB / "Rover4396.hdf5", folder)
    shutil.copy(FCLIB / "OneObject-i100000-499.hdf5", folder)
    (folder / "broken.hdf5").write_text("no file of this kind")
    benchmark.main([str(folder), "--sweeps", "40", "--name", "trial"])
    rows = read_rows(tmp_path)
    (broken,) = [row for row in rows if row["problem"] == "broken"]
    assert (broken["outcome"], broken["note"]) == ("not read", "this is not an HDF5 file")
    methods = [method.label for method in benchmark.known(benchmark.METHODS)]
    for name in ("Rover4396", "OneObject-i100000-499"):
        assert [row["method"] for row in rows if row["problem"] == name] == methods
    printed = capsys.readouterr().out
    assert "no method to 1e-08: OneObject-i100000-499" in printed
    assert "not read: broken" in printed

    by_method = {row["method"]: row for row in rows if row["problem"] == "Rover4396"}
    row = by_method["gauss_seidel"]
    problem = cs.io.read_fclib(FCLIB / "Rover4396.hdf5")
    solved = cs.solve(
        problem, method="gauss_seidel", stop="fclib_error", atol=1e-8, rtol=None,
        record=("fclib_error",), threads=1,
    )  # fmt: skip
    assert (row["measure"], row["outcome"]) == ("fclib_error", "converged")
    assert int(row["sweeps_to_1e-08"]) == int(row["sweeps"]) == solved.iterations
    assert float(row["last_error"]) == pytest.approx(solved.history["fclib_error"][-1], rel=1e-3)
    hard = [row for row in rows if row["problem"] == "OneObject-i100000-499"]
    assert {row["outcome"] for row in hard} <= {"budget", "diverging"}
    assert all(row["sweeps_to_1e-08"] == "" for row in hard)
    assert all(float(row["best_error"]) <= float(row["last_error"]) for row in hard)


def test_first_passage_of_both_targets(benchmark):
    problem = cs.io.read_fclib(FCLIB / "Rover1039.hdf5")
    row = benchmark.attempt(problem, cs.Method("gauss_seidel"), 5.0, 5000)
    errors = cs.solve(
        problem, method="gauss_seidel", rtol=None, atol=None, max_iterations=row["sweeps"],
        record=("fclib_error",), check_every=1,
    ).history["fclib_error"]  # fmt: skip
    for target in benchmark.TARGETS:
        looked = np.flatnonzero(errors[::10] <= target)[0] * 10
        assert row[f"sweeps_to_{target:.0e}"] == looked


def test_budget_of_seconds(benchmark):
    problem = cs.io.read_fclib(FCLIB / "OneObject-i100000-499.hdf5")
    row = benchmark.attempt(problem, cs.Method("jacobi", relaxation=0.01), 2e-3, 10**8)
    assert row["outcome"] == "budget"
    assert 0 < row["sweeps"] < 10**5


def test_natural_map_where_the_error_is_not_defined(benchmark):
    A = np.array([[2.0, 1.0], [1.0, 2.0]])
    problem = cs.Problem.from_delassus(A, [-1.0, 0.5], rows=1, lo=0.0, hi=0.2)
    row = benchmark.attempt(problem, cs.Method("jacobi"), 1.0, 1000)
    assert (row["measure"], row["outcome"]) == ("natural_map_scaled", "converged")
    assert row["last_error"] <= 1e-8
    assert row["sweeps_to_1e-08"] == row["sweeps"]


def test_a_method_that_refuses_a_problem_has_its_row(benchmark):
    A = np.array([[2.0, 1.0], [1.0, 2.0]])
    problem = cs.Problem.from_delassus(A, [-1.0, 0.5], rows=1, name="two")
    method = cs.Method("jacobi", scheme="factorized")
    (row,) = benchmark.rows_of("two", problem, [method], 1.0, 10)
    assert row["outcome"] == "refused"
    assert "needs a Jacobian" in row["note"]
    assert "refused: " in benchmark.line(row)


def test_methods_of_another_version_are_named(benchmark, capsys):
    methods = [cs.Method("jacobi"), cs.Method("sor"), cs.Method("jacobi", r_factor="best")]
    assert list(benchmark.known(methods)) == methods[:1]
    printed = capsys.readouterr().out
    assert printed.count("not in this version: ") == 2


def test_an_empty_folder_is_an_error(benchmark, tmp_path, capsys):
    with pytest.raises(SystemExit):
        benchmark.main([str(tmp_path)])
    assert "hold no .hdf5 file" in capsys.readouterr().err
