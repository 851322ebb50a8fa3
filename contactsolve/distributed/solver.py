"""Solving one problem on many ranks, with the bits of one process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Self, TypeVar, Unpack

import numpy as np

from contactsolve import _core, methods
from contactsolve import solver as one_process
from contactsolve._activity import is_activity
from contactsolve._devices import load
from contactsolve._options import count, flag, most_seconds, number
from contactsolve._result_values import ResultValues
from contactsolve.distributed._collective import (
    owner_of_part,
    require_equal,
    together,
    together_alike,
)
from contactsolve.distributed._comm import Communicator
from contactsolve.distributed._communicators import alone
from contactsolve.distributed._copies import compare_copies, require_equal_copies
from contactsolve.distributed._keeper import Keeper, alike_of, arguments_of
from contactsolve.distributed._mpi import communicator
from contactsolve.distributed._plan import plan_of
from contactsolve.distributed._ranges import rows_by_group
from contactsolve.distributed._share import Share
from contactsolve.distributed._values import RankValues
from contactsolve.distributed.problem import Problem
from contactsolve.orders import Order, chosen
from contactsolve.result import History, Lazy
from contactsolve.result import Result as LocalResult
from contactsolve.solver import Options, State

__all__ = ["Result", "Solver", "solve"]

T = TypeVar("T")

# Options that need the whole problem in one place, or that this solver sets itself.
_NOT_HERE = {
    "parts": "the problem has its parts: give them to distributed.Problem",
    "rng": "no order for ranks is random",
    "islands": "islands are never solved separately on ranks, as with islands=False",
}
# Options that may differ between ranks.
_OF_A_RANK = ("threads", "exact_threads", "max_setup_seconds")


class Solver:
    """A problem on many ranks packed for one method, which can be solved any number of times.

    All ranks make a solver, and call its methods, together, with equal options. The impulses have
    the bits that ``contactsolve.solve`` computes on one process, with the same order and parts and
    ``islands=False``, whatever the number of ranks and threads: the vector kernels are those that
    all ranks can run.

    Parameters
    ----------
    problem
        A `contactsolve.distributed.Problem`.
    method
        ``"jacobi"``, ``"gauss_seidel"``, ``"symmetric_gauss_seidel"``, ``"nesterov"``,
        ``"nncg"``, ``"nesterov_nncg"`` (both in turn), ``"momentum"``, ``"anderson"``,
        ``"chebyshev"``, or with options as ``methods.nncg(over="jacobi")``. Others are refused.
    verify
        Whether each solve ends with a comparison of all copies of the impulses of contacts that
        several ranks have, bit by bit.
    **options
        As for `contactsolve.Solver`, with the scheme ``"factorized"``. The order is
        ``"partition"``, the interiors of the parts and then the contacts between them, or
        ``"colored"``, by name or as an object of `contactsolve.orders`; by default the former.
        With a `device`, the same on all ranks, each rank has a queue of its own there; methods are
        ``"gauss_seidel"``, ``"symmetric_gauss_seidel"`` and ``"jacobi"``, borders in colours.

    Attributes
    ----------
    problem
        The problem.

    Raises
    ------
    ValueError, TypeError
        On all ranks: unknown options, and those that ranks do not have.
    contactsolve.distributed.RankError
        Another rank has failed.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        method: str | methods.Choice = "gauss_seidel",
        verify: bool = False,
        **options: Unpack[Options],
    ) -> None:
        if not isinstance(problem, Problem):
            raise TypeError(
                f"problem is {type(problem).__name__}: a distributed.Problem is needed, which "
                f"distributed.scatter(problem) makes of a contactsolve.Problem"
            )
        self.problem, self._verify = problem, bool(verify)
        comm, share, given = problem.comm, problem.share, {**options}
        order: Any = given.pop("order", "partition")
        if given.get("islands") is False:  # as on ranks
            del given["islands"]
        choice, visits = together(comm, _checked, method, order, given)
        alike = {name: value for name, value in given.items() if name not in _OF_A_RANK}
        described = {"device": repr("cpu")}
        described |= {name: repr(value) for name, value in alike.items()}
        described |= {"method": repr(choice), "order": repr(visits), "verify": repr(verify)}
        require_equal(comm, described)
        plan = plan_of(share, visits, simultaneous=_is_simultaneous(choice))
        own = {
            "parts": share.parts,
            "all_bodies": share.all_bodies,
            "all_contacts": share.all_contacts,
            "shared_islands": share.shared_islands,
            "stages": len(plan.kind),
            "colors": plan.colors,
            "weight": plan.weight,
            "splits_masses": plan.splits_masses,
            "body": share.body,
            "contact": share.contact,
            "label": share.label,
            "part": plan.part,
            "island": share.island,
            "kind": plan.kind,
            "start": plan.start,
            "block": plan.block,
            "cut": plan.cut,
            "order": plan.order,
        }
        self._visitor = owner_of_part(plan.part, share.parts, comm.size)
        self._mine = self._visitor == comm.rank
        self._named = {"method": choice, "order": visits, "structure": share.structure}
        transport = _transport_of(comm)
        self._solver = _trying(
            comm,
            lambda: _OnRanks(
                share, self._visitor, choice, own, transport, _with_threads(comm, given)
            ),
        )

    @property
    def info(self) -> dict[str, Any]:
        """As of `contactsolve.Solver`; ``"ranks"`` has bodies, contacts and messages of this rank.

        ``info["ranks"]`` counts bodies that the rank owns and its ghosts, contacts that it visits
        and those that belong to its parts, neighbours, and messages and bytes that it sends in one
        sweep to update ghosts.
        """
        return self._solver.info

    def solve(
        self,
        b: Any = None,
        mu: Any = None,
        initial: Any = None,
        *,
        callback: Callable[[State], object] | None = None,
        checkpoint: str | PathLike[str] | None = None,
        checkpoint_every: int | None = None,
        checkpoint_seconds: float | None = None,
        resume: str | PathLike[str] | None = None,
    ) -> Result:
        """Solve the problem. All ranks call this together.

        Parameters
        ----------
        b, mu, initial
            As for `contactsolve.Solver.solve`, for the contacts of ``problem.share.problem``, whose
            rows `contactsolve.distributed.Problem.share_rows` takes from an array of all contacts;
            or a `Result` as `initial`. Copies of a contact on several ranks have equal values. Each
            of them is given on all ranks or on none.
        callback
            Called with a `State` of the rank's contacts after every sweep. `StopIteration` on any
            rank ends the solve on all of them.
        checkpoint
            A file to which the state of the solve is written every now and then, with one file for
            each rank beside it. It takes its name when all of them are complete: until then, and
            after a failure, the former checkpoint remains. The last iteration has none. All ranks
            give this and the next three arguments alike.
        checkpoint_every
            Iterations from one checkpoint to the next.
        checkpoint_seconds
            Seconds from one checkpoint to the next; 60 where neither is given.
        resume
            A checkpoint to go on from, with any number of ranks and threads: impulses and history
            are those of a solve that was not interrupted, but for its times. The problem, its
            labels, b, mu and all options that change iterates have to be those of that solve;
            `max_iterations` and `max_seconds` may be others.

        Returns
        -------
        Result

        Raises
        ------
        ValueError, TypeError
            On all ranks, with the rank: as for `contactsolve.Solver.solve`; different values of one
            contact on two ranks, for which the message has the contact; a checkpoint of another
            problem, or of other options.
        OSError
            On all ranks: a checkpoint could not be written, which ends the solve, or `resume` does
            not exist.
        ImportError
            On all ranks: checkpoints need h5py.
        contactsolve.distributed.RankError
            Another rank has failed.
        ArithmeticError
            On all ranks, with `verify`: two ranks have different impulses of one contact.
        TimeoutError
            Another rank does not answer.
        KeyboardInterrupt
            After Ctrl-C.
        """
        if isinstance(initial, Result):
            initial = initial._local.impulses
        self._solver.keeper = self._keeper(
            checkpoint, checkpoint_every, checkpoint_seconds, resume, starts=initial is not None
        )
        try:
            result = _trying(
                self.problem.comm, lambda: self._solver.solve(b, mu, initial, callback=callback)
            )
            if self._solver.keeper is not None and self._solver.keeper.failure is not None:
                raise self._solver.keeper.failure
        finally:
            self._solver.keeper = None
        if self._verify:
            compare_copies(self.problem.share, self._visitor, result._found.impulses())
        return Result.of(self, result)

    def _keeper(self, *arguments: Any, starts: bool) -> Keeper | None:
        solver = self._solver
        if arguments == (None,) * 4:
            return None
        device = solver._options["device"]
        if device != "cpu":
            raise ValueError(
                f"checkpoints are not available with device={device!r}: it gives no velocities out"
            )
        further = {
            **self._named,
            "record": solver._described.columns,
            "kernel": solver.info["kernel"],
        }
        alike = alike_of(solver._options, further)
        limit = solver._options["max_iterations"]
        return Keeper(self.problem.share, alike, limit, *arguments, starts=starts)


def solve(
    problem: Problem,
    *,
    method: str | methods.Choice = "gauss_seidel",
    verify: bool = False,
    initial: Any = None,
    callback: Callable[[State], object] | None = None,
    checkpoint: str | PathLike[str] | None = None,
    checkpoint_every: int | None = None,
    checkpoint_seconds: float | None = None,
    resume: str | PathLike[str] | None = None,
    **options: Unpack[Options],
) -> Result:
    """Solve a problem that several ranks have together. All ranks call this.

    Parameters
    ----------
    problem, method, verify, **options
        As for `Solver`.
    initial, callback, checkpoint, checkpoint_every, checkpoint_seconds, resume
        As for `Solver.solve`.

    Returns
    -------
    Result

    Examples
    --------
    >>> import contactsolve as cs
    >>> from contactsolve import distributed
    >>> grid = cs.scenarios.ball_grid(3)
    >>> problem = distributed.Problem(
    ...     grid.J, grid.Minv, grid.b, grid.mu, bodies=grid.bodies, parts=4
    ... )
    >>> distributed.solve(problem).status
    'converged'
    """
    solver = Solver(problem, method=method, verify=verify, **options)
    return solver.solve(
        initial=initial,
        callback=callback,
        checkpoint=checkpoint,
        checkpoint_every=checkpoint_every,
        checkpoint_seconds=checkpoint_seconds,
        resume=resume,
    )


@dataclass(repr=False, eq=False, slots=True)
class Result(Lazy):
    """The answer of a solve on many ranks.

    A rank may read any attribute alone. Those that no solve has to compute are computed when they
    are first read, as in `contactsolve.Result`.

    Attributes
    ----------
    impulses, residual_velocities
        λ and ξ of the contacts that belong to the rank's parts, ``(K, m)``, in the sequence of
        ``problem.contact_ids`` for orders other than a checkerboard; a list for grouped problems
        [N s], [m/s].
    contact_ids
        Numbers of these contacts in the whole problem, ``(K,)``, through all groups.
    history
        One row per recorded iteration, the same on all ranks but for the column ``"time"``.
    converged, status, message, iterations, natural_map, natural_map_scaled, worst_contact
        As in `contactsolve.Result`, the same on all ranks; the worst contact by its number in the
        whole problem.
    time
        Time of the solve on this rank [s].
    info
        As in `contactsolve.Result`; ``info["ranks"]`` as of `Solver.info`. A certificate has the
        rows of ``impulses``.
    problem
        The problem.
    """

    impulses: Any
    residual_velocities: Any
    contact_ids: np.ndarray
    history: History
    converged: bool
    status: str
    message: str
    iterations: int
    time: float
    natural_map: float
    natural_map_scaled: float
    worst_contact: int
    info: dict[str, Any]
    problem: Problem = field(repr=False)
    _local: LocalResult = field(repr=False)  # of the rank's share

    @classmethod
    def of(cls, solver: Solver, local: LocalResult) -> Self:
        """Return the result of a rank, with the contacts that belong to it."""
        result = cls.__new__(cls)
        result.problem, result._local = solver.problem, local
        ranks = solver._solver._core.ranks()
        result._found = _OwnValues(solver.problem.share, solver._mine, local._found, ranks)
        return result

    def gather(self, root: int | None = None) -> Any:
        """Return λ of all contacts; all ranks call this together.

        Parameters
        ----------
        root
            The rank that gets them; the others get None. Default: all ranks.

        Returns
        -------
        np.ndarray, list or None
            ``(K, m)`` by id, for each group if there are groups [N s].
        """
        return self.problem.gather_rows(self._local.impulses, root)

    def write(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the result and its problem to HDF5 files, one for each rank. All ranks call this.

        `contactsolve.load_result` reads them on one process, and `contactsolve.distributed.read`
        the problem on any number of ranks.

        Parameters
        ----------
        path, overwrite
            As for `contactsolve.distributed.Problem.save`.

        Raises
        ------
        FileExistsError, FileNotFoundError, ImportError
            On all ranks, as for `contactsolve.Result.save`.
        """
        from contactsolve.distributed._files import save_result

        save_result(
            self.problem.share,
            path,
            self.problem.name,
            self._local,
            self.info,
            overwrite=overwrite,
        )

    def __repr__(self) -> str:
        return (
            f"distributed.Result({self.status} after {self.iterations} iterations, natural map "
            f"{self.natural_map:.2e} N s, rank {self.problem.comm.rank} of "
            f"{self.problem.comm.size})"
        )


# ---- the solver of one rank ---------------------------------------------------------------------


class _OnRanks(one_process.Solver):
    """The solver of a rank's share."""

    def __init__(
        self,
        share: Share,
        visitor: np.ndarray,
        method: methods.Choice,
        described: dict[str, Any],
        transport: _core.Transport,
        options: dict[str, Any],
    ) -> None:
        self._rank = {"share": described, "transport": transport}
        self._share, self._visitor = share, visitor
        self.keeper: Keeper | None = None
        options.setdefault("scheme", "factorized")
        super().__init__(share.problem, method=method, order="natural", islands=False, **options)

    def _of_ranks(self) -> dict[str, Any]:
        return self._rank

    def _for_solve(self, b: np.ndarray | None, parameters: np.ndarray | None) -> tuple[Any, ...]:
        return () if self.keeper is None else (self.keeper.begin(b, parameters),)

    def _start(self, b: Any, mu: Any, initial: Any, callback: Any) -> one_process.Start:
        comm, given = self._share.comm, {"b": b, "mu": mu, "initial": initial}
        alike = {name: _presence(value) for name, value in given.items()}
        alike |= arguments_of(self.keeper)
        start = together_alike(comm, alike, self._own_start, b, mu, initial, callback)
        if comm.size > 1:
            self._compare_copies(start)
        return start

    def _own_start(self, b: Any, mu: Any, initial: Any, callback: Any) -> one_process.Start:
        """Return the start of this rank; the error of a wrong shape tells how to get rows."""
        try:
            return super()._start(b, mu, initial, callback)
        except ValueError as error:
            if "has shape" not in str(error):
                raise
            raise ValueError(
                f"{error}, for the contacts of problem.share.problem: problem.share_rows(values) "
                f"takes them from an array of all contacts"
            ) from None

    def _compare_copies(self, start: one_process.Start) -> None:
        """Raise on all ranks if ranks give different values of one contact."""
        groups, share = self.problem._groups, self._share
        rows = [layout.shape for layout in groups]
        widths = [sum(kind.widths) for kind in share.structure.blocks]
        of_sets = [(layout.contacts, q) for layout, q in zip(groups, widths, strict=True)]
        for name, values, shapes in (
            ("b", start.b, rows),
            ("mu", start.parameters, of_sets),
            ("initial", start.impulses, rows),
        ):
            if values is not None:
                by_group = rows_by_group(values, shapes)
                require_equal_copies(share, self._visitor, name, by_group)

    def _start_of(self, initial: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
        if is_activity(initial):
            raise TypeError("initial: impulses are needed on ranks, not states of contacts")
        return super()._start_of(initial)

    def _values_of(self, answer: _core.Answer, started: bool) -> ResultValues:
        firsts = self._share.contact_first
        return RankValues(answer, self.problem, self._described, started, firsts)

    @property
    def info(self) -> dict[str, Any]:
        return {**self._described.info, "ranks": self._core.ranks()}


def _presence(value: Any) -> str:
    return "not given" if value is None else "given here"


class _OwnValues:
    """The attributes of a `Result`, for the contacts that belong to a rank."""

    __slots__ = ("_mine", "_ranks", "_share", "_values")

    # Those that a rank has from the result of its share.
    _SAME = (
        "history",
        "converged",
        "status",
        "message",
        "iterations",
        "time",
        "natural_map",
        "natural_map_scaled",
        "worst_contact",
    )

    def __init__(
        self, share: Share, mine: np.ndarray, values: ResultValues, ranks: dict[str, int] | None
    ) -> None:
        self._share, self._mine, self._values, self._ranks = share, mine, values, ranks

    def __getattr__(self, name: str) -> Any:
        if name in self._SAME:
            return getattr(self._values, name)
        raise AttributeError(name)

    def impulses(self) -> Any:
        return _own(self._share, self._values.impulses(), self._mine)

    def residual_velocities(self) -> Any:
        return _own(self._share, self._values.residual_velocities(), self._mine)

    def contact_ids(self) -> np.ndarray:
        return self._share.contact[self._mine]

    def info(self) -> dict[str, Any]:
        """Return the info of a rank; of a certificate, that of the contacts that belong to it."""
        info = {**self._values.info(), "ranks": self._ranks}
        if "certificate" in info:
            info["certificate"] = _own(self._share, info["certificate"], self._mine)
            theirs = np.array(info["certificate_contacts"], np.int64)
            theirs = self._share.contact[theirs[self._mine[theirs]]]
            info["certificate_contacts"] = theirs.tolist()
        return info


def _own(share: Any, rows: Any, mine: np.ndarray) -> Any:
    """Return the rows of the contacts that belong to the rank."""
    if not share.structure.grouped:
        return rows[mine]
    ends = np.cumsum([0, *(len(group) for group in rows)])
    return [group[mine[first:end]] for group, first, end in zip(rows, ends, ends[1:], strict=False)]


def _with_threads(comm: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options; without a number of threads, ranks divide the cores of their machine."""
    given: dict[str, Any] = {**options}
    if comm.size > 1 and isinstance(comm, Communicator) and given.get("threads") is None:
        given["threads"] = min(comm.cores, _core.build()["threads"])
    return given


def _trying(comm: Any, function: Callable[[], T]) -> T:
    """Call a function that sends messages; the failure of another rank becomes a `RankError`."""
    return comm._try(function) if isinstance(comm, Communicator) else function()


def _transport_of(comm: Any) -> _core.Transport:
    """Return the messages of a communicator."""
    transport = getattr(comm, "transport", None)
    if transport is not None:
        return transport
    if comm.size == 1:
        return alone().transport
    return communicator(comm).transport


# ---- options ------------------------------------------------------------------------------------


def _checked(method: Any, order: Any, options: dict[str, Any]) -> tuple[methods.Choice, Order]:
    """Return the method and the order as objects; refuse what ranks do not have."""
    for name, why in _NOT_HERE.items():
        if name in options:
            raise ValueError(f"{name} is given: {why}")
    load(options.get("device"))
    choice, visits = methods.chosen(method), chosen(order)
    if choice.name == "auto":
        raise ValueError(
            "method='auto' chooses as it goes, by time and size: name a method of sweeps for ranks"
        )
    if visits.name == "auto":
        visits = chosen("partition")

    # What ranks may have different values of.
    if options.get("threads") is not None:
        count("threads", options["threads"], most=2**31 - 1)
    flag("exact_threads", options.get("exact_threads", False))
    number("max_setup_seconds", most_seconds("max_setup_seconds", options.get("max_setup_seconds")))
    return choice, visits


def _is_simultaneous(method: methods.Choice) -> bool:
    """Whether the contacts of a sweep do not see each other."""
    if method.name in ("jacobi", "mass_splitting"):
        return True
    described = methods.describe(method.name) if method.name in methods.names() else None
    if described is None or "over" not in described.options:
        return False
    given = dict(method.settings) if method.settings else {}
    return given.get("over", described.options["over"].default) == "jacobi"
