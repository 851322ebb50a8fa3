"""Newton's cradle: balls in a line, some of which strike the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactsolve.geometry import contact_jacobian
from contactsolve.problem import Problem
from contactsolve.scenarios._scene import (
    SceneArrays,
    integer,
    relative_velocity,
    require_between,
    require_choice,
    require_count,
    require_positive,
    scenario,
)


@scenario
def newton_cradle(
    count: int = 5,
    *,
    moving: int = 1,
    velocity: float = 1.0,
    restitution: float = 1.0,
    mass: ArrayLike = 1.0,
    radius: float = 0.05,
    mu: float = 0.0,
    rows: int = 1,
) -> Problem:
    """Touching balls in a line along x; the first ones strike the others, all at once.

    Parameters
    ----------
    count : int, default 5
        Number of balls.
    moving : int, default 1
        Number of balls, from the first on, that arrive with `velocity`; the others rest.
    velocity : float, default 1.0
        Velocity of the moving balls [m/s].
    restitution : float, default 1.0
        Coefficient of restitution of every contact, 0 to 1.
    mass : float or array_like, shape (count,), default 1.0
        Masses of the balls [kg].
    radius : float, default 0.05
        Radius of every ball [m]; the moment of inertia is 2/5 mass radius^2.
    mu : float, default 0.0
        Friction coefficient; unused with one row.
    rows : {1, 3}
        1: the normal alone. 3: normal and two tangents with friction discs.

    Returns
    -------
    Problem
        Contact k is between the balls k and k + 1.

    Raises
    ------
    ValueError
        A count or quantity out of its range.

    Notes
    -----
    The strings are vertical at the impact and do not act along the line, so there are none.
    Restitution stands in b = J u + restitution * J u (S2 eq. 4.31).

    Newton's law for all contacts in one step conserves momentum, and with restitution 1 energy.
    Unlike in the toy, the last ball does not leave alone. For n
    equal balls, one of them moving, the impulse of contact k is
    (1 + restitution) m velocity (n - 1 - k) / n, and all the balls at rest leave together with
    (1 + restitution) velocity / n. With small gaps between the balls, pairs collide one after
    another, and the last ball leaves alone: that is another problem.
    """
    require_count(count=count, moving=moving)
    arrays = newton_cradle_arrays(
        integer("count", count),
        moving=moving,
        velocity=velocity,
        restitution=restitution,
        mass=mass,
        radius=radius,
        rows=rows,
    )
    return arrays.problem(f"newton_cradle {count}", mu)


def newton_cradle_arrays(
    count: int,
    *,
    moving: int,
    velocity: float,
    restitution: float,
    mass: ArrayLike,
    radius: float,
    rows: int,
) -> SceneArrays:
    """Return the arrays of `newton_cradle`, for its parameters."""
    require_choice("rows", rows, (1, 3))
    require_positive(radius=radius)
    require_between(0.0, 1.0, restitution=restitution)
    if moving > count:
        raise ValueError(f"moving is {moving}: there are only {count} balls")
    masses = _masses(mass, count)

    # Contact k is between the balls k and k + 1.
    centres = np.zeros((count, 3))
    centres[:, 0] = 2.0 * radius * np.arange(count)
    first = np.arange(count - 1)
    pairs = np.stack((first, first + 1), axis=1)
    normals = np.tile([1.0, 0.0, 0.0], (len(pairs), 1))
    J = contact_jacobian(centres[:-1] + radius * normals, normals, pairs, centres)[:, :, :rows]

    # b = (1 + restitution) J u.
    inertia = 0.4 * masses * radius**2
    Minv = np.repeat(1.0 / np.stack((masses, inertia), axis=1), 3, axis=1)
    velocities = np.zeros((count, 6))
    velocities[:moving, 0] = velocity
    b = (1.0 + restitution) * relative_velocity(J, pairs, velocities)
    return SceneArrays(J, Minv, b, pairs)


def _masses(mass: ArrayLike, count: int) -> NDArray[np.float64]:
    masses = np.asarray(mass, dtype=np.float64)
    if masses.shape not in ((), (count,)):
        raise ValueError(f"mass has shape {masses.shape}: expected a number or ({count},)")
    masses = np.broadcast_to(masses, (count,))
    for ball, value in enumerate(masses):
        require_positive(**{f"mass[{ball}]": value})
    return masses
