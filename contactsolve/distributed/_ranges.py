"""The whole problem in ranges of ids, one for each rank, made from the ranks' shares."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np

from contactsolve.distributed._collective import Spread, deliver
from contactsolve.distributed._given import BodyRows, ContactRows, given_of
from contactsolve.distributed._share import Share

__all__ = ["Ranges", "ranges_of", "spread_rows", "spread_velocities"]


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
    comm, given = share.comm, given_of(share.problem, None, None, None, None)
    number = np.append(share.body, -1)
    contacts, contact_spread = [], _spreads(share, share.contact_first)
    own = [rows.compliance.shape[1] for rows in given.contacts]
    width = [max(column) for column in zip(*comm.allgather(own), strict=True)]
    begin = 0
    for g, rows in enumerate(given.contacts):
        mine = slice(begin, begin + len(rows.ids))
        kept, begin = share.owns_contact[mine], mine.stop
        compliance = (
            rows.compliance if rows.compliance.shape[1] else np.zeros((len(kept), width[g]))
        )
        whole = rows._replace(
            ids=share.contact[mine] - share.contact_first[g],
            bodies=number[rows.bodies],
            compliance=compliance,
        )
        sent = [array[kept] for array in whole]
        contacts.append(ContactRows(*_sorted(share, contact_spread[g], sent)))

    # Movable bodies come from their owners, immovable ones from all ranks that use them.
    bodies, body_spread = [], _spreads(share, share.body_first)
    begin = 0
    for g, of_group in enumerate(given.bodies):
        mine = slice(begin, begin + len(of_group.ids))
        begin = mine.stop
        kept = share.owns_body[mine] | (share.label[mine] < 0)
        ids = share.body[mine] - share.body_first[g]
        label = np.maximum(share.label[mine], 0)
        sent = [array[kept] for array in (ids, of_group.inverse_mass, label)]
        came = _sorted(share, body_spread[g], sent)
        bodies.append(_filled(body_spread[g], *came))
    return Ranges(contacts, bodies, contact_spread, body_spread)


def _spreads(share: Share, firsts: tuple[int, ...]) -> list[Spread]:
    return [Spread(share.comm, end - first) for first, end in itertools.pairwise(firsts)]


def _sorted(share: Share, spread: Spread, arrays: list[np.ndarray]) -> list[np.ndarray]:
    """Return the rows that go to this rank, in the order of the ids, the first array."""
    came, _ = deliver(share.comm, spread.holder(arrays[0]), arrays)
    order = np.argsort(came[0], kind="stable")
    return [array[order] for array in came]


def _filled(spread: Spread, ids: np.ndarray, inverse: np.ndarray, label: np.ndarray) -> BodyRows:
    """Return a range of bodies, with zeros for those that no rank has."""
    count = spread.end - spread.begin
    inverses = np.zeros((count, *inverse.shape[1:]))
    labels = np.zeros(count, np.int64)
    inverses[ids - spread.begin] = inverse
    labels[ids - spread.begin] = label
    return BodyRows(np.arange(spread.begin, spread.end), inverses, labels, np.zeros((count, 0)))


def spread_rows(share: Share, values: list[np.ndarray]) -> list[np.ndarray]:
    """Return this rank's range of values of all contacts.

    Parameters
    ----------
    share
        The rank's share.
    values
        For each group ``(n, ...)``, of the contacts of the share.
    """
    found, begin = [], 0
    for g, (value, spread) in enumerate(
        zip(values, _spreads(share, share.contact_first), strict=True)
    ):
        mine = slice(begin, begin + len(value))
        kept, begin = share.owns_contact[mine], mine.stop
        ids = share.contact[mine] - share.contact_first[g]
        found.append(_sorted(share, spread, [ids[kept], value[kept]])[1])
    return found


def spread_velocities(share: Share, values: list[np.ndarray]) -> list[np.ndarray]:
    """Return this rank's range of values of all bodies, zero for immovable ones.

    Parameters
    ----------
    share
        The rank's share.
    values
        For each group ``(n, ...)``, of the bodies of the share; those of their owners count.
    """
    found, begin = [], 0
    for g, (value, spread) in enumerate(
        zip(values, _spreads(share, share.body_first), strict=True)
    ):
        mine = slice(begin, begin + len(value))
        kept, begin = share.owns_body[mine], mine.stop
        ids = share.body[mine] - share.body_first[g]
        number, came = _sorted(share, spread, [ids[kept], value[kept]])
        whole: Any = np.zeros((spread.end - spread.begin, *value.shape[1:]), value.dtype)
        whole[number - spread.begin] = came
        found.append(whole)
    return found
