"""A world at one time: where its shapes are, and which colours they have."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from contactsolve._arrays import real_array
from contactsolve._optional import optional
from contactsolve.dynamics import Frame, PlacedShape, Shape, World
from contactsolve.dynamics.contacts import Contacts

if TYPE_CHECKING:
    from matplotlib.cm import ScalarMappable

__all__ = [
    "PALETTE",
    "Moment",
    "Scale",
    "Stage",
    "color_scale",
    "color_values",
    "moment_of",
    "require_color",
    "shape_colors",
    "stage_of",
    "window_of",
]

# Colours of bodies take turns; those of materials, too.
PALETTE = (
    *("#5b8fc7", "#e8985a", "#6fb583", "#d4737a", "#9a8bc4"),
    *("#d9bd5b", "#64b3b8", "#c98bb0", "#a58a72", "#93a857"),
)
_COLD_TO_WARM = ["#8fa6bd", "#c9cdb4", "#efc75e", "#e58a43", "#c93a3f"]
_FIXED = "#b9b6b0"
_COLORS = {
    "body": "",
    "material": "",
    "speed": "speed [m/s]",
    "impulse": "normal impulses [N s]",
}


class Moment(NamedTuple):
    """What the bodies of a world are doing at one time, n of them."""

    time: float
    positions: np.ndarray  # (n, D)
    orientations: np.ndarray  # (n, 4) or (n,)
    velocities: np.ndarray | None  # None: unknown
    absent: np.ndarray  # (n,): removed, or not added yet
    contacts: Contacts | None  # None: unknown


class Stage(NamedTuple):
    """The shapes of a world that are not removed, in the world frame; S of them."""

    shapes: list[PlacedShape]
    bodies: np.ndarray  # (S,)
    centers: np.ndarray  # (S, D): origins of the shapes' frames
    turns: np.ndarray  # (S, D, D): rotations of the shapes' frames
    positions: np.ndarray  # (n, D): of the bodies
    rotations: np.ndarray  # (n, D, D): of the bodies


class Scale(NamedTuple):
    """A scale of colours over numbers, and what they are."""

    colors: ScalarMappable
    name: str


def moment_of(
    world: World, frame: Frame | None = None, positions: Any = None, orientations: Any = None
) -> Moment:
    """Return a world as it is, in a frame of a recording, or at other poses of its bodies."""
    if (positions is None) != (orientations is None):
        raise TypeError("positions and orientations are needed together")
    if frame is not None:
        return _moment_of_frame(world, frame)
    where = _like("positions", positions, world.positions)
    turned = _like("orientations", orientations, world.orientations)
    absent = world.removed.astype(bool) | ~np.isfinite(where).all(axis=1)
    contacts = world.contacts if positions is None else None
    return Moment(world.time, where, turned, world.velocities, absent, contacts)


def _moment_of_frame(world: World, frame: Frame) -> Moment:
    """Return the moment of a frame; bodies that were added later are absent."""
    if not isinstance(frame, Frame):
        raise TypeError(f"frame is {frame!r}: a frame of a Recording is needed")
    later = world.bodies - len(frame.positions)
    if later < 0 or frame.positions.shape[1] != world.dimension:
        raise ValueError(
            f"frame has positions of shape {frame.positions.shape}: it is not of this world of "
            f"{world.bodies} bodies in {world.dimension}-D"
        )
    arrays = [
        np.concatenate([array, np.full((later, *array.shape[1:]), np.nan)])
        for array in (frame.positions, frame.orientations, frame.velocities)
    ]
    absent = np.append(frame.removed.astype(bool), np.ones(later, bool))
    return Moment(frame.time, arrays[0], arrays[1], arrays[2], absent, frame.contacts)


def stage_of(world: World, moment: Moment | None = None) -> Stage:
    """Return the shapes of a world where its bodies are, or where they are at another time."""
    moment = moment_of(world) if moment is None else moment
    absent = np.append(moment.absent, False)
    shapes = [one for one in world.shapes if not absent[one.body]]
    bodies = np.array([one.body for one in shapes], dtype=int)
    if not shapes:
        raise ValueError("world has no shapes: there is nothing to draw")

    # Body −1, the fixed world, has the last pose.
    turned = _rotations(moment.orientations, world.dimension)
    where = np.vstack([moment.positions, np.zeros(world.dimension)])
    turned = np.concatenate([turned, np.eye(world.dimension)[None]])
    local = np.array([one.position for one in shapes])
    own = _rotations(np.array([one.orientation for one in shapes]), world.dimension)
    centers = where[bodies] + np.einsum("sij,sj->si", turned[bodies], local)
    return Stage(shapes, bodies, centers, turned[bodies] @ own, where[:-1], turned[:-1])


def _like(name: str, given: Any, own: np.ndarray) -> np.ndarray:
    """Return poses of all bodies: the given ones, or the world's."""
    if given is None:
        return own
    array = real_array(name, given)
    if array.shape != own.shape:
        raise ValueError(f"{name} has shape {array.shape}: {own.shape} is needed, as in the world")
    return array


def _rotations(orientations: np.ndarray, dimension: int) -> np.ndarray:
    """Return matrices of orientations, ``(n, D, D)``."""
    if dimension == 2:
        c, s = np.cos(orientations.reshape(-1)), np.sin(orientations.reshape(-1))
        return np.array([[c, -s], [s, c]]).transpose(2, 0, 1)
    w, x, y, z = (orientations / np.linalg.norm(orientations, axis=1, keepdims=True)).T
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    ).transpose(2, 0, 1)


# ---- what is shown ------------------------------------------------------------------------------


def reaches(shapes: Sequence[PlacedShape]) -> np.ndarray:
    """Return the radius of a ball about each shape's origin that holds it; NaN: a half-space."""
    return np.array([_reach(one.shape) for one in shapes])


@lru_cache(maxsize=4096)
def _reach(shape: Shape) -> float:
    if shape.kind == "half_space":
        return float("nan")
    return float(np.linalg.norm(shape.mass_properties(1.0).center)) + shape.bounding_radius


def window_of(stage: Stage) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of a box that holds all bodies; all shapes if there are no bodies."""
    reach = reaches(stage.shapes)
    chosen = np.isfinite(reach) & (stage.bodies >= 0)
    chosen = chosen if chosen.any() else np.isfinite(reach)
    if not chosen.any():
        return -np.ones(stage.centers.shape[1]), np.ones(stage.centers.shape[1])
    centers, radii = stage.centers[chosen], reach[chosen, None]
    return (centers - radii).min(axis=0), (centers + radii).max(axis=0)


# ---- colours ------------------------------------------------------------------------------------


def shape_colors(
    world: World, stage: Stage, color: Any, limits: Any = None, moment: Moment | None = None
) -> tuple[np.ndarray, Scale | None]:
    """Return a colour of each shape, ``(S, 3)``, and their scale if there is one."""
    to_rgb = optional("matplotlib.colors", "plots need").to_rgb
    fixed = np.array(to_rgb(_FIXED))
    palette = np.array([to_rgb(one) for one in PALETTE])
    free = stage.bodies >= 0
    colors = np.tile(fixed, (len(stage.shapes), 1))
    if isinstance(color, str) and color == "body":
        colors[free] = palette[stage.bodies[free] % len(palette)]
        return colors, None
    if isinstance(color, str) and color == "material":
        numbers: dict[int, int] = {}
        of_shape = [numbers.setdefault(id(one.material), len(numbers)) for one in stage.shapes]
        return palette[np.array(of_shape) % len(palette)], None

    # Numbers, one for each body, or one colour for all.
    name, values = color_values(world, color, moment)
    if values is None:
        colors[free] = to_rgb(color)
        return colors, None
    scale = color_scale(values[stage.bodies[free]], limits)
    colors[free] = scale.to_rgba(values[stage.bodies[free]])[:, :3]
    return colors, Scale(scale, name)


def require_color(world: World, color: Any) -> None:
    """Refuse what is no colour, before any work is done."""
    if not (isinstance(color, str) and color in _COLORS):
        color_values(world, color)


def color_values(
    world: World, color: Any, moment: Moment | None = None
) -> tuple[str, np.ndarray | None]:
    """Return a number for each body with its name, or None for the name of a colour.

    Speeds and impulses are those of the moment; default: of the world as it is.
    """
    if isinstance(color, str):
        moment = moment_of(world) if moment is None else moment
        if color in ("body", "material"):
            return _COLORS[color], None
        if color == "speed":
            if moment.velocities is None:
                raise ValueError("record has no column 'velocities': color='speed' needs it")
            speeds = np.linalg.norm(moment.velocities[:, : world.dimension], axis=1)
            return _COLORS[color], speeds
        if color == "impulse":
            if moment.contacts is None:
                raise TypeError(
                    "color='impulse': contacts are known of the world as it is, and of "
                    "frames of a Recording; not of other poses"
                )
            return _COLORS[color], _impulses(world, moment.contacts)
        if not optional("matplotlib.colors", "plots need").is_color_like(color):
            known = ", ".join(_COLORS)
            raise ValueError(
                f"color is {color!r}: {known}, a colour, or one number for each body is needed"
            )
        return "", None
    values = real_array("color", color)
    if values.shape != (world.bodies,):
        raise ValueError(f"color has shape {values.shape}: ({world.bodies},) is needed")
    return "", values


def _impulses(world: World, contacts: Contacts) -> np.ndarray:
    """Return the sum of the normal impulses of each body, ``(n,)`` [N s]."""
    total = np.zeros(world.bodies + 1)  # the last one: the fixed world
    for side in (0, 1):
        np.add.at(total, contacts.bodies[:, side], contacts.impulses[:, 0])
    return total[:-1]


def _ends_of(limits: Any) -> tuple[float, float]:
    """Return the ends of a scale of colours."""
    ends = real_array("limits", limits)
    if ends.shape != (2,) or not np.isfinite(ends).all() or ends[0] > ends[1]:
        raise ValueError(f"limits is {limits!r}: two numbers, the lower one first, are needed")
    return float(ends[0]), float(ends[1])


def color_scale(values: np.ndarray, limits: Any) -> ScalarMappable:
    """Return a scale of colours over numbers, from a cold grey to a warm red."""
    cm = optional("matplotlib.cm", "plots need")
    colors = optional("matplotlib.colors", "plots need")
    finite = values[np.isfinite(values)]
    largest = finite.max(initial=0.0)
    if limits is None:
        # A few large numbers would leave all others without a difference.
        most = np.quantile(finite, 0.98, method="lower") if len(finite) else 0.0
        limits = (min(0.0, finite.min(initial=0.0)), most if largest > 2 * most > 0 else largest)
    low, high = _ends_of(limits)
    warm = colors.LinearSegmentedColormap.from_list("cold to warm", _COLD_TO_WARM)
    warm.colorbar_extend = "max" if largest > high else "neither"
    return cm.ScalarMappable(colors.Normalize(low, high if high > low else low + 1.0), warm)
