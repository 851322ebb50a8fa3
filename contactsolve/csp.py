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

The networks whose messages hold data, ``"extreme"``, ``"factorized"`` and ``"naive"``, also run
with their processes on the ranks of a communicator, threads or processes under MPI:

>>> def work(comm):
...     return cs.csp.solve(problem, "naive", workers=3, comm=comm, rtol=1e-6).impulses
>>> all(np.array_equal(found, same.impulses) for found in cs.distributed.run(work, 2))
True
"""

from __future__ import annotations

import hashlib
import math
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core, orders, schemes
from ._channels import Alternation, Channel, Poisoned, run
from ._layout import Layout
from ._options import count
from ._specific_options import Named, Option, document, maker, options_of, taken
from ._suggestions import hint, missing
from .problem import Problem
from .result import Result
from .solver import Solver as _Solver
from .solver import Start, State

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
    own_order: bool  # whether the order is the network's own


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

# Options of a solver that may differ between ranks.
_OF_A_RANK = ("threads", "exact_threads", "max_setup_seconds")


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
    comm
        None: the processes are threads of this one. A communicator of `contactsolve.distributed`,
        or of mpi4py: the processes are on its ranks, and all ranks make a solver of the same
        problem and options, and call its methods, together.
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
        does not make, or options that it leaves without effect. With `comm`, on all ranks: a
        network whose messages are pointers; problems, options or vector kernels that differ.
    contactsolve.distributed.RankError
        Another rank has failed.

    Notes
    -----
    Processes begin and end with a run of sweeps: a new run follows each iterate that is recorded,
    checked, or at which the caller is asked; ``record=()`` and a large `check_every` make runs
    long. A solve raises `ValueError` where the build or the system has too few threads.

    With ``"factorized"`` and ``ahead`` above 0, a worker visits some pages before it knows
    whether the sweep before was accepted, so that iterates depend on the number of workers, and on
    where runs begin: after 16 sweeps, and after iterates that are recorded or checked.

    With `comm`, process p of P is on rank ``p R // P`` of R; the accumulator is process 0, then
    comes the dispatcher of ``"extreme"``, unless it is merged, and then the workers. The processes
    of a rank take turns on its thread. Pages hold the compressed changes of w, the word to a worker
    holds w of its bodies (S1 sections 6.2, 7.1). After each run of sweeps all ranks get the
    impulses of all workers, and judge them alike. Results are equal on all ranks, but for times,
    and have the bits of threads.

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
        comm: Any = None,
        **options: Any,
    ) -> None:
        if not isinstance(problem, Problem):
            raise _wrong_problem(problem)
        chosen = _chosen(network)
        name = chosen.name
        workers = count("workers", workers, 1, _MOST_WORKERS)
        _check_effect(name, options, page, unsafe_below)
        way = _Division(
            problem,
            workers,
            64 if page is None else count("page", page, 1),
            8 * workers if unsafe_below is None else count("unsafe_below", unsafe_below, 1),
            own_order="order" not in options,
        )
        needed = _NEEDS[name](way)
        if "order" in options:
            needed["parts"] = workers
        ranks = self._ranks = None if comm is None else _Ranks(comm, chosen)
        if ranks is not None:
            options = ranks.with_threads(options)
        self.asked: dict[str, Any] = {**needed, **options, "islands": False}
        self._network, self._workers = chosen, workers
        if ranks is None:
            self._make(way)
            self._core.connect(name, workers, chosen.options())
            return
        # What the caller has given comes first, because the rest follows from it.
        own = {"network": str(chosen), "workers": workers}
        ranks.require_equal({**own, "page": way.page, "unsafe_below": way.unsafe_below})
        ranks.compare(problem)
        ranks.together(self._make, way)
        asked = {key: repr(value) for key, value in self.asked.items() if key not in _OF_A_RANK}
        ranks.require_equal({**asked, "kernel": self.info["kernel"]})
        ranks.trying(lambda: self._core.connect(name, workers, chosen.options(), ranks.transport))

    def _make(self, way: _Division) -> None:
        """Make the solver, without its network."""
        try:
            super().__init__(way.problem, **self.asked)
        except ValueError as error:
            name = self._network.name
            if not way.own_order or name not in _OF_UNSAFE or "subtasks" not in str(error):
                raise
            raise ValueError(
                f"unsafe_below is {way.unsafe_below}: no colour has so many contacts, which leaves "
                f"nothing for the rigid workers of network '{name}': give fewer workers, or a "
                f"lower unsafe_below"
            ) from None

    def solve(
        self,
        b: Any = None,
        mu: Any = None,
        initial: Any = None,
        *,
        callback: Callable[[State], object] | None = None,
        progress: bool | float = False,
        on_device: bool = False,
    ) -> Result:
        """Solve the problem, as `contactsolve.Solver.solve`. With `comm`, all ranks call this.

        Parameters
        ----------
        b, mu, initial
            As for `contactsolve.Solver.solve`; equal on all ranks.
        callback, progress
            As for `contactsolve.Solver.solve`, on any rank: `StopIteration` on one of them ends the
            solve on all.
        on_device
            Refused: networks have no devices.

        Returns
        -------
        Result
            Equal on all ranks, but for times.

        Raises
        ------
        ValueError, TypeError, RuntimeError, KeyboardInterrupt
            As for `contactsolve.Solver.solve`; values that differ between ranks.
        contactsolve.distributed.RankError
            Another rank has failed.
        TimeoutError
            Another rank does not answer.
        """
        if on_device:
            raise ValueError(f"on_device is {on_device!r}: networks have no devices")
        given: dict[str, Any] = {"callback": callback, "progress": progress}
        make = super().solve
        if self._ranks is None:
            return make(b, mu, initial, **given)
        return self._ranks.trying(lambda: make(b, mu, initial, **given))

    def _start(self, b: Any, mu: Any, initial: Any, callback: Any) -> Start:
        if self._ranks is None:
            return super()._start(b, mu, initial, callback)
        start: Start = self._ranks.together(super()._start, b, mu, initial, callback)
        self._ranks.compare(self.problem)
        given = {"b": start.b, "mu": start.parameters}
        self._ranks.require_same({**given, "initial": (start.impulses, start.index_set)})
        return start

    @property
    def info(self) -> dict[str, Any]:
        """That of `contactsolve.Solver`; and what has passed through the channels so far.

        ``"network"`` and ``"workers"``; ``"processes"`` of a run; ``"runs"`` and the ``"sweeps"``
        that they made; ``"messages"`` and their ``"message_bytes"``; ``"sleeps"``, the waits at
        channels that outlasted a bounded number of looks.

        With `comm`, where messages are those of all ranks: ``"ranks"``, their number;
        ``"process_ranks"``, the rank of each process; ``"messages_away"`` and ``"bytes_away"``,
        those between two ranks. Without it these are not there.
        """
        counts = dict(self._core.network_counts() or {})
        counts["message_bytes"] = counts.pop("bytes", 0)
        own: dict[str, Any] = {"network": str(self._network), "workers": self._workers}
        if self._ranks is None:
            for name in ("messages_away", "bytes_away"):
                counts.pop(name, None)
        else:
            size, processes = self._ranks.comm.size, counts.get("processes", 0)
            own["ranks"] = size
            own["process_ranks"] = [p * size // processes for p in range(processes)]
        return {**super().info, **own, **counts}


class _Ranks:
    """The ranks on which the processes of a network are."""

    def __init__(self, comm: Any, network: Network) -> None:
        # Problems on ranks need this package, which has all that follows.
        from .distributed import _collective, _mpi
        from .distributed import solver as on_ranks

        own = dict(network.settings)
        if "channels" in own:
            raise ValueError(
                f"channels is {own['channels']!r}: no effect on ranks, where each worker has "
                f"channels of its own"
            )
        self.comm = _mpi.communicator(comm)
        self.transport = self.comm.transport
        self._collective, self._on_ranks = _collective, on_ranks
        self._compared = -1

    def with_threads(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return the options; without a number of threads, ranks divide the cores."""
        return self._on_ranks._with_threads(self.comm, options)

    def together(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a function; an error of any rank is one of all."""
        return self._collective.together(self.comm, function, *arguments)

    def require_equal(self, what: dict[str, Any]) -> None:
        """Raise ValueError on all ranks if a value differs between them."""
        self._collective.require_equal(self.comm, what)

    def trying(self, function: Callable[[], Any]) -> Any:
        """Call a function that sends messages; the failure of another rank is a `RankError`."""
        return self._on_ranks._trying(self.comm, function)

    def compare(self, problem: Problem) -> None:
        """Raise ValueError on all ranks if their problems differ."""
        changed = self._compared != problem.updates
        if not any(self.comm.allgather(changed)):
            return
        self.require_same(_values_of(problem), "problem")
        self._compared = problem.updates

    def require_same(self, values: dict[str, Any], whole: str = "") -> None:
        """Raise ValueError on all ranks if arrays differ between them, with their names.

        The names are those of parts of `whole`, or stand by themselves.
        """
        first, *others = self.comm.allgather({name: _digest(v) for name, v in values.items()})
        for rank, other in enumerate(others, 1):
            names = [name for name in {**first, **other} if first.get(name) != other.get(name)]
            if names:
                what, where = (whole, f" (in {', '.join(names)})") if whole else (names[0], "")
                raise ValueError(
                    f"{what} differs between rank 0 and rank {rank}{where}: all ranks need the same"
                )


def _digest(values: Any) -> bytes:
    """Return a digest of these values: equal ones have the same."""
    return hashlib.blake2b(pickle.dumps(values, protocol=5), digest_size=16).digest()


def _values_of(problem: Problem) -> dict[str, Any]:
    """Return what a problem is made of, by the names of the arguments of `Problem`."""
    _, matrix, values = problem.__getstate__()
    if matrix is not None:
        entries, operator, compliance = matrix
        b, rows, _ = values
        shared = {"A": (entries, operator), "compliance": compliance, "b": b, "rows": rows}
        return {**shared, **_parameters_of(problem._groups[0], "")}
    inverse_masses, groups = values
    named: dict[str, Any] = {"Minv": inverse_masses}
    for g, (jacobian, bodies, b, _, compliance) in enumerate(groups):
        at = f"[{g}]" if problem.grouped else ""
        own = {"J": jacobian, "bodies": bodies, "b": b, "compliance": compliance}
        named |= {f"{name}{at}": value for name, value in own.items()}
        named |= _parameters_of(problem._groups[g], at)
    return named


def _parameters_of(group: Layout, at: str) -> dict[str, Any]:
    """Return the name of the set of a group, and its parameters for each contact."""
    named: dict[str, Any] = {f"sets{at}": group.set.name}
    for one in group.set.values:
        named[f"{one.name}{at}"] = np.ascontiguousarray(one.spread(*group.shape))
    return named


def _wrong_problem(given: Any) -> TypeError:
    """Return the error for a problem of another type."""
    kind = type(given)
    if kind.__name__ == "Problem" and kind.__module__.startswith("contactsolve.distributed"):
        return TypeError(
            "problem is a distributed.Problem: networks need the whole contactsolve.Problem on "
            "each rank, as problem.gather() returns it; distributed.solve takes this one"
        )
    return TypeError(f"problem is {kind.__name__}: Solver takes one Problem")


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
        As for `Solver` of this module, `comm` among them; `initial`, `callback` and `progress` as
        for its `solve`.

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
