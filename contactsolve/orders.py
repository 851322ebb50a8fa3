"""Orders: the sequence of contacts in a sweep, and whose new values each contact sees.

A solver takes an order by its name or, with options, as an object of this module:

>>> import contactsolve as cs
>>> solver = cs.Solver(cs.scenarios.ball_grid(4), order=cs.orders.colored(strategy="balanced"))
>>> solver.info["stages"] == solver.info["colors"]
True

`describe` returns the schedule of an order for a problem; `contactsolve.plots.order` draws it.
"""

from __future__ import annotations

import functools
import inspect
import keyword
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, overload

import numpy as np

from . import _core
from ._arrays import index, index_array
from ._options import flag, number_of_parts, permutation_of, seed_of
from ._partition import STRATEGIES, PartitionQuality, labels, partition_quality
from ._schedule import Schedule, schedule_of
from ._specific_options import (
    Option,
    arguments,
    checked,
    document,
    options_of,
    same,
    signature_of,
    taken,
)
from ._stages import listed_stages
from ._suggestions import missing
from .problem import Problem

__all__ = [
    "Order",
    "PartitionQuality",
    "Schedule",
    "describe",
    "extreme",
    "given",
    "labels",
    "names",
    "options",
    "partition",
    "partition_quality",
    "regions",
    "relaxed",
    "subtasks",
]

P = ParamSpec("P")

_LISTED = {described["name"]: described for described in _core.orders()}
_OPTIONS = {name: options_of(described["options"]) for name, described in _LISTED.items()}


@dataclass(frozen=True, eq=False, repr=False)
class Order:
    """An order with its options; made by the functions of this module.

    Attributes
    ----------
    name
        Name of the order in the C library.
    settings
        Options of the order by name, without those that have their defaults.
    permutation, begins
        For ``"given"``: the contacts in the order of their visits, and whether a part or a stage
        starts at each visit.
    labels
        For ``"partition"`` and ``"regions"``: the labels given by the caller, or the strategy of
        METIS; otherwise None.
    subtasks, weighted_subtasks
        Number of tasks into which stages are divided, for each part (0: the default, -1: one task
        for each contact), and whether by blocks of A.
    text
        The call that made the order.
    """

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    permutation: np.ndarray | None = None
    begins: np.ndarray | None = None
    labels: str | np.ndarray | None = None
    subtasks: int = 0
    weighted_subtasks: bool = False
    text: str = ""

    def options(self, problem: Problem, seed: int, parts: int | str) -> dict[str, Any]:
        """Return the options for a problem as the C library takes them, by name."""
        visits, label = self.permutation, self.labels
        return {
            "permutation": None if visits is None else permutation_of(visits, problem.contacts),
            "begins": self.begins,
            "labels": labels(problem, label, parts) if isinstance(label, str) else label,
            "seed": seed,
            "parts": number_of_parts(parts),
            "subtasks": self.subtasks,
            "weighted_subtasks": self.weighted_subtasks,
            "settings": taken(_OPTIONS.get(self.name, {}), self.settings) if self.settings else {},
        }

    @property
    def draws(self) -> bool:
        """Whether it is random, so that `rng` has an effect."""
        return self.name in _LISTED and _LISTED[self.name]["draws"]

    def seed(self, rng: Any) -> int:
        """Return the seed of a random order; 0 for other orders, on which `rng` has no effect."""
        return seed_of(rng) if self.draws else 0

    def __repr__(self) -> str:
        """Return the call that made the order."""
        return self.text or f"Order({self.name!r})"


# The orders without options, which solvers share.
_PLAIN = {name: Order(name) for name in ("auto", *_LISTED)}


def _made(name: str, given: dict[str, Any], **others: Any) -> Order:
    """Return an order with its options, which the C library checks."""
    order = Order(name, given, **others)
    checked(_core.check_order, name, taken(_OPTIONS[name], given))
    return order


def _with_text(make: Callable[P, Order]) -> Callable[P, Order]:
    """Give the orders that a function makes the text of their call, without defaults."""
    signature = inspect.signature(make)

    @functools.wraps(make)
    def made(*args: P.args, **keywords: P.kwargs) -> Order:
        order = make(*args, **keywords)
        return replace(order, text=_call(make.__name__, signature, args, keywords))

    return made


def _call(
    name: str, signature: inspect.Signature, args: tuple[Any, ...], keywords: dict[str, Any]
) -> str:
    """Return a call as text, without arguments that have their defaults."""
    words: list[str] = []
    for argument, value in signature.bind(*args, **keywords).arguments.items():
        parameter = signature.parameters[argument]
        if isinstance(parameter.default, type(value)) and value == parameter.default:
            continue
        shown = _short(value)
        by_place = parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        words.append(shown if by_place and not words else f"{argument}={shown}")
    return f"{name}({', '.join(words)})"


def _short(value: Any) -> str:
    """Return an argument as text, without the entries of lists and arrays."""
    if isinstance(value, np.ndarray):
        return f"<array {value.shape}>"
    return f"<list of {len(value)}>" if isinstance(value, (list, tuple)) else repr(value)


@_with_text
def given(permutation: Any = None, *, stages: Any = None, kind: Any = "sequential") -> Order:
    """Visit the contacts in the order, or in the stages, that the caller gives.

    Parameters
    ----------
    permutation
        The contacts in the order of their visits, ``(K,)``, in one stage.
    stages
        Instead of a permutation: lists of contacts, one for each stage; or, for kinds whose stages
        have parts, a list of lists for each stage. Every contact is in exactly one of them.
    kind
        The kind of all stages, or a list with one for each: ``"sequential"``, every contact sees
        the ones before; ``"simultaneous"``, all see the values from before the stage;
        ``"independent"``, all in parallel, and no two may share a moving body; ``"concurrent"``,
        parts in parallel, each sequential, which see the other parts as before the stage;
        ``"disjoint"``, parts in parallel, of which no two may share a moving body. Shared bodies
        are checked for each problem; if A was given, coupled contacts count as sharing one.

    Returns
    -------
    Order
        For a solver's `order`.

    Raises
    ------
    TypeError, ValueError
        Neither or both of `permutation` and `stages`, unknown kinds, or contacts that are missing
        or repeated.

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


@_with_text
def subtasks(order: Any = "natural", count: int = 100, *, weighted: bool = True) -> Order:
    """An order whose stages are divided into more or fewer tasks (S1 section 6.3).

    A free thread takes the next task. Simultaneous and independent stages, such as Jacobi's, have
    tasks of 512 contacts by default, and here `parts` × `count` tasks, or fewer if a stage has
    fewer contacts. Impulses are the same, but for rounding if small tasks leave vector lanes empty
    and another kernel visits the contacts (``info["kernel"]``); ``merit``, a sum over tasks, may
    differ in its last digits.

    Parameters
    ----------
    order
        A name, an object of this module, or a permutation.
    count
        Number of tasks for each of the solver's `parts`, which are S1's workers. S1 recommends 100,
        and at least 10.
    weighted
        Divide stages by blocks of A instead of contacts, as in `ranges`.

    Returns
    -------
    Order
        For a solver's `order`.

    Raises
    ------
    TypeError, ValueError
        `count` is not an integer of 1 or more, `weighted` is not a truth value, or `order` is not
        an order.
    """
    if isinstance(count, (bool, np.bool_)):
        raise TypeError(f"count is {count!r}: an integer is needed")
    if index("count", count) < 1:
        raise ValueError(f"count is {count}: at least 1 is needed")
    weighs = flag("weighted", weighted)
    return replace(chosen(order), subtasks=int(count), weighted_subtasks=weighs)


@_with_text
def extreme(order: Any = "natural") -> Order:
    """An order whose simultaneous and independent stages have a task for each contact.

    This is the limit of `subtasks` (S1 section 6.1): threads fetch single contacts, which costs
    more than the visits. The scheme ``"factorized"`` stores half a kilobyte for each contact.

    Parameters
    ----------
    order
        A name, an object of this module, or a permutation.

    Returns
    -------
    Order
        For a solver's `order`.
    """
    return replace(chosen(order), subtasks=-1, weighted_subtasks=False)


def _with_options(name: str) -> Callable[[Callable[P, Order]], Callable[P, Order]]:
    """Show an order's own options in place of ``**options`` in a function's signature."""

    def show(make: Callable[P, Order]) -> Callable[P, Order]:
        own = inspect.signature(make).parameters
        first = [one for one in own.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        rest = signature_of(_OPTIONS[name], Order).parameters
        shown = [*first, *(one for one in rest.values() if one.name not in own)]
        signature = inspect.Signature(shown, return_annotation=Order)
        make.__signature__ = signature  # type: ignore[attr-defined]
        return make

    return show


@_with_text
@_with_options("colored")
def relaxed(unsafe_below: int, strategy: str = "greedy", **options: Any) -> Order:
    """Coloured, with small colours merged into one unsafe stage (S1 sections 4.3.1, 7.2.2).

    Parameters
    ----------
    unsafe_below
        Colours with fewer contacts are merged. S1 takes a multiple n p of the number of processors.
    strategy, **options
        As for `colored`: its option `unsafe` determines how the unsafe stage runs, and `first`
        whether it is the first stage.

    Returns
    -------
    Order
        For a solver's `order`.
    """
    given = {"unsafe_below": unsafe_below, "strategy": strategy, **options}
    given = arguments("order='colored'", _OPTIONS["colored"], (), given)
    return _made("colored", _besides_defaults("colored", given, "unsafe_below"))


_METIS = (
    '; "metis", the fewest contacts between parts (S1 Definition 4.4), "metis_volume", the fewest '
    'bodies with contacts in other parts, "metis_neighbours", few contacts and few neighbours of a '
    "part (all three need pymetis: pip install 'contactsolve[partition]'); or your own labels, "
    "(bodies,), with parts numbered from 0. Immovable bodies belong to no part. Where A was given, "
    "contacts are labelled, (K,), and a contact coupled to one of a lower label lies on the border"
)
_SEE_ALSO = "labels : The labels of a strategy.\npartition_quality : The quality of a partition."


def _documented_partition(make: Callable[P, Order]) -> Callable[P, Order]:
    """Document the options of the C library, and the strategies that only Python has."""
    own = dict(_OPTIONS["partition"])
    one = own["strategy"]
    own["strategy"] = replace(one, words=STRATEGIES, summary=one.summary + _METIS)
    described, returns = _LISTED["partition"], "Order\n    For a solver's `order`."
    make.__doc__ = document(
        described["summary"], described["about"], own, returns, {"See Also": _SEE_ALSO}
    )
    return make


@_with_text
@_documented_partition
def partition(  # noqa: D103
    strategy: Any = "auto",
    *,
    border: str = "colored",
    priority: str = "natural",
    weight: float = 1.0,
    split_masses: bool = False,
) -> Order:
    about_border = {"priority": priority, "weight": weight, "split_masses": split_masses}
    given = _besides_defaults("partition", {"border": border, **about_border})
    if not isinstance(strategy, str):
        own = index_array("labels", strategy)
        if own.ndim != 1:
            raise ValueError(f"labels has shape {own.shape}: one for each body is needed")
        return _made("partition", given, labels=own)
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy: {strategy!r} is unknown; known: {', '.join(STRATEGIES)}")
    if strategy not in _OPTIONS["partition"]["strategy"].words:
        return _made("partition", given, labels=strategy)
    return _made("partition", given | _besides_defaults("partition", {"strategy": strategy}))


_OWN_REGIONS = (
    "; or your own labels, (bodies,), with regions numbered from 0: those of METIS, "
    "orders.labels(problem, 'metis', 64), leave fewer contacts between regions. Where A was given, "
    "contacts are labelled, (K,)"
)


def _documented_regions(make: Callable[P, Order]) -> Callable[P, Order]:
    """Document the options of the C library, and that labels may take the place of a count."""
    described, returns = _LISTED["regions"], "Order\n    For a solver's `order`."
    own = dict(_OPTIONS["regions"])
    own["count"] = replace(own["count"], summary=own["count"].summary + _OWN_REGIONS)
    make.__doc__ = document(described["summary"], described["about"], own, returns, {})
    return make


@_with_text
@_documented_regions
def regions(count: Any = "auto") -> Order:  # noqa: D103
    if isinstance(count, str) or np.ndim(count) == 0:
        return _made("regions", _besides_defaults("regions", {"count": count}))
    own = index_array("labels", count)
    if own.ndim != 1:
        raise ValueError(f"labels has shape {own.shape}: one for each body is needed")
    return _made("regions", {}, labels=own)


def _besides_defaults(order: str, given: dict[str, Any], *kept: str) -> dict[str, Any]:
    """Return the options without those that have their defaults, except the `kept` ones."""
    declared = _OPTIONS[order]
    return {
        name: value
        for name, value in given.items()
        if name in kept or not same(value, declared[name].default)
    }


def _maker(name: str, summary: str, about: str) -> Callable[..., Order]:
    """Return the function of an order's name, which makes an `Order` from its options."""
    declared = _OPTIONS[name]
    signature = signature_of(declared, Order, by_place=True)

    def make(*positional: Any, **options: Any) -> Order:
        given = arguments(f"order='{name}'", declared, positional, options)
        order = _made(name, _besides_defaults(name, given, *_refined(declared, given)))
        return replace(order, text=_call(name, signature, positional, options))

    make.__name__ = make.__qualname__ = name
    make.__module__ = __name__
    make.__doc__ = document(summary, about, declared, "Order\n    For a solver's `order`.", {})
    make.__signature__ = signature  # type: ignore[attr-defined]
    return make


def _refined(declared: dict[str, Option], given: dict[str, Any]) -> set[str]:
    """Return the given options on which other given ones depend; they are kept with defaults."""
    return {declared[name].of for name in given} & given.keys()


def chosen(order: Any) -> Order:
    """Return the order of a solver's option: a name, an object or a permutation."""
    if isinstance(order, Order):
        return order
    if callable(order):
        name = getattr(order, "__name__", "")
        advice = f"call it, orders.{name}(...)" if name in __all__ else "a name is needed"
        raise TypeError(f"order is {order!r}: {advice}")
    if isinstance(order, str):
        return _PLAIN.get(order) or Order(order)
    if order is None or isinstance(order, (int, float)) or getattr(order, "ndim", 1) == 0:
        raise TypeError(
            f"order is {order!r}: a name, an object of contactsolve.orders or a permutation of the "
            f"contacts is needed"
        )
    return given(order)


def names() -> list[str]:
    """Return the names of all orders."""
    return list(_LISTED)


def options() -> dict[str, dict[str, Option]]:
    """Return each order's own options by name, with their defaults and ranges."""
    return {name: dict(own) for name, own in _OPTIONS.items()}


# Orders that modify others, or need arguments: only these functions make them.
_MADE: tuple[Callable[..., Order], ...] = (relaxed, subtasks, extreme)


@overload
def describe() -> dict[str, str]: ...
@overload
def describe(
    problem: Problem,
    order: Any = "auto",
    *,
    parts: int | str = "auto",
    rng: Any = None,
    method: str = "auto",
    threads: int | None = None,
    exact_threads: bool = False,
) -> Schedule: ...
def describe(
    problem: Problem | None = None,
    order: Any = "auto",
    *,
    parts: int | str = "auto",
    rng: Any = None,
    method: str = "auto",
    threads: int | None = None,
    exact_threads: bool = False,
) -> dict[str, str] | Schedule:
    """Return the summaries of all orders, or the schedule of one order for a problem.

    Parameters
    ----------
    problem
        A `Problem`; without one, all orders are listed.
    order, parts, rng, method
        As for `Solver`, but `parts` and `rng` are ignored if the order has no use for them. Nothing
        is packed or solved.
    threads, exact_threads
        Threads of ``colored(parallel=True)``, as for `Solver`. Only ``seconds`` depends on them.

    Returns
    -------
    dict or Schedule
        Without a problem, one line on each order by name.

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
        listed = {name: described["summary"] for name, described in _LISTED.items()}
        return {**listed, **{one.__name__: _line(one) for one in _MADE}}
    team = {
        "threads": 0 if threads is None else threads,
        "exact_threads": flag("exact_threads", exact_threads),
    }
    return schedule_of(problem, chosen(order), order, parts, rng, method, team)


def _line(function: Callable[..., Order]) -> str:
    """Return the first line of a function's docstring in the form of the library's summaries."""
    line = str(function.__doc__).partition("\n")[0].rstrip(".")
    return line[0].lower() + line[1:]


for _name, _description in _LISTED.items():
    if _name not in globals() and not keyword.iskeyword(_name):
        globals()[_name] = _maker(_name, _description["summary"], _description["about"] or "")
        __all__ += [_name]


def __getattr__(name: str) -> Callable[..., Order]:
    """Raise for unknown names; for type checkers, every name is a function of the C library."""
    raise missing(__name__, name, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
