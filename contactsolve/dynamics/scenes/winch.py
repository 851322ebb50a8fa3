"""S3's winch in motion."""

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
def winch(*, mu: float = 1.0, compliance: float = 2e-7, **options: Any) -> World:
    """A drum of 400 kg winds a chain of 50 links of 1 kg that lies on the ground.

    Body 0 is the drum, which a motor turns; the links follow from the drum to the free end.

    Parameters
    ----------
    mu : float, default 1.0
        Friction coefficient of all contacts.
    compliance : float, default 2e-7
        Of joints, as in `contactsolve.scenarios.winch`, where the motion begins.
    **options
        Of `contactsolve.dynamics.World`; defaults ``time_step=1/60``,
        ``stepper="semi_implicit_euler"``, ``tension="implicit"``, and 500 sweeps a step.

    Returns
    -------
    World

    Notes
    -----
    S3 section 2.3.1.6, Tables 2.1 and 2.2.
    """
    require_not_negative(mu=mu, compliance=compliance)
    made = placed("winch", compliance)
    return mechanism_world(
        made, with_many_sweeps(options), lambda _, part: own_shape(part), Material(mu)
    )
