"""`contactsolve.plots`: what is drawn, on which axes, with which words."""

import sys

import matplotlib as mpl
import numpy as np
import pytest

import contactsolve as cs

mpl.use("Agg")  # before pyplot looks for a display

from matplotlib import pyplot as plt
from matplotlib.colors import same_color
from matplotlib.figure import Figure


@pytest.fixture(scope="module")
def problem():
    return cs.scenarios.box_stack(3)


@pytest.fixture(scope="module")
def result(problem):
    return cs.solve(problem, method="gauss_seidel")


@pytest.fixture(scope="module")
def unconverged(problem):
    return cs.solve(problem, method="jacobi", max_iterations=25)


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(autouse=True)
def no_figure_left():
    yield
    plt.close("all")


def curves(ax):
    """The curves, without the marks at their ends."""
    return [line for line in ax.lines if not line.get_label().startswith("_")]


def marks(ax):
    return [line.get_marker() for line in ax.lines if line.get_label().startswith("_")]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# ---- data ---------------------------------------------------------------------------------------


def test_rows_without_the_measure_are_skipped(unconverged, ax):
    assert np.isnan(unconverged.history["natural_map"]).any()
    cs.plots.convergence(unconverged, ax=ax)
    (curve,) = curves(ax)
    evaluated = [0, 10, 20, 25]
    assert list(curve.get_xdata()) == evaluated
    assert list(curve.get_ydata()) == list(unconverged.history["natural_map"][evaluated])


def test_time_is_in_seconds(result, ax):
    cs.plots.convergence(result, x="time", y="residual", ax=ax)
    (curve,) = curves(ax)
    unit = {"s": 1.0, "ms": 1e-3, "µs": 1e-6}[ax.get_xlabel()[15:-1]]
    times = result.history["time"][1:]  # row 0 has no residual
    np.testing.assert_allclose(np.asarray(curve.get_xdata()) * unit, times, rtol=1e-14)
    assert list(curve.get_ydata()) == list(result.history["residual"][1:])


def test_end_tells_convergence(result, unconverged, ax):
    cs.plots.convergence([result, unconverged], ax=ax)
    assert marks(ax) == ["o", "X"]
    curve, mark = ax.lines[:2]
    assert same_color(curve.get_color(), mark.get_color())
    assert mark.get_xydata().tolist() == curve.get_xydata()[-1:].tolist()


def test_reference_of_a_table_did_what_it_should(problem, ax):
    methods = ["gauss_seidel", "jacobi"]
    until = cs.quality_of("gauss_seidel", 20)
    table = cs.compare(problem, methods, until=until, repeats=1, max_iterations=4)
    assert not table.results["gauss_seidel"].converged
    cs.plots.convergence(table, ax=ax)
    assert marks(ax) == ["o", "X"]
    assert legend(ax) == methods


def test_history_without_an_evaluated_row(problem, ax):
    result = cs.solve(problem, max_iterations=0, record=("residual",))
    cs.plots.convergence(result, y="residual", ax=ax)
    ax.figure.draw_without_rendering()
    assert len(curves(ax)[0].get_xdata()) == 0


# ---- axes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "label"),
    [
        ("residual", "residual [N s]"),
        ("merit", "merit [N² s²]"),
        ("quality", "quality [N² s²]"),
        ("natural_map", "natural map [N s]"),
        ("natural_map_velocity", "natural map velocity [m/s]"),
        ("natural_map_scaled", "natural map scaled [1]"),
        ("fclib_error", "fclib error [1]"),
    ],
)
def test_scale_and_labels(problem, ax, measure, label):
    result = cs.solve(problem, record=(measure,))
    cs.plots.convergence(result, y=measure, ax=ax)
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("iteration", label)


def test_every_measure_has_its_unit():
    assert all(cs.measures.units().values())


def test_iterations_are_whole(result, ax):
    cs.plots.convergence(result, ax=ax)
    ax.set_xlim(0, 3)
    assert all(tick == int(tick) for tick in ax.get_xticks())


def with_times(result, longest):
    """The history with its time column stretched to `longest` seconds."""
    values = result.history._values.copy()
    values[:, 1] *= longest / values[-1, 1]
    copy = cs.solve(result.problem, method="gauss_seidel")
    copy.history = cs.History(result.history.columns, values)
    return copy


@pytest.mark.parametrize(
    ("longest", "unit", "shown"), [(4, "s", 2), (4e-3, "ms", 2), (4e-5, "µs", 20)]
)
def test_unit_of_time(result, ax, longest, unit, shown):
    cs.plots.convergence(with_times(result, longest), x="time", ax=ax)
    assert ax.get_xlabel() == f"time of solve [{unit}]"
    (curve,) = curves(ax)
    assert curve.get_xdata()[-1] == pytest.approx(2 * shown)


def test_unit_of_time_suits_all_curves(result, ax):
    cs.plots.convergence(with_times(result, 4e-5), x="time", ax=ax)
    cs.plots.convergence(with_times(result, 4.0), x="time", ax=ax)
    assert ax.get_xlabel() == "time of solve [s]"
    first, second = curves(ax)
    assert first.get_xdata()[-1] == pytest.approx(4e-5)
    assert second.get_xdata()[-1] == pytest.approx(4.0)
    assert ax.get_xlim()[1] > 4.0


def test_unit_of_time_holds_on_other_scales(result, ax):
    cs.plots.convergence(with_times(result, 4e-3), x="time", ax=ax)
    ax.set_xscale("log")
    ax.figure.canvas.draw()
    assert ax.get_xlabel() == "time of solve [ms]"
    low, high = ax.get_xlim()
    ticks = {tick for tick in ax.get_xticks() if low <= tick <= high}
    assert ticks & {0.1, 1.0}
    assert 4.0 < high < 10.0


def test_time_is_named_as_it_was_measured(result, ax):
    table = cs.compare(result.problem, "gauss_seidel", until=1e-3, repeats=1)
    cs.plots.convergence(table, x="time", ax=ax)
    assert ax.get_xlabel().startswith("time without checks [")
    cs.plots.convergence(result, x="time", ax=ax)
    assert ax.get_xlabel().startswith("time [")


def test_given_axes_are_used_and_returned(result, ax):
    before = plt.get_fignums()
    assert cs.plots.convergence(result, ax=ax) is ax
    assert plt.get_fignums() == before


def test_new_axes_are_made_in_a_new_figure(result):
    ax = cs.plots.convergence(result)
    assert plt.get_fignums() == [ax.figure.number]
    assert len(curves(ax)) == 1


def test_logarithmic_iterations_are_left_alone(result, ax):
    ax.set_xscale("log")
    cs.plots.convergence(result, ax=ax)
    assert ax.get_xscale() == "log"


def test_global_style_is_not_changed(result):
    before = dict(mpl.rcParams)
    cs.plots.convergence(result, x="time").figure.draw_without_rendering()
    assert dict(mpl.rcParams) == before


def test_line_options_hold_for_all_curves(result, unconverged, ax):
    cs.plots.convergence([result, unconverged], ax=ax, linewidth=3, linestyle=":")
    assert [(line.get_linewidth(), line.get_linestyle()) for line in curves(ax)] == [(3, ":")] * 2


def test_curves_differ_without_colour(result, ax):
    cs.plots.convergence([result, result], ax=ax)
    cs.plots.convergence([result, result], ax=ax)
    assert len({str(line._unscaled_dash_pattern) for line in curves(ax)}) == 4


# ---- labels -------------------------------------------------------------------------------------


def test_one_result_needs_no_legend(result, ax):
    assert cs.plots.convergence(result, ax=ax).get_legend() is None
    assert legend(cs.plots.convergence(result, ax=ax, labels="mine"))[-1] == "mine"


def test_no_legend(result, ax):
    cs.plots.convergence([result, result], ax=ax, legend=False)
    assert ax.get_legend() is None


def test_labels_of_a_dict_and_given_ones(result, unconverged, ax):
    cs.plots.convergence({"a": result, "b": unconverged}, ax=ax)
    assert legend(ax) == ["a", "b"]
    other = Figure().subplots()
    cs.plots.convergence({"a": result, "b": unconverged}, ax=other, labels=["c", "d"])
    assert legend(other) == ["c", "d"]


def test_default_labels_tell_what_differs(problem, ax):
    results = [
        cs.solve(problem, method="jacobi", scheme="factorized"),
        cs.solve(problem, method="gauss_seidel", scheme="factorized", dtype="float32"),
        cs.solve(problem, method="gauss_seidel"),
        cs.solve(problem, method="gauss_seidel", relaxation=0.5),  # the info does not tell
    ]
    cs.plots.convergence(results[:2], ax=ax)
    assert legend(ax) == ["jacobi, dtype=float64", "gauss_seidel, dtype=float32"]
    other = Figure().subplots()
    cs.plots.convergence(results[2:], ax=other)
    assert legend(other) == ["gauss_seidel (1)", "gauss_seidel (2)"]


# ---- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": "sweep"}, "x is 'sweep': 'iteration' or 'time' is needed"),
        ({"y": "quality"}, "y is 'quality', which the history of 'gauss_seidel' does not have"),
        ({"y": "time"}, "recorded: residual, natural_map"),
        ({"labels": ["a", "b"]}, "labels is ['a', 'b']: one for each of 1 results is needed"),
    ],
)
def test_refused(result, options, message):
    with pytest.raises(ValueError) as caught:
        cs.plots.convergence(result, **options)
    assert message in str(caught.value)
    assert plt.get_fignums() == []


def test_other_types_are_refused(result):
    with pytest.raises(TypeError, match=r"results\[1\] is 3: a Result is needed"):
        cs.plots.convergence([result, 3])


def test_without_matplotlib(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'contactsolve\[plot\]'"):
        cs.plots.convergence(result)


def test_many_curves_have_their_legend_beside_the_axes(result):
    for count in (6, 7):
        ax = cs.plots.convergence({f"method {i}": result for i in range(count)})
        ax.figure.canvas.draw()
        beside = ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1
        assert beside == (count > 6)
        whole = ax.figure.bbox
        assert ax.get_legend().get_window_extent().x1 <= whole.x1
