"""Greedy colourings that ranks find together, in rounds (`csrc/order/shared_coloring.h`).

The colours are those of one rank that colours all contacts in the sequence of their priorities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contactsolve import _core
from contactsolve.distributed._collective import deliver, owner_of_part, together
from contactsolve.distributed._share import Share

__all__ = ["Colors", "colored"]


class Colors(NamedTuple):
    """A colouring.

    Attributes
    ----------
    color
        Of each contact of the share, ``(k,)``; −1 for those that are not coloured.
    colors
        Number of colours, on all ranks.
    rounds
        Rounds that it took.
    """

    color: np.ndarray
    colors: int
    rounds: int


class _Known(NamedTuple):
    """The contacts that a rank has to know: those of its share, and others at its ghosts."""

    number: np.ndarray  # in the whole problem, ascending
    part: np.ndarray
    partners: np.ndarray  # places of the bodies of the share; −1 for others


def colored(share: Share, taken: np.ndarray, priority: str, *, by_palette: bool = False) -> Colors:
    """Colour contacts so that no two of one colour share a movable body.

    Parameters
    ----------
    share
        The rank's share.
    taken
        Which contacts of the share are coloured, ``(k,)``, the same on all ranks that have one.
    priority
        ``"natural"``: in the sequence of their numbers; ``"hash"``: in that of hashes of these,
        which takes few rounds.
    by_palette
        Follow the rule of the border of a partition beyond 64 colours of a body.

    Returns
    -------
    Colors
    """
    comm = share.comm
    known = _known(share, taken)
    owner = owner_of_part(known.part, share.parts, comm.size)
    own = owner == comm.rank
    sequence = (
        _core.hash_sequence(known.number) if priority == "hash" else np.arange(len(known.number))
    )

    # Each rank asks the owners of the others for their colours.
    others = np.flatnonzero(~own)
    others = others[np.argsort(owner[others], kind="stable")]
    cuts = np.searchsorted(owner[others], np.arange(comm.size + 1))
    asked = comm.alltoall([known.number[others[cuts[r] : cuts[r + 1]]] for r in range(comm.size)])
    told = [np.searchsorted(known.number, numbers) for numbers in asked]

    # Rounds, until no colour changes.
    color, rounds = np.full(len(known.number), -1), 0
    while True:
        changed = together(
            comm,
            _core.color_shared,
            sequence,
            known.partners,
            len(share.body),
            own.view(np.uint8),
            color,
            by_palette,
        )
        rounds += 1
        if not any(comm.allgather(changed)):
            break
        came = comm.alltoall([color[at] for at in told])
        color[others] = np.concatenate([np.zeros(0, np.int64), *came])

    # The last round changed nothing.
    of_share = np.full(len(share.contact), -1)
    of_share[taken] = color[np.searchsorted(known.number, share.contact[taken])]
    count = max(comm.allgather(int(color.max(initial=-1)))) + 1
    return Colors(of_share, count, rounds - 1)


def _known(share: Share, taken: np.ndarray) -> _Known:
    """Return the contacts at all bodies of those that the rank colours."""
    comm, partners = share.comm, share.partners
    number, part = share.contact[taken], share.part[taken]
    at = partners[taken]

    # Owners of the ghosts say which contacts these have.
    mine = share.owns_contact[taken]
    ends = np.unique(at[mine])
    ends = ends[ends >= 0]
    owner = share.owner
    ghosts = ends[owner[ends] != comm.rank]
    (wanted,), asker = deliver(comm, owner[ghosts], [share.body[ghosts]])
    row, to = _at_bodies(at, np.searchsorted(share.body, wanted), asker)
    numbers = np.append(share.body, -1)[at]
    (more, more_part, more_numbers), _ = deliver(comm, to, [number[row], part[row], numbers[row]])

    # All of them, each once, with their bodies by place.
    everything = np.concatenate([number, more])
    _, kept = np.unique(everything, return_index=True)
    bodies = np.concatenate([numbers, more_numbers])[kept]
    place = np.searchsorted(share.body, bodies)
    is_here = (bodies >= 0) & (np.append(share.body, -1)[place] == bodies)
    return _Known(
        everything[kept],
        np.concatenate([part, more_part])[kept],
        np.where(is_here, place, -1),
    )


def _at_bodies(
    partners: np.ndarray, bodies: np.ndarray, asker: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the contacts at bodies, and for each the rank that asked for the body.

    Each rank gets a contact once.
    """
    # Contacts sorted by body.
    flat = partners.ravel()
    order = np.argsort(flat, kind="stable")
    begin = np.searchsorted(flat[order], bodies)
    count = np.searchsorted(flat[order], bodies, side="right") - begin

    # The rows of each body, one after another.
    start = np.repeat(begin - np.cumsum(count) + count, count)
    row = order[start + np.arange(count.sum())] // max(partners.shape[1], 1)
    pairs = np.unique(np.stack([np.repeat(asker, count), row], axis=1), axis=0)
    return pairs[:, 1], pairs[:, 0]
