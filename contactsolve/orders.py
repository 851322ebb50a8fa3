"""Orders: who sees whose values in a sweep.

An order is given to a solver by its name, or with options as an object of this module:

>>> import contactsolve as cs
>>> solver = cs.Solver(cs.scenarios.ball_grid(4), order=cs.orders.colored(strategy="balanced"))
>>> solver.info["stages"] == solver.info["colors"]
True

`describe` tells what an order makes of a problem, and `contactsolve.plots.order` draws it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, overload

import numpy as np

from . import _core
from ._arrays import index, index_array
from ._options import permutation_of
from ._partition import LABELLINGS, STRATEGIES, PartitionQuality, labels, partition_quality
from ._schedule import Schedule, schedule_of
from ._stages import listed_stages
from .problem import Problem

__all__ = [
    "Order",
    "PartitionQuality",
    "Schedule",
    "cache",
    "colored",
    "contact_sets",
    "describe",
    "extreme",
    "given",
    "labels",
    "names",
    "partition",
    "partition_quality",
    "random",
    "ranges",
    "relaxed",
    "subtasks",
]

P = ParamSpec("P")

_BORDERS = ("colored", "sequential", "checkerboard")
_BODIES = ("natural", "breadth_first", "auto")


@dataclass(frozen=True, eq=False, repr=False)
class Order:
    """An order with its options; made by the functions of this module."""

    name: str
    permutation: np.ndarray | None = None
    begins: np.ndarray | None = None
    fixed_as_body: bool = False
    balanced: bool = False
    colors: int = 0
    multiple_of_parts: bool = False
    unsafe_below: int = 0
    unsafe_simultaneous: bool = True
    unsafe_first: bool = False
    unsafe_groups: bool = False
    labels: str | np.ndarray = "auto"
    border: int = 0
    chunk: int = 0
    bodies: int = 0
    no_domains: bool = False
    sets_simultaneous: bool = False
    sets_colored: bool = False
    weighted: bool = False
    subtasks: int = 0
    weighted_subtasks: bool = False
    parallel: bool = False
    text: str = ""

    def options(self, problem: Problem, seed: int, parts: int) -> tuple[Any, ...]:
        """Return the options for a problem as the C library takes them."""
        permutation = self.permutation
        return (
            None if permutation is None else permutation_of(permutation, problem.contacts),
            self.begins,
            seed,
            parts,
            self.fixed_as_body,
            self.balanced,
            self.colors,
            self.multiple_of_parts,
            self.unsafe_below,
            self.unsafe_simultaneous,
            self.unsafe_first,
            self.unsafe_groups,
            self._labels(problem, parts),
            self._labelling(),
            self.border,
            self.chunk,
            self.bodies,
            self.no_domains,
            self.sets_simultaneous,
            self.sets_colored,
            self.weighted,
            self.subtasks,
            self.weighted_subtasks,
            self.parallel,
        )

    def _labelling(self) -> int:
        """Return the number of a labelling that the C library makes itself."""
        named = isinstance(self.labels, str) and self.labels in LABELLINGS
        return LABELLINGS.index(str(self.labels)) if named else 0

    def _labels(self, problem: Problem, parts: int) -> np.ndarray | None:
        """Return labels that the C library does not make itself."""
        if not isinstance(self.labels, str):
            return self.labels
        return None if self.labels in LABELLINGS else labels(problem, self.labels, parts)

    def __repr__(self) -> str:
        """The call that made it."""
        return self.text or f"Order({self.name!r})"


def _telling(make: Callable[P, Order]) -> Callable[P, Order]:
    """Let orders made by a function tell their call, defaults apart."""
    signature = inspect.signature(make)
    parameters = signature.parameters

    @functools.wraps(make)
    def made(*args: P.args, **keywords: P.kwargs) -> Order:
        order = make(*args, **keywords)
        given = signature.bind(*args, **keywords).arguments
        words: list[str] = []
        for name, value in given.items():
            default = parameters[name].default
            if isinstance(default, type(value)) and value == default:
                continue
            shown = _short(value)
            positional = parameters[name].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            words.append(shown if positional and not words else f"{name}={shown}")
        return replace(order, text=f"{make.__name__}({', '.join(words)})")

    return made


def _short(value: Any) -> str:
    """An argument, the entries of lists and arrays left out."""
    if isinstance(value, np.ndarray):
        return f"<array {value.shape}>"
    return f"<list of {len(value)}>" if isinstance(value, (list, tuple)) else repr(value)


@_telling
def random() -> Order:
    """One random order, the same in every sweep; the solver's option `rng` seeds it."""
    return Order("random")


@_telling
def given(permutation: Any = None, *, stages: Any = None, kind: Any = "sequential") -> Order:
    """Visit the contacts in an order of one's own, or in stages of one's own.

    Parameters
    ----------
    permutation
        The contacts as they are to be visited, ``(K,)``, in one stage.
    stages
        In place of it, lists of contacts, one for each stage; or, for kinds whose stages have
        parts, a list of lists for each stage. Every contact is in one of them.
    kind
        The kind of all stages, or a list with one for each: ``"sequential"``, every contact sees
        the ones before; ``"simultaneous"``, all see the values from before the stage;
        ``"independent"``, all at once, of which no two may share a moving body;
        ``"concurrent"``, parts at once, sequential inside, which see the other parts as before the
        stage; ``"disjoint"``, parts at once, of which no two may share a moving body. What may
        not be shared is checked for each problem; where A was given, coupled contacts count.

    Examples
    --------
    >>> import contactsolve as cs
    >>> order = cs.orders.given(stages=[[0, 2], [1, 3]], kind=["simultaneous", "sequential"])
    >>> cs.orders.describe(cs.scenarios.box_stack(1), order).kinds.tolist()
    ['simultaneous', 'sequential']
    """
    if (permutation is None) == (stages is None):
        raise TypeError("given: a permutation of the contacts, or stages=, is needed")
    if stages is None:
        if kind != "sequential":
            raise TypeError("kind is for stages=: give stages=[permutation] with it")
        return Order("given", permutation=index_array("order", permutation))
    contacts, begins = listed_stages(stages, kind)
    return Order("given", permutation=contacts, begins=begins)


@_telling
def ranges(*, weighted: bool = False) -> Order:
    """S1's naive parallel Gauss-Seidel (section 7.1).

    The contacts are cut into contiguous ranges (the solver's option `parts`), which are swept at
    once, each seeing the others as before the sweep.

    Parameters
    ----------
    weighted
        Ranges of about equal numbers of blocks of A, not of contacts: what a visit costs with the
        scheme ``"matrix"``. Contacts are added until N/p blocks are reached (S1 section 3.7.3), so
        that no range has more than that and the blocks of one contact. Where one contact has more
        than a range's share, there are fewer ranges.
    """
    return Order("ranges", weighted=bool(weighted))


@_telling
def subtasks(order: Any = "natural", count: int = 100, *, weighted: bool = True) -> Order:
    """An order whose stages are cut into finer or coarser tasks (S1 section 6.3).

    Threads take tasks as they come. Simultaneous and independent stages, Jacobi's above all, are
    cut into tasks of 512 contacts by default; here into `parts` × `count` tasks, fewer where a
    stage has fewer contacts. Impulses are the same, but for rounding where finer tasks leave the
    lanes of a vector empty and other kernels visit them (``info["kernel"]``); ``merit``, a sum over
    tasks, may differ in its last digits.

    Parameters
    ----------
    order
        A name, an object of this module, or a permutation.
    count
        Tasks for each of the solver's `parts`, S1's workers. S1 found 100 to do well, and not fewer
        than 10.
    weighted
        Tasks of about equal numbers of blocks of A, as for `ranges`.
    """
    if index("count", count) < 1:
        raise ValueError(f"count is {count}: at least 1 is needed")
    return replace(chosen(order), subtasks=int(count), weighted_subtasks=bool(weighted))


@_telling
def extreme(order: Any = "natural") -> Order:
    """An order whose simultaneous and independent stages have a task for each contact.

    S1 section 6.1, the end of `subtasks`: every contact is fetched by itself, which costs more than
    visiting it. The scheme ``"factorized"`` keeps half a kilobyte for each.

    Parameters
    ----------
    order
        A name, an object of this module, or a permutation.
    """
    return replace(chosen(order), subtasks=-1, weighted_subtasks=False)


@_telling
def colored(
    strategy: str = "greedy",
    *,
    colors: int | str = "degree",
    multiple_of_parts: bool = False,
    fixed_as_body: bool = False,
    parallel: bool = False,
) -> Order:
    """Colour by colour, no two contacts of one sharing a moving body (S1 section 4.3).

    Parameters
    ----------
    strategy
        ``"greedy"``, the lowest free colour, or ``"balanced"``, the least used free one.
    colors
        How many a balanced colouring aims at: ``"degree"``, the highest number of contacts that
        one is in conflict with (S1 eq. 4.1), ``"tentative"``, as many as a greedy one finds, or a
        number.
    multiple_of_parts
        Round that number up to a multiple of the solver's `parts`.
    fixed_as_body
        Let contacts with one immovable body of the problem conflict, as S1's ground does. The fixed
        world, −1, never does.
    parallel
        Find the colours in parallel, for large problems: the solver's `parts` contiguous ranges of
        contacts are coloured at once, each knowing its own colours and the others' of the last
        round; contacts in conflict with an earlier range are coloured anew, in at most `parts`
        rounds (S1 section 4.3). The colours depend on `parts`, never on threads.
    """
    return Order(
        "colored", **_coloring(strategy, colors, multiple_of_parts, fixed_as_body, parallel)
    )


@_telling
def relaxed(
    unsafe_below: int,
    strategy: str = "greedy",
    *,
    unsafe: str = "simultaneous",
    first: bool = False,
    colors: int | str = "degree",
    multiple_of_parts: bool = False,
    fixed_as_body: bool = False,
    parallel: bool = False,
    weighted: bool = False,
) -> Order:
    """Coloured, with small colours merged into one unsafe stage (S1 sections 4.3.1, 7.2.2).

    Parameters
    ----------
    unsafe_below
        Colours with fewer contacts are merged; S1 takes a multiple n p of the processors.
    unsafe
        How the unsafe stage runs: ``"simultaneous"``, its contacts blind to each other as in Jacobi
        (S1 section 7.2.3); ``"ranges"``, cut into the solver's `parts`, blind to each other
        (section 7.2.2); or ``"groups"``, contacts that depend on each other in the same part
        (section 7.4): whole connected components over moving bodies, packed into `parts` parts of
        about equal size, which is Gauss-Seidel again.
    first
        Run it first; by default it is last, where S1 found it to converge faster (section 7.4).
    strategy, colors, multiple_of_parts, fixed_as_body, parallel
        As for `colored`.
    weighted
        With ``unsafe="ranges"``: cut as for `ranges`.
    """
    _known("unsafe", unsafe, ("simultaneous", "ranges", "groups"))
    if index("unsafe_below", unsafe_below) < 0:
        raise ValueError(f"unsafe_below is {unsafe_below}: a number of contacts is 0 or more")
    return Order(
        "colored",
        unsafe_below=int(unsafe_below),
        unsafe_simultaneous=unsafe == "simultaneous",
        unsafe_first=bool(first),
        unsafe_groups=unsafe == "groups",
        weighted=bool(weighted),
        **_coloring(strategy, colors, multiple_of_parts, fixed_as_body, parallel),
    )


@_telling
def partition(strategy: Any = "auto", *, border: str = "colored") -> Order:
    """Parts of the scene at once, then the contacts between them (S1 sections 4.2, 8.2).

    The contacts whose moving bodies all belong to one part are its interior; all interiors are
    swept at once, each in turn inside. No two share a moving body, so that the sweep is exactly
    Gauss-Seidel: the interiors, then the border. The solver's option `parts` is the number of
    parts, and results depend on it.

    Parameters
    ----------
    strategy
        ``"slices"``, breadth-first levels of bodies, so that a part touches at most two others (S1
        Fig. 4.3 (b)); ``"natural"``, contiguous ranges of body numbers; ``"auto"``, the one of
        these two that leaves fewer contacts between parts; ``"metis"``, the fewest
        contacts between parts (S1 Definition 4.4), ``"metis_volume"``, the fewest bodies with
        contacts in other parts, ``"metis_neighbours"``, few contacts and few neighbours of a part
        (all three need pymetis: ``pip install 'contactsolve[partition]'``); or labels of one's own,
        ``(bodies,)``, parts numbered from 0. Immovable bodies belong to no part. Where A was given,
        contacts are labelled, ``(K,)``, and a contact coupled to one of a lower label lies on the
        border.
    border
        How the contacts between parts follow: ``"colored"``, ``"sequential"``, or
        ``"checkerboard"``: each goes to one of its two parts, the lower one or that of a body with
        very many contacts, and parts whose shares do not meet are swept at once, colour by colour.

    See Also
    --------
    labels : The labels of a strategy.
    partition_quality : What a cut is worth.
    """
    if isinstance(strategy, str):
        _known("strategy", strategy, STRATEGIES)
    else:
        strategy = index_array("labels", strategy)
        if strategy.ndim != 1:
            raise ValueError(f"labels has shape {strategy.shape}: one for each body is needed")
    _known("border", border, _BORDERS)
    return Order("partition", labels=strategy, border=_BORDERS.index(border))


@_telling
def cache(*, bodies: str = "auto", chunk: int = 1024, domains: bool = True) -> Order:
    """Order contacts for speed: as their bodies lie in memory, coloured in small chunks.

    Parameters
    ----------
    bodies
        The bodies' order: ``"natural"``; ``"breadth_first"`` (Cuthill and McKee); or ``"auto"``,
        breadth-first where numbers say nothing of who touches whom: where cutting the numbers into
        8 ranges leaves most contacts between ranges, and breadth-first fewer. Contacts follow the
        later of their bodies.
    chunk
        Contacts that are coloured at a time.
    domains
        Cut the bodies into as many contiguous domains as the solver's option `parts` says, about
        equal in contacts, and sweep the insides of all domains at once, chunk by chunk; then the
        contacts between them, as ``partition(border="checkerboard")`` does, or coloured where these
        are most of all contacts. Otherwise each colour of each chunk is a stage of its own
        for all threads, and results do not depend on `parts`.
    """
    _known("bodies", bodies, _BODIES)
    if index("chunk", chunk) < 1:
        raise ValueError(f"chunk is {chunk}: at least 1 is needed")
    return Order(
        "cache",
        bodies=_BODIES.index(bodies),
        chunk=int(chunk),
        no_domains=not domains,
    )


@_telling
def contact_sets(inside: str = "sequential", *, colored: bool = False) -> Order:
    """Visit the contacts between one pair of bodies together (S1 section 8.3).

    The fixed world is a body here, and the order of the pair makes no difference. Where A was given
    nothing tells the bodies, and each contact is a set.

    Parameters
    ----------
    inside
        ``"sequential"``, or ``"simultaneous"``: contacts of a set do not see each other, so that a
        box at rest on the ground is held by equal impulses (S1 Fig. 3.1); between sets it is still
        Gauss-Seidel.
    colored
        Visit sets that share no moving body at once, colour by colour: fewer colours than contacts
        have by themselves. Otherwise sets follow each other by their first contacts.
    """
    _known("inside", inside, ("sequential", "simultaneous"))
    return Order(
        "contact_sets",
        sets_simultaneous=inside == "simultaneous",
        sets_colored=bool(colored),
    )


def _known(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"{name}: {value!r} is unknown; known: {', '.join(known)}")


def _coloring(
    strategy: str, colors: int | str, multiple: bool, fixed: bool, parallel: bool
) -> dict[str, Any]:
    _known("strategy", strategy, ("greedy", "balanced"))
    aims = {"degree": 0, "tentative": -1}
    if isinstance(colors, str):
        if colors not in aims:
            raise ValueError(f"colors: {colors!r} is unknown; known: degree, tentative, a number")
        count = aims[colors]
    else:
        count = index("colors", colors)
        if count < 1:
            raise ValueError(f"colors is {colors}: at least 1 is needed")
    return {
        "balanced": strategy == "balanced",
        "colors": count,
        "multiple_of_parts": bool(multiple),
        "fixed_as_body": bool(fixed),
        "parallel": bool(parallel),
    }


def chosen(order: Any) -> Order:
    """Return the order that a solver's option stands for: a name, an object or a permutation."""
    if isinstance(order, Order):
        return order
    if callable(order):
        name = getattr(order, "__name__", "")
        advice = f"call it, orders.{name}(...)" if name in __all__ else "a name is needed"
        raise TypeError(f"order is {order!r}: {advice}")
    return Order(order) if isinstance(order, str) else given(order)


def names() -> list[str]:
    """Return the names of all orders."""
    return [name for name, _ in _core.orders()]


# Orders of orders, or with arguments that have no default: made by these functions alone.
_MADE: tuple[Callable[..., Order], ...] = (relaxed, subtasks, extreme)


@overload
def describe() -> dict[str, str]: ...
@overload
def describe(
    problem: Problem,
    order: Any = "auto",
    *,
    parts: int = 8,
    rng: Any = None,
    method: str = "auto",
    threads: int | None = None,
) -> Schedule: ...
def describe(
    problem: Problem | None = None,
    order: Any = "auto",
    *,
    parts: int = 8,
    rng: Any = None,
    method: str = "auto",
    threads: int | None = None,
) -> dict[str, str] | Schedule:
    """Return one line on each order, by name; or what one order makes of a problem.

    Parameters
    ----------
    problem
        A `Problem`; without one, all orders are listed.
    order, parts, rng, method
        As for `Solver`. Nothing is packed or solved.
    threads
        For ``colored(parallel=True)``; None for as many as pay. Only ``seconds`` depends on it.

    Returns
    -------
    dict or Schedule

    Raises
    ------
    ValueError, TypeError
        As `Solver` does for these options.

    Examples
    --------
    >>> import contactsolve as cs
    >>> cs.orders.describe(cs.scenarios.ball_grid(4), "colored")
    Schedule(colored, 160 contacts, 6 independent stages of 8 to 40, 6 colors)
    """
    if problem is None:
        return {**dict(_core.orders()), **{one.__name__: _line(one) for one in _MADE}}
    return schedule_of(problem, chosen(order), order, parts, rng, method, threads)


def _line(function: Callable[..., Order]) -> str:
    """The first line of a function's text, as the library writes such lines."""
    line = str(function.__doc__).partition("\n")[0].rstrip(".")
    return line[0].lower() + line[1:]


def __dir__() -> list[str]:
    return sorted(__all__)
