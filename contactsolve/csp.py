"""Networks of communicating processes: S1's parallel designs (its chapters 5 to 7).

A network makes the sweeps of a solver by processes, each on a thread of its own, which exchange
messages over channels. Its impulses are those of the same order without a network, to the last bit:

>>> import numpy as np
>>> import contactsolve as cs
>>> problem = cs.scenarios.ball_grid(4)
>>> result = cs.csp.solve(problem, "naive", workers=3, rtol=1e-6)
>>> same = cs.solve(problem, method="gauss_seidel", order="ranges", parts=3, rtol=1e-6,
...                 scheme="factorized", islands=False)
>>> np.array_equal(result.impulses, same.impulses)
True

For each network this module has a function of its name, made from the C library's description,
which takes the network's own options: ``csp.factorized(channels="apart")``. Networks of one's own,
in Python, are made of `Channel`, `Alternation` and `run`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import _core, orders, schemes
from ._channels import Alternation, Channel, Poisoned, run
from ._options import count
from ._specific_options import Named, Option, document, maker, options_of, taken
from ._suggestions import hint, missing
from .problem import Problem
from .result import Result
from .solver import Solver as _Solver

__all__ = [
    "Alternation",
    "Channel",
    "Network",
    "Poisoned",
    "Solver",
    "describe",
    "names",
    "options",
    "run",
    "solve",
]

_LISTED = {described["name"]: described for described in _core.networks()}
_OPTIONS = {name: options_of(described["options"]) for name, described in _LISTED.items()}

_MOST_WORKERS = 100


@dataclass(frozen=True, repr=False)
class Network(Named):
    """A network with its options; made by the function of its name in this module."""

    def options(self) -> dict[str, float | str]:
        """Return the options as the C library takes them: numbers or words by name."""
        return taken(_OPTIONS.get(self.name, {}), dict(self.settings)) if self.settings else {}


def names() -> list[str]:
    """Return the names of all networks."""
    return list(_LISTED)


def describe() -> dict[str, str]:
    """Return one line on each, by name."""
    return {name: described["summary"] for name, described in _LISTED.items()}


def options() -> dict[str, dict[str, Option]]:
    """Return each network's own options by name, with their defaults and ranges."""
    return {name: dict(own) for name, own in _OPTIONS.items()}


# ---- what each network needs of a solver --------------------------------------------------------


@dataclass(frozen=True)
class _Division:
    """How the contacts are divided among the workers."""

    problem: Problem
    workers: int
    page: int
    unsafe_below: int


def _of_extreme(way: _Division) -> dict[str, Any]:
    return _jacobi(orders.extreme(), way)


def _of_factorized(way: _Division) -> dict[str, Any]:
    # With one part, the pages do not depend on the number of workers, and nor do the bits.
    pages = max(1, math.ceil(way.problem.contacts / way.page))
    return {**_jacobi(orders.subtasks(count=pages, weighted=False), way), "parts": 1}


def _jacobi(order: orders.Order, way: _Division) -> dict[str, Any]:
    scheme = schemes.factorized(velocities="accumulate")
    return {"method": "jacobi", "scheme": scheme, "order": order, "parts": way.workers}


def _of_iteration_matrix(way: _Division) -> dict[str, Any]:
    order = orders.subtasks(count=1)
    return {"method": "jacobi", "scheme": "iteration_matrix", "order": order, "parts": way.workers}


def _of_naive(way: _Division) -> dict[str, Any]:
    return _gauss_seidel(orders.ranges(), "factorized", way)


def _of_rigid(way: _Division) -> dict[str, Any]:
    order = orders.subtasks(orders.colored(), 1, weighted=False)
    return _gauss_seidel(order, "factorized", way)


def _of_relaxed(way: _Division) -> dict[str, Any]:
    order = orders.relaxed(way.unsafe_below, unsafe="ranges")
    return _gauss_seidel(orders.subtasks(order, 1, weighted=False), "factorized", way)


def _of_relaxed_iteration_matrix(way: _Division) -> dict[str, Any]:
    order = orders.subtasks(orders.relaxed(way.unsafe_below), 1)
    return _gauss_seidel(order, "iteration_matrix", way)


def _gauss_seidel(order: orders.Order, scheme: str, way: _Division) -> dict[str, Any]:
    return {"method": "gauss_seidel", "scheme": scheme, "order": order, "parts": way.workers}


_NEEDS: dict[str, Callable[[_Division], dict[str, Any]]] = {
    "extreme": _of_extreme,
    "factorized": _of_factorized,
    "iteration_matrix": _of_iteration_matrix,
    "naive": _of_naive,
    "rigid": _of_rigid,
    "relaxed": _of_relaxed,
    "relaxed_iteration_matrix": _of_relaxed_iteration_matrix,
}

# Networks whose solvers have the other options.
_OF_PAGE = ("factorized",)
_OF_UNSAFE = ("relaxed", "relaxed_iteration_matrix")

# What a network decides of its solver.
_DECIDED = ("method", "islands", "device")


# ---- solvers ------------------------------------------------------------------------------------


class Solver(_Solver):
    """A solver whose sweeps a network of processes makes.

    Parameters
    ----------
    problem
        A `Problem`.
    network
        A name, or an object with options: ``csp.naive(channels="apart")``.
    workers
        Number of workers, at most 100. The accumulator is a process of its own, and the networks
        with an unsafe stage have as many relaxed workers as rigid ones. There may be more processes
        than processors.
    page
        Contacts of a page, of which ``"factorized"`` sends the changes at once; None: 64. S1 finds
        50 to 100 best (section 6.2.1).
    unsafe_below
        Colours with fewer contacts are merged into the unsafe stage of ``"relaxed"`` and
        ``"relaxed_iteration_matrix"``; None: 8 for each worker. S1 takes a multiple of the number
        of processors (section 4.3.1).
    **options
        Options of `contactsolve.Solver`. A network decides `method`; it takes another `order`,
        `scheme` and `parts` if it makes such sweeps.

    Attributes
    ----------
    asked
        Options of a `contactsolve.Solver` that makes the same sweeps without a network.

    Raises
    ------
    ValueError, TypeError
        As `contactsolve.Solver`; an unknown network, options out of range, sweeps that the network
        does not make, or options that it leaves without effect.

    Notes
    -----
    Processes begin and end with a run of sweeps: a new run follows each iterate that is recorded,
    checked, or at which the caller is asked; ``record=()`` and a large `check_every` make runs
    long. A solve raises `ValueError` where the build or the system has too few threads.

    With ``"factorized"`` and ``ahead`` above 0, a worker visits some pages before it knows
    whether the sweep before was accepted, so that iterates depend on the number of workers, and on
    where runs begin: after 16 sweeps, and after iterates that are recorded or checked.

    Examples
    --------
    >>> import contactsolve as cs
    >>> problem = cs.scenarios.ball_grid(4)
    >>> solver = cs.csp.Solver(problem, cs.csp.factorized(ending="poison"), workers=2, rtol=1e-6)
    >>> solver.solve().converged
    True
    >>> solver.info["network"], solver.info["processes"]
    ('factorized(ending=poison)', 3)
    """

    def __init__(
        self,
        problem: Problem,
        network: str | Network,
        *,
        workers: int = 8,
        page: int | None = None,
        unsafe_below: int | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(problem, Problem):
            raise TypeError(f"problem is {type(problem).__name__}: Solver takes one Problem")
        chosen = _chosen(network)
        name = chosen.name
        workers = count("workers", workers, 1, _MOST_WORKERS)
        _check_effect(name, options, page, unsafe_below)
        way = _Division(
            problem,
            workers,
            64 if page is None else count("page", page, 1),
            8 * workers if unsafe_below is None else count("unsafe_below", unsafe_below, 1),
        )
        needed = _NEEDS[name](way)
        if "order" in options:
            needed["parts"] = workers
        self.asked: dict[str, Any] = {**needed, **options, "islands": False}
        try:
            super().__init__(problem, **self.asked)
        except ValueError as error:
            if "order" in options or name not in _OF_UNSAFE or "subtasks" not in str(error):
                raise
            raise ValueError(
                f"unsafe_below is {way.unsafe_below}: no colour has so many contacts, which leaves "
                f"nothing for the rigid workers of network '{name}': give fewer workers, or a "
                f"lower unsafe_below"
            ) from None
        self._network, self._workers = chosen, workers
        self._core.connect(name, workers, chosen.options())

    @property
    def info(self) -> dict[str, Any]:
        """That of `contactsolve.Solver`; and what has passed through the channels so far.

        ``"network"`` and ``"workers"``; ``"processes"`` of a run; ``"runs"`` and the ``"sweeps"``
        that they made; ``"messages"`` and their ``"message_bytes"``; ``"sleeps"``, the waits at
        channels that outlasted a bounded number of looks.
        """
        counts = self._core.network_counts() or {}
        counts["message_bytes"] = counts.pop("bytes", 0)
        own = {"network": str(self._network), "workers": self._workers}
        return {**super().info, **own, **counts}


def _check_effect(
    network: str, options: Mapping[str, Any], page: int | None, unsafe_below: int | None
) -> None:
    """Refuse what the network decides, and what it leaves without effect."""
    for name in _DECIDED:
        if name in options:
            raise TypeError(f"{name} is given, but network '{network}' decides it")
    for name, value, takers in (
        ("page", page, _OF_PAGE),
        ("unsafe_below", unsafe_below, _OF_UNSAFE),
    ):
        if value is not None and (network not in takers or "order" in options):
            rest = " with an order of its own" if network in takers else ""
            raise ValueError(f"{name} is {value!r}: no effect on network '{network}'{rest}")


def solve(problem: Problem, network: str | Network, **options: Any) -> Result:
    """Solve a problem by a network of processes.

    Parameters
    ----------
    problem
        A `Problem`.
    network, **options
        As for `Solver` of this module; `initial`, `callback` and `progress` as for its `solve`.

    Returns
    -------
    Result

    Raises
    ------
    ValueError, TypeError
        As for `Solver`; the build or the system has too few threads.

    Examples
    --------
    >>> import contactsolve as cs
    >>> cs.csp.solve(cs.scenarios.ball_grid(4), "rigid", workers=2, rtol=1e-6).converged
    True
    """
    given = {name: options.pop(name) for name in _OF_SOLVE if name in options}
    return Solver(problem, network, **options).solve(**given)


_OF_SOLVE = ("initial", "callback", "progress")


def _chosen(network: Any) -> Network:
    """Return the network that a name or an object stands for."""
    if isinstance(network, Network):
        return network
    if not isinstance(network, str):
        name = getattr(network, "__name__", "")
        advice = f"call it, csp.{name}(...)" if name in _LISTED else "a name is needed"
        raise TypeError(f"network is {network!r}: {advice}")
    if network not in _LISTED:
        known = ", ".join(_LISTED)
        raise ValueError(f"network: {network!r} is unknown; known: {known}{hint(network, _LISTED)}")
    return Network(network)


def _maker(name: str, described: Mapping[str, Any]) -> Callable[..., Network]:
    """Return the function of a network's name, which makes a `Network` from its options."""
    make = maker("network", name, _OPTIONS[name], Network, _core.check_network)
    make.__module__ = __name__
    returns = "Network\n    For `Solver` and `solve` of this module."
    about = described["about"] or ""
    make.__doc__ = document(described["summary"], about, _OPTIONS[name], returns, {})
    return make


for _name, _described in _LISTED.items():
    globals()[_name] = _maker(_name, _described)
    __all__ += [_name]


def __getattr__(name: str) -> Callable[..., Network]:
    """Raise for unknown names; for type checkers, every name is a function of the C library."""
    raise missing(__name__, name, __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
