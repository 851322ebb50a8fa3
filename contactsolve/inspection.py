"""Inspection of a result by contacts: their states, errors and work."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _core
from ._arrays import index
from .problem import Problem

if TYPE_CHECKING:
    from .result import Result

__all__ = ["Check", "Energy", "activity", "block_count", "check", "energy", "islands"]

# As the C library numbers them (cs_activity).
_ACTIVITIES = np.array(["open", "stick", "slide", "free", "low", "high"])

# Impulses below a fraction of their scale count as zero: this multiple of the scaled natural map of
# the result, because an iterate is a few steps away from its limit; between two bounds.
_STEPS_AWAY, _EXACT, _ROUGH = 10.0, 1e-12, 1e-3


@dataclass(frozen=True, eq=False)
class Check:
    """The worst contacts of a result, the worst first.

    Attributes
    ----------
    contact
        Numbers of the contacts.
    what
        The coupled set with the largest error: normal, friction, cone, or a row.
    velocity_defect
        The error of that set as a velocity: Δ_s/ρ_s, its natural map over ρ_s = 1/max diag(A_ss)
        [m/s].
    gap_velocity
        ξ_n [m/s]; below zero the bodies approach. NaN for blocks that are not contacts.
    cone_violation
        Largest distance of a coupled set's impulse from the set [N s].
    natural_map, natural_map_scaled
        Δ, the distance of the impulses from their prox step [N s], and Δ_s/(ρ_s V), what the stop
        rule tests [1], by which the contacts are sorted.
    activity
        The state of each, as in `Result.active`; for other blocks one word per row, with spaces.
    total
        The number of contacts in the result.
    """

    contact: np.ndarray
    what: tuple[str, ...]
    velocity_defect: np.ndarray
    gap_velocity: np.ndarray
    cone_violation: np.ndarray
    natural_map: np.ndarray
    natural_map_scaled: np.ndarray
    activity: tuple[str, ...]
    total: int

    def __len__(self) -> int:
        return len(self.contact)

    def _table(self) -> list[tuple[str, ...]]:
        names = ("misses by", "gap velocity", "cone violation", "natural map", "scaled")
        head = ("contact", "what", *names, "activity")
        numbers = (
            self.velocity_defect,
            self.gap_velocity,
            self.cone_violation,
            self.natural_map,
            self.natural_map_scaled,
        )
        rows = [
            (str(contact), what, *(f"{x:.3e}" if np.isfinite(x) else "-" for x in values), activity)
            for contact, what, activity, *values in zip(
                self.contact.tolist(), self.what, self.activity, *numbers, strict=True
            )
        ]
        return [head, ("", "", "[m/s]", "[m/s]", "[N s]", "[N s]", "[1]", ""), *rows]

    def __repr__(self) -> str:
        table = self._table()
        widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
        lines = [
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        return "\n".join([f"Check(the worst {len(self)} of {self.total} contacts)", *lines])

    def _repr_html_(self) -> str:
        head, units, *rows = self._table()
        names = "".join(
            f"<th>{html.escape(f'{name} {unit}'.strip())}</th>"
            for name, unit in zip(head, units, strict=True)
        )
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in rows
        )
        return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class Energy:
    """Work and energies of one step [J].

    Attributes
    ----------
    contact_work
        ½ λᵀ(b + ξ), the work of the contact impulses on the velocities ½(b + ξ). It is the change
        of kinetic energy if b contains only the velocities of the contacts without impulses
        (neither restitution nor stabilisation), and A no compliance.
    before, without_contact, after
        Kinetic energies of the bodies before the step, after the external impulses alone, and
        after the step; None if the problem was not built from a state.
    """

    contact_work: float
    before: float | None = None
    without_contact: float | None = None
    after: float | None = None


def activity(result: Result) -> Any:
    """Return the state of each contact, or of each row of other blocks; see `Result.active`."""
    codes = _inspect(result)["activity"]
    groups = _by_group(result, _ACTIVITIES[codes])
    words = [group[:, 0] if contact else group for contact, group in groups]
    return words if result.problem.grouped else words[0]


def _by_group(result: Result, values: np.ndarray) -> list[tuple[bool, np.ndarray]]:
    """Values of all rows as ``(K, m)`` of each group, and whether the group holds contacts."""
    problem = result.problem
    parts = problem.split(values) if problem.grouped else [problem.split(values)]
    described = [_core.describe_set(group.set.name, group.rows) for group in problem._groups]
    return [(one["contact"], part) for one, part in zip(described, parts, strict=True)]


def check(result: Result, count: int) -> Check:
    """Return the `count` worst contacts; see `Result.check`."""
    count = index("count", count)
    found = _inspect(result)
    natural_map, scaled, rows = (
        found[name] for name in ("natural_map", "natural_map_scaled", "worst_row")
    )
    # NaN is worst; the natural map orders contacts whose scaled one is zero.
    order = np.where(np.isnan(scaled), np.inf, scaled)
    tied = np.where(scaled == 0, natural_map, 0.0)
    worst = np.lexsort((-tied, -order))[: max(0, count)]

    # The state and the gap velocity of every block.
    words, gaps = [], []
    xi = result.problem.join("residual_velocities", result.residual_velocities)
    for contact, group in _by_group(result, _ACTIVITIES[found["activity"]]):
        words += [row[0] if contact else " ".join(row) for row in group]
    for contact, group in _by_group(result, xi):
        gaps.append(group[:, 0] if contact else np.full(len(group), np.nan))
    return Check(
        contact=worst,
        what=tuple(set_in_words(result.problem, k, int(rows[k])) for k in worst.tolist()),
        velocity_defect=found["worst_velocity"][worst],
        gap_velocity=np.concatenate(gaps)[worst] if gaps else np.zeros(0),
        cone_violation=found["infeasibility"][worst],
        natural_map=natural_map[worst],
        natural_map_scaled=scaled[worst],
        activity=tuple(words[k] for k in worst),
        total=result.problem.contacts,
    )


def set_in_words(problem: Problem, contact: int, row: int) -> str:
    """Return the name of a coupled set from its first row in the block."""
    end = 0
    for g, group in enumerate(problem._groups):
        end += group.contacts
        if contact < end:
            return set_of_group_in_words(problem, g, row)
    return ""


def set_of_group_in_words(problem: Problem, g: int, row: int) -> str:
    """Return the name of a coupled set of a contact of group g, from its first row in the block."""
    group = problem._groups[g]
    return _part_of_block(_core.describe_set(group.set.name, group.rows), row)


def _part_of_block(described: dict[str, Any], row: int) -> str:
    """Return the name of the coupled set of a row, from the description of the block's set."""
    if not described["contact"]:
        return f"row {row}"
    # A cone couples the normal impulse with the first tangent.
    normal, *friction = described["coupling"]
    if friction and friction[0] == normal:
        return "cone"
    return "normal" if row == 0 else "friction"


def _inspect(result: Result) -> dict[str, np.ndarray]:
    reached = _STEPS_AWAY * result.natural_map_scaled
    tolerance = min(max(reached, _EXACT), _ROUGH) if np.isfinite(reached) else _ROUGH
    b = _b(result)
    return _core.inspect(
        result.problem._core,
        result.problem.join("impulses", result.impulses),
        result.problem.join("residual_velocities", result.residual_velocities),
        b,
        result._parameters,
        tolerance,
    )


def _b(result: Result) -> np.ndarray:
    """Return the b of the solve."""
    return result.problem.join("b", result.problem.b if result._b is None else result._b)


def energy(result: Result) -> Energy:
    """Return the work of the contact impulses and, where known, kinetic energies."""
    problem = result.problem
    xi = problem.join("residual_velocities", result.residual_velocities)
    work = 0.5 * float(problem.join("impulses", result.impulses) @ (_b(result) + xi))
    return Energy(work, *_kinetic_energies(result))


def _kinetic_energies(result: Result) -> tuple[float, ...]:
    """Return kinetic energies before, without contact and after; none without a state."""
    problem, state = result.problem, result.problem.state
    if state is None:
        return ()
    after = state.free_velocity + result.body_velocity_change
    return tuple(problem.kinetic_energy(u) for u in (state.velocity, state.free_velocity, after))


def islands(problem: Problem) -> np.ndarray:
    """Label the connected part of a problem that each contact belongs to.

    Contacts are connected by the moving bodies that they share, or by non-zero blocks of a given A;
    immovable bodies connect nothing.

    Parameters
    ----------
    problem
        A `Problem`.

    Returns
    -------
    ndarray
        ``(K,)``, numbered in the order of their first contacts; -1 for contacts between immovable
        bodies.

    Raises
    ------
    TypeError
        `problem` that is no `Problem`.

    Examples
    --------
    >>> import contactsolve as cs
    >>> cs.islands(cs.scenarios.ball_grid((1, 2, 2)))
    array([0, 0, 0, 0, 0, 0])
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem is {type(problem).__name__}: a Problem is needed")
    return _core.islands(problem._core)


def block_count(problem: Problem, *, fixed_as_body: bool = False) -> int:
    """Count the non-zero blocks of A without building it (S1 Corollary 3.2).

    The row of a contact between bodies i and j has n_i + n_j − n_ij blocks, with the numbers n of
    contacts on each body and on both. ``scheme="auto"`` depends on it.

    Parameters
    ----------
    problem
        A `Problem`.
    fixed_as_body
        Let bodies with zero inverse mass couple their contacts, as S1 does for the ground.

    Returns
    -------
    int

    Raises
    ------
    TypeError
        `problem` that is no `Problem`.

    Examples
    --------
    >>> import contactsolve as cs
    >>> grid = cs.scenarios.ball_grid(8, ground="body")
    >>> cs.block_count(grid, fixed_as_body=True)  # S1 Table 3.2
    17728
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem is {type(problem).__name__}: a Problem is needed")
    return problem.count_blocks(fixed_as_body=fixed_as_body)
