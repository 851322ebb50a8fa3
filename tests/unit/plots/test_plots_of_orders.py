"""`contactsolve.plots.order`: stages on the contact graph, as bars and in A."""

import matplotlib as mpl
import numpy as np
import pytest

import contactsolve as cs

mpl.use("Agg")  # before pyplot looks for a display

from matplotlib import colormaps
from matplotlib import pyplot as plt
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

orders = cs.orders
NEW, OLD, OWN = (np.array(to_rgb(colour)) for colour in ("#2f6db0", "#f0a35e", "0.25"))


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(autouse=True)
def no_figure_left():
    yield
    plt.close("all")


def chain(contacts):
    """Spheres in a row, each touching the next."""
    J = np.ones((contacts, 2, 1, 3))
    bodies = np.column_stack([np.arange(contacts), np.arange(1, contacts + 1)])
    masses = np.ones((contacts + 1, 3))
    return cs.Problem(J, masses, np.zeros((contacts, 1)), bodies=bodies)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def bars(ax):
    return [patch.get_height() for patch in ax.patches]


def test_stages_are_bars_of_their_size(ax):
    cs.plots.order(chain(9), "colored", ax=ax)
    assert bars(ax) == [5, 4]
    assert legend(ax) == ["independent: 2 stages"]
    assert [text.get_text() for text in ax.texts] == ["5", "4"]
    assert "full lanes: 75% of 4, 56% of 8" in ax.get_xlabel()


def test_parts_are_marked_in_their_bar(ax):
    cs.plots.order(chain(9), "ranges", ax=ax, kind="stages", parts=4)
    (lines,) = [found for found in ax.collections if isinstance(found, LineCollection)]
    assert [segment[0, 1] for segment in lines.get_segments()] == [2, 4, 6]
    assert "largest part 1.33 × the mean" in ax.get_xlabel()


def test_very_uneven_stages_are_drawn_on_a_logarithmic_scale(ax):
    problem = cs.scenarios.ball_grid(6, ground="body", contact_order="forward")
    cs.plots.order(problem, orders.colored(fixed_as_body=True), ax=ax)
    assert ax.get_yscale() == "log"
    assert ax.get_ylim()[0] < 1 == min(bars(ax))


def test_contacts_have_the_colour_of_their_stage(ax):
    problem = cs.scenarios.box_stack(2)
    found = orders.describe(problem, "colored")
    cs.plots.order(problem, found, ax=ax, kind="graph")
    (lines,) = [one for one in ax.collections if isinstance(one, LineCollection)]
    np.testing.assert_allclose(lines.get_colors(), colormaps["tab10"](found.stage))
    segments = np.array(lines.get_segments())
    # Four contacts with the ground hang below their body, four lie between the boxes, apart.
    hanging = problem.bodies[:, 0] < 0
    assert hanging.sum() == 4
    assert (segments[hanging, 1, 1] < segments[hanging, 0, 1]).all()
    ends = segments[~hanging].reshape(4, 4)
    assert len(np.unique(ends.round(6), axis=0)) == 4
    assert legend(ax) == [
        f"stage {stage}: {size} contact{'' if size == 1 else 's'}"
        for stage, size in enumerate(found.sizes)
    ]


@pytest.mark.parametrize(
    ("order", "method", "what"),
    [("natural", "auto", "visit"), ("ranges", "auto", "part"), ("colored", "jacobi", "stage")],
)
def test_one_stage_is_coloured_by_what_there_is(order, method, what, ax):
    cs.plots.order(chain(6), order, ax=ax, kind="graph", method=method, parts=3)
    (lines,) = [one for one in ax.collections if isinstance(one, LineCollection)]
    colours = len(np.unique(lines.get_colors(), axis=0))
    assert colours == {"visit": 6, "part": 3, "stage": 1}[what]
    if what == "visit":
        assert ax.figure.axes[1].get_xlabel() == "visit"
    else:
        assert legend(ax)[0].startswith(f"{what} 0: ")


def seen(problem, order, **options):
    """What each contact sees of each other, in the order of the visits: the picture's cells."""
    ax = Figure().subplots()
    cs.plots.order(problem, order, ax=ax, kind="matrix", **options)
    image = np.asarray(ax.images[0].get_array())
    words = np.full(image.shape[:2], "", dtype="<U3")
    for word, colour in (("new", NEW), ("old", OLD), ("own", OWN)):
        words[np.abs(image - colour).max(axis=2) < 1e-9] = word
    return words, ax


def by_hand(problem, found):
    """The same from the words of `Schedule.kinds`, pair by pair."""
    coupled = problem.delassus().toarray() != 0
    words = np.full(coupled.shape, "", dtype="<U3")
    for i, row in enumerate(found.visits):
        for j, column in enumerate(found.visits):
            if not coupled[row, column]:
                continue
            kind, same = found.kinds[found.stage[row]], found.stage[row] == found.stage[column]
            sees = j < i
            if same and kind in ("simultaneous", "independent"):
                sees = False
            if same and kind == "concurrent":
                sees = sees and found.part[row] == found.part[column]
            words[i, j] = "own" if i == j else "new" if sees else "old"
    return words


@pytest.mark.parametrize(
    ("order", "method"),
    [
        ("natural", "auto"),
        ("reverse", "auto"),
        ("colored", "auto"),
        ("ranges", "auto"),
        (orders.relaxed(4), "auto"),
        (orders.relaxed(6, unsafe="ranges"), "auto"),
        ("natural", "jacobi"),
    ],
)
def test_matrix_shows_what_is_seen(order, method):
    rng = np.random.default_rng(8)
    pairs = rng.integers(-1, 6, size=(15, 2))
    J = rng.normal(size=(15, 2, 1, 3))
    problem = cs.Problem(J, np.ones((6, 3)), np.zeros((15, 1)), bodies=pairs)
    found = orders.describe(problem, order, method=method, parts=3)
    words, ax = seen(problem, order, method=method, parts=3)
    np.testing.assert_array_equal(words, by_hand(problem, found))
    share = 100 * (words == "new").sum() / ((words == "new") | (words == "old")).sum()
    assert ax.get_xlabel().endswith(f"{share:.3g} % of couplings see new values")


def test_matrix_of_many_contacts_mixes_colours(ax):
    problem = chain(600)
    cs.plots.order(problem, "natural", ax=ax, kind="matrix")
    image = np.asarray(ax.images[0].get_array())
    assert image.shape == (250, 250, 3)
    np.testing.assert_allclose(image[0, 0], (NEW + OLD) / 2)  # two or three contacts of a row
    assert (image[0, 5] == 1).all()


def test_all_side_by_side():
    axes = cs.plots.order(cs.scenarios.box_stack(2), "colored")
    assert len(axes) == 3
    assert axes[0].figure.get_suptitle() == "colored, auto: 8 contacts"
    axes[0].figure.draw_without_rendering()
    given = cs.Problem.from_delassus(np.eye(4), -np.ones(4), rows=1)
    assert len(cs.plots.order(given)) == 2  # no bodies, no graph
    assert len(cs.plots.order(cs.scenarios.ball_grid(15))) == 1


def test_contacts_that_couple_nothing_are_counted(ax):
    J = np.ones((4, 2, 1, 3))
    bodies = [[0, 1], [1, 1], [-1, 2], [0, -1]]
    masses = np.array([[1.0, 1, 1], [1, 1, 1], [0, 0, 0]])
    problem = cs.Problem(J, masses, np.zeros((4, 1)), bodies=bodies)
    cs.plots.order(problem, ax=ax, kind="graph")
    assert ax.get_title() == "not drawn: 2 contacts that couple no bodies"
    (lines,) = [one for one in ax.collections if isinstance(one, LineCollection)]
    assert len(lines.get_segments()) == 2


def test_groups_and_no_contacts():
    J = np.ones((3, 2, 1, 3))
    groups = [cs.Group(J, [[0, 1], [1, 2], [2, -1]], np.zeros((3, 1))) for _ in range(2)]
    problem = cs.Problem(groups=groups, bodies=[cs.Bodies(np.ones((3, 3)), diagonal=True)])
    nothing = cs.Problem(
        np.zeros((0, 2, 3, 6)), np.eye(6)[None], np.zeros((0, 3)), bodies=np.zeros((0, 2), int)
    )
    for one in (problem, nothing):
        for name in ("natural", "colored", "ranges"):
            axes = cs.plots.order(one, name)
            axes[0].figure.draw_without_rendering()


def test_wrong_arguments(ax):
    stack = cs.scenarios.box_stack(2)
    with pytest.raises(ValueError, match="kind is 'bars': 'graph', 'stages' or 'matrix' is needed"):
        cs.plots.order(stack, kind="bars")
    with pytest.raises(TypeError, match="problem is int: a Problem is needed"):
        cs.plots.order(3)
    with pytest.raises(ValueError, match="order: 'sorted' is unknown"):
        cs.plots.order(stack, "sorted")
    with pytest.raises(ValueError, match="order is of a problem with 8 contacts; this one has 12"):
        cs.plots.order(cs.scenarios.box_stack(3), orders.describe(stack))
    given = cs.Problem.from_delassus(np.eye(4), -np.ones(4), rows=1)
    with pytest.raises(ValueError, match="kind='graph' needs bodies"):
        cs.plots.order(given, ax=ax, kind="graph")
