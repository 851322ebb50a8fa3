"""A problem spread over ranks by its ids: each rank holds a range of the contacts and bodies.

Ranks send what they have to the ranks that hold its ids, which compare what several of them give,
and look for ids that nobody gives. Parts and shares are made from it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from contactsolve._arrays import shortest
from contactsolve.distributed._collective import (
    Communicator,
    FoundError,
    Spread,
    deliver,
    fetch,
    together,
    widened,
)
from contactsolve.distributed._given import BodyRows, ContactRows, Given, Structure

__all__ = ["Catalogue", "Origin"]

# What an array of a `BodyRows` or `ContactRows` is called by those who give it.
_ARGUMENT = {
    "J": "J",
    "bodies": "bodies",
    "b": "b",
    "parameters": "the parameters of the set",
    "compliance": "compliance",
    "inverse_mass": "Minv",
    "label": "labels",
    "position": "positions",
}


class Origin(NamedTuple):
    """Where rows came from: the rank, and the place in its arrays."""

    rank: np.ndarray
    place: np.ndarray


class Catalogue:
    """The contacts and bodies of a problem, each held by one rank.

    Parameters
    ----------
    comm
        Communicator.
    given
        What this rank gives, of the same structure on all ranks that give anything.
    structure
        The structure of the problem.

    Attributes
    ----------
    contacts, bodies
        This rank's rows of each group, complete and in ascending order of their ids.
    contact_spread, body_spread
        How each group is spread.
    first_contact, first_body
        The number of the first contact or body of each group, counted through all groups.
    all_contacts, all_bodies
        Totals.

    Raises
    ------
    ValueError
        On all ranks: an id out of range, a contact or a body that no rank gives, or of which ranks
        give different data.
    """

    def __init__(self, comm: Communicator, given: Given, structure: Structure) -> None:
        self.comm, self.structure = comm, structure
        given = _filled(comm, given, structure)
        self.contact_spread = _spreads(comm, "contact", [one.ids for one in given.contacts])
        self.body_spread = _spreads(comm, "body", [one.ids for one in given.bodies])
        self.first_contact = _firsts(self.contact_spread)
        self.first_body = _firsts(self.body_spread)
        self.all_contacts, self.all_bodies = self.first_contact[-1], self.first_body[-1]

        # Contacts get the numbers of their bodies in the problem, in place of those on the rank.
        numbers = np.concatenate(
            [
                np.zeros(0, np.int64),
                *(
                    first + one.ids
                    for first, one in zip(self.first_body, given.bodies, strict=False)
                ),
                [-1],
            ]
        )
        self.bodies = [
            self._collected("body", g, spread, rows)
            for g, (spread, rows) in enumerate(zip(self.body_spread, given.bodies, strict=True))
        ]
        contacts = given.contacts
        if not given.is_numbered:
            contacts = tuple(rows._replace(bodies=numbers[rows.bodies]) for rows in contacts)
        self.contacts = [
            self._collected("contact", g, spread, rows)
            for g, (spread, rows) in enumerate(zip(self.contact_spread, contacts, strict=True))
        ]

    def _collected(self, kind: str, g: int, spread: Spread, rows: Any) -> Any:
        """Return the rows of a group that this rank holds, from all ranks that give them."""
        place = np.arange(len(rows.ids))
        came, rank = deliver(self.comm, spread.holder(rows.ids), [*rows, place])
        *arrays, place = came
        what = f"{kind}_ids[{g}]" if self.structure.grouped else f"{kind}_ids"
        return together(
            self.comm, _merged, kind, what, spread, type(rows)(*arrays), Origin(rank, place)
        )

    # ---- questions ------------------------------------------------------------------------------

    def of_bodies(self, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return label of, and whether they can move, bodies of any rank.

        Parameters
        ----------
        numbers
            Numbers of the bodies, of any shape; −1 for the fixed world.

        Returns
        -------
        label
            −1 for bodies that cannot move.
        moves
            Whether they can.
        """
        flat = numbers.ravel()
        label = np.full(len(flat), -1)
        for g, spread in enumerate(self.body_spread):
            mine = _within(flat, self.first_body[g], spread)
            rows = self.bodies[g]
            (found,) = fetch(
                self.comm,
                spread,
                [np.where(rows.moves, rows.label, -1)],
                flat[mine] - self.first_body[g],
            )
            label[mine] = found
        return label.reshape(numbers.shape), label.reshape(numbers.shape) >= 0

    def inverse_masses(self, g: int, numbers: np.ndarray) -> np.ndarray:
        """Return the inverse masses of bodies of one group; `numbers` are those in the group."""
        return fetch(self.comm, self.body_spread[g], [self.bodies[g].inverse_mass], numbers)[0]

    def body_numbers(self, g: int) -> np.ndarray:
        """Return the numbers of this rank's bodies of a group, counted through all groups."""
        return self.first_body[g] + self.bodies[g].ids

    def contact_numbers(self, g: int) -> np.ndarray:
        """Return the numbers of this rank's contacts of a group, counted through all groups."""
        return self.first_contact[g] + self.contacts[g].ids

    def count_contacts(self) -> list[np.ndarray]:
        """Return the number of contacts of each of this rank's bodies, 0 for immovable ones.

        A contact counts as often as the body occurs in it.
        """
        counts = []
        for g, spread in enumerate(self.body_spread):
            count = np.zeros(spread.end - spread.begin, np.int64)
            for rows in self.contacts:
                flat = rows.bodies.ravel()
                at = flat[_within(flat, self.first_body[g], spread)] - self.first_body[g]
                distinct, times = np.unique(at, return_counts=True)
                (number, often), _ = deliver(self.comm, spread.holder(distinct), [distinct, times])
                np.add.at(count, number - spread.begin, often)
            counts.append(np.where(self.bodies[g].moves, count, 0))
        return counts


def _filled(comm: Communicator, given: Given, structure: Structure) -> Given:
    """Return what a rank gives with empty rows for a rank that gives nothing.

    Arrays then have the same shape on all ranks: that of positions, and of compliances, which are
    zero where only other ranks give some.
    """
    contacts, bodies = given.contacts, given.bodies
    if given.structure is None:
        contacts = tuple(
            ContactRows(
                np.zeros(0, np.int64),
                np.zeros((0, kind.rows * sum(kind.dofs))),
                np.zeros((0, len(kind.dofs)), np.int64),
                np.zeros((0, kind.rows)),
                np.zeros((0, sum(kind.widths))),
                np.zeros((0, 0)),
            )
            for kind in structure.blocks
        )
        bodies = tuple(
            BodyRows(
                np.zeros(0, np.int64),
                np.zeros((0, kind.dof) if kind.diagonal else (0, kind.dof, kind.dof)),
                np.zeros(0, np.int64),
                np.zeros((0, 0)),
            )
            for kind in structure.bodies
        )

    # Widths that are zero on some ranks.
    every = iter(
        widened(comm, [*(one.compliance for one in contacts), *(one.position for one in bodies)])
    )
    return given._replace(
        contacts=tuple(one._replace(compliance=next(every)) for one in contacts),
        bodies=tuple(one._replace(position=next(every)) for one in bodies),
    )


def _spreads(comm: Communicator, kind: str, ids: list[np.ndarray]) -> list[Spread]:
    """Return how the groups are spread; ids that no count of them could reach are refused."""
    every = comm.allgather([(len(one), int(one.max(initial=-1))) for one in ids])
    spreads = []
    for g, of_ranks in enumerate(zip(*every, strict=True)):
        given = sum(count for count, _ in of_ranks)
        largest = max(most for _, most in of_ranks)
        if largest >= given:
            rank = next(r for r, (_, most) in enumerate(of_ranks) if most == largest)
            group = f" in group {g}" if len(ids) > 1 else ""
            plural = "contacts" if kind == "contact" else "bodies"
            where = ""
            if rank == comm.rank:
                where = f"[{int(ids[g].argmax())}]"
            where = comm.allgather(where)[rank]
            raise ValueError(
                f"rank {rank}: {kind}_ids{where} is {largest}: all ranks give {given} "
                f"{plural}{group}, whose ids are 0 to {given - 1}"
            )
        spreads.append(Spread(comm, largest + 1))
    return spreads


def _firsts(spreads: list[Spread]) -> list[int]:
    firsts = [0]
    for spread in spreads:
        firsts.append(firsts[-1] + spread.count)
    return firsts


def _within(numbers: np.ndarray, first: int, spread: Spread) -> np.ndarray:
    """Return which numbers belong to a group."""
    return (numbers >= first) & (numbers < first + spread.count)


def _merged(kind: str, what: str, spread: Spread, rows: Any, origin: Origin) -> Any:
    """Return rows in the order of their ids, each once, after a comparison of those of one id."""
    order = np.argsort(rows.ids, kind="stable")
    rows = type(rows)(*(array[order] for array in rows))
    origin = Origin(*(array[order] for array in origin))

    # The same id from several ranks.
    again = np.flatnonzero(rows.ids[1:] == rows.ids[:-1])
    if len(again):
        for name in rows._fields[1:]:
            _compare(kind, what, name, again, rows, origin)
        kept = np.append(True, rows.ids[1:] != rows.ids[:-1])
        rows = type(rows)(*(array[kept] for array in rows))

    # Ids that no rank gives.
    wanted = np.arange(spread.begin, spread.end)
    if len(rows.ids) < len(wanted):
        held = np.zeros(len(wanted), bool)
        held[rows.ids - spread.begin] = True
        raise FoundError(
            f"{what}: {kind} {wanted[~held][0]} is given by no rank, but {kind} "
            f"{spread.count - 1} is"
        )
    return rows


def _compare(kind: str, what: str, name: str, again: np.ndarray, rows: Any, origin: Origin) -> None:
    """Raise if rows of one id differ in an array; `again` are the first ones of pairs."""
    array = getattr(rows, name)
    differ = (array[again] != array[again + 1]).reshape(len(again), -1)
    wrong = np.flatnonzero(differ.any(axis=1))
    if not len(wrong):
        return
    first = again[wrong[0]]
    at = np.unravel_index(int(differ[wrong[0]].argmax()), array.shape[1:])
    index = f"entry {', '.join(str(int(i)) for i in at)}" if at else "the label"
    sides = " and ".join(
        f"{shortest(array[i][at] if at else array[i])} on rank {origin.rank[i]} "
        f"({what}[{origin.place[i]}])"
        for i in (first, first + 1)
    )
    reason = "one rank owns a body" if name == "label" else "all ranks that give it need the same"
    raise FoundError(f"{_ARGUMENT[name]}: {index} of {kind} {rows.ids[first]} is {sides}: {reason}")
