"""`contactsolve.plots`: problems as matrix and graph, cone diagrams, comparisons."""

import matplotlib as mpl
import numpy as np
import pytest

import contactsolve as cs
from contactsolve.plots._layout import layout

mpl.use("Agg")  # before pyplot looks for a display

from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(autouse=True)
def no_figure_left():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def stack():
    return cs.scenarios.box_stack(3)


@pytest.fixture(scope="module")
def table(stack):
    methods = ["jacobi", "gauss_seidel"]
    return cs.compare(stack, methods, until=1e-6, repeats=2, max_iterations=150)


def mixed():
    """Two robots of 4 coordinates and a fixed one, a joint, contacts; two groups."""
    rng = np.random.default_rng(5)
    masses = np.array([np.eye(4), 2 * np.eye(4), np.zeros((4, 4))])
    joint = cs.Group(rng.normal(size=(1, 2, 2, 4)), [[0, 1]], np.ones((1, 2)), sets=cs.sets.free())
    bodies = [[0, 1], [1, 0], [2, 1], [-1, 0], [1, 1]]
    touching = cs.Group(rng.normal(size=(5, 2, 3, 4)), bodies, -np.ones((5, 3)), 0.5)
    return cs.Problem(groups=[joint, touching], bodies=[cs.Bodies(masses)])


# ---- matrix -------------------------------------------------------------------------------------


def expected_norms(problem):
    """Frobenius norms of the blocks of A, from the dense matrix."""
    listed = problem.b if problem.grouped else [problem.b]
    rows = np.concatenate([[b.shape[1]] * len(b) for b in listed])
    A = problem.delassus().toarray()
    cut = np.split(A, np.cumsum(rows)[:-1])
    return [
        [np.linalg.norm(part) for part in np.split(row, np.cumsum(rows)[:-1], axis=1)]
        for row in cut
    ]


@pytest.mark.parametrize("make", [lambda: cs.scenarios.box_stack(3), mixed])
def test_matrix_shows_the_norm_of_each_block(make, ax):
    problem = make()
    cs.plots.problem(problem, ax=ax)
    (image,) = ax.images
    shown = image.get_array()
    expected = np.array(expected_norms(problem))
    np.testing.assert_allclose(shown.filled(0.0), expected, rtol=1e-12, atol=0)
    assert np.array_equal(np.ma.getmaskarray(shown), expected == 0)
    assert f"{np.count_nonzero(expected):,} blocks" in ax.get_xlabel()


def test_matrix_of_many_contacts_keeps_every_block_visible(ax):
    problem = cs.scenarios.ball_grid(6)  # 576 contacts, more than there are cells
    cs.plots.problem(problem, ax=ax)
    (image,) = ax.images
    shown = image.get_array()
    cells = len(shown)
    A = problem.delassus()
    rows = np.repeat(np.arange(problem.contacts), np.diff(A.indptr))
    norm = np.linalg.norm(A.data, axis=(1, 2))
    assert cells < problem.contacts
    largest = np.zeros(shown.shape)
    place = rows * cells // problem.contacts, A.indices * cells // problem.contacts
    np.maximum.at(largest, place, norm)
    np.testing.assert_allclose(shown.filled(0.0), largest, rtol=1e-12, atol=0)
    assert tuple(image.get_extent()) == (-0.5, 575.5, 575.5, -0.5)


def test_matrix_has_readable_colour_labels(ax):
    A = np.diag([1.0, 3e-7, 4e4])
    cs.plots.problem(cs.Problem.from_delassus(A, -np.ones(3), rows=1), ax=ax)
    ax.figure.draw_without_rendering()
    bar = ax.figure.axes[1]
    assert bar.get_ylabel() == "norm of the block [1/kg]"
    labels = [text.get_text() for text in bar.get_yticklabels()]
    assert 2 <= len(labels) <= 8
    assert all(labels)


@pytest.mark.parametrize("A", [np.eye(3), np.diag([1.0, 1.2, 1.3]), np.zeros((3, 3))])
def test_matrix_of_equal_blocks_or_none(A, ax):
    cs.plots.problem(cs.Problem.from_delassus(A, -np.ones(3), rows=1), ax=ax)
    ax.figure.draw_without_rendering()
    assert ax.images[0].get_array().count() == np.count_nonzero(A)


# ---- graph --------------------------------------------------------------------------------------


def edges_of(ax):
    return [
        len(found.get_segments()) for found in ax.collections if isinstance(found, LineCollection)
    ]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_graph_of_a_stack(stack, ax):
    cs.plots.problem(stack, ax=ax, kind="graph")
    assert edges_of(ax) == [2]
    assert legend(ax) == [
        "an edge: 4 contacts",
        "2 bodies away from the fixed world",
        "1 body on the fixed world",
    ]
    heights = {text.get_text(): text.xy[1] for text in ax.texts}
    assert heights["0"] < heights["1"] < heights["2"]


def test_ground_as_a_body_is_left_out_like_the_fixed_world():
    shown = []
    for ground in ("fixed", "body"):
        ax = Figure().subplots()
        cs.plots.problem(cs.scenarios.ball_grid(2, ground=ground), ax=ax, kind="graph")
        shown.append((edges_of(ax), legend(ax)))
    assert shown[0] == shown[1]
    assert shown[0][0] == [12]


def test_graph_of_groups(ax):
    cs.plots.problem(mixed(), ax=ax, kind="graph")
    assert edges_of(ax) == [1, 1]  # a loop and bodies that cannot move have none
    assert legend(ax) == [
        "group 0 (free), an edge: 1 contact",
        "group 1 (disc), an edge: 2 contacts",
        "2 bodies on the fixed world",
    ]


def test_bodies_without_contacts_are_counted(ax):
    J = np.ones((1, 2, 1, 3))
    problem = cs.Problem(J, np.ones((5, 3)), [-1.0], bodies=[[1, 3]])
    cs.plots.problem(problem, ax=ax, kind="graph")
    assert ax.get_legend().get_title().get_text() == "not drawn: 3 bodies without contacts"
    assert sorted(text.get_text() for text in ax.texts) == ["1", "3"]


GRAPHS = {
    "box_stack": lambda: cs.scenarios.box_stack(3),
    "newton_cradle": lambda: cs.scenarios.newton_cradle(3),
    "forwarder": cs.scenarios.forwarder,
    "vehicle": cs.scenarios.vehicle,
    "winch": cs.scenarios.winch,
    "ball_grid": lambda: cs.scenarios.ball_grid(4),
}


def drawn_graph(problem, width):
    """Axes of a graph, drawn as the right one of two."""
    figure = Figure(figsize=(width, 4.0), layout="constrained")
    axes = figure.subplots(1, 2)
    cs.plots.problem(problem, ax=axes[0])
    cs.plots.problem(problem, ax=axes[1], kind="graph")
    figure.draw_without_rendering()
    return axes[1]


def marks(ax):
    """Places [pixels] of the bodies, and the width [pixels] of their marks."""
    found = [one for one in ax.collections if not isinstance(one, LineCollection)]
    places = ax.transData.transform(np.concatenate([one.get_offsets() for one in found]))
    (size,) = {float(one.get_sizes()[0]) for one in found}
    return places, np.sqrt(size) * ax.figure.dpi / 72


@pytest.mark.parametrize("make", GRAPHS.values(), ids=GRAPHS)
def test_bodies_of_a_graph_do_not_overlap(make):
    places, width = marks(drawn_graph(make(), 9.0))
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    assert width >= 1.5
    assert apart.min() > 1.3 * width  # some of each edge is visible


@pytest.mark.parametrize("name", ["box_stack", "newton_cradle", "forwarder", "vehicle"])
def test_numbers_of_a_graph_fit_into_their_bodies(name):
    ax = drawn_graph(GRAPHS[name](), 9.0)
    _, width = marks(ax)
    assert len(ax.texts) > 2
    for text in ax.texts:
        box = text.get_window_extent()
        assert text.get_visible()
        assert text.get_fontsize() >= 4.0
        assert max(box.width, text.get_fontsize() * ax.figure.dpi / 72) <= width
    boxes = [text.get_window_extent() for text in ax.texts]
    for i, box in enumerate(boxes):
        assert box.count_overlaps(boxes[i + 1 :]) == 0


def test_numbers_without_room_are_left_out():
    problem = cs.scenarios.vehicle()
    shown = {w: [t.get_visible() for t in drawn_graph(problem, w).texts] for w in (5.0, 9.0)}
    assert not any(shown[5.0])
    assert all(shown[9.0])


def test_groups_of_one_set_share_a_colour(ax):
    problem = cs.scenarios.vehicle()
    cs.plots.problem(problem, ax=ax, kind="graph")
    assert len({group.name for group in problem.sets}) == len(edges_of(ax)) + 1
    assert legend(ax)[:2] == [
        "groups 0, 1, 2, 3 (free), an edge: 1 contact",
        "groups 4, 5 (box), an edge: 1 contact",
    ]


def test_colours_span_eight_decades_at_most(ax):
    A = np.diag([1.0, 1e-14, 1e3])
    cs.plots.problem(cs.Problem.from_delassus(A, -np.ones(3), rows=1), ax=ax)
    (image,) = ax.images
    assert image.norm.vmin == pytest.approx(1e-8 * image.norm.vmax)
    assert image.colorbar.extend == "min"
    assert image.get_array().count() == 3  # small ones are drawn, too


def test_layout_is_true_to_distances():
    count = 12
    chain = np.column_stack([np.arange(count - 1), np.arange(1, count)])
    places = layout(count, chain, np.arange(count) == 0)
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    np.testing.assert_allclose(steps, 1.0, atol=0.1)
    assert np.linalg.norm(places[0] - places[-1]) > 0.95 * (count - 1)
    assert places[0, 1] == places[:, 1].min()


def test_layout_keeps_parts_apart_and_is_repeatable():
    ring = np.column_stack([np.arange(8), np.roll(np.arange(8), -1)])
    edges = np.concatenate([ring, ring + 8, [[16, 17]]])
    ground = np.zeros(19, dtype=bool)
    ground[16] = True
    places = layout(19, edges, ground)
    assert np.array_equal(places, layout(19, edges, ground))
    boxes = [places[part] for part in (slice(0, 8), slice(8, 16), slice(16, 18), slice(18, 19))]
    for i, first in enumerate(boxes):
        for second in boxes[i + 1 :]:
            gap = np.maximum(
                first.min(axis=0) - second.max(axis=0), second.min(axis=0) - first.max(axis=0)
            )
            assert gap.max() > 1.0
    np.testing.assert_allclose(places[17] - places[16], [0.0, 1.0], atol=1e-12)


def test_layout_of_a_lattice_has_no_two_bodies_in_one_place():
    problem = cs.scenarios.ball_grid(4)
    pairs = problem.bodies[(problem.bodies >= 0).all(axis=1)]
    places = layout(64, pairs, np.arange(64) < 16)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2) + 10 * np.eye(64)
    assert apart.min() > 0.05
    assert places[:16, 1].mean() < places[16:, 1].mean()


def test_layout_without_vertices():
    assert layout(0, np.zeros((0, 2), dtype=int), np.zeros(0, dtype=bool)).shape == (0, 2)


# ---- impulses -----------------------------------------------------------------------------------


def drawn(ax):
    """Points of each state, without the mark that stands for the open contacts."""
    return {
        found.get_label().partition(",")[0]: np.asarray(found.get_offsets())
        for found in ax.collections
    }


def test_cone_diagram(ax):
    problem = cs.io.read_fclib(cs.data.path("Capsules-i100-1090"))
    result = cs.solve(problem, relaxation=1.5, rtol=1e-6, max_iterations=3000)
    cs.plots.impulses(result, ax=ax)
    points = drawn(ax)
    for state in ("stick", "slide"):
        chosen = result.impulses[result.active == state]
        ratio = np.linalg.norm(chosen[:, 1:], axis=1) / (0.7 * chosen[:, 0])
        np.testing.assert_allclose(
            points[state], np.column_stack([chosen[:, 0], ratio]), rtol=1e-12
        )
    assert points["slide"][:, 1].min() > 0.99
    counts = {text.get_text() for text in ax.get_legend().get_texts()}
    assert counts == {f"{s}, {np.sum(result.active == s)}" for s in ("stick", "slide", "open")}
    assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "normal impulse [N s]")


def test_cone_diagram_takes_the_friction_of_the_solve(stack, ax):
    result = cs.Solver(stack).solve(mu=0.25)
    impulses = result.impulses
    cs.plots.impulses(result, ax=ax)
    shown = np.concatenate([drawn(ax)[s] for s in drawn(ax) if s != "open"])
    ratio = np.linalg.norm(impulses[:, 1:], axis=1) / (0.25 * impulses[:, 0])
    assert sorted(shown[:, 1]) == pytest.approx(sorted(ratio), rel=1e-12)


def test_cone_diagram_in_the_norm_of_the_set(ax):
    A, b = np.eye(3), np.array([[-1.0, 0.4, 0.3]])
    problem = cs.Problem.from_delassus(A, b, sets=cs.sets.box_friction(0.5))
    cs.plots.impulses(cs.solve(problem), ax=ax)
    np.testing.assert_allclose(drawn(ax)["stick"], [[1.0, 0.8]], rtol=1e-12)


def test_cone_diagram_leaves_out_what_has_no_cone(ax):
    problem = mixed()
    result = cs.solve(problem, max_iterations=2000)
    cs.plots.impulses(result, ax=ax)
    counted = sum(int(text.get_text().partition(", ")[2]) for text in ax.get_legend().get_texts())
    assert counted == 5
    plain = cs.solve(cs.Problem.from_delassus(np.eye(2), [-1.0, -1.0], rows=1))
    with pytest.raises(ValueError, match="no contact of this problem has friction"):
        cs.plots.impulses(plain)


def test_cone_diagram_of_open_contacts_alone(ax):
    result = cs.solve(cs.Problem.from_delassus(np.eye(3), [[1.0, 0.0, 0.0]], 0.5))
    cs.plots.impulses(result, ax=ax)
    ax.figure.draw_without_rendering()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["open, 1"]


# ---- compare ------------------------------------------------------------------------------------


UNITS = {
    "time without checks [s]": 1.0,
    "time without checks [ms]": 1e-3,
    "time without checks [µs]": 1e-6,
}


def test_bars(table, ax):
    cs.plots.compare(table, ax=ax)
    unit = UNITS[ax.get_xlabel()]
    widths = [bar.get_width() * unit for bar in ax.patches]
    assert widths == pytest.approx([row.time for row in table], rel=1e-12)
    assert [text.get_text() for text in ax.get_yticklabels()] == [row.method for row in table]
    (errors,) = {len(found.get_segments()) for found in ax.collections}
    assert errors == 1
    spans = [found.get_segments()[0][:, 0] for found in ax.collections]
    for (low, high), row in zip(spans, table, strict=True):
        assert (high - low) / 2 * unit == pytest.approx(row.time_sigma)
    for text, row in zip(ax.texts, table, strict=True):
        assert f"{row.iterations} sweeps" in text.get_text()
        assert ("not reached" in text.get_text()) is not row.reached
    ax.set_xscale("log")  # the numbers are in the unit that is named, whatever the scale
    assert UNITS[ax.get_xlabel()] == unit


def test_time_against_sweeps(table, ax):
    cs.plots.compare(table, ax=ax, kind="sweeps")
    marks = [entry.lines[0] for entry in ax.containers]
    for mark, row in zip(marks, table, strict=True):
        sweeps, time = mark.get_xydata()[0]
        assert sweeps == row.iterations
        assert time * UNITS[ax.get_ylabel()] == pytest.approx(row.time, rel=1e-12)
    assert (ax.get_xlabel(), ax.get_xscale(), ax.get_yscale()) == ("sweeps", "log", "log")
    filled = [mark.get_markerfacecolor() != "white" for mark in marks]
    assert filled == [row.reached for row in table]
    assert not all(filled)
    ax.figure.draw_without_rendering()
    assert any(text.get_text() for text in ax.get_yticklabels())


# ---- all of them --------------------------------------------------------------------------------

PLOTS = {
    "matrix": lambda stack, table, ax: cs.plots.problem(stack, ax=ax),
    "graph": lambda stack, table, ax: cs.plots.problem(stack, ax=ax, kind="graph"),
    "impulses": lambda stack, table, ax: cs.plots.impulses(table.results["jacobi"], ax=ax),
    "bars": lambda stack, table, ax: cs.plots.compare(table, ax=ax),
    "sweeps": lambda stack, table, ax: cs.plots.compare(table, ax=ax, kind="sweeps"),
}


@pytest.mark.parametrize("draw", PLOTS.values(), ids=PLOTS)
def test_axes_and_style(draw, stack, table, ax):
    before, figures = dict(mpl.rcParams), plt.get_fignums()
    assert draw(stack, table, ax) is ax
    assert plt.get_fignums() == figures
    new = draw(stack, table, None)
    assert plt.get_fignums() == [new.figure.number]
    new.figure.draw_without_rendering()
    assert dict(mpl.rcParams) == before


@pytest.mark.parametrize(
    ("draw", "error", "message"),
    [
        (lambda s, t: cs.plots.problem(s, kind="tree"), ValueError, "kind is 'tree': 'matrix' or"),
        (lambda s, t: cs.plots.problem("a"), TypeError, "problem is str: a Problem is needed"),
        (
            lambda s, t: cs.plots.problem(
                cs.Problem.from_delassus(np.eye(1), [-1.0], rows=1), kind="graph"
            ),
            ValueError,
            "made from a matrix: kind='matrix' draws its blocks",
        ),
        (lambda s, t: cs.plots.impulses(s), TypeError, "a Result is needed"),
        (lambda s, t: cs.plots.compare(t, kind="pie"), ValueError, "kind is 'pie': 'bars' or"),
        (lambda s, t: cs.plots.compare([]), TypeError, "table is list: a Table of"),
    ],
)
def test_wrong_arguments_make_no_figure(draw, error, message, stack, table):
    with pytest.raises(error, match=message):
        draw(stack, table)
    assert plt.get_fignums() == []
