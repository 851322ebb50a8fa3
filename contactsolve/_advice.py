"""What to try after a solve that did not converge, from what is known of problem and method."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .problem import Problem

__all__ = ["Facts", "advice", "redundancy"]

# Sweeps need iterations in proportion to a mass ratio above this.
_HEAVY = 100.0
_SWEEPS = (
    "jacobi",
    "gauss_seidel",
    "symmetric_gauss_seidel",
    "mass_splitting",
    "nesterov",
    "momentum",
    "nncg",
    "anderson",
    "chebyshev",
)


class Facts:
    """What a message may tell of a problem; found when first asked for."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @cached_property
    def masses(self) -> tuple[float, str, str]:
        """The largest ratio of masses of moving bodies, the heaviest one, and the lightest.

        The masses are those along the bodies' first coordinates; 1 where no bodies are known.
        """
        problem = self._problem
        if problem._matrix is not None or problem._operator is not None:
            return 1.0, "", ""
        inverse, names = [], []
        for g, shape in enumerate(problem._bodies):
            values = problem._core.inverse_mass(g).reshape(shape)
            first = values[:, 0, 0] if values.ndim == 3 else values[:, 0]
            group = f" of group {g}" if len(problem._bodies) > 1 else ""
            inverse.append(first)
            names += [f"body {body}{group}" for body in range(len(first))]
        all_of_them = np.concatenate(inverse)
        moving = np.flatnonzero(all_of_them > 0)
        if not len(moving):
            return 1.0, "", ""
        heavy = moving[np.argmin(all_of_them[moving])]
        light = moving[np.argmax(all_of_them[moving])]
        return float(all_of_them[light] / all_of_them[heavy]), names[heavy], names[light]

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
        for g, shape in enumerate(problem._bodies):
            values = problem._core.inverse_mass(g).reshape(shape)
            moving += int(np.count_nonzero(values.any(axis=-1) if values.ndim == 3 else values))
        return rows, moving


def redundancy(facts: Facts) -> str:
    """Say that there are more rows than what they act on, or nothing."""
    rows, freedom = facts.freedom
    if rows <= freedom or not freedom:
        return ""
    more = rows - freedom
    return f" ({rows} rows act on {freedom} degrees of freedom: at least {more} are redundant)"


def advice(info: dict[str, Any], status: str, facts: Facts) -> str:
    """Return what to try, what helps most first."""
    method, hopeless = info["method"], status in ("stalled", "wandering")
    tries = []
    if method == "auto":
        tried = dict.fromkeys(link["method"] for link in info.get("links", ()))
        if hopeless:
            tries.append(f"a method other than {_listed(list(tried))}, which were tried")
    else:
        tries += _other_methods(method, facts)
    if method == "jacobi":
        tries += ["r_factor='balanced'", "rollback_growth=1"]
    if info["dtype"] == "float32":
        tries.append("dtype='float64' or 'mixed'")
    if info["rollbacks"]:
        tries.append("rollback=0 with a smaller relaxation")
    if status == "max_seconds":
        tries.append("more seconds")
    elif not hopeless:
        tries.append("more iterations")
    tries.append("a start from an earlier result (initial=)")
    return "; ".join(tries)


def _other_methods(method: str, facts: Facts) -> list[str]:
    """Methods in place of this one, and why."""
    ratio, heavy, light = facts.masses
    tries = []
    if method in _SWEEPS and ratio >= _HEAVY:
        tries.append(
            f"method='multilevel' or 'newton' ({heavy} has {ratio:,.0f} times the mass of {light}, "
            f"and sweeps need iterations in proportion)"
        )
    tries.append("method='auto', which goes on to another method where one stalls")
    if method == "jacobi":
        tries.append("method='gauss_seidel'")
    return tries


def _listed(names: list[str]) -> str:
    """``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]])) or "those"
