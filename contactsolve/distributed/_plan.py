"""The stages of a sweep over all ranks, with the contacts of one rank's share in them.

They are those that the order makes of the whole problem on one process, empty ones included.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from contactsolve import _core
from contactsolve.distributed._collective import together
from contactsolve.distributed._coloring import colored
from contactsolve.distributed._share import Share, from_owners
from contactsolve.orders import Order

__all__ = ["Plan", "plan_of"]

_KINDS = {name: number for number, name in enumerate(_core.stage_kinds())}

_HUB = 128  # as in csrc/order/checkerboard.c: contacts from which on a body is a hub

_KNOWN = (
    "order='colored' with the strategy 'greedy', and order='partition'; with method='jacobi' also "
    "'natural'"
)


class Plan(NamedTuple):
    """The stages of a sweep, as `csrc/distributed/share.h` has them.

    Attributes
    ----------
    kind
        Kind of each stage, ``(stages,)``, a number of `contactsolve._core.stage_kinds`.
    start
        Where each stage begins in `block`, ``(stages + 1,)``.
    block
        The contacts of the share in the order of their visits, ``(k,)``.
    cut
        Whether a part of a disjoint or concurrent stage begins at each visit, ``(k,)`` uint8.
    part
        The part that each contact belongs to, ``(k,)``: in a disjoint stage the one that visits it.
    colors
        Number of colours of the whole plan, 0 without.
    order
        Name of the order.
    rounds
        Rounds that the colouring took.
    weight
        The factor on the changes of the parts of a concurrent stage.
    splits_masses
        Whether a concurrent stage divides the masses of bodies among the parts that visit them.
    """

    kind: np.ndarray
    start: np.ndarray
    block: np.ndarray
    cut: np.ndarray
    part: np.ndarray
    colors: int
    order: str
    rounds: int
    weight: float = 1.0
    splits_masses: bool = False


def plan_of(share: Share, order: Order, *, simultaneous: bool = False) -> Plan:
    """Return the plan of an order.

    Parameters
    ----------
    share
        The rank's share, whose labels are those of the order ``"partition"``.
    order
        The order, the same on all ranks.
    simultaneous
        One simultaneous stage, as for Jacobi's method.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        An order that is not known here, that divides its stages into subtasks, or whose stages are
        sequential with more than one part; options of a concurrent border for one simultaneous
        stage.
    """
    settings = order.settings
    if order.subtasks:
        raise ValueError(
            f"order={order!r} divides stages into {_subtasks_of(order)}, which is not available on "
            f"ranks: give the order without"
        )
    if simultaneous:
        _check_flat(order)
        return _one_stage(share, "simultaneous", order.name)
    if order.name == "natural" and share.parts == 1:
        return _one_stage(share, "sequential", order.name)
    is_greedy = not set(settings) - {"strategy", "priority"}
    is_greedy = is_greedy and settings.get("strategy", "greedy") == "greedy"
    if order.name == "colored" and is_greedy:
        return _colored(share, settings.get("priority", "natural"))
    if order.name == "partition":
        together(share.comm, _check_labels, share, order)
        border = settings.get("border", "colored")
        if border == "colored":
            return _colored_border(share, settings.get("priority", "natural"))
        if border == "checkerboard":
            return _checkerboard(share)
        if border == "concurrent":
            weight = float(settings.get("weight", 1.0))
            return _concurrent_border(share, weight, bool(settings.get("split_masses", False)))
        if share.parts == 1:
            return _colored_border(share, "natural")
        raise ValueError(
            f"border={border!r} visits the contacts between parts one after another, which "
            f"{share.parts} parts cannot share: 'colored', 'checkerboard' and 'concurrent' can"
        )
    if order.name == "natural":
        raise ValueError(
            f"order='natural' is sequential, which {share.parts} parts cannot share: give parts=1, "
            f"or an order with stages, such as 'colored'"
        )
    raise ValueError(f"order={order!r} is not for distributed problems: known are {_KNOWN}")


def _subtasks_of(order: Order) -> str:
    return "single contacts" if order.subtasks < 0 else f"subtasks ({order.subtasks})"


def _check_flat(order: Order) -> None:
    """Refuse options of a concurrent border for one simultaneous stage, as `cs_plan_make` does."""
    for name in ("split_masses", "weight"):
        if name in order.settings:
            raise ValueError(
                f"{name} of order='{order.name}' is for methods whose contacts see each other's "
                f"changes within a sweep, such as 'gauss_seidel': it has no effect here"
            )


def _check_labels(share: Share, order: Order) -> None:
    """Raise unless the parts of an order are those of the problem."""
    labels = order.labels
    if isinstance(labels, str) or "strategy" in order.settings:
        strategy = labels if isinstance(labels, str) else order.settings["strategy"]
        raise ValueError(
            f"strategy={strategy!r} is given, but the problem has its parts: give "
            f"labels={strategy!r} to the problem"
        )
    if labels is None:
        return
    if len(labels) != share.all_bodies:
        raise ValueError(f"labels has {len(labels)} entries: there are {share.all_bodies} bodies")
    differ = np.flatnonzero((share.label >= 0) & (labels[share.body] != share.label))
    if len(differ):
        body = share.body[differ[0]]
        raise ValueError(
            f"labels[{body}] is {labels[body]}, but the problem has that body in part "
            f"{share.label[differ[0]]}: leave out the labels of the order"
        )


# ---- orders -------------------------------------------------------------------------------------


def _one_stage(share: Share, kind: str, name: str) -> Plan:
    count = len(share.contact)
    return Plan(
        np.array([_KINDS[kind]]),
        np.array([0, count]),
        np.arange(count),
        np.zeros(count, np.uint8),
        share.part,
        0,
        name,
        0,
    )


def _colored(share: Share, priority: str) -> Plan:
    """Return one independent stage for each colour."""
    found = colored(share, np.ones(len(share.contact), bool), priority)
    return _staged(
        found.color,
        [_KINDS["independent"]] * found.colors,
        found.colors,
        found.rounds,
        "colored",
        share.part,
    )


def _colored_border(share: Share, priority: str) -> Plan:
    """Return the interiors as one disjoint stage, and one independent stage for each colour."""
    found = colored(share, ~share.inside, priority, by_palette=True)
    kinds = [_KINDS["disjoint"], *[_KINDS["independent"]] * found.colors]
    stage = np.where(share.inside, 0, found.color + 1)
    return _staged(stage, kinds, found.colors, found.rounds, "partition", share.part)


def _checkerboard(share: Share) -> Plan:
    """Return the interiors as one disjoint stage, and one for each colour of the parts."""
    part = np.where(share.inside, share.part, _visiting_parts(share))
    color = _colors_of_parts(share, part)
    count = int(color.max(initial=-1)) + 1
    stage = np.where(share.inside, 0, color[part] + 1)
    kinds = [_KINDS["disjoint"]] * (count + 1)
    return _staged(stage, kinds, count, 0, "partition", part)


def _concurrent_border(share: Share, weight: float, splits_masses: bool) -> Plan:
    """Return the interiors as one disjoint stage, and the border as one concurrent stage."""
    on_border = bool(share.comm.allgather(bool((~share.inside).any())).count(True))
    kinds = [_KINDS["disjoint"], *([_KINDS["concurrent"]] if on_border else [])]
    stage = np.where(share.inside, 0, 1)
    plan = _staged(stage, kinds, 0, 0, "partition", share.part)
    return plan._replace(weight=weight, splits_masses=splits_masses)


def _staged(
    stage: np.ndarray,
    kinds: list[int],
    colors: int,
    rounds: int,
    name: str,
    part: np.ndarray,
) -> Plan:
    """Return contacts by stage: in disjoint and concurrent ones by part, else by number."""
    kind = np.array(kinds, np.int64)
    by_part = np.isin(kind, (_KINDS["disjoint"], _KINDS["concurrent"]))
    key = np.where(by_part[stage], part, 0) if len(kind) else part
    block = np.lexsort((np.arange(len(stage)), key, stage))
    sorted_stage, sorted_part = stage[block], key[block]
    start = np.searchsorted(sorted_stage, np.arange(len(kind) + 1))

    # A part begins where the stage or the part is another one.
    begins = np.ones(len(block), bool)
    begins[1:] = (sorted_stage[1:] != sorted_stage[:-1]) | (sorted_part[1:] != sorted_part[:-1])
    cut = (begins & by_part[sorted_stage]) if len(kind) else begins
    return Plan(kind, start, block, cut.astype(np.uint8), part, colors, name, rounds)


# ---- the checkerboard ---------------------------------------------------------------------------


def _visiting_parts(share: Share) -> np.ndarray:
    """Return the part that visits each contact: the lowest one of its hubs, or of its bodies."""
    partners = share.partners
    hub = np.append(_degrees(share), 0)[partners] > _HUB  # the last one is that of -1
    label = np.where(partners >= 0, np.append(share.label, -1)[partners], share.parts)
    of_hubs = np.where(hub, label, share.parts).min(axis=1, initial=share.parts)
    lowest = np.where(of_hubs < share.parts, of_hubs, label.min(axis=1, initial=share.parts))
    return np.where(lowest < share.parts, lowest, share.part)


def _degrees(share: Share) -> np.ndarray:
    """Return the number of contacts of each body of the share, also of ghosts."""
    # Owners have all contacts of their bodies.
    partners = share.partners
    degree = np.bincount(partners[partners >= 0], minlength=len(share.body))
    return from_owners(share, degree, np.arange(len(share.body)))


def _colors_of_parts(share: Share, part: np.ndarray) -> np.ndarray:
    """Return the colour of each part, −1 without contacts on the border.

    Parts meet if contacts that they visit have a body in common. They are coloured greedily, in the
    sequence of their numbers.
    """
    # The parts at each body that the rank owns.
    partners = np.where(share.inside[:, None], -1, share.partners)
    row, column = np.nonzero(partners >= 0)
    body = partners[row, column]
    mine = share.owns_body[body]
    at = np.unique(np.stack([body[mine], part[row[mine]]], axis=1), axis=0)

    # All pairs of parts at one body, gathered from all ranks.
    ends = np.searchsorted(at[:, 0], at[:, 0], side="right")
    count = ends - np.arange(len(at))
    first = np.repeat(np.arange(len(at)), count)
    second = first + np.arange(len(first)) - np.repeat(np.cumsum(count) - count, count)
    pairs = np.unique(np.stack([at[first, 1], at[second, 1]], axis=1), axis=0)
    pairs = np.unique(np.concatenate(share.comm.allgather(pairs)), axis=0)

    # The lowest colour that no part before has which meets this one.
    meets: list[list[int]] = [[] for _ in range(share.parts)]
    color = np.full(share.parts, -1)
    for low, high in pairs.tolist():
        if low != high:
            meets[max(low, high)].append(min(low, high))
    for one in np.unique(pairs).tolist():
        taken = {int(color[other]) for other in meets[one]}
        color[one] = next(c for c in range(len(taken) + 1) if c not in taken)
    return color
