"""S3's chain in motion."""

from __future__ import annotations

from typing import Any

from contactsolve.dynamics.material import Material
from contactsolve.dynamics.scenes._mechanism import (
    mechanism_world,
    own_shape,
    placed,
    with_many_sweeps,
)
from contactsolve.dynamics.scenes._scene import scene
from contactsolve.dynamics.world import World
from contactsolve.scenarios._scene import require_not_negative


@scene
def hoisted_chain(*, mu: float = 1.0, compliance: float = 1e-6, **options: Any) -> World:
    """A hoist lets a chain down and drags it over the ground: 88 links of 1 kg on balls.

    Body 0 is the hoist, which motors drive down and along the ground; the links follow from it to
    the end that lies on the ground.

    Parameters
    ----------
    mu : float, default 1.0
        Friction coefficient of all contacts.
    compliance : float, default 1e-6
        Of joints, as in `contactsolve.scenarios.chain`, where the motion begins.
    **options
        Of `contactsolve.dynamics.World`; defaults ``time_step=1/60``,
        ``stepper="semi_implicit_euler"``, ``tension="implicit"``, and 500 sweeps a step.

    Returns
    -------
    World

    Notes
    -----
    S3 Tables 2.1 and 3.1.
    """
    require_not_negative(mu=mu, compliance=compliance)
    made = placed("chain", compliance)
    return mechanism_world(
        made,
        with_many_sweeps(options),
        lambda number, part: own_shape(part) if number else None,
        Material(mu),
    )
