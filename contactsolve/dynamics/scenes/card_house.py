"""A house of cards."""

from __future__ import annotations

import math
from typing import Any

from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._scene import add_ground, plane_world, scene
from contactsolve.dynamics.shapes import Segment
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import require_between, require_count, require_positive


@scene
def card_house(
    levels: int = 3,
    *,
    length: float = 0.09,
    thickness: float = 0.002,
    angle: float = 20.0,
    density: float = 1000.0,
    mu: float = 0.5,
    **options: Any,
) -> World:
    """A house of cards: pairs that lean on each other, and cards that lie on them.

    A plane world. Cards have rounded ends; numbers go from the ground up and from left to right,
    the leaning cards of a level before the lying ones.

    Parameters
    ----------
    levels : int, default 3
        Number n of levels, of n to 1 pairs.
    length, thickness : float, default 0.09 and 0.002
        Of a leaning card [m]; a lying one is as long as two pairs are apart.
    angle : float, default 20.0
        Of the leaning cards from the vertical, from 1 to 60 [degrees].
    density : float, default 1000.0
        [kg/m^2]
    mu : float, default 0.5
        Friction coefficient of all contacts.
    **options
        Of `contactsolve.dynamics.World`; defaults ``rtol=1e-8`` and ``max_iterations=2000``.

    Returns
    -------
    World

    Notes
    -----
    One pair stands if mu is at least a sin(angle) / (2 a cos(angle) + r), with a half the distance
    of the centres of a card's round ends and r half its thickness. A pair under load needs more,
    but never more than tan(angle).
    """
    require_count(levels=levels)
    require_positive(length=length, thickness=thickness)
    require_between(1.0, 60.0, angle=angle)
    if thickness >= length / 4:
        raise ValueError(f"thickness is {thickness}: expected less than a quarter of the length")
    world = plane_world(options, rtol=1e-8, max_iterations=2000)
    material = Material(mu)
    add_ground(world, material)

    radius, lean = thickness / 2, math.radians(angle)
    half = length / 2 - radius
    aside, rise = half * math.sin(lean), half * math.cos(lean)
    # Feet of neighbours are half a thickness apart.
    pitch = 4 * aside + 4 * radius + radius
    height = 2 * rise + 4 * radius  # of a level, with its lying cards
    # Lying cards touch their neighbours, each above an end of a leaning card.
    leaning, lying = Segment(half, radius), Segment(pitch / 2 - radius, radius)

    def add(card: Segment, x: float, y: float, turn: float = 0.0) -> None:
        world.add_body(card, [x, y], orientation=turn, density=density, material=material)

    for level in range(levels):
        pairs, floor = levels - level, level * height
        places = [pitch * (k - (pairs - 1) / 2) for k in range(pairs)]
        for x in places:
            add(leaning, x - radius - aside, floor + radius + rise, math.pi / 2 - lean)
            add(leaning, x + radius + aside, floor + radius + rise, math.pi / 2 + lean)
        for x in places[:-1]:
            add(lying, x + pitch / 2, floor + 2 * rise + 3 * radius)
    return world
