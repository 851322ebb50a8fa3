"""Pictures of an order: its stages on the contact graph, as bars, and in A."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contactsolve.orders import Schedule, describe
from contactsolve.plots._axes import new_axes, new_row
from contactsolve.plots._layout import layout
from contactsolve.plots.problem import _CELLS, _NUMBERED, _blocks, _movable
from contactsolve.problem import Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["order"]

_KINDS = ("graph", "stages", "matrix")

# By default larger problems have no graph and no matrix beside their stages: the layout of the
# graph would take long, and the blocks of the matrix would be too small to see.
_GRAPH_BODIES, _MATRIX_CONTACTS = 3000, 2000

_FEW = 10  # maximum number of stages or parts with a colour and a legend entry of their own
_LINES = 40  # maximum number of stages with gaps between bars, and of parts marked in a bar
_BORDERS = 20  # maximum number of lines between stages or parts in a matrix

_KIND_COLOURS = {
    "sequential": "0.55",
    "simultaneous": "#e3a05c",
    "independent": "#7cb388",
    "concurrent": "#9a8bc9",
    "disjoint": "#6ea6c9",
}
_NEW, _OLD, _OWN = "#2f6db0", "#f0a35e", "0.25"
_STUB = 0.5  # length of a contact with the fixed world, in lengths of an edge


def _count(contacts: int) -> str:
    return f"{contacts:,} contact{'' if contacts == 1 else 's'}"


def order(
    problem: Problem,
    order: Any = "auto",
    *,
    ax: Axes | None = None,
    kind: str | None = None,
    parts: int | str = "auto",
    rng: Any = None,
    method: str = "auto",
) -> Axes | list[Axes]:
    """Draw an order: which contacts are visited together, and what they see of each other.

    Parameters
    ----------
    problem : Problem
        The problem whose contacts are ordered.
    order, parts, rng, method
        As for `Solver`. In place of an order: a schedule that `contactsolve.orders.describe`
        returned for this problem.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    kind : {"graph", "stages", "matrix"}, optional
        ``"graph"``: bodies are dots, contacts are lines, coloured by their stage; by their part if
        there is one stage whose parts do not see each other, by their place in the sweep if there
        is one sequential stage. Contacts with immovable bodies are below their body. ``"stages"``:
        the contacts of each stage as bars, coloured by the kind of stage, with white lines between
        parts. ``"matrix"``: the blocks of A with rows and columns in the order of the visits,
        coloured by whether a contact sees the other's new value or its old one; lines separate
        stages, dotted lines parts. By default, all three are side by side in a new figure, without
        the graph of many bodies or the matrix of many contacts; with `ax`, only the stages.

    Returns
    -------
    matplotlib.axes.Axes or list of them
        A list if `kind` and `ax` are left out.

    Raises
    ------
    ValueError
        An unknown `kind`; the graph of a problem that was made from a matrix and has no bodies; an
        order that `Solver` refuses.
    TypeError
        `problem` is not a `Problem`.
    ImportError
        matplotlib is not installed.

    Examples
    --------
    >>> import contactsolve as cs
    >>> axes = cs.plots.order(cs.scenarios.ball_grid(4), "colored")  # doctest: +SKIP
    """
    if kind is not None and kind not in _KINDS:
        raise ValueError(f"kind is {kind!r}: 'graph', 'stages' or 'matrix' is needed")

    # A schedule that was computed before is drawn as it is.
    if isinstance(order, Schedule):
        schedule = _checked(problem, order)
    else:
        schedule = describe(problem, order, parts=parts, rng=rng, method=method)
    if kind == "graph" and problem.bodies is None:
        raise ValueError(
            "kind='graph' needs bodies, and this problem was made from a matrix: kind='matrix' "
            "draws its blocks"
        )
    if kind is None and ax is None:
        return _draw_all(problem, schedule)
    ax = new_axes() if ax is None else ax
    _draw(ax, problem, schedule, kind or "stages")
    return ax


def _checked(problem: Problem, schedule: Schedule) -> Schedule:
    if not isinstance(problem, Problem):
        raise TypeError(f"problem is {type(problem).__name__}: a Problem is needed")
    if schedule.contacts != problem.contacts:
        raise ValueError(
            f"order is of a problem with {schedule.contacts} contacts; this one has "
            f"{problem.contacts}"
        )
    return schedule


def _draw_all(problem: Problem, schedule: Schedule) -> list[Axes]:
    kinds = ["stages"]
    if problem.bodies is not None and problem.bodies_count <= _GRAPH_BODIES:
        kinds.insert(0, "graph")
    if problem.contacts <= _MATRIX_CONTACTS:
        kinds.append("matrix")
    axes = new_row(len(kinds), (5.2, 5.2))
    for ax, kind in zip(axes, kinds, strict=True):
        _draw(ax, problem, schedule, kind)
    axes[0].figure.suptitle(f"{schedule.order}, {schedule.method}: {_count(schedule.contacts)}")
    return axes


def _draw(ax: Axes, problem: Problem, schedule: Schedule, kind: str) -> None:
    shade = _shade(schedule)
    if kind == "graph":
        _draw_graph(ax, problem, shade)
    elif kind == "stages":
        _draw_stages(ax, schedule, shade)
    else:
        _draw_matrix(ax, problem, schedule)


# ---- colours ------------------------------------------------------------------------------------


class _Shade(NamedTuple):
    """The property by which contacts are coloured."""

    name: str  # "stage", "part" or "visit"
    value: np.ndarray  # of each contact
    levels: int  # how many values there are

    @property
    def few(self) -> bool:
        """Whether each value has a colour of its own."""
        return self.levels <= _FEW and self.name != "visit"

    def colours(self, values: np.ndarray) -> np.ndarray:
        """Return the colours of values, ``(N, 4)``."""
        from matplotlib import colormaps

        if self.few:
            return colormaps["tab10"](np.asarray(values))
        return colormaps["viridis"](np.asarray(values) / max(self.levels - 1, 1))


def _shade(schedule: Schedule) -> _Shade:
    """Return the property that distinguishes the contacts of this schedule."""
    if schedule.stages == 1 and schedule.kinds[0] == "sequential":
        return _Shade("visit", schedule.place, schedule.contacts)
    if schedule.stages == 1 and schedule.kinds[0] not in ("simultaneous", "independent"):
        return _Shade("part", schedule.part, int(schedule.parts[0]))
    return _Shade("stage", schedule.stage, schedule.stages)


def _key(ax: Axes, shade: _Shade) -> None:
    """Add a legend of few colours, or a colour bar of many."""
    if shade.few:
        _, counts = np.unique(shade.value, return_counts=True)
        for number, colour in enumerate(shade.colours(np.arange(shade.levels))):
            label = f"{shade.name} {number}: {_count(int(counts[number]))}"
            ax.plot([], [], color=colour, linewidth=3.0, label=label)
        if shade.levels:
            _legend_below(ax, ncols=2)
        return

    # A colour bar, with whole numbers.
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    shown = ScalarMappable(Normalize(0, shade.levels - 1), "viridis")
    bar = ax.figure.colorbar(shown, ax=ax, location="bottom", shrink=0.7, pad=0.03, aspect=30)
    bar.set_label(shade.name)
    bar.locator = _whole_numbers(5)
    bar.update_ticks()


def _legend_below(ax: Axes, ncols: int) -> None:
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        frameon=False,
        fontsize="small",
        ncols=ncols,
    )


def _whole_numbers(count: int) -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(count, integer=True, min_n_ticks=1, steps=[1, 2, 5, 10])


# ---- the graph ----------------------------------------------------------------------------------


class _Lines(NamedTuple):
    """The contacts as lines between movable bodies, or from one to the ground."""

    bodies: np.ndarray  # numbers of the movable bodies with contacts
    ground: np.ndarray  # whether each of them touches an immovable body
    contact: np.ndarray  # of each line
    pair: np.ndarray  # indices into `bodies`; the second is −1 for an immovable body
    undrawn: int  # contacts of a body with itself, or between immovable bodies


def _lines(problem: Problem) -> _Lines:
    # The pairs of bodies of all contacts; the last entry of `movable` is the fixed world, index −1.
    pairs, contact = problem._body_pairs()
    movable = np.append(_movable(problem), False)
    free = movable[pairs]

    # Number the movable bodies with contacts.
    bodies = np.unique(pairs[free])
    number = np.full(len(movable), -1)
    number[bodies] = np.arange(len(bodies))

    # A line joins two different bodies, of which one at least can move; that one is the first.
    drawn = np.flatnonzero(free.any(axis=1) & (pairs[:, 0] != pairs[:, 1]))
    pair = -np.sort(-number[pairs[drawn]], axis=1)
    ground = np.zeros(len(bodies), dtype=bool)
    ground[pair[pair[:, 1] < 0, 0]] = True
    undrawn = problem.contacts - len(np.unique(contact[drawn]))
    return _Lines(bodies, ground, contact[drawn], pair, undrawn)


def _segments(lines: _Lines, places: np.ndarray) -> np.ndarray:
    """Return ends ``(L, 2, 2)``: contacts of one pair side by side, with the ground as a fan."""
    # The rank of each line among those of its pair, from −½ to ½.
    _, which, counts = np.unique(lines.pair, axis=0, return_inverse=True, return_counts=True)
    which = which.ravel()
    by_pair = np.argsort(which, kind="stable")
    rank = np.empty(len(which), dtype=np.int64)
    rank[by_pair] = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    several = counts[which]
    offset = (rank - (several - 1) / 2) / np.maximum(several, 2)

    # Contacts with the ground hang below their body.
    start = places[lines.pair[:, 0]]
    hanging = lines.pair[:, 1] < 0
    angle = 1.2 * offset
    down = start + _STUB * np.column_stack([np.sin(angle), -np.cos(angle)])
    end = np.where(hanging[:, None], down, places[lines.pair[:, 1]])

    # The lines of a pair are shifted sideways.
    along = end - start
    across = np.column_stack([-along[:, 1], along[:, 0]])
    across /= np.maximum(np.linalg.norm(along, axis=1), 1e-9)[:, None]
    width = np.where(hanging, 0.0, np.minimum(0.14 * several, 0.6))
    shift = across * (offset * width)[:, None]
    return np.stack([start + shift, end + shift], axis=1)


def _draw_graph(ax: Axes, problem: Problem, shade: _Shade) -> None:
    from matplotlib.collections import LineCollection

    from contactsolve.plots._vertices import Look, draw_vertices

    # Positions of the bodies, by the contacts between them.
    lines = _lines(problem)
    between = lines.pair[lines.pair[:, 1] >= 0]
    places = layout(len(lines.bodies), np.unique(between, axis=0), lines.ground)
    many = len(lines.bodies) > _NUMBERED

    # Contacts are coloured lines below the marks of the bodies.
    segments = _segments(lines, places)
    ax.add_collection(
        LineCollection(
            list(segments),
            colors=shade.colours(shade.value[lines.contact]),
            linewidths=2.4 if len(segments) < 300 else 1.6 if len(segments) < 2000 else 0.6,
            capstyle="round",
            zorder=2,
            rasterized=len(segments) > 5000,
        )
    )
    look = Look(np.ones(len(places), dtype=bool), "o", "white", "_nolegend_")
    draw_vertices(ax, places, [look], None if many else lines.bodies)
    _frame(ax, places, segments)
    if lines.undrawn:
        text = f"not drawn: {_count(lines.undrawn)} that couple no bodies"
        ax.set_title(text, fontsize="small")
    _key(ax, shade)


def _frame(ax: Axes, places: np.ndarray, segments: np.ndarray) -> None:
    points = np.concatenate([places, segments.reshape(-1, 2)])
    if len(points):
        # The size of marks is independent of the data: a graph in one line needs room beside it.
        ax.update_datalim([points.min(axis=0) - 0.5, points.max(axis=0) + 0.5])
    ax.margins(0.0)
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_axis_off()


# ---- the stages ---------------------------------------------------------------------------------


def _draw_stages(ax: Axes, schedule: Schedule, shade: _Shade) -> None:
    # One colour and one legend entry for each kind of stage.
    places = np.arange(schedule.stages)
    few = schedule.stages <= _LINES
    for kind in dict.fromkeys(schedule.kinds.tolist()):
        chosen = schedule.kinds == kind
        ax.bar(
            places[chosen],
            schedule.sizes[chosen],
            width=0.8 if few else 1.0,
            color=_KIND_COLOURS.get(kind, "0.75"),
            label=f"{kind}: {int(chosen.sum()):,} stage{'' if chosen.sum() == 1 else 's'}",
        )

    # Stages of very different sizes need a logarithmic axis, on which parts cannot be stacked.
    uneven = schedule.largest > 50 * schedule.smallest > 0
    if uneven:
        ax.set_yscale("log")
        ax.set_ylim(bottom=0.5)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
    else:
        ax.yaxis.set_major_locator(_whole_numbers(8))
        if few:
            _draw_parts(ax, schedule)

    # Few bars have their sizes above them.
    if schedule.stages <= 12:
        for place, size in enumerate(schedule.sizes.tolist()):
            ax.annotate(
                f"{size:,}",
                (place, size),
                (0, 3),
                textcoords="offset points",
                ha="center",
                fontsize="small",
            )
        ax.margins(y=0.1)
    if shade.name == "stage" and schedule.stages:
        _draw_keys(ax, places, shade)
    _dress_stages(ax, schedule)


def _draw_parts(ax: Axes, schedule: Schedule) -> None:
    """Draw white lines between the parts of each stage, unless there are too many."""
    starts = np.cumsum(schedule.parts) - schedule.parts
    of_part = starts[schedule.stage] + schedule.part
    sizes = np.bincount(of_part, minlength=int(schedule.parts.sum()))
    for stage, (start, count) in enumerate(zip(starts, schedule.parts, strict=True)):
        if 1 < count <= _LINES:
            heights = np.cumsum(sizes[start : start + count])[:-1]
            ax.hlines(heights, stage - 0.4, stage + 0.4, colors="white", linewidth=1.0)


def _draw_keys(ax: Axes, places: np.ndarray, shade: _Shade) -> None:
    """Draw the colours of the stages on the graph in a row below the bars."""
    ax.scatter(
        places,
        np.full(len(places), -0.02),
        s=60 if len(places) <= _LINES else 14,
        marker="s",
        c=shade.colours(places),
        transform=ax.get_xaxis_transform(),
        clip_on=False,
        zorder=5,
    )
    ax.tick_params(axis="x", length=0, pad=11)


def _dress_stages(ax: Axes, schedule: Schedule) -> None:
    ax.set_xlim(-0.7, max(schedule.stages, 1) - 0.3)
    ax.xaxis.set_major_locator(_whole_numbers(12 if schedule.stages <= 12 else 8))
    ax.set_ylabel("contacts")
    lines = ["stage"]
    if schedule.parts.max(initial=0) > 1:
        lines.append(f"largest part {schedule.balance.max():.2f} × the mean of its stage")
    full = [f"{share:.0%} of {lanes}" for lanes, share in schedule.fill.items() if share > 0]
    if full:
        lines.append(f"full lanes: {', '.join(full)}")
    ax.set_xlabel("\n".join(lines))
    ax.spines[["top", "right"]].set_visible(False)
    if schedule.stages:
        ax.legend(
            loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, fontsize="small", ncols=2
        )


# ---- the matrix ---------------------------------------------------------------------------------


def _sees_new(schedule: Schedule, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Return whether each contact `row` sees the value of contact `column` from the same sweep."""
    # Within a stage, only earlier contacts of the same part, unless all see the values from before.
    place, stage, part = schedule.place, schedule.stage, schedule.part
    kind = schedule.kinds[stage[row]]
    before = place[column] < place[row]
    inside = before & (part[row] == part[column])
    inside &= (kind != "simultaneous") & (kind != "independent")
    return np.where(stage[row] == stage[column], inside, before)


def _draw_matrix(ax: Axes, problem: Problem, schedule: Schedule) -> None:
    from matplotlib.colors import to_rgb

    # Whether the visit of a row sees the new value of a column.
    blocks = _blocks(problem)
    row, column = schedule.place[blocks.row], schedule.place[blocks.column]
    own = row == column
    new = _sees_new(schedule, blocks.row, blocks.column) & ~own

    # The number of blocks of each colour in each cell; the diagonal shows where nothing else is.
    count = max(problem.contacts, 1)
    cells = min(count, _CELLS)
    at = row * cells // count * cells + column * cells // count
    shares = [np.bincount(at[chosen], minlength=cells**2) for chosen in (new, ~new & ~own, own)]
    shares[2] = np.where(shares[0] + shares[1] > 0, 0, shares[2])

    # A cell has the mean colour of its blocks.
    total = np.sum(shares, axis=0)
    mixed = np.transpose(shares) @ np.array([to_rgb(colour) for colour in (_NEW, _OLD, _OWN)])
    image = np.where(total[:, None] > 0, mixed / np.maximum(total, 1)[:, None], 1.0)
    extent = (-0.5, count - 0.5, count - 0.5, -0.5)
    ax.imshow(image.reshape(cells, cells, 3), interpolation="nearest", extent=extent)
    _draw_borders(ax, schedule)
    _dress_matrix(ax, int(new.sum()), int((~own).sum()))


def _draw_borders(ax: Axes, schedule: Schedule) -> None:
    # Solid lines end stages, dotted ones parts.
    ends = np.cumsum(schedule.sizes)[:-1]
    moved = np.diff(schedule.stage[schedule.visits]) == 0
    moved &= np.diff(schedule.part[schedule.visits]) != 0
    for borders, style in ((ends, "-"), (np.flatnonzero(moved) + 1, ":")):
        if len(borders) > _BORDERS:
            continue
        for border in borders:
            ax.axhline(border - 0.5, color="0.4", linewidth=0.8, linestyle=style)
            ax.axvline(border - 0.5, color="0.4", linewidth=0.8, linestyle=style)


def _dress_matrix(ax: Axes, new: int, couplings: int) -> None:
    share = 100.0 * new / couplings if couplings else 0.0
    ax.set_xlabel(f"contact seen, as visited\n{share:.3g} % of couplings see new values")
    ax.set_ylabel("contact visited")
    ax.locator_params(integer=True, nbins=6)
    for colour, label in ((_NEW, "new value seen"), (_OLD, "old value seen"), (_OWN, "its own")):
        ax.plot([], [], "s", color=colour, label=label)
    ax.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, fontsize="small", ncols=3
    )
