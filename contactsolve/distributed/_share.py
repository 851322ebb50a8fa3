"""A rank's share of a problem: its bodies, all contacts at them, and the bodies beyond.

    bodies     owned: of the rank's parts | ghosts: in contact with owned ones | immovable
    contacts   all that act on an owned body, in ascending order of their numbers

A contact between bodies of several ranks is in the share of each (`csrc/distributed/share.h`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from contactsolve.distributed._catalogue import Catalogue
from contactsolve.distributed._collective import (
    Communicator,
    Spread,
    deliver,
    fetch,
    owner_of_part,
    together,
)
from contactsolve.distributed._given import ContactRows, Structure, local_problem
from contactsolve.problem import Problem

__all__ = ["Share", "from_owners", "ids_by_group", "share_of"]


@dataclass(frozen=True)
class Share:
    """A rank's share of a problem. Contacts and bodies are numbered through all groups.

    Attributes
    ----------
    comm
        Communicator.
    structure
        Groups of the problem, which `problem` has, too.
    parts
        Number of parts of all ranks.
    problem
        The rank's contacts and bodies.
    contact
        Number of each of its contacts in the whole problem, ``(k,)``, ascending in each group.
    part
        The part that each contact belongs to: the lowest label of its movable bodies; of a contact
        between immovable ones its number modulo `parts`.
    inside
        Whether all movable bodies of each contact have one label, ``(k,)``.
    body
        Number of each of its bodies in the whole problem, ``(n,)``, ascending in each group.
    label
        Part of each body, ``(n,)``; −1 for immovable ones.
    contact_first, body_first
        Numbers at which the groups of the whole problem begin, and its totals.
    island, shared_islands
        Of each contact the number of its island, if contacts of several ranks belong to it, or −1;
        and the number of such islands.
    """

    comm: Communicator
    structure: Structure
    parts: int
    problem: Problem
    contact: np.ndarray
    part: np.ndarray
    inside: np.ndarray
    body: np.ndarray
    label: np.ndarray
    contact_first: tuple[int, ...]
    body_first: tuple[int, ...]
    island: np.ndarray = field(repr=False)
    shared_islands: int = 0

    @property
    def all_contacts(self) -> int:
        """The number of contacts of the whole problem."""
        return self.contact_first[-1]

    @property
    def all_bodies(self) -> int:
        """The number of bodies of the whole problem."""
        return self.body_first[-1]

    @property
    def owner(self) -> np.ndarray:
        """The rank that owns each body, ``(n,)``; −1 for immovable ones."""
        owner = owner_of_part(self.label, self.parts, self.comm.size)
        return np.where(self.label < 0, -1, owner)

    @property
    def owns_body(self) -> np.ndarray:
        """Whether the rank owns each of its bodies, ``(n,)``."""
        return self.owner == self.comm.rank

    @property
    def owns_contact(self) -> np.ndarray:
        """Whether each contact belongs to a part of the rank, ``(k,)``: one rank tells of it."""
        return owner_of_part(self.part, self.parts, self.comm.size) == self.comm.rank

    @property
    def partners(self) -> np.ndarray:
        """The movable bodies of each contact by place in `body`, ``(k, p)``; else −1."""
        partners = self.problem._partners()
        return np.where(np.append(self.label, -1)[partners] >= 0, partners, -1)


def share_of(catalogue: Catalogue, parts: int, name: str) -> Share:
    """Return this rank's share of a catalogue whose bodies have labels.

    Parameters
    ----------
    catalogue
        The whole problem.
    parts
        Number of parts, at least as many as ranks.
    name
        Name of the problem.
    """
    comm, structure = catalogue.comm, catalogue.structure
    contacts, part, inside = _contacts(catalogue, parts)
    numbers = _body_numbers(catalogue, contacts, parts)

    # The bodies in the sequence of their numbers, and their inverse masses.
    label = catalogue.of_bodies(numbers)[0]
    groups = ids_by_group(numbers, catalogue.first_body)
    inverses = [catalogue.inverse_masses(g, ids) for g, ids in enumerate(groups)]

    # Contacts refer to bodies by their places.
    placed = [
        rows._replace(bodies=np.where(rows.bodies < 0, -1, np.searchsorted(numbers, rows.bodies)))
        for rows in contacts
    ]
    firsts = catalogue.first_contact
    number = [first + rows.ids for first, rows in zip(firsts, contacts, strict=False)]
    problem = together(comm, local_problem, structure, placed, inverses, name)
    contact = np.concatenate([np.zeros(0, np.int64), *number])

    # Islands last, over all ranks.
    share = Share(
        comm,
        structure,
        parts,
        problem,
        contact,
        part,
        inside,
        numbers,
        label,
        tuple(firsts),
        tuple(catalogue.first_body),
        np.full(len(contact), -1),
    )
    island, count = _islands(share)
    return replace(share, island=island, shared_islands=count)


def ids_by_group(numbers: np.ndarray, firsts: Sequence[int]) -> list[np.ndarray]:
    """Return ascending numbers as ids within their groups.

    Parameters
    ----------
    numbers
        Of contacts or bodies, through all groups, ``(n,)``.
    firsts
        Numbers at which the groups begin, and the end of the last one.
    """
    cuts = itertools.pairwise(np.searchsorted(numbers, firsts))
    return [numbers[begin:end] - first for first, (begin, end) in zip(firsts, cuts, strict=False)]


def from_owners(share: Share, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return values of bodies of the share from the ranks that own them. Collective.

    Parameters
    ----------
    share
        The rank's share.
    values
        Of its bodies, ``(n,)``; those of bodies that it owns count.
    wanted
        Places in the share of the bodies whose values are wanted, ``(k,)``.

    Returns
    -------
    np.ndarray
        ``(k,)``; 0 for immovable bodies, which no rank owns.
    """
    comm, owned = share.comm, share.owns_body
    spread = Spread(comm, share.all_bodies)
    own = share.body[owned]
    (number, came), _ = deliver(comm, spread.holder(own), [own, values[owned]])
    table = np.zeros(spread.end - spread.begin, values.dtype)
    table[number - spread.begin] = came
    return fetch(comm, spread, [table], share.body[wanted])[0]


def _contacts(catalogue: Catalogue, parts: int) -> tuple[list[ContactRows], np.ndarray, np.ndarray]:
    """Return the contacts at the rank's bodies, the part of each, and whether it is inside."""
    comm, came, parts_of, insides = catalogue.comm, [], [np.zeros(0, np.int64)], [np.zeros(0, bool)]
    for g, rows in enumerate(catalogue.contacts):
        label, moves = catalogue.of_bodies(rows.bodies)
        lowest = np.where(moves, label, parts).min(axis=1, initial=parts)
        highest = label.max(axis=1, initial=-1)
        part = np.where(highest < 0, catalogue.contact_numbers(g) % parts, lowest)
        inside = (highest < 0) | (lowest == highest)

        # Each contact goes once to each rank that owns one of its bodies, or its part.
        owner = np.where(moves, owner_of_part(label, parts, comm.size), -1)
        owner = np.concatenate(
            [owner, np.where(highest < 0, owner_of_part(part, parts, comm.size), -1)[:, None]],
            axis=1,
        )
        owner.sort(axis=1)
        first = np.append(np.ones((len(owner), 1), bool), owner[:, 1:] != owner[:, :-1], axis=1)
        row, column = np.nonzero(first & (owner >= 0))
        sent = [array[row] for array in (*rows, part, inside)]
        arrays, _ = deliver(comm, owner[row, column], sent)
        order = np.argsort(arrays[0], kind="stable")
        *arrays, part, inside = (array[order] for array in arrays)
        came.append(ContactRows(*arrays))
        parts_of.append(part)
        insides.append(inside)
    return came, np.concatenate(parts_of), np.concatenate(insides)


def _body_numbers(catalogue: Catalogue, contacts: list[ContactRows], parts: int) -> np.ndarray:
    """Return the numbers of the bodies of this rank's parts and contacts, ascending."""
    comm, wanted = catalogue.comm, [rows.bodies.ravel() for rows in contacts]
    for g, rows in enumerate(catalogue.bodies):
        moves = rows.moves
        owner = owner_of_part(rows.label[moves], parts, comm.size)
        (numbers,), _ = deliver(comm, owner, [catalogue.body_numbers(g)[moves]])
        wanted.append(numbers)
    numbers = np.unique(np.concatenate([np.zeros(0, np.int64), *wanted]))
    return numbers[numbers >= 0]


# ---- islands ------------------------------------------------------------------------------------


def _islands(share: Share) -> tuple[np.ndarray, int]:
    """Return the island of each contact, if several ranks have contacts of it, and their number.

    An island is what contacts join over movable bodies.
    """
    # Components of the rank's own graph; a contact belongs to that of its first movable body.
    comm, partners = share.comm, share.partners
    component = _components(partners, len(share.body))
    moves = partners >= 0
    first = np.take_along_axis(partners, moves.argmax(axis=1)[:, None], axis=1)[:, 0]
    of_contact = np.append(component, -1)[first]

    # A component is named by its rank and number. Owners say which one each ghost is in.
    offsets = np.cumsum([0, *comm.allgather(int(component.max(initial=-1)) + 1)])
    mine = offsets[comm.rank] + component
    ghosts = np.flatnonzero((share.label >= 0) & ~share.owns_body)
    theirs = from_owners(share, mine, ghosts)

    # All ranks join the components that share a ghost; most others have no pair.
    own_pairs = np.unique(np.stack([mine[ghosts], theirs], axis=1), axis=0)
    pairs = np.concatenate(comm.allgather(own_pairs))
    named = np.unique(pairs)
    joined = _components(np.searchsorted(named, pairs), len(named))

    # Islands are numbered by their first component.
    island = np.full(len(share.contact), -1)
    if not len(named):
        return island, 0
    at = np.searchsorted(named, offsets[comm.rank] + of_contact)
    at = np.minimum(at, len(named) - 1)
    shared = (of_contact >= 0) & (named[at] == offsets[comm.rank] + of_contact)
    island[shared] = joined[at[shared]]
    return island, int(joined.max()) + 1


def _components(edges: np.ndarray, count: int) -> np.ndarray:
    """Return the component of each vertex, numbered by their lowest vertices.

    Parameters
    ----------
    edges
        Vertices that are joined, ``(n, p)``; −1 where there is none.
    count
        Number of vertices.
    """
    # Pairs with the first vertex of each edge.
    if not len(edges) or not count:
        return np.arange(count)
    present = edges >= 0
    first = np.take_along_axis(edges, present.argmax(axis=1)[:, None], axis=1)
    low = np.broadcast_to(first, edges.shape)[present]
    high = edges[present]

    # Lowest names spread over edges, and names of names are looked up, until nothing changes.
    name = np.arange(count)
    while True:
        least = np.minimum(name[low], name[high])
        new = name.copy()
        np.minimum.at(new, name[low], least)
        np.minimum.at(new, name[high], least)
        while True:
            hopped = new[new]
            if np.array_equal(hopped, new):
                break
            new = hopped
        if np.array_equal(new, name):
            return np.unique(name, return_inverse=True)[1]
        name = new
