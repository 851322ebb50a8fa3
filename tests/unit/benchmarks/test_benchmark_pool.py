"""benchmarks/s5/pool.py: it measures each pattern, and tells what it does not measure."""

import csv

import pytest

from benchmark_scripts import importing_from
from repository import BENCHMARKS


@pytest.fixture(scope="module")
def script():
    with importing_from(BENCHMARKS / "s5"):
        yield __import__("pool")


@pytest.fixture(scope="module")
def rows(script, tmp_path_factory):
    folder = tmp_path_factory.mktemp("s5")
    arguments = ["--quick", "--threads", "1,2,4", "--results", str(folder)]
    script.main(arguments, available=2)
    return list(csv.DictReader((folder / "s5_pool.csv").read_text("utf-8").splitlines()))


def test_each_pattern_has_its_ratio(rows):
    assert [(r["pattern"], r["threads"]) for r in rows] == [
        (pattern, threads) for pattern in ("latency", "throughput") for threads in "124"
    ]
    for row in rows[:2]:
        ratio = float(row["lock_free_s"]) / float(row["mutex_s"])
        assert float(row["ratio"]) == pytest.approx(ratio, rel=1e-3)
        assert float(row["lock_free_least_s"]) <= float(row["lock_free_s"])


def test_more_threads_than_cores_are_not_measured(rows):
    for row in rows:
        measured = row["threads"] != "4"
        assert (row["lock_free_s"] != "") == (row["ratio"] != "") == measured
        assert row["measured"] == ("yes" if measured else "no: 2 cores")


def test_the_goal_is_told_as_it_is(script):
    row = {"pattern": "latency", "threads": 2, "ratio": 0.4}
    assert script.verdict([row]).endswith("0.40, goal <= 0.5: reached")
    assert script.verdict([{**row, "ratio": 0.6}]).endswith("0.60, goal <= 0.5: MISSED")
    assert "one core" in script.verdict([{**row, "ratio": None}])
