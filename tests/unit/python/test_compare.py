"""`contactsolve.compare`: S1's protocol, the table, and what it refuses."""

import csv
import html
import importlib
import io
import itertools
import pickle
import re

import numpy as np
import pytest

import contactsolve as cs
from contactsolve._table import _Scale

module = importlib.import_module("contactsolve.compare")  # the package's attribute is the function


@pytest.fixture(scope="module")
def ball_grid():
    return cs.scenarios.ball_grid(8, ground="body", contact_order="backward")


@pytest.fixture(scope="module")
def stack():
    return cs.scenarios.box_stack(4)


# ---- the protocol -------------------------------------------------------------------------------


def test_s1_protocol_on_the_small_ball_grid(ball_grid):
    methods = ["jacobi", "gauss_seidel"]
    until = cs.quality_of(cs.Method("gauss_seidel", order="natural"), iterations=50)
    table = cs.compare(ball_grid, methods, until=until, repeats=1, r_factor=5.0, order="natural")
    # S1 table 3.3, first and fourth row.
    assert [row.iterations for row in table] == [63, 50]
    assert [row.status for row in table] == ["reached", "reference"]
    assert table.target == table["gauss_seidel"].quality == pytest.approx(246.88, rel=1e-4)
    assert table["gauss_seidel"].residual == pytest.approx(0.0879, rel=1e-3)
    assert table["jacobi"].residual == pytest.approx(0.0682, rel=1e-3)


def test_methods_stop_at_the_first_sweep_that_is_good_enough(stack):
    methods = ["jacobi", cs.Method("gauss_seidel", relaxation=1.5)]
    table = cs.compare(stack, methods, until=cs.quality_of("gauss_seidel"), repeats=1)
    for row, result in zip(table, table.results.values(), strict=True):
        before, last = result.history["quality"][-2:]
        assert row.status == "reached"
        assert last == row.quality <= table.target * (1 + 1e-5) < before


def test_rounding_costs_no_sweep(ball_grid):
    methods = [
        cs.Method("gauss_seidel", scheme="matrix"),
        cs.Method("gauss_seidel", scheme="factorized"),
        cs.Method("gauss_seidel", dtype="float32"),
    ]
    until = cs.quality_of(cs.Method("gauss_seidel", scheme="matrix"), iterations=50)
    table = cs.compare(ball_grid, methods, until=until, repeats=1)
    assert [row.iterations for row in table] == [50, 50, 50]
    assert [row.status for row in table] == ["reference", "reached", "reached"]


def test_constant_of_the_quality_is_that_of_the_target(stack):
    def quality(**options):
        until = cs.quality_of("gauss_seidel", iterations=5, **options)
        return cs.compare(stack, "gauss_seidel", until=until, repeats=1).target

    options = {"rtol": None, "atol": None, "max_iterations": 5, "record": ("quality",)}
    direct = cs.solve(stack, method="gauss_seidel", quality_r=3.0, **options)
    assert quality(quality_r=3.0) == direct.history["quality"][-1] != quality()


def test_a_number_is_a_natural_map(stack):
    table = cs.compare(stack, ["jacobi"], until=1e-5, repeats=1)
    before, last = table.results["jacobi"].history["natural_map"][-2:]
    assert table["jacobi"].natural_map == last <= 1e-5 < before
    assert table["jacobi"].reached
    assert table.target == 1e-5


def test_without_a_target_each_stops_by_its_own_options(stack):
    methods = ["jacobi", cs.Method("jacobi", rtol=1e-3, check_every=7)]
    table = cs.compare(stack, methods, repeats=1, rtol=1e-5, scheme="matrix")
    loose = {"scheme": "matrix", "rtol": 1e-3, "check_every": 7}
    for row, options in zip(table, ({"scheme": "matrix", "rtol": 1e-5}, loose), strict=True):
        alone = cs.solve(stack, method="jacobi", **options)
        result = table.results[row.method]
        assert (row.iterations, row.status) == (alone.iterations, "converged")
        assert np.array_equal(result.impulses, alone.impulses)
        assert result.info["scheme"] == "matrix"
    assert table.target is None
    assert table.notes == ()


def test_history_has_every_sweep_and_all_measures(stack):
    table = cs.compare(stack, ["gauss_seidel"], repeats=1, record=("merit",))
    result = table.results["gauss_seidel"]
    assert set(result.history) >= {"residual", "natural_map", "quality", "merit"}
    assert list(result.history["iteration"]) == list(range(result.iterations + 1))
    assert not np.isnan(result.history["natural_map"]).any()
    assert result.history["natural_map"][-1] == result.natural_map
    assert 0 < result.history["time"][-1] <= result.time


@pytest.mark.parametrize("rng", [None, 7, np.random.default_rng(7)])
@pytest.mark.parametrize("common", [False, True])
def test_all_runs_use_one_random_order(stack, rng, common):
    own = {"order": "random"} if common else {"order": "random", "rng": rng}
    method = cs.Method("gauss_seidel", label="mixed", **own)
    until = cs.quality_of(method, iterations=20)
    options = {"rng": rng} if common else {}
    table = cs.compare(stack, [method], until=until, repeats=1, **options)
    assert table[0].status == "reference"
    result = cs.compare(stack, [method], repeats=1, **options).results["mixed"]
    assert result.history["natural_map"][-1] == result.natural_map
    if rng == 7:
        alone = cs.solve(stack, method="gauss_seidel", order="random", rng=7)
        assert np.array_equal(result.impulses, alone.impulses)


def test_start_is_that_of_all_methods(stack):
    start = cs.solve(stack, method="jacobi", rtol=1e-9)
    table = cs.compare(stack, ["jacobi", "gauss_seidel"], initial=start, rtol=1e-7, repeats=1)
    assert [row.iterations for row in table] == [0, 0]
    assert np.isnan(table["jacobi"].residual)  # no sweep, no change


def test_no_contacts():
    problem = cs.Problem(
        np.zeros((0, 2, 3, 6)), np.ones((1, 6)), [], 0.5, bodies=np.zeros((0, 2), int)
    )
    table = cs.compare(problem, ["jacobi"], until=cs.quality_of("gauss_seidel"), repeats=1)
    assert (table.target, table[0].iterations, table[0].status) == (0.0, 0, "reached")
    assert "jacobi" in repr(table)


# ---- timing -------------------------------------------------------------------------------------


@pytest.fixture
def recorded_solves(monkeypatch):
    """All solves that `compare` makes, as options; their times are 1, 2, 3 ... seconds."""
    solves = []

    class Recorder(cs.Solver):
        def __init__(self, problem, **options):
            super().__init__(problem, **options)
            self.options = options

        def solve(self, **arguments):
            result = super().solve(**arguments)
            solves.append(self.options)
            result.time = float(len(solves))
            return result

    monkeypatch.setattr(module, "Solver", Recorder)
    return solves


def test_timed_runs_take_turns_and_only_sweep(stack, recorded_solves):
    table = cs.compare(stack, ["jacobi", "gauss_seidel"], repeats=3, until=1e-5)
    timed = recorded_solves[4:]  # a run that is recorded, and one of as many sweeps, come before
    assert [options["method"] for options in timed] == ["jacobi", "gauss_seidel"] * 3
    for options in timed:
        assert (options["rtol"], options["atol"], options["record"]) == (None, None, ())
        assert options["max_iterations"] == table[options["method"]].iterations
    # Mean and standard deviation, over N, of 5, 7, 9 and of 6, 8, 10.
    assert [row.time for row in table] == [7.0, 8.0]
    assert [row.time_sigma for row in table] == pytest.approx([(8 / 3) ** 0.5] * 2, rel=1e-15)


def test_set_up_is_apart(ball_grid):
    row = cs.compare(ball_grid, "jacobi", max_iterations=1, repeats=2, rtol=None, atol=None)[0]
    assert row.setup_time > 0
    assert row.time > 0
    assert row.status == "max_iterations"


HEAVY = cs.scenarios.box_stack(10, top_mass=1000)
WITHOUT_DISCS = {"apgd": "second_order_cone", "spectral_gradient": "second_order_cone"}
WITHOUT_DISCS |= dict.fromkeys(("bpp", "murty", "keller", "dantzig", "lemke"), "box_friction")


def taken_by(method):
    """The heavy stack, with sets and compliance that the method takes."""
    if method not in WITHOUT_DISCS:
        return HEAVY
    sets = getattr(cs.sets, WITHOUT_DISCS[method])(0.5)
    soft = 1e-6 if WITHOUT_DISCS[method] == "box_friction" else None
    return cs.Problem(HEAVY.J, HEAVY.Minv, HEAVY.b, bodies=HEAVY.bodies, sets=sets, compliance=soft)


@pytest.mark.parametrize("method", cs.methods.names())
def test_one_run_gives_all_that_is_shown(method):
    """Also of methods that decide by their own progress: the row is of the solve that it names."""
    problem, options = taken_by(method), {"max_iterations": 100}
    table = cs.compare(problem, [method], repeats=2, **options)
    alone, row, result = (
        cs.solve(problem, method=method, **options),
        table[0],
        table.results[method],
    )
    assert (row.status, row.iterations) == (alone.status, alone.iterations)
    assert np.array_equal(result.impulses, alone.impulses)
    assert row.natural_map == result.natural_map == alone.natural_map
    assert row.natural_map_scaled == row.tested == alone.natural_map_scaled
    assert result.history["iteration"][-1] == row.iterations
    assert result.history["natural_map"][-1] == result.natural_map
    assert row.quality == result.history["quality"][-1]
    if row.reached:
        assert row.natural_map_scaled <= 1e-6


@pytest.mark.sampled(3)
@pytest.mark.parametrize("method", cs.methods.names())
def test_runs_to_a_target_are_repeated_bit_by_bit(method):
    problem = taken_by(method)
    for until in (1e-6, cs.quality_of("gauss_seidel")):
        row = cs.compare(problem, [method], until=until, repeats=2, max_iterations=100)[0]
        assert row.reached == (row.status in ("reached", "reference"))
        assert row.tested == (row.natural_map if until == 1e-6 else row.quality)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("method", cs.methods.names())
def test_what_is_recorded_changes_nothing(method):
    """Nor does how often: what a method knows of its iterates is what it asked for itself."""
    problem, options = taken_by(method), {"method": method, "max_iterations": 100}
    plain = cs.solve(problem, record=(), **options)
    dense = cs.solve(problem, record=("natural_map", "quality"), measure_every=1, **options)
    sparse = cs.solve(problem, record=("natural_map",), measure_every=7, **options)
    assert np.array_equal(dense.impulses, plain.impulses)
    assert np.array_equal(sparse.impulses, plain.impulses)
    assert not np.isnan(dense.history["natural_map"]).any()
    assert list(dense.history["iteration"]) == list(range(dense.iterations + 1))


def test_measure_every_is_checked(stack):
    with pytest.raises(ValueError, match="measure_every is 0: it must be at least 1"):
        cs.Solver(stack, measure_every=0)
    with pytest.raises(TypeError, match=r"measure_every is 1\.5: an integer is needed"):
        cs.Solver(stack, measure_every=1.5)


def test_times_with_a_target_are_of_iterations_alone(ball_grid):
    """Checks after every sweep would be most of the time. The least of three, for busy machines."""
    limits = {"until": 1e-9}, {"check_every": 1, "rtol": 1e-12}
    tables = [
        [cs.compare(ball_grid, ["gauss_seidel"], max_iterations=200, **each) for each in limits]
        for _ in range(3)
    ]
    assert all(one[0].iterations == 200 for pair in tables for one in pair)
    alone, checked = (min(pair[i][0].time for pair in tables) for i in range(2))
    assert alone < 0.7 * checked
    histories = [table.results["gauss_seidel"].history for table, _ in tables]
    assert all(np.all(np.diff(history["time"]) >= 0) for history in histories)
    solved = min(other.results["gauss_seidel"].time for _, other in tables)
    assert min(history["time"][-1] for history in histories) < 0.7 * solved


def test_the_time_in_a_table_has_its_name(stack):
    plain = cs.compare(stack, "gauss_seidel", repeats=1)
    bare = cs.compare(stack, "gauss_seidel", time_checks=False, repeats=1)
    methods = ["gauss_seidel", cs.Method("jacobi", time_checks=False)]
    mixed = cs.compare(stack, methods, repeats=1)
    names = [repr(table).splitlines()[2] for table in (plain, bare, mixed)]
    for line, name in zip(names, ("time of solve", "time without checks", "time"), strict=True):
        assert re.split(r" {2,}", line)[2] == name
    assert [row.checks for row in mixed] == [True, False]


def test_another_run_is_refused(stack, monkeypatch):
    count = 0

    class Moody(cs.Solver):
        def solve(self, **arguments):
            nonlocal count
            count += 1
            result = super().solve(**arguments)
            if count > 1:
                result.impulses[0, 0] += 1e-16
            return result

    monkeypatch.setattr(module, "Solver", Moody)
    with pytest.raises(
        RuntimeError, match="gauss_seidel gave other impulses when it was run again"
    ):
        cs.compare(stack, ["gauss_seidel"])


def test_a_run_ended_by_the_clock_is_said_to_be_one():
    problem = cs.scenarios.ball_grid(10)
    options = {"rtol": 1e-300, "max_iterations": 10**9, "max_seconds": 0.02}
    table = cs.compare(problem, ["gauss_seidel"], repeats=2, **options)
    assert table[0].status == "max_seconds"
    assert table.notes[0].startswith("gauss_seidel was ended by the clock (max_seconds) after ")


# ---- methods that do not get there --------------------------------------------------------------


def test_not_reached_is_said(stack):
    until = cs.quality_of("gauss_seidel", iterations=50)
    methods = ["jacobi", "gauss_seidel"]
    table = cs.compare(stack, methods, until=until, repeats=1, max_iterations=10)
    assert [row.status for row in table] == ["not reached", "reference"]
    assert [row.reached for row in table] == [False, True]
    assert [row.iterations for row in table] == [10, 50]
    assert "jacobi did not reach quality <= " in table.notes[0]
    assert "within 10 sweeps" in table.notes[0]
    for note in table.notes:
        assert note in repr(table).splitlines()
        assert f"<p>{html.escape(note)}</p>" in table._repr_html_()


def test_not_converged_is_said(stack):
    table = cs.compare(stack, ["jacobi"], repeats=1, max_iterations=3)
    assert (table[0].status, table[0].reached) == ("max_iterations", False)
    assert table.notes[0] == "jacobi did not reach its tolerance within 3 sweeps."


def test_sweeps_asked_for_are_no_failure(stack):
    table = cs.compare(stack, ["jacobi"], repeats=1, rtol=None, atol=None, max_iterations=3)
    assert table.notes == ()


def test_divergence_is_said(stack):
    methods = [cs.Method("jacobi", r_factor=1e3, rollback=1)]
    for until in (None, 1e-6, cs.quality_of("gauss_seidel")):
        table = cs.compare(stack, methods, until=until, repeats=1)
        assert (table[0].status, table[0].reached) == ("diverging", False)
        assert "diverged" in table.notes[0]
        assert table.results[table[0].method].status == "diverging"


@pytest.mark.parametrize(
    ("problem", "method", "options", "status"),
    [
        (cs.scenarios.box_stack(5, top_mass=100), "interior_point", {}, "stalled"),
        (cs.scenarios.box_stack(6), "nesterov", {"max_iterations": 10**5, "until": 1e-16}, None),
        (
            cs.Problem.from_delassus([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0], rows=1),
            "gauss_seidel",
            {},
            "infeasible",
        ),
        (
            cs.scenarios.ball_grid(8),
            "gauss_seidel",
            {"max_seconds": 0.001, "max_iterations": 10**6},
            "max_seconds",
        ),
    ],
)
def test_what_ended_a_run_short_of_its_target_is_said(problem, method, options, status):
    table = cs.compare(problem, [method], repeats=1, **{"until": 1e-9, **options})
    assert not table[0].reached
    assert table[0].status == (status or table.results[method].status) != "not reached"


def test_the_table_shows_what_was_tested(stack):
    """Natural maps alone do not tell who met a scaled tolerance."""
    table = cs.compare(stack, ["jacobi", "gauss_seidel"], rtol=1e-4, repeats=1)
    for row in table:
        assert row.stop == "natural_map_scaled"
        assert (row.tested <= 1e-4) == (row.status == "converged")
        assert f"{row.tested:.1e}" in repr(table)
    table = cs.compare(stack, ["jacobi"], stop="delta_norm", rtol=1e-4, repeats=1)
    assert table[0].tested == table.results["jacobi"].history["delta_norm"][-1] <= 1
    assert "delta_norm" in repr(table)


# ---- the table ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table(stack):
    methods = ["jacobi", cs.Method("gauss_seidel", label="long & <named>")]
    return cs.compare(stack, methods, repeats=2, until=cs.quality_of("jacobi", 20))


def test_rows_by_number_and_label(table):
    assert len(table) == 2
    assert table[0] is table["jacobi"] is next(iter(table))
    assert table[-1] is table["long & <named>"]
    assert list(table.results) == ["jacobi", "long & <named>"]
    with pytest.raises(KeyError, match="no method 'sor' in the table; it has: jacobi, long"):
        table["sor"]


def test_text_is_aligned(table):
    title, rule, names, units, _, first, second, last_rule = repr(table).splitlines()
    assert title.startswith("box_stack 4, 16 contacts, until quality <= ")
    assert "mean and σ of 2 runs" in title
    assert set(rule) == set(last_rule) == {"-"}
    heads = ["method", "sweeps", "time without checks", "σ", "set-up", "quality", "natural map"]
    heads += ["scaled", "residual"]
    assert re.split(r" {2,}", names) == [*heads, "status"]
    column = names.index("status")
    assert (first[column:], second[column:]) == ("reference", "reached")
    # Numbers end where their names end.
    for name in ("sweeps", "time without checks", "quality", "natural map"):
        end = names.index(name) + len(name)
        assert all(line[end - 1] != " " and line[end] == " " for line in (first, second))
        assert units[:end].endswith("]") or name == "sweeps"
    assert first.startswith("jacobi ")


def test_units_suit_the_times():
    def texts(*seconds):
        scale = _Scale(seconds)
        return [scale.unit, *map(scale.text, seconds)]

    assert texts(2.5, 0.01) == ["[s]", "2.500", "0.010"]
    assert texts(0.0431, 0.5) == ["[ms]", "43.1", "500.0"]
    assert texts(3.25e-5, 1e-9) == ["[µs]", "32.50", "0.00"]
    assert texts(0.0) == ["[µs]", "0.000"]
    assert texts(12345.678) == ["[s]", "12346"]


def test_html(table):
    text = table._repr_html_()
    assert text.count("<tr>") == text.count("</tr>") == 3
    assert "long &amp; &lt;named&gt;" in text
    assert "<named>" not in text
    assert "<th>natural map [N s]</th>" in text


def test_columns(table):
    columns = table.to_dict()
    assert columns["method"] == ["jacobi", "long & <named>"]
    assert columns["iterations"] == [row.iterations for row in table]
    frame = table.to_pandas()
    assert frame.loc["jacobi", "quality"] == table["jacobi"].quality
    assert list(frame.columns) == list(columns)[1:]


def test_csv_reads_back_to_the_same_numbers(table, tmp_path):
    table.to_csv(tmp_path / "a.csv")
    text = io.StringIO()
    table.to_csv(text)
    assert (tmp_path / "a.csv").read_text(encoding="utf-8") == text.getvalue()
    head, *rows = csv.reader(text.getvalue().splitlines())
    assert head[:5] == ["method", "iterations", "time [s]", "time_sigma [s]", "setup_time [s]"]
    assert head[5:8] == ["checks", "quality [N^2 s^2]", "natural_map [N s]"]
    assert {line[5] for line in rows} == {"False"}
    assert [name.partition(" ")[0] for name in head] == list(table.to_dict())
    for cells, row in zip(rows, table, strict=True):
        values = dict(zip(table.to_dict(), cells, strict=True))
        assert (values["method"], values["status"]) == (row.method, row.status)
        for name in ("time", "quality", "natural_map", "residual", "tested"):
            assert float(values[name]) == getattr(row, name)


def test_csv_leaves_cells_without_a_number_empty(stack):
    start = cs.solve(stack, method="jacobi", rtol=1e-9)
    table, text = cs.compare(stack, "jacobi", initial=start, rtol=1e-7, repeats=1), io.StringIO()
    table.to_csv(text)
    head, cells = csv.reader(text.getvalue().splitlines())
    assert cells[head.index("residual [N s]")] == ""
    assert cells[head.index("iterations")] == "0"


# ---- progress -----------------------------------------------------------------------------------


class FakeBar:
    """A tqdm bar that notes what is asked of it."""

    events: list

    def __init__(self, **options):
        self.events.append(("made", options["total"]))

    def set_description(self, label, refresh):
        assert not refresh
        self.events.append(label)

    def update(self, count):
        self.events.append(count)

    def close(self):
        self.events.append("closed")


@pytest.mark.parametrize("until", [None, 1e-5, cs.quality_of("gauss_seidel", 10)])
def test_progress_counts_runs_outside_of_the_clocks(stack, monkeypatch, until):
    events = FakeBar.events = []

    class Noted(cs.Solver):
        def solve(self, **arguments):
            events.append("solve")
            result = super().solve(**arguments)
            events.append("solved")
            return result

    monkeypatch.setattr(module, "Solver", Noted)
    monkeypatch.setattr("tqdm.auto.tqdm", FakeBar)
    methods = ["jacobi", cs.Method("gauss_seidel", label="mine")]
    table = cs.compare(stack, methods, until=until, repeats=3, progress=True)
    reference = isinstance(until, module.QualityOf)
    (_, total), *rest = events
    assert total == sum(event == 1 for event in rest) == 8 + reference
    assert rest[-1] == "closed"
    labels = [event for event in rest if event in ("jacobi", "mine", "gauss_seidel")]
    assert labels == ["gauss_seidel"] * reference + ["jacobi", "mine"] * 4
    assert all(after == "solved" for now, after in itertools.pairwise(rest) if now == "solve")
    again = cs.compare(stack, methods, until=until, repeats=1)
    assert [row.iterations for row in table] == [row.iterations for row in again]


def test_progress_is_a_line_that_is_erased(stack, capsys):
    cs.compare(stack, ["jacobi", "gauss_seidel"], repeats=1, progress=True)
    shown = capsys.readouterr().err
    assert "jacobi: " in shown
    assert "gauss_seidel: " in shown
    assert "4/4" in shown
    assert shown.rstrip("\r").split("\r")[-1].strip() == ""
    cs.compare(stack, "jacobi", repeats=1, progress=60.0)
    cs.compare(stack, "jacobi", repeats=1)
    assert capsys.readouterr().err == ""


def test_progress_is_erased_after_an_error(stack, capsys, monkeypatch):
    monkeypatch.setattr(module._Run, "measure", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cs.compare(stack, "jacobi", repeats=1, progress=True)
    assert capsys.readouterr().err.rstrip("\r").split("\r")[-1].strip() == ""


@pytest.mark.parametrize("progress", [-1.0, float("nan"), float("inf"), "yes"])
def test_progress_is_a_truth_value_or_seconds(stack, progress):
    message = f"progress is {progress!r}: True, False or seconds above 0 are needed"
    with pytest.raises(ValueError, match=re.escape(message)):
        cs.compare(stack, "jacobi", progress=progress)
    with pytest.raises(ValueError, match=re.escape(message)):
        cs.solve(stack, progress=progress)


def test_table_can_be_pickled(table):
    copy = pickle.loads(pickle.dumps(table))
    assert copy.rows == table.rows
    assert copy.results["jacobi"].history == table.results["jacobi"].history


def test_labels(stack):
    table = cs.compare(stack, ["jacobi", "jacobi"], labels=["one", "two"], repeats=1)
    assert list(table.results) == ["one", "two"]


# ---- what is refused ----------------------------------------------------------------------------

QUALITY = cs.quality_of("gauss_seidel")


@pytest.mark.parametrize(
    ("methods", "options", "error", "message"),
    [
        ([], {}, ValueError, "methods is empty: at least one is needed"),
        (["jacobi", 3], {}, TypeError, "methods[1] is 3: a name or a contactsolve.Method"),
        (["sor"], {}, ValueError, "method: 'sor' is unknown; known: auto, jacobi"),
        (
            ["jacobi", "jacobi"],
            {},
            ValueError,
            "two methods are labelled 'jacobi': give them labels=",
        ),
        (["jacobi"], {"labels": ["a", "b"]}, ValueError, "labels is ['a', 'b']: one for each of 1"),
        (["jacobi"], {"repeats": 0}, ValueError, "repeats is 0: at least 1 is needed"),
        (["jacobi"], {"until": 0.0}, ValueError, "until is 0.0: a finite number above 0"),
        (["jacobi"], {"until": float("nan")}, ValueError, "until is nan: a finite number above 0"),
        (["jacobi"], {"until": "quality"}, TypeError, "until is 'quality': a number, quality_of("),
        (
            ["jacobi"],
            {"until": QUALITY, "rtol": 1e-6},
            ValueError,
            "rtol is given for jacobi, but until= determines it: leave it out",
        ),
        (
            [cs.Method("jacobi", label="J", atol=1e-6)],
            {"until": 1e-6},
            ValueError,
            "atol is given for J, but until= determines it: leave it out",
        ),
        (
            ["jacobi"],
            {"until": QUALITY, "quality_r": 10.0},
            ValueError,
            "quality_r is given for jacobi, but quality_of has its own: leave it out",
        ),
    ],
)
def test_refused(stack, methods, options, error, message):
    with pytest.raises(error) as caught:
        cs.compare(stack, methods, **options)
    assert message in str(caught.value)


def test_target_that_is_not_finite(stack):
    until = cs.quality_of(cs.Method("jacobi", r_factor=1e308, rollback=0), quality_r=1e300)
    with pytest.raises(ValueError, match="it cannot be a target"):
        cs.compare(stack, ["jacobi"], until=until)


def test_quality_of_refuses():
    with pytest.raises(ValueError, match="iterations is 0: at least 1 is needed"):
        cs.quality_of("gauss_seidel", iterations=0)
    with pytest.raises(TypeError, match=r"method is None: a name or a contactsolve\.Method"):
        cs.quality_of(None)
