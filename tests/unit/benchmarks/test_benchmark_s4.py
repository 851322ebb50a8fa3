"""benchmarks/s4: each script runs, on an emulated device too, and claims are told as they are."""

import csv

import numpy as np
import pytest

import contactsolve as cs
from benchmark_scripts import check_filled, check_page, importing_from
from contactsolve import _devices
from repository import BENCHMARKS

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def scripts():
    with importing_from(BENCHMARKS / "s4"):
        yield __import__


@pytest.fixture(scope="module")
def quick(scripts, tmp_path_factory):
    protocol = scripts("protocol")
    emulated = _devices.why_not("cuda-emulated") is None
    run = protocol.Run(
        tmp_path_factory.mktemp("s4"), threads=2, device="cuda-emulated" if emulated else None
    )
    return protocol.quick_of(run, run.results)


@pytest.fixture(scope="module")
def tables(scripts, quick):
    """All scripts run once: rows by table."""
    for script in ("claims", "pyramids"):
        scripts(script).main(quick)
    return {
        name: list(csv.DictReader((quick.results / f"{name}.csv").read_text("utf-8").splitlines()))
        for name in scripts("layouts").LAYOUTS
    }


def test_every_script_writes_its_table_and_a_picture(scripts, tables, quick):
    for name, layout in scripts("layouts").LAYOUTS.items():
        assert {column.key for column in layout.columns} <= set(tables[name][0]), name
        assert (quick.results / f"{name}.png").stat().st_size > 10_000, name


def test_neighbours_are_those_of_the_delassus_matrix(scripts):
    """Two contacts are neighbours if their block of A is not zero."""
    problem = cs.scenarios.disc_pyramid(5)
    A = problem.delassus().toarray()
    blocks = np.abs(A).reshape(problem.contacts, 2, problem.contacts, 2).sum(axis=(1, 3)) > 0
    assert scripts("claims").most_neighbours(problem) == blocks.sum(axis=1).max() - 1


def test_claims_that_do_not_hold_are_told(scripts, tables):
    remarks = scripts("remarks")
    rows = [dict(row) for row in tables["claims"]]
    assert not [text for text in remarks.remarks("claims", rows) if "Does not hold" in text]
    rows[0]["contacts"] = "4"  # not 3n/2 (n - 1)
    rows[0]["c"] = "0.1"
    rows[-1]["most_neighbours"] = "11"
    wrong = [text for text in remarks.remarks("claims", rows) if "Does not hold" in text]
    assert len(wrong) == 3


def test_places_agree_and_what_runs_on_one_thread_has_one_time(scripts, tables, quick):
    for row in tables["solves"]:
        assert row["status"] == "converged"
        sequential = row["method"] in scripts("protocol").SEQUENTIAL
        assert (row["threaded_s"] == "") == sequential
        assert (row["device_s"] == "") == (sequential or quick.device is None)


def test_long_solves_are_left_out(scripts, quick):
    pyramids = scripts("pyramids")
    methods = scripts("protocol").METHODS
    sweeps = [
        {"layers": layers, "method": method, "cpu_s": 1.0}
        for layers in (2, 4)
        for method in methods
    ]
    run = quick._replace(layers=(2, 4), device=None)
    assert len(list(pyramids.rows_of_solves(run._replace(budget=1e9), sweeps))) == 6
    few = list(pyramids.rows_of_solves(run._replace(budget=5.0), sweeps))
    assert {row["layers"] for row in few} == {2}


def test_report_fills_the_page(scripts, tables, quick):
    check_filled(scripts("report"), tables, quick)


def test_page_is_what_the_results_make_it(scripts):
    """docs/s4.md, written from the committed CSVs of the machine that it names, or of none."""
    check_page(scripts("report"), "s4")
