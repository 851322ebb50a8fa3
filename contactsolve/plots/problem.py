"""Pictures of a problem: the blocks of A, or the graph of its bodies and contacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contactsolve.plots._axes import new_axes
from contactsolve.plots._layout import layout
from contactsolve.problem import Problem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["problem"]

# Maximum number of cells along a side of the picture of A; in larger problems several blocks share
# a cell.
_CELLS = 250

# Maximum number of vertices with numbers; more would overlap.
_NUMBERED = 40

# Maximum number of decades on the colour scale. Smaller blocks are mostly rounding errors.
_DECADES = 8

# Maximum number of legend entries below the axes; a longer legend is beside them.
_BELOW = 6


def problem(problem: Problem, *, ax: Axes | None = None, kind: str = "matrix") -> Axes:
    """Draw the blocks of A, or the contact graph.

    Parameters
    ----------
    problem : Problem
        The problem to draw.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    kind : {"matrix", "graph"}
        ``"matrix"``: the Frobenius norm of every block of A, on a logarithmic colour scale of at
        most eight decades; zero blocks are white. In large problems a cell shows the largest of
        several blocks. ``"graph"``: bodies are vertices, with numbers if there is room, and pairs
        of bodies with contacts between them are edges. An edge is wider if it has more contacts,
        and coloured by their set. The fixed world and immovable bodies are left out, because
        contacts with them do not couple; bodies that touch them are squares. Contacts of a body
        with itself are not drawn.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        An unknown `kind`, or the graph of a problem that was made from a matrix and has no bodies.
    TypeError
        `problem` is not a `Problem`.
    ImportError
        matplotlib is not installed.

    Examples
    --------
    >>> import contactsolve as cs
    >>> ax = cs.plots.problem(cs.scenarios.box_stack(3), kind="graph")  # doctest: +SKIP
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem is {type(problem).__name__}: a Problem is needed")
    if kind == "matrix":
        blocks = _blocks(problem)
        ax = new_axes() if ax is None else ax
        _draw_matrix(ax, problem, blocks)
    elif kind == "graph":
        graph = _graph(problem)
        ax = new_axes() if ax is None else ax
        _draw_graph(ax, graph)
    else:
        raise ValueError(f"kind is {kind!r}: 'matrix' or 'graph' is needed")
    return ax


# ---- the matrix ---------------------------------------------------------------------------------


class _Blocks(NamedTuple):
    row: np.ndarray
    column: np.ndarray
    norm: np.ndarray


def _blocks(problem: Problem) -> _Blocks:
    """Return the non-zero blocks of A."""
    # The block of each scalar row.
    data, indices, indptr = problem.delassus_csr()
    sizes = [np.shape(b) for b in (problem.b if problem.grouped else [problem.b])]
    block = np.repeat(
        np.arange(problem.contacts),
        np.repeat([m for _, m in sizes], [count for count, _ in sizes]),
    )

    # Sum the squares of the entries of each pair of blocks.
    row = np.repeat(block, np.diff(indptr))
    pair, place = np.unique(row * problem.contacts + block[indices], return_inverse=True)
    norm = np.sqrt(np.bincount(place, weights=np.square(data), minlength=len(pair)))
    filled = norm > 0
    row, column = np.divmod(pair[filled], max(problem.contacts, 1))
    return _Blocks(row, column, norm[filled])


def _draw_matrix(ax: Axes, problem: Problem, blocks: _Blocks) -> None:
    # The largest norm of the blocks in each cell.
    count = max(problem.contacts, 1)
    cells = min(count, _CELLS)
    image = np.zeros((cells, cells))
    np.maximum.at(image, (blocks.row * cells // count, blocks.column * cells // count), blocks.norm)
    shown = ax.imshow(
        np.ma.masked_equal(image, 0.0),
        cmap="viridis_r",
        norm=_log_norm(blocks.norm),
        interpolation="nearest",
        extent=(-0.5, count - 0.5, count - 0.5, -0.5),
    )

    # The colour bar points downwards if smaller blocks have its last colour.
    below = bool(len(blocks.norm)) and blocks.norm.min() < shown.norm.vmin
    extend = "min" if below else "neither"
    bar = ax.figure.colorbar(shown, ax=ax, fraction=0.046, pad=0.03, extend=extend)
    _label_colours(bar, problem.grouped)
    ax.locator_params(integer=True, nbins=6)
    share = len(blocks.norm) / count**2
    ax.set_xlabel(f"contact\n{len(blocks.norm):,} blocks, {100 * share:.3g} % of all")
    ax.set_ylabel("contact")


def _log_norm(norms: np.ndarray) -> Any:
    from matplotlib.colors import LogNorm

    if len(norms) == 0:
        return LogNorm(1.0, 10.0)
    high = norms.max()
    low = max(norms.min(), 10.0**-_DECADES * high)
    return LogNorm(low, high) if high > 1.001 * low else LogNorm(low / 1.1, high * 1.1)


def _label_colours(bar: Any, grouped: bool) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    # Blocks of different kinds of rows, such as angles and lengths, have no common unit.
    bar.set_label("norm of the block" if grouped else "norm of the block [1/kg]")
    bar.ax.yaxis.set_major_locator(FixedLocator(_ticks(bar.norm.vmin, bar.norm.vmax)))
    if bar.norm.vmax < 1000.0 * bar.norm.vmin:
        bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.2g}"))
    bar.ax.yaxis.set_minor_locator(NullLocator())


def _ticks(low: float, high: float) -> list[float]:
    """Return at most eight round values from low to high: decades, or 1, 2 and 5 of each."""
    decades = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for steps in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        ticks = np.outer(decades, steps).ravel()
        ticks = ticks[(ticks >= 0.999 * low) & (ticks <= 1.001 * high)]
        if len(ticks) <= 8:
            break
    if len(ticks) < 2:
        return np.geomspace(low, high, 3).tolist()
    return ticks[:: -(-len(ticks) // 8)].tolist()


# ---- the graph ----------------------------------------------------------------------------------


class _Graph(NamedTuple):
    bodies: np.ndarray  # their numbers in the problem
    ground: np.ndarray  # whether each touches an immovable body
    edges: np.ndarray  # pairs of indices into `bodies`
    counts: np.ndarray  # contacts of each edge
    kinds: np.ndarray  # the set of each edge's contacts
    names: list[str]  # of the sets, with their groups
    idle: int  # movable bodies without contacts


def _graph(problem: Problem) -> _Graph:
    if problem.bodies is None:
        raise ValueError(
            "kind='graph' needs bodies, and this problem was made from a matrix: "
            "kind='matrix' draws its blocks"
        )
    # The pairs of bodies of all contacts, and the group of each.
    sets = problem.sets if problem.grouped else [problem.sets]
    pairs, contact = problem._body_pairs()
    sizes = [layout.contacts for layout in problem._groups]
    group = np.repeat(np.arange(len(sizes)), sizes)[contact]

    # Number the movable bodies with contacts. The last entry is the fixed world, index −1.
    movable = np.append(_movable(problem), False)
    free = movable[pairs]
    bodies = np.unique(pairs[free])
    number = np.zeros(len(movable), dtype=np.int64)
    number[bodies] = np.arange(len(bodies))
    ground = np.zeros(len(bodies), dtype=bool)
    ground[number[pairs[free & ~free[:, ::-1]]]] = True

    # Count the contacts of each pair of bodies and each set.
    between = free.all(axis=1) & (pairs[:, 0] != pairs[:, 1])
    names, kind = _kinds([found.name for found in sets], np.unique(group[between]))
    keyed = np.column_stack([kind[group[between]], np.sort(number[pairs[between]], axis=1)])
    unique, counts = np.unique(keyed, axis=0, return_counts=True)
    idle = int(movable.sum()) - len(bodies)
    return _Graph(bodies, ground, unique[:, 1:], counts, unique[:, 0], names, idle)


def _kinds(sets: list[str], drawn: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Return the sets, each with the numbers of its drawn groups, and the set of each group."""
    names = list(dict.fromkeys(sets))
    labels = []
    for name in names:
        groups = [str(number) for number in drawn if sets[number] == name]
        labels.append(f"group{'' if len(groups) == 1 else 's'} {', '.join(groups)} ({name})")
    return labels, np.array([names.index(name) for name in sets])


def _movable(problem: Problem) -> np.ndarray:
    """Return whether each body can move."""
    inverses = problem.Minv if problem.grouped else [problem.Minv]
    each = [inverse.reshape(len(inverse), -1).any(axis=1) for inverse in inverses]
    return np.concatenate([*each, np.zeros(0, dtype=bool)])


def _draw_graph(ax: Axes, graph: _Graph) -> None:
    from contactsolve.plots._vertices import Look, draw_vertices

    places = layout(len(graph.bodies), np.unique(graph.edges, axis=0), graph.ground)
    many = len(graph.bodies) > _NUMBERED
    _draw_edges(ax, graph, places, many)
    apart = " away from the fixed world" if graph.ground.any() else ""
    looks = [
        Look(chosen, marker, colour, _count(int(chosen.sum()), "body", "bodies") + where)
        for chosen, marker, colour, where in (
            (~graph.ground, "o", "white", apart),
            (graph.ground, "s", "#f3c98b", " on the fixed world"),
        )
    ]
    draw_vertices(ax, places, looks, None if many else graph.bodies)
    _dress_graph(ax, graph, places)


def _count(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _draw_edges(ax: Axes, graph: _Graph, places: np.ndarray, many: bool) -> None:
    from matplotlib.collections import LineCollection

    several = len(graph.names) > 1
    for kind, name in enumerate(graph.names):
        chosen = graph.kinds == kind
        if not chosen.any():
            continue
        counts = graph.counts[chosen]
        widths = (0.4 if many else 0.9) * np.minimum(counts, 8)
        if len(counts) > 5000:
            widths = widths * 0.6
        span = f"{counts.min()}" if counts.min() == counts.max() else f"1 to {counts.max()}"
        what = f"an edge: {span} contact{'' if counts.max() == 1 else 's'}"
        if several:
            what = f"{name}, {what}"
        ax.add_collection(
            LineCollection(
                list(places[graph.edges[chosen]]),
                linewidths=widths,
                colors=f"C{kind}" if several else "0.6",
                label=what,
                zorder=2,
                rasterized=len(counts) > 5000,
            )
        )


def _dress_graph(ax: Axes, graph: _Graph, places: np.ndarray) -> None:
    # The size of marks is independent of the data: a graph in one line needs room beside it.
    if len(places):
        ax.update_datalim([places.min(axis=0) - 0.6, places.max(axis=0) + 0.6])
    ax.margins(0.0)
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_axis_off()

    # The legend is below the axes, or beside them if it is long.
    handles, labels = ax.get_legend_handles_labels()
    if handles:
        title = (
            f"not drawn: {_count(graph.idle, 'body', 'bodies')} without contacts"
            if graph.idle
            else None
        )
        beside = len(handles) > _BELOW
        legend = ax.legend(
            handles,
            labels,
            loc="center left" if beside else "upper center",
            bbox_to_anchor=(1.01, 0.5) if beside else (0.5, 0.0),
            frameon=False,
            title=title,
            fontsize="small",
            title_fontsize="small",
        )
        for handle in legend.legend_handles:
            if handle is not None and hasattr(handle, "set_sizes"):
                handle.set_sizes([40.0])
