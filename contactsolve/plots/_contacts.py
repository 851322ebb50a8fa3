"""What pictures show of contacts: lines along which impulses act, and impulses as arrows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from contactsolve._optional import optional
from contactsolve.dynamics import World
from contactsolve.dynamics.contacts import Contacts
from contactsolve.geometry import tangent_basis
from contactsolve.plots._stage import Moment, reaches

if TYPE_CHECKING:
    from matplotlib.cm import ScalarMappable

__all__ = [
    "ARROWS",
    "FORCES",
    "POINTS",
    "Links",
    "arrow_length",
    "impulse_colors",
    "impulse_vectors",
    "largest_impulse",
    "links_of",
    "name_of",
    "require_kind",
]

POINTS, FORCES, ARROWS = "points", "forces", "arrows"
_KINDS = (POINTS, FORCES, ARROWS)

_LEAST = 1e-3  # of the largest impulse: weaker contacts are left out
_LONGEST = 2.0  # arrow, in lengths of that of the largest impulse
_WEAK_TO_STRONG = ["#f0b429", "#e36b2c", "#b3173c", "#4a0a2c"]


class Links(NamedTuple):
    """Straight lines with the impulse that each of them shows, the weakest first; K of them."""

    start: np.ndarray  # (K, D) [m]
    end: np.ndarray  # (K, D)
    impulses: np.ndarray  # (K,) [N s]


def require_kind(kind: object) -> None:
    """Refuse what cannot be drawn of contacts."""
    if kind is not None and kind not in _KINDS:
        known = ", ".join(map(repr, _KINDS))
        raise ValueError(f"contacts is {kind!r}: None, {known} are known")


def name_of(kind: str) -> str:
    """Return what the colours of contacts are."""
    return "normal impulse [N s]" if kind == FORCES else "impulse [N s]"


def links_of(kind: str, moment: Moment, largest: float, length: float) -> Links:
    """Return the lines of force chains, or arrows.

    Parameters
    ----------
    kind
        `FORCES`: normal impulses, between the centres of mass of the bodies, or from the contact if
        one of them is fixed. `ARROWS`: impulses on the second body (on the first one, if the second
        is fixed), from the contact.
    largest
        Impulse that is drawn in full [N s]: weaker ones than 0.1 % of it are left out.
    length
        Of an arrow with this impulse [m]; others are at most twice as long.
    """
    contacts = moment.contacts
    assert contacts is not None
    if kind == FORCES:
        sizes = contacts.impulses[:, 0]
        ends = [
            np.where((body < 0)[:, None], contacts.points, _centers(moment)[body])
            for body in contacts.bodies.T
        ]
    else:
        vectors = impulse_vectors(contacts)
        vectors = np.where(contacts.bodies[:, 1:] < 0, -vectors, vectors)
        sizes = np.linalg.norm(vectors, axis=1)
        lengths = length * np.minimum(sizes / max(largest, 1e-300), _LONGEST)
        directions = vectors / np.maximum(sizes, 1e-300)[:, None]
        ends = [contacts.points, contacts.points + lengths[:, None] * directions]
    order = np.argsort(sizes)
    order = order[sizes[order] > _LEAST * largest]
    return Links(ends[0][order], ends[1][order], sizes[order])


def _centers(moment: Moment) -> np.ndarray:
    """Return the centres of mass, and that of body −1, which is not looked at."""
    return np.vstack([moment.positions, np.zeros(moment.positions.shape[1])])


def impulse_vectors(contacts: Contacts) -> np.ndarray:
    """Return the impulses on the second bodies in the world frame, ``(K, D)`` [N s]."""
    normals, impulses = contacts.normals, contacts.impulses
    vectors = impulses[:, :1] * normals
    if normals.shape[1] == 2:
        tangents: tuple[np.ndarray, ...] = (np.column_stack([-normals[:, 1], normals[:, 0]]),)
    else:
        tangents = tangent_basis(normals)
    for row, tangent in enumerate(tangents, start=1):
        if impulses.shape[1] > row:
            vectors += impulses[:, row : row + 1] * tangent
    return vectors


def largest_impulse(kind: str, moments: list[Moment]) -> float:
    """Return the impulse that is drawn in full.

    That is the largest one of a moment; of several moments the median of these, because impacts are
    many times larger than the impulses of bodies at rest.
    """
    sizes = []
    for moment in moments:
        assert moment.contacts is not None
        if kind == FORCES:
            values = moment.contacts.impulses[:, 0]
        else:
            values = np.linalg.norm(impulse_vectors(moment.contacts), axis=1)
        sizes.append(float(values.max(initial=0.0)))
    sizes = [size for size in sizes if size > 0]
    return float(np.median(sizes)) if sizes else 0.0


def arrow_length(world: World, box: tuple[np.ndarray, np.ndarray]) -> float:
    """Return the length of an arrow of the largest impulse: of the size of the bodies.

    It is that of all bodies of the world, so that it is the same at all times.
    """
    whole = float(np.linalg.norm(box[1] - box[0]))
    reach = reaches([one for one in world.shapes if one.body >= 0])
    reach = reach[np.isfinite(reach)]
    return min(0.2 * whole, 2.5 * float(np.median(reach))) if len(reach) else 0.2 * whole


def impulse_colors(largest: float, exceeded: bool) -> ScalarMappable:
    """Return the scale of colours of contacts; `exceeded`: there are larger impulses."""
    cm = optional("matplotlib.cm", "plots need")
    colors = optional("matplotlib.colors", "plots need")
    strong = colors.LinearSegmentedColormap.from_list("weak to strong", _WEAK_TO_STRONG)
    strong.colorbar_extend = "max" if exceeded else "neither"
    return cm.ScalarMappable(colors.Normalize(0.0, largest if largest > 0 else 1.0), strong)
