"""The schedule of an order for a problem: its stages, parts and colours, and their figures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._options import KINDS, explain
from .problem import Problem
from .result import _html_table

if TYPE_CHECKING:
    from .orders import Order

__all__ = ["Schedule", "schedule_of"]

_LANES = (4, 8)  # contacts at once in double and in single precision, 32 bytes wide
_SHOWN = 12  # stages in full, in tables


@dataclass(frozen=True, eq=False, repr=False)
class Schedule:
    """The schedule of a sweep: the order of its visits, and whose new values each contact sees.

    A sweep consists of stages, one after another. A stage visits its contacts in parts, which
    threads may visit in parallel if the kind of the stage allows it.

    Attributes
    ----------
    order, method
        Names of the order and of the method.
    kinds
        The kind of each stage, ``(S,)``: ``"sequential"``, every contact sees the ones before;
        ``"simultaneous"``, all see the values from before the stage; ``"independent"``, no two
        share a moving body, so that both give the same; ``"concurrent"``, parts that are sequential
        inside and see the other parts as before the stage; ``"disjoint"``, parts that are
        sequential inside and share no moving body.
    sizes
        Number of contacts in each stage, ``(S,)``.
    parts
        Number of parts in each stage, ``(S,)``.
    visits
        The contacts in the order of their visits, ``(K,)``.
    stage, part
        The stage of each contact, and its part within the stage, ``(K,)``.
    row_blocks
        Number of non-zero blocks in the row of A of each contact, ``(K,)`` (S1 Corollary 3.2).
    color_sizes
        Number of contacts of each colour, before small colours are merged; empty without colours.
        With ``"partition"`` and ``"cache"`` the colours are those of the border, or, without
        domains, those of all chunks together.
    rounds
        Number of rounds of the colouring: one, or more with ``parallel=True``; 0 for other orders
        than ``"colored"``.
    balance, balance_blocks
        The largest part of each stage over the mean of its parts, ``(S,)``, by contacts and by
        blocks of A. The optimum is 1: p threads need at least this value times 1/p of the stage's
        time.
    fill
        For vectors of 4 and of 8 lanes: the share of used lanes if each group of contacts in the
        parts of independent stages is packed separately. NaN without such stages.
    seconds
        Time to compute the order [s].
    """

    order: str
    method: str
    kinds: np.ndarray
    sizes: np.ndarray
    parts: np.ndarray
    visits: np.ndarray
    stage: np.ndarray
    part: np.ndarray
    row_blocks: np.ndarray
    color_sizes: np.ndarray
    rounds: int
    balance: np.ndarray
    balance_blocks: np.ndarray
    fill: dict[int, float]
    seconds: float

    @property
    def contacts(self) -> int:
        """K."""
        return len(self.visits)

    @property
    def stages(self) -> int:
        """S, the number of stages."""
        return len(self.sizes)

    @property
    def colors(self) -> int:
        """The number of colours; 0 without colours."""
        return len(self.color_sizes)

    @property
    def smallest(self) -> int:
        """The number of contacts in the smallest stage; 0 without stages."""
        return int(self.sizes.min(initial=self.contacts))

    @property
    def largest(self) -> int:
        """The number of contacts in the largest stage; 0 without stages."""
        return int(self.sizes.max(initial=0))

    @property
    def synchronizations(self) -> int:
        """Number of times per sweep that all threads wait for each other: once per stage.

        Schemes have further synchronizations in stages whose contacts do not see each other, to
        keep old values and to add up changes.
        """
        return self.stages

    @cached_property
    def place(self) -> np.ndarray:
        """The position of each contact in the sequence of visits, ``(K,)``."""
        place = np.empty(self.contacts, dtype=np.int64)
        place[self.visits] = np.arange(self.contacts)
        return place

    def _summary(self) -> list[tuple[str, str]]:
        """Return names and figures as text."""
        rows = [("contacts", f"{self.contacts:,}"), ("stages", _stages(self))]
        if self.colors:
            few = f"{self.color_sizes.min():,} to {self.color_sizes.max():,} contacts each"
            rows.append(("colors", f"{self.colors:,}, {few}"))
        if self.rounds > 1:
            rows.append(("rounds of colouring", str(self.rounds)))
        rows.append(("parts", f"{int(self.parts.sum()):,}, at most {self._most_parts():,} at once"))

        # How well the parts are balanced, and how full vectors are.
        worst = self.balance.max(initial=1.0), self.balance_blocks.max(initial=1.0)
        text = f"{worst[0]:.2f} by contacts, {worst[1]:.2f} by blocks of A"
        rows.append(("largest over mean part", text))
        filled = [f"{share:.0%} of {lanes}" for lanes, share in self.fill.items() if share == share]
        if filled:
            rows.append(("full lanes", ", ".join(filled)))
        rows.append(("synchronizations a sweep", f"{self.synchronizations:,}"))
        return rows

    def _most_parts(self) -> int:
        return int(self.parts.max(initial=0))

    def __repr__(self) -> str:
        words = [self.order, f"{self.contacts:,} contact{'' if self.contacts == 1 else 's'}"]
        words.append(_stages(self))
        if self.colors:
            words.append(f"{self.colors:,} color{'' if self.colors == 1 else 's'}")
        if self._most_parts() > 1:
            words.append(f"up to {self._most_parts():,} parts at once")
        return f"Schedule({', '.join(words)})"

    def _repr_html_(self) -> str:
        about = _html_table((f"order {self.order}, {self.method}", ""), _lists(self._summary()))
        table = [
            [str(s), str(self.kinds[s]), f"{self.sizes[s]:,}", f"{self.parts[s]:,}"]
            + [f"{share[s]:.2f}" for share in (self.balance, self.balance_blocks)]
            for s in range(min(self.stages, _SHOWN))
        ]
        if self.stages > _SHOWN:
            table.append(["…"] * 6)
        head = ("stage", "kind", "contacts", "parts", "largest / mean part", "by blocks of A")
        return about + _html_table(head, table)


def _lists(rows: list[tuple[str, str]]) -> list[list[str]]:
    return [list(row) for row in rows]


def _stages(schedule: Schedule) -> str:
    """Return the stages as text, ``"6 independent stages of 16 to 32"``, kind by kind."""
    found = []
    for kind in dict.fromkeys(schedule.kinds.tolist()):
        sizes = schedule.sizes[schedule.kinds == kind]
        span = f"{sizes.min():,} to {sizes.max():,}" if np.ptp(sizes) else f"{sizes.max():,}"
        found.append(f"{len(sizes):,} {kind} stage{'' if len(sizes) == 1 else 's'} of {span}")
    return ", ".join(found) or "no stages"


def schedule_of(
    problem: Any,
    order: Order,
    given: Any,
    parts: Any,
    rng: Any,
    method: Any,
    team: dict[str, Any],
) -> Schedule:
    """Return the schedule of an order for a problem; `given` is the caller's argument.

    `team` holds the threads that find it.
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem is {type(problem).__name__}: a Problem is needed")
    seed = order.seed(rng)
    try:
        found = _core.ordering(
            problem._core,
            method,
            order.name,
            order.options(problem, seed, parts) | team,
        )
    except (TypeError, ValueError, OverflowError) as error:
        options = {"order": given, "parts": parts, "method": method, **team}
        raise explain({n: v for n, v in options.items() if n in KINDS}, error) from None
    return _schedule(problem, found)


def _schedule(problem: Problem, found: dict[str, Any]) -> Schedule:
    """Return a schedule from the arrays of the C library."""
    # The stage and the part of each visit, and from these of each contact.
    visits, part_start, stage_start = found["visit"], found["part_start"], found["stage_start"]
    part_sizes, parts = np.diff(part_start), np.diff(stage_start)
    stage_of_part = np.repeat(np.arange(len(parts)), parts)
    part_of_visit = np.repeat(np.arange(len(part_sizes)), part_sizes)
    stage, part = np.empty_like(visits), np.empty_like(visits)
    stage[visits] = stage_of_part[part_of_visit]
    part[visits] = part_of_visit - stage_start[stage_of_part[part_of_visit]]

    # Blocks of A in each part, and visits that fill lanes.
    kinds = np.array(_core.stage_kinds())[found["kind"]]
    part_blocks = _sums(found["row_blocks"][visits], part_start)
    independent = (kinds == "independent")[stage_of_part[part_of_visit]]
    return Schedule(
        order=found["order"],
        method=found["method"],
        kinds=kinds,
        sizes=np.diff(part_start[stage_start]),
        parts=parts,
        visits=visits,
        stage=stage,
        part=part,
        row_blocks=found["row_blocks"],
        color_sizes=found["color_size"],
        rounds=found["rounds"],
        balance=_balance(part_sizes, stage_start),
        balance_blocks=_balance(part_blocks, stage_start),
        fill=_fill(problem, visits[independent], part_of_visit[independent]),
        seconds=found["seconds"],
    )


def _sums(values: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the sums of values between consecutive starts."""
    return np.diff(np.concatenate([[0], np.cumsum(values)])[start])


def _balance(work: np.ndarray, stage_start: np.ndarray) -> np.ndarray:
    """Return the largest over the mean work of the parts of each stage; 1 without work."""
    if len(stage_start) == 1:
        return np.zeros(0)
    total, parts = _sums(work, stage_start), np.diff(stage_start)
    largest = np.maximum.reduceat(work, stage_start[:-1])
    return np.where(total > 0, largest * parts / np.maximum(total, 1), 1.0)


def _fill(problem: Problem, visits: np.ndarray, part: np.ndarray) -> dict[int, float]:
    """Return the share of used lanes by their number, for visits packed by part and group."""
    sizes = [group.contacts for group in problem._groups]
    group = np.repeat(np.arange(len(sizes)), sizes)[visits]
    _, counts = np.unique(part * max(len(sizes), 1) + group, return_counts=True)
    shares = {}
    for lanes in _LANES:
        taken = lanes * int((-(-counts // lanes)).sum())
        shares[lanes] = len(visits) / taken if taken else float("nan")
    return shares
