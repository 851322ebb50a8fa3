"""Advice after a solve that did not converge, from facts about the problem and the method."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .problem import Problem

__all__ = ["Facts", "Given", "advice", "compliance_advice", "start_advice"]

# A ratio of masses above this, of bodies that touch, makes sweeps slow.
_HEAVY = 100.0
# Methods that support mixed precision.
_MIXED = ("jacobi", "gauss_seidel", "symmetric_gauss_seidel", "mass_splitting")
_SWEEPS = (
    "jacobi",
    "gauss_seidel",
    "symmetric_gauss_seidel",
    "mass_splitting",
    "nesterov",
    "momentum",
    "nncg",
    "nesterov_nncg",
    "anderson",
    "chebyshev",
)


class Given(NamedTuple):
    """The options of a solve on which advice depends."""

    scheme: str
    bound: str
    r_factor: Any
    rollback_growth: float | None
    started: bool  # from impulses or an index set

    def changes(self, dtype: str, *, wide: bool = False) -> list[str]:
        """Options to change before methods other than plain sweeps; `wide`: Newton's method."""
        narrow = dtype == "mixed" or (wide and dtype == "float32")
        changes = {
            "dtype='float64'": narrow,
            "r_factor='local'": self.r_factor == "balanced",
            "scheme='auto'": self.scheme == "symmetric_half",
            "bound='current'": wide and self.bound != "current",
        }
        return [text for text, needed in changes.items() if needed]


class Facts:
    """Facts of a problem for messages, computed on first use."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @cached_property
    def masses(self) -> tuple[float, int, int]:
        """The largest ratio of masses of two moving bodies that touch, the heavier, the lighter.

        The masses are those along the bodies' first coordinates, the numbers run through all groups
        of bodies; 1 where no bodies are known.
        """
        problem = self._problem
        if problem._matrix is not None or problem._operator is not None or not problem._bodies:
            return 1.0, -1, -1
        firsts = [
            values[:, 0, 0] if values.ndim == 3 else values[:, 0]
            for values in problem._inverse_masses()
        ]
        inverse = np.concatenate([*firsts, [0.0]])  # the last is the fixed world
        pairs, _ = problem._body_pairs()
        pairs = pairs[(inverse[pairs] > 0).all(axis=1)]
        if not len(pairs):
            return 1.0, -1, -1
        ratios = inverse[pairs].max(axis=1) / inverse[pairs].min(axis=1)
        heavy, light = sorted(pairs[np.argmax(ratios)].tolist(), key=lambda body: inverse[body])
        return float(ratios.max()), heavy, light

    @cached_property
    def is_compliant(self) -> bool:
        """Whether every row of the problem has a compliance."""
        compliance = self._problem.compliance
        parts = compliance if isinstance(compliance, list) else [compliance]
        return all(part is not None and bool((part > 0).all()) for part in parts)

    @cached_property
    def freedom(self) -> tuple[int, int]:
        """Rows of all contacts, and degrees of freedom that move; (0, 0) where A was given."""
        problem = self._problem
        rows = sum(group.contacts * group.rows for group in problem._groups)
        if problem._matrix is not None:
            return 0, 0
        if problem._operator is not None:
            return rows, int(problem._operator.J.shape[1])
        moving = 0
        for values in problem._inverse_masses():
            moving += int(np.count_nonzero(values.any(axis=-1) if values.ndim == 3 else values))
        return rows, moving


def compliance_advice(facts: Facts) -> str:
    """Return the advice to add a compliance, with the reason."""
    if facts.is_compliant:
        return "a larger compliance"
    rows, freedom = facts.freedom
    if rows <= freedom or not freedom:
        return "a compliance"
    more = rows - freedom
    return (
        f"a compliance ({rows} rows act on {freedom} degrees of freedom: at least {more} are "
        f"redundant)"
    )


def start_advice(given: Given) -> list[str]:
    """Return the advice to start from an earlier result, unless the solve did."""
    return [] if given.started else ["a start from an earlier result (initial=)"]


def advice(info: dict[str, Any], status: str, facts: Facts, given: Given) -> str:
    """Return what to try, the most helpful first."""
    method, hopeless = info["method"], status in ("stalled", "wandering")
    tries = _auto(info, hopeless, given) if method == "auto" else _others(info, facts, given)
    if method == "jacobi":
        tries += ["r_factor='balanced'"] * (given.r_factor != "balanced")
        tries += ["rollback_growth=1"] * (given.rollback_growth != 1)
    if info["dtype"] == "float32":
        tries.append("dtype='float64' or 'mixed'" if method in _MIXED else "dtype='float64'")
    if info["rollbacks"]:
        tries.append("rollback=0 with a smaller relaxation")
    if status == "max_seconds":
        tries.append("more seconds")
    elif not hopeless:
        tries.append("more iterations")
    return "; ".join([*tries, *start_advice(given)])


def _auto(info: dict[str, Any], hopeless: bool, given: Given) -> list[str]:
    """Options that let `auto` use more than Gauss-Seidel, or methods that it has not tried."""
    changes = given.changes(info["dtype"])
    if changes:
        return [f"{' and '.join(changes)}, with which 'auto' does more than Gauss-Seidel"]
    tried = dict.fromkeys(link["method"] for link in info.get("links", ()))
    return [f"a method other than {_listed(list(tried))}, which were tried"] if hopeless else []


def _others(info: dict[str, Any], facts: Facts, given: Given) -> list[str]:
    """Other methods to try, and why."""
    (ratio, heavy, light), dtype, method = facts.masses, info["dtype"], info["method"]
    tries = []
    if method in _SWEEPS and ratio >= _HEAVY:
        tries.append(
            f"method='multilevel' or 'newton'{_with(given.changes(dtype, wide=True))} (body "
            f"{heavy} has {ratio:,.0f} times the mass of body {light}, which it touches)"
        )
    tries.append(
        f"method='auto'{_with(given.changes(dtype))}, which changes to another method when one "
        f"stagnates"
    )
    if method == "jacobi":
        tries.append("method='gauss_seidel'")
    return tries


def _with(changes: list[str]) -> str:
    return f" with {' and '.join(changes)}" if changes else ""


def _listed(names: list[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]])) or "those"
