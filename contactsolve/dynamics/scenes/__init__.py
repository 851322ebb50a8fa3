"""Worlds for tests, benchmarks and examples, each built from a few parameters and ready to run.

A scene is one file with a function marked ``@scene``, and one import line below. Each can be called
without arguments; heights are along the last axis, and the ground is at height 0. Options that a
scene does not name are those of `contactsolve.dynamics.World`.

>>> import contactsolve as cs
>>> world = cs.dynamics.scenes.disc_pyramid(4, time_step=1e-3)
>>> record = world.run(1)
>>> record["contacts"].tolist()
[0, 22]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contactsolve._suggestions import listed as _listed
from contactsolve._suggestions import missing as _missing
from contactsolve.dynamics.scenes._scene import REGISTRY as _REGISTRY
from contactsolve.dynamics.scenes.arch import arch as arch
from contactsolve.dynamics.scenes.ball_grid import ball_grid as ball_grid
from contactsolve.dynamics.scenes.cannonballs import cannonballs as cannonballs
from contactsolve.dynamics.scenes.card_house import card_house as card_house
from contactsolve.dynamics.scenes.column_collapse import column_collapse as column_collapse
from contactsolve.dynamics.scenes.crane import crane as crane
from contactsolve.dynamics.scenes.disc_pyramid import disc_pyramid as disc_pyramid
from contactsolve.dynamics.scenes.domino_row import domino_row as domino_row
from contactsolve.dynamics.scenes.forklift import forklift as forklift
from contactsolve.dynamics.scenes.forwarder import forwarder as forwarder
from contactsolve.dynamics.scenes.hoisted_chain import hoisted_chain as hoisted_chain
from contactsolve.dynamics.scenes.hopper import discharged as discharged
from contactsolve.dynamics.scenes.hopper import hopper as hopper
from contactsolve.dynamics.scenes.offshore import offshore as offshore
from contactsolve.dynamics.scenes.overhanging_tower import overhanging_tower as overhanging_tower
from contactsolve.dynamics.scenes.pile import pile as pile
from contactsolve.dynamics.scenes.ragdolls import ragdolls as ragdolls
from contactsolve.dynamics.scenes.spheres_in_a_box import spheres_in_a_box as spheres_in_a_box
from contactsolve.dynamics.scenes.vehicle import vehicle as vehicle
from contactsolve.dynamics.scenes.winch import winch as winch
from contactsolve.dynamics.world import World


def names() -> tuple[str, ...]:
    """Return the names of all scenes, sorted.

    Examples
    --------
    >>> "pile" in names()
    True
    """
    return tuple(sorted(_REGISTRY))


def get(name: str) -> Callable[..., World]:
    """Return the scene of that name, a function.

    Parameters
    ----------
    name : str
        One of `names`.

    Raises
    ------
    ValueError
        An unknown name; the message lists the known ones and suggests the most similar.
    """
    return _listed("scene", _REGISTRY, name)


def __getattr__(name: str) -> Any:
    """Raise AttributeError, with a suggestion."""
    raise _missing(__name__, name, (*names(), "discharged", "get", "names"))
