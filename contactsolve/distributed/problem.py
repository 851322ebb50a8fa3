"""Problems whose contacts and bodies are on many ranks."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from contactsolve._version import __version__
from contactsolve.distributed._catalogue import Catalogue
from contactsolve.distributed._collective import (
    Communicator,
    require_alike,
    require_equal,
    together,
)
from contactsolve.distributed._communicators import communicator
from contactsolve.distributed._given import Given, Structure, given_of
from contactsolve.distributed._labels import LABELLINGS, set_labels
from contactsolve.distributed._share import Share, ids_by_group, share_of
from contactsolve.groups import Group
from contactsolve.problem import Problem as LocalProblem
from contactsolve.sets import Set

__all__ = ["Problem"]

_PARTS = 8  # as the option `parts` of a solver


class Problem:
    """A contact problem that several ranks have together.

    Each rank gives contacts and bodies that it has, in any distribution. Bodies have labels: the
    number of their part. A rank then owns whole parts, rank r those from ``parts r / ranks`` on,
    and gets all contacts at their bodies from the ranks that gave them. Results depend on the
    problem, the options and `parts`, and never on the ranks.

    All ranks make a problem together.

    Parameters
    ----------
    J, Minv, b, mu, bodies, mass, sets, lo, hi, compliance, groups
        The rank's own contacts and bodies, as for `contactsolve.Problem`. `bodies` are numbers of
        the rank's bodies, the rows of `Minv`. A rank that has nothing leaves all of them out.
    contact_ids
        Number of each contact in the whole problem, ``(K,)``, from 0 without gaps; a list with one
        array for each group if there are groups. Several ranks may give a contact, with the same
        data. Default: 0, 1, 2, ..., if no other rank gives contacts; with those of several ranks
        all of these need ids.
    body_ids
        The same for bodies, ``(n,)``. Each rank gives the bodies of its contacts.
    labels
        Part of each body, ``(n,)``, of immovable ones without meaning; or how parts are found:
        ``"bisection"``, recursive bisection of the positions; ``"natural"``, contiguous ranges of
        body numbers; ``"metis"``, ``"metis_volume"``, ``"metis_neighbours"``, by METIS on rank 0
        from the graph alone. Default: ``"bisection"`` with positions, and ``"natural"`` without.
    positions
        Of the bodies, ``(n, 2)`` or ``(n, 3)`` [m], for ``labels="bisection"``.
    parts
        Number of parts, at least as many as ranks. Default: as many as the given labels name, and 8
        for others.
    comm
        Communicator: one of mpi4py, or of `contactsolve.distributed.run`. Default: this process
        alone.
    name
        Name of the problem; that of rank 0 counts.

    Attributes
    ----------
    comm
        The communicator.
    parts
        Number of parts.
    name
        Name.
    share
        The rank's share: what it works on.

    Raises
    ------
    ValueError, TypeError
        On all ranks, with the rank, the argument, the index and the value: input that
        `contactsolve.Problem` refuses; ids that are missing where several ranks give contacts or
        bodies; ids out of range; a contact or body that no rank gives, or
        that ranks give with different data; a body with different labels, which two ranks would
        own; labels outside of the parts; more ranks than parts; groups, parts or versions of
        contactsolve that differ between ranks; functions as sets, and a given matrix.
    ImportError
        pymetis is not installed, for the labels of METIS.

    Examples
    --------
    >>> import contactsolve as cs
    >>> grid = cs.scenarios.ball_grid(3)
    >>> problem = cs.distributed.Problem(
    ...     grid.J, grid.Minv, grid.b, grid.mu, bodies=grid.bodies, parts=4
    ... )
    >>> problem.all_contacts, problem.parts
    (63, 4)
    """

    def __init__(
        self,
        J: Any = None,
        Minv: Any = None,
        b: Any = None,
        mu: Any = None,
        *,
        bodies: Any = None,
        body_ids: Any = None,
        contact_ids: Any = None,
        labels: Any = None,
        positions: Any = None,
        parts: int | None = None,
        comm: Communicator | None = None,
        mass: Any = None,
        sets: Set | None = None,
        lo: Any = None,
        hi: Any = None,
        compliance: Any = None,
        groups: Sequence[Group] | None = None,
        name: str = "",
    ) -> None:
        comm = communicator(comm)

        def given() -> Given:
            if J is None and groups is None:
                return given_of(None, contact_ids, body_ids, None, None)
            own = LocalProblem(
                J,
                Minv,
                b,
                mu,
                bodies=bodies,
                mass=mass,
                sets=sets,
                lo=lo,
                hi=hi,
                compliance=compliance,
                groups=groups,
            )
            return given_of(own, contact_ids, body_ids, _array(labels), positions)

        self._collect(comm, together(comm, given), labels, parts, name)

    def _collect(
        self, comm: Communicator, given: Given, labels: Any, parts: int | None, name: str
    ) -> None:
        """Make the share from what all ranks give."""
        structure = _structure(comm, given)
        _require_ids(comm, given)
        strategy = together(comm, _strategy, given, labels)
        strategy, parts = _agreed(comm, given, strategy, parts)
        together(comm, _check_labels, given, strategy, parts)
        catalogue = Catalogue(comm, given, structure)
        if strategy is not None:
            set_labels(catalogue, strategy, parts)
        self.comm, self.parts = comm, parts
        self.name = comm.allgather(str(name))[0]
        self.share: Share = share_of(catalogue, parts, self.name)

    @classmethod
    def _of(
        cls,
        comm: Communicator,
        given: Given,
        labels: Any,
        parts: int | None,
        name: str,
    ) -> Problem:
        """Return the problem of what each rank gives."""
        self = cls.__new__(cls)
        self._collect(comm, given, labels, parts, name)
        return self

    # ---- figures --------------------------------------------------------------------------------

    @property
    def all_contacts(self) -> int:
        """The number of contacts on all ranks."""
        return self.share.all_contacts

    @property
    def all_bodies(self) -> int:
        """The number of bodies on all ranks."""
        return self.share.all_bodies

    @property
    def contact_ids(self) -> Any:
        """The ids of the contacts of the rank's parts, ascending; a list for grouped problems.

        Each contact is among those of one rank: the one whose part has the lowest label of its
        movable bodies.
        """
        share = self.share
        return self._by_group(share.contact[share.owns_contact], share.contact_first)

    @property
    def body_ids(self) -> Any:
        """The ids of the movable bodies of the rank's parts, ascending; a list if grouped."""
        share = self.share
        return self._by_group(share.body[share.owns_body], share.body_first)

    def _by_group(self, numbers: np.ndarray, firsts: tuple[int, ...]) -> Any:
        ids = ids_by_group(numbers, firsts)
        return ids if self.share.structure.grouped else ids[0]

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return (
            f"distributed.Problem({name}{self.all_contacts} contacts, {self.all_bodies} bodies in "
            f"{self.parts} parts, rank {self.comm.rank} of {self.comm.size}: "
            f"{len(self.share.contact)} contacts)"
        )

    # ---- gathering and files --------------------------------------------------------------------

    def gather(self, root: int | None = None) -> LocalProblem | None:
        """Return the whole problem; all ranks call this together.

        Parameters
        ----------
        root
            The rank that gets it; the others get None. Default: all ranks.

        Raises
        ------
        ValueError
            On all ranks: there is no such rank, or ranks give different ones.
        """
        from contactsolve.distributed._gather import gathered_problem

        return gathered_problem(self.share, _root(self.comm, root, "gather"), self.name)

    def gather_labels(self, root: int | None = None) -> np.ndarray | None:
        """Return the part of each body, ``(all_bodies,)``, 0 for immovable ones.

        With ``contactsolve.orders.partition(labels)`` one process solves the problem in the same
        parts. All ranks call this together; `root` is as for `gather`.
        """
        from contactsolve.distributed._gather import gathered_labels

        return gathered_labels(self.share, _root(self.comm, root, "gather_labels"))

    def gather_rows(self, values: Any, root: int | None = None) -> Any:
        """Return rows of all contacts from those of each rank's share.

        Parameters
        ----------
        values
            ``(K, m)`` for the contacts of ``share.problem``, or one such array per group.
        root
            As for `gather`.

        Returns
        -------
        np.ndarray, list or None
            In the order of the ids, for each group if there are groups; None on other ranks.
        """
        from contactsolve.distributed._gather import gathered_rows

        return gathered_rows(self.share, values, _root(self.comm, root, "gather_rows"))

    def share_rows(self, values: Any) -> Any:
        """Return the rows of this rank's share from those of all contacts: undoes `gather_rows`.

        `Solver.solve` takes such rows as `b`, `mu` and `initial`. All ranks call this together.

        Parameters
        ----------
        values
            By id, for all contacts: ``(all_contacts, ...)``, or a list with one such array for each
            group if there are groups. Each rank has its own copy, of which it uses its rows.

        Returns
        -------
        np.ndarray or list
            Rows of the contacts of ``share.problem``, for each group if there are groups.

        Raises
        ------
        ValueError, TypeError
            On all ranks, with the rank: arrays of another length.

        Examples
        --------
        >>> import contactsolve as cs
        >>> problem = cs.distributed.scenario("ball_grid", shape=3, parts=4)
        >>> solver = cs.distributed.Solver(problem)
        >>> result = solver.solve()
        >>> solver.solve(initial=problem.share_rows(result.gather())).iterations
        0
        """
        from contactsolve.distributed._gather import rows_of_share

        return together(self.comm, rows_of_share, self.share, values)

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the problem to HDF5 files, one for each rank, under a file of virtual datasets.

        `contactsolve.load_problem` reads the whole problem, and `contactsolve.distributed.read`
        its ranges on any number of ranks, with the labels. All ranks call this together.

        Parameters
        ----------
        path
            The file of virtual datasets, which appears once all files are complete. Those of the
            ranks lie beside it, and their names begin with its name.
        overwrite
            Replace an existing file.

        Raises
        ------
        ValueError
            On all ranks: `path` or `overwrite` differs between ranks.
        FileExistsError, FileNotFoundError, ImportError
            On all ranks, as for `contactsolve.Problem.save`.
        """
        from contactsolve.distributed._files import save

        save(self.share, path, self.name, overwrite=overwrite)


# ---- what ranks agree on ------------------------------------------------------------------------


def _array(labels: Any) -> Any:
    """Return labels that are an array, and None for the name of a strategy."""
    return None if isinstance(labels, str) else labels


def _root(comm: Communicator, root: int | None, call: str) -> int | None:
    """Return the rank that gets what is gathered, the same on all ranks."""
    require_alike(comm, {"call": call, "root": root})
    if root is not None and not 0 <= operator.index(root) < comm.size:
        raise ValueError(f"root is {root}: there are {comm.size} ranks, numbered from 0")
    return root


def _structure(comm: Communicator, given: Given) -> Structure:
    """Return the structure, which is the same on all ranks that give anything."""
    every = comm.allgather((given.structure, __version__))
    for rank, (_, version) in enumerate(every):
        if version != every[0][1]:
            raise ValueError(
                f"rank {rank} runs contactsolve {version} and rank 0 {every[0][1]}: all ranks need "
                f"the same version"
            )
    some = [(rank, one) for rank, (one, _) in enumerate(every) if one is not None]
    if not some:
        raise ValueError("J is missing: no rank gives any contacts or bodies")
    first, structure = some[0]
    for rank, other in some[1:]:
        for name, ours, theirs in zip(Structure._fields, structure, other, strict=True):
            if ours != theirs:
                what = {"blocks": "contacts", "bodies": "bodies", "grouped": "groups"}[name]
                raise ValueError(
                    f"{what} have another structure on rank {rank} than on rank {first}: "
                    f"{_shown(theirs)} instead of {_shown(ours)}"
                )
    return structure


def _shown(part: Any) -> str:
    if isinstance(part, bool):
        return "a list of groups" if part else "arrays"
    return "; ".join(map(repr, part)) or "none"


def _require_ids(comm: Communicator, given: Given) -> None:
    """Raise on all ranks if several ranks give contacts or bodies, and some of them without ids.

    The defaults of two ranks would take different contacts or bodies for the same ones.
    """
    counts = [sum(len(rows.ids) for rows in one) for one in (given.contacts, given.bodies)]
    every = comm.allgather((counts, (given.has_contact_ids, given.has_body_ids)))
    for k, (name, what) in enumerate({"contact_ids": "contacts", "body_ids": "bodies"}.items()):
        givers = [rank for rank, (count, _) in enumerate(every) if count[k]]
        without = [rank for rank in givers if not every[rank][1][k]]
        if len(givers) > 1 and without:
            rank = without[0]
            other = next(one for one in givers if one != rank)
            raise ValueError(
                f"rank {rank}: {name} is missing, and rank {other} gives {what}, too: give the "
                f"number of each of the {every[rank][0][k]} {what} in the whole problem on all "
                f"ranks that give any, or give the problem on one rank alone"
            )


def _strategy(given: Given, labels: Any) -> str | None:
    """Return how labels are found; None: given ones, ``""``: this rank has no bodies."""
    if isinstance(labels, str):
        if labels not in LABELLINGS:
            known = ", ".join(map(repr, LABELLINGS))
            raise ValueError(f"labels is {labels!r}: an array is needed, or one of {known}")
        return labels
    if not any(len(rows.ids) for rows in given.bodies):
        return ""
    if given.has_labels:
        return None
    return "bisection" if given.has_positions else "natural"


def _agreed(
    comm: Communicator, given: Given, strategy: str | None, parts: int | None
) -> tuple[str | None, int]:
    """Return the strategy and the number of parts, equal on all ranks."""
    # Ranks that give nothing follow the others.
    every = comm.allgather(strategy)
    opinions = [(rank, one) for rank, one in enumerate(every) if one != ""] or [(0, "natural")]
    first, chosen = opinions[0]
    for rank, other in opinions[1:]:
        if other != chosen:
            raise ValueError(
                f"labels are {_how(other)} on rank {rank} and {_how(chosen)} on rank {first}: all "
                f"ranks need the same"
            )

    # The number of parts.
    require_equal(comm, {"parts": parts})
    if parts is None and chosen is None:
        largest = max((int(rows.label.max(initial=-1)) for rows in given.bodies), default=-1)
        parts = max(1, 1 + max(comm.allgather(largest)))
    elif parts is None:
        parts = _PARTS
    if isinstance(parts, bool) or not isinstance(parts, (int, np.integer)) or parts < 1:
        raise ValueError(f"parts is {parts!r}: an integer of 1 or more is needed")
    if parts < comm.size:
        raise ValueError(
            f"parts is {parts}, but there are {comm.size} ranks, each of which needs a part: give "
            f"parts={comm.size} or more. Results depend on parts, not on ranks"
        )
    return chosen, int(parts)


def _how(strategy: str | None) -> str:
    return "arrays" if strategy is None else repr(strategy)


def _check_labels(given: Given, strategy: str | None, parts: int) -> None:
    if strategy is not None:
        return
    for g, rows in enumerate(given.bodies):
        wrong = np.flatnonzero((rows.label < 0) | (rows.label >= parts))
        if len(wrong):
            name = f"labels[{g}]" if given.structure and given.structure.grouped else "labels"
            raise ValueError(
                f"{name}[{wrong[0]}] is {rows.label[wrong[0]]}: there are {parts} parts, numbered "
                f"from 0 to {parts - 1}"
            )
