"""The contacts of a step of a cloth as a problem: blocks with four partners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..geometry import tangent_basis
from ..problem import Problem
from ..solver import solve

if TYPE_CHECKING:
    from .. import _core

__all__ = ["Contacts", "contacts_of", "problem_of", "solved"]


class Contacts(NamedTuple):
    """The contacts of a step, K of them.

    Attributes
    ----------
    vertices
        ``(K, 4)``: a vertex and those of a face, or two edges. Vertices of obstacles follow those
        of the cloth.
    weights
        ``(K, 4)``: the relative velocity is the sum of weight times velocity.
    normals
        ``(K, 3)``: unit vectors from the face, or the second edge, to the vertex or the first one.
    gaps
        Distances before the step, ``(K,)`` [m].
    bounds
        ``(K,)`` [m/s]: the least relative velocity along the normal.
    impulses
        ``(K, 3)`` [N s], on the first primitive.
    rates
        Relative velocities after the step, ``(K, 3)`` [m/s].
    is_impact
        ``(K,)``: whether stopping impulses were for it, or repulsion.
    """

    vertices: np.ndarray
    weights: np.ndarray
    normals: np.ndarray
    gaps: np.ndarray
    bounds: np.ndarray
    impulses: np.ndarray
    rates: np.ndarray
    is_impact: np.ndarray


def contacts_of(core: _core.Cloth, *, is_present: bool = False) -> Contacts:
    """Return the contacts of the last step of a cloth, or of the one that was predicted."""
    return Contacts(*core.contacts(is_present))


def frames_of(normals: np.ndarray) -> np.ndarray:
    """Return normal and two tangents of each contact, as rows ``(K, 3, 3)``."""
    return np.stack((normals, *tangent_basis(normals)), axis=1)


def problem_of(
    contacts: Contacts, inverse_masses: np.ndarray, mu: float, name: str = ""
) -> tuple[Problem, np.ndarray]:
    """Return the problem of contacts without impulses, and their frames ``(K, 3, 3)``.

    Rows are normal and tangents, or the normal alone without friction; bodies are the vertices of
    the cloth that can move, with three degrees of freedom. b is the relative velocity that the step
    would have, and the gap that may be used up.
    """
    n = len(inverse_masses)
    frames = frames_of(contacts.normals)
    rows = frames if mu > 0 else frames[:, :1]
    free = contacts.vertices < n
    free &= inverse_masses[np.where(free, contacts.vertices, 0)] > 0
    b = np.einsum("kij,kj->ki", rows, contacts.rates)
    b[:, 0] -= contacts.bounds
    J = contacts.weights[:, :, None, None] * rows[:, None]
    problem = Problem(
        np.ascontiguousarray(J),
        np.repeat(inverse_masses[:, None], 3, axis=1),
        b,
        mu if mu > 0 else None,
        bodies=np.where(free, contacts.vertices, -1),
        name=name,
    )
    return problem, frames


def solved(
    core: _core.Cloth, inverse_masses: np.ndarray, mu: float, method: str, options: dict[str, Any]
) -> dict[str, Any]:
    """Solve the contacts of the step that was predicted, and give it the impulses."""
    before = contacts_of(core, is_present=True)
    count = len(before.gaps)
    if not count:
        return {"status": "converged", "iterations": 0, "contacts": 0}
    core.set_impulses(np.zeros((count, 3)))
    problem, frames = problem_of(contacts_of(core, is_present=True), inverse_masses, mu)
    m = 3 if mu > 0 else 1
    initial = np.einsum("kij,kj->ki", frames[:, :m], before.impulses)
    result = solve(problem, method=method, **{"initial": initial, **options})
    found = np.asarray(result.impulses, float).reshape(count, m)
    core.set_impulses(np.einsum("kij,ki->kj", frames[:, :m], found))
    return {"status": result.status, "iterations": result.iterations, "contacts": count}
