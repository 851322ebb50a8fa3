"""`benchmarks/sweeps` on numbers of threads: the option, the rows, and the tables of the page."""

import argparse
import csv
import re

import pytest

import contactsolve as cs
from benchmark_scripts import importing_from
from repository import BENCHMARKS

FOLDER = BENCHMARKS / "sweeps"


@pytest.fixture
def scripts(monkeypatch):
    """Import by name from the folder; memory is read in small pieces, and Numba is left out."""
    with importing_from(FOLDER):
        sweep = __import__("sweep")
        monkeypatch.setattr(sweep, "STREAM_BYTES", 1 << 16)
        monkeypatch.setattr(sweep, "numba_sweep", lambda *given: None)
        yield __import__


@pytest.fixture
def teams(scripts):
    return scripts("common.teams").teams


def read(path):
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


def parsed(teams, *words):
    parser = argparse.ArgumentParser()
    teams.add_options(parser)
    return teams.chosen(parser, parser.parse_args(words))


# ---- the option ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cores", "numbers"),
    [(1, (1,)), (2, (1, 2)), (6, (1, 2, 4)), (16, (1, 2, 4, 8, 16))],
)
def test_powers_of_two_up_to_the_cores(teams, monkeypatch, cores, numbers):
    monkeypatch.setattr(teams, "cores", lambda: cores)
    assert parsed(teams) == numbers


def test_a_list_is_sorted_and_has_one(teams, monkeypatch):
    monkeypatch.setattr(teams, "cores", lambda: 16)
    assert parsed(teams, "--threads", "8, 3,8") == (1, 3, 8)
    assert parsed(teams, "--threads=16") == (1, 16)


@pytest.mark.parametrize(
    ("text", "place", "word"),
    [("1,x", 1, "x"), ("0", 0, "0"), ("2,,4", 1, ""), ("-1", 0, "-1"), ("1.5", 0, "1.5")],
)
def test_what_is_no_number_of_threads(teams, capsys, text, place, word):
    with pytest.raises(SystemExit):
        parsed(teams, f"--threads={text}")
    told = f"argument --threads: number {place} of '{text}' is '{word}', which is no number"
    assert told in capsys.readouterr().err


def test_more_threads_than_cores_are_refused(teams, monkeypatch, capsys):
    monkeypatch.setattr(teams, "cores", lambda: 2)
    with pytest.raises(SystemExit):
        parsed(teams, "--threads", "1,4")
    assert "--threads: 4 threads, but this machine has 2 cores" in capsys.readouterr().err
    assert parsed(teams, "--threads", "1,4", "--oversubscribe") == (1, 4)
    monkeypatch.setattr(teams, "cores", lambda: 1)
    with pytest.raises(SystemExit):
        parsed(teams, "--threads", "2")
    assert "this machine has 1 core (" in capsys.readouterr().err


def test_every_script_refuses_them(scripts, teams, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(teams, "cores", lambda: 2)
    for name in ("scaling", "threads", "coloring", "orders"):
        with pytest.raises(SystemExit):
            scripts(name).main(["--threads", "3", "--results", str(tmp_path)])
        assert "--oversubscribe allows it" in capsys.readouterr().err, name
    assert not list(tmp_path.iterdir())


# ---- rows ---------------------------------------------------------------------------------------


def run(script, folder, *words):
    script.main([*words, "--repeats", "1", "--results", str(folder), "--oversubscribe"])


def numbers_by(rows, key):
    found = {}
    for row in rows:
        found.setdefault(row[key], set()).add(row["threads"])
    return found


@pytest.mark.parametrize("name", ["scaling", "scaling_solves"])
def test_sizes_and_threads_that_are_not_measured_are_kept(scripts, monkeypatch, tmp_path, name):
    scaling = scripts("scaling")
    monkeypatch.setattr(scaling, "CONTACT_SWEEPS", 100)
    only = {"scaling": "sweeps", "scaling_solves": "solves"}[name]
    run(scaling, tmp_path, "2", "3", "--threads", "1,2", "--only", only)
    first = read(tmp_path / f"{name}.csv")
    run(scaling, tmp_path, "3", "--threads", "3", "--only", only)
    rows = read(tmp_path / f"{name}.csv")
    small, large = (str(cs.scenarios.ball_grid(size).contacts) for size in (2, 3))
    assert numbers_by(rows, "contacts") == {small: {"1", "2"}, large: {"1", "2", "3"}}
    assert len(rows) == 5 * 2 * 2  # kinds and precisions

    # Rows that were not measured again are as they were.
    untouched = [row for row in first if (row["contacts"], row["threads"]) != (large, "1")]
    assert all(row in rows for row in untouched)
    assert not (tmp_path / ("scaling_solves.csv" if name == "scaling" else "scaling.csv")).exists()
    for row in rows:
        assert float(row["read_gbs"]) > 0
        assert float(row["stream_gbs"]) > 0
        assert row["used"] == "1"  # so few contacts are no work for more


def test_a_solve_takes_no_less_than_its_sweeps(scripts, tmp_path):
    scaling = scripts("scaling")
    run(scaling, tmp_path, "4", "--threads", "1,2", "--only", "solves")
    rows = read(tmp_path / "scaling_solves.csv")
    assert len(rows) == 8
    for row in rows:
        assert row["sweeps"] == "50"
        assert float(row["ms_median"]) >= float(row["sweeps_ms"]) > 0
        assert row["threads"] != "1" or float(row["speedup"]) == 1


def test_a_number_is_exact_and_at_most_beside_competing_processes(scripts, monkeypatch):
    scaling = scripts("scaling")
    monkeypatch.setattr(scaling, "BUSY_METHODS", {2: "jacobi"})
    monkeypatch.setattr(scaling, "BUSY_CONTACT_SWEEPS", 320)
    asked = []

    class Recorded(cs.Solver):
        def __init__(self, *given, **options):
            asked.append((options["threads"], options["exact_threads"]))
            super().__init__(*given, **options)

    monkeypatch.setattr(scripts("common").cs, "Solver", Recorded)
    rows = list(scaling.busy_rows((1, 2), 2))
    names = ["1", "2", "at most 2", "as many as pay"]
    assert [row["threads"] for row in rows] == 3 * names
    assert asked == [(1, True), (2, True), (2, False), (None, False)]
    assert [row["competing"] for row in rows[:: len(names)]] == [0, 1, 2]
    assert all(row["of_one"] == 1 for row in rows[:: len(names)])


def test_orders_on_numbers_of_threads(scripts, monkeypatch, tmp_path):
    threads = scripts("threads")
    monkeypatch.setattr(threads, "SWEEPS", 2)
    run(threads, tmp_path, "2", "--threads", "1,2")
    run(threads, tmp_path, "3", "--threads", "1,3")
    rows = read(tmp_path / "threads.csv")
    assert numbers_by(rows, "case") == {"ball_grid 2^3": {"1", "2"}, "ball_grid 3^3": {"1", "3"}}
    for row in rows:
        assert float(row["read_gbs"]) > 0
        if row["order"] == "gauss_seidel":
            assert row["threads"] == "1"


def test_colouring_on_numbers_of_threads(scripts, tmp_path):
    coloring = scripts("coloring")
    run(coloring, tmp_path, "3", "--threads", "1,2")
    run(coloring, tmp_path, "3", "--threads", "4")
    rows = read(tmp_path / "coloring.csv")
    assert numbers_by(rows, "run") == {"sequential": {"1"}, "parallel": {"1", "2", "4"}}
    assert len(rows) == 2 * 2 * 4  # grounds and strategies


def test_a_scene_on_numbers_of_threads(scripts, monkeypatch, tmp_path, capsys):
    orders = scripts("orders")
    monkeypatch.setattr(orders, "CONTACT_SWEEPS", 100)
    scenes = {f"grid {n}": lambda n=n: cs.scenarios.ball_grid(n) for n in (2, 3)}
    monkeypatch.setattr(orders, "SCENES", scenes)
    run(orders, tmp_path, "grid 2", "grid 3", "--threads", "1,2")
    run(orders, tmp_path, "grid 3", "--threads", "3")
    rows = read(tmp_path / "orders.csv")
    assert numbers_by(rows, "scene") == {"grid 2": {"1", "2"}, "grid 3": {"1", "2", "3"}}
    with pytest.raises(SystemExit):
        run(orders, tmp_path, "grid 5")
    assert "scene 'grid 5' is none of grid 2, grid 3" in capsys.readouterr().err


def test_a_solver_on_so_many_threads(scripts):
    common, problem = scripts("common"), cs.scenarios.ball_grid(14)
    for number in (1, 2):
        assert common.sweeping(problem, 1, threads=number).info["threads"] == number
    assert common.sweeping(problem, 1).info["threads"] == 1
    least = common.sweeping(problem, 1, threads=None).info["threads"]
    assert least == min(cs.info()["threads"], 8)


# ---- tables -------------------------------------------------------------------------------------


@pytest.fixture
def report(scripts):
    pytest.importorskip("matplotlib")
    return scripts("report")


def rows_of(report, contacts, numbers, **values):
    return [
        {
            "contacts": str(contacts), "sweep": kind, "dtype": dtype, "threads": str(number),
            "used": str(number), "order": "cache", "read_gbs": str(10.0 * number),
            **{key: str(value(number)) for key, value in values.items()},
        }
        for kind, dtype in report.columns()
        for number in numbers
    ]  # fmt: skip


def test_a_table_of_solves_has_s1_beside_it(report):
    given = {"ms_median": lambda n: 64 / n, "speedup": float}
    rows = rows_of(report, 188_800, (1, 8, 16), **given) + rows_of(report, 160, (1, 8), **given)
    head, _, small, large = report.solves_table(rows)
    assert "1 / 8 / 16 threads (over one)" in head
    assert head.endswith("| S1, one core | S1's speed-up |")
    assert small.startswith("| 160 | 64 / 8 / – (8.00 / –) |")
    assert small.endswith("| – | – |")
    assert large.startswith("| 188,800 | 64 / 8 / 4 (8.00 / 16.00) |")
    assert large.endswith("| 13.1 s | 4.0 on 8 cores (naive ranges) |")
    assert [*report.bandwidth(rows)] == [
        "Read from memory in the same runs: 10 / 80 / 160 GB/s on 1 / 8 / 16 threads."
    ]
    assert report.s1_of(40_320) == ("3.24 s", "2.0 on 8 cores (relaxed greedy, equal γ)")
    assert report.s1_of(1_408) == ("105 ms", "–")


def test_a_table_of_sweeps_leaves_idle_threads_out(report):
    rows = rows_of(report, 1_408, (1, 2), ns_least=lambda n: 8.04 / n)
    rows += rows_of(report, 40_320, (1, 2), ns_least=lambda n: 9.0 / n)
    for row in rows:
        if row["contacts"] == "1408":
            row |= {"used": "1", "order": "natural"}
    head, _, small, large = report.sweeps_table(rows)
    assert head.startswith("| contacts | any J f64, 1 / 2 threads | any J f32 |")
    assert small.startswith("| 1,408, natural order | 8.0 / – |")
    assert small.endswith("| – / – |")  # no Numba
    assert large.startswith("| 40,320 | 9.0 / 4.5 |")


def test_a_table_that_was_not_measured(report, monkeypatch, tmp_path):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    told = report.told("scaling_solves", "none", report.solves_table)
    assert told == "Not measured yet: `python benchmarks/sweeps/scaling.py --only solves`."


def test_page_is_what_the_results_make_it(report):
    """docs/performance.md, written from the committed CSVs of the machine that it names."""
    page = report.PAGE.read_text(encoding="utf-8")
    named = re.search(r"<!-- scaling -->\nMeasured on `([^`]+)`", page)
    assert report.filled(page, named[1]) == page
