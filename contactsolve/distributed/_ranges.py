"""The whole problem in ranges of ids, one for each rank, made from the ranks' shares."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from contactsolve.distributed._collective import Spread, deliver, widened
from contactsolve.distributed._given import BodyRows, ContactRows, given_of
from contactsolve.distributed._share import Share, ids_by_group

__all__ = [
    "Ranges",
    "ranges_of",
    "rows_by_group",
    "spread_rows",
    "spread_velocities",
    "spreads",
]


class Ranges(NamedTuple):
    """A rank's range of the whole problem; bodies have their numbers through all groups.

    Attributes
    ----------
    contacts, bodies
        Rows of each group, in ascending order of their ids.
    contact_spread, body_spread
        How each group is spread.
    """

    contacts: list[ContactRows]
    bodies: list[BodyRows]
    contact_spread: list[Spread]
    body_spread: list[Spread]


def ranges_of(share: Share) -> Ranges:
    """Return this rank's range of the whole problem.

    An immovable body without contacts is in no share; it comes back with zeros, which it had.
    """
    given = given_of(share.problem, None, None, None, None)
    number, contacts = np.append(share.body, -1), []
    compliances = widened(share.comm, [rows.compliance for rows in given.contacts])
    for group, rows, compliance in zip(_contacts(share), given.contacts, compliances, strict=True):
        whole = rows._replace(bodies=number[rows.bodies], compliance=compliance)
        sent = [array[group.sent] for array in whole[1:]]
        contacts.append(ContactRows(*_sorted(share, group, sent)))

    # Movable bodies come from their owners, immovable ones from all ranks that use them.
    bodies, label = [], np.maximum(share.label, 0)
    sent_bodies = share.owns_body | (share.label < 0)
    for group, of_group in zip(_bodies(share, sent_bodies), given.bodies, strict=True):
        labels = label[group.mine][group.sent]
        ids, *came = _sorted(share, group, [of_group.inverse_mass[group.sent], labels])
        inverses, labels = (_placed(group.spread, ids, values) for values in came)
        numbers = np.arange(group.spread.begin, group.spread.end)
        bodies.append(BodyRows(numbers, inverses, labels, np.zeros((len(numbers), 0))))
    return Ranges(
        contacts, bodies, spreads(share, share.contact_first), spreads(share, share.body_first)
    )


def spreads(share: Share, firsts: tuple[int, ...]) -> list[Spread]:
    """Return how the groups are spread that begin at these numbers."""
    return [Spread(share.comm, end - first) for first, end in itertools.pairwise(firsts)]


class _Group(NamedTuple):
    """The contacts or bodies of a group in a share, and those that go to the ranks' ranges.

    Attributes
    ----------
    mine
        Their places in the share.
    sent
        Which of them go, ``(n,)``.
    ids
        Of those that go.
    spread
        How the group is spread.
    """

    mine: slice
    sent: np.ndarray
    ids: np.ndarray
    spread: Spread


def _contacts(share: Share) -> list[_Group]:
    """Return the groups of contacts; each contact goes from the rank that tells of it."""
    return _groups(share, share.contact, share.contact_first, share.owns_contact)


def _bodies(share: Share, sent: np.ndarray) -> list[_Group]:
    """Return the groups of bodies; `sent` are those that go."""
    return _groups(share, share.body, share.body_first, sent)


def _groups(
    share: Share, numbers: np.ndarray, firsts: tuple[int, ...], sent: np.ndarray
) -> list[_Group]:
    found, begin = [], 0
    for ids, spread in zip(ids_by_group(numbers, firsts), spreads(share, firsts), strict=True):
        mine = slice(begin, begin + len(ids))
        found.append(_Group(mine, sent[mine], ids[sent[mine]], spread))
        begin = mine.stop
    return found


def _sorted(share: Share, group: _Group, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Return the rows of a group that come to this rank, in the order of their ids, after these."""
    came, _ = deliver(share.comm, group.spread.holder(group.ids), [group.ids, *arrays])
    order = np.argsort(came[0], kind="stable")
    return [array[order] for array in came]


def _placed(spread: Spread, ids: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return a range of values by id, with zeros for those that no rank has."""
    whole: Any = np.zeros((spread.end - spread.begin, *values.shape[1:]), values.dtype)
    whole[ids - spread.begin] = values
    return whole


def spread_rows(share: Share, values: list[np.ndarray]) -> list[np.ndarray]:
    """Return this rank's range of values of all contacts.

    Parameters
    ----------
    share
        The rank's share.
    values
        For each group ``(n, ...)``, of the contacts of the share.
    """
    return [
        _sorted(share, group, [value[group.sent]])[1]
        for group, value in zip(_contacts(share), values, strict=True)
    ]


def spread_velocities(share: Share, values: list[np.ndarray]) -> list[np.ndarray]:
    """Return this rank's range of values of all bodies, zero for immovable ones.

    Parameters
    ----------
    share
        The rank's share.
    values
        For each group ``(n, ...)``, of the bodies of the share; those of their owners count.
    """
    return [
        _placed(group.spread, *_sorted(share, group, [value[group.sent]]))
        for group, value in zip(_bodies(share, share.owns_body), values, strict=True)
    ]


def rows_by_group(values: np.ndarray, shapes: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    """Return a flat vector as one array of such a shape for each group."""
    sizes = [int(np.prod(shape)) for shape in shapes]
    parts = np.split(np.ravel(values), np.cumsum(sizes)[:-1]) if sizes else []
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
