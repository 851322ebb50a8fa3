"""S1's ball grid: equal spheres on a lattice, each touching its neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from contactsolve.geometry import contact_jacobian
from contactsolve.problem import Problem
from contactsolve.scenarios._scene import (
    SceneArrays,
    Seed,
    gravity_bias,
    grid_shape,
    random_velocities_of,
    relative_velocity,
    require_choice,
    require_not_negative,
    require_positive,
    scenario,
    solid_spheres,
)

_X, _Y, _Z = 0, 1, 2
_GROUND = -1

# Neighbours whose distance is the diameter but for rounding touch.
_TOUCHING = 1e-9


@scenario
def ball_grid(
    shape: int | Sequence[int] = 8,
    *,
    layout: str = "cubic",
    spacing: float | Sequence[float] = 0.0,
    ground: str = "fixed",
    contact_order: str = "forward",
    mass: float = 20.0,
    radius: float = 1.0,
    mu: ArrayLike = 0.5,
    velocity: float = 0.0,
    gravity: float = 9.81,
    time_step: float = 0.01,
    rows: int = 3,
    rng: Seed = 0,
) -> Problem:
    """A lattice of touching solid spheres on the ground (S1 section 3.8.1).

    Balls are numbered with x fastest and z slowest. In the cubic layout at rest, side contacts
    have no impulses in the solution: the grid is a set of equal, independent columns.

    Parameters
    ----------
    shape : int or three ints, default 8
        Numbers of balls along x, y and z; one number n stands for n^3.
    layout : {"cubic", "cannonball"}
        ``"cubic"``: ball above ball. ``"cannonball"``: square layers too, but every second one is
        shifted by half a cell along x and y, so that its balls lie in the hollows between four
        balls below. Layers are then sqrt(2) radii apart instead of two: the face-centred cubic
        packing, which fills 0.74 of space instead of 0.52.
    spacing : float or three floats, default 0.0
        Gaps added between neighbours along x, y and z [m]. Whether balls touch is decided by their
        distance: a gap removes the contacts along its axis, and in the cannonball layout also those
        between layers. The lowest layer stays on the ground.
    ground : {"fixed", "body"}
        ``"fixed"``: the ground is the fixed world, index -1. ``"body"``: the ground is body 0,
        with zero inverse mass, and counts as a body in conflicts and couplings, as in S1.
    contact_order : {"forward", "backward"}
        The order of the contacts, ball by ball. ``"forward"``: ground, +x, +y, above, the order
        behind S1's colour counts. ``"backward"``: below, -x, -y, the order behind S1 Table 3.3.
    mass : float, default 20.0
        Mass of one ball [kg].
    radius : float, default 1.0
        Radius of one ball [m]; the moment of inertia is 2/5 mass radius^2.
    mu : float or array_like, shape (K,), default 0.5
        Friction coefficients; unused with one row.
    velocity : float, default 0.0
        Each linear component of each ball's velocity is uniform in [-velocity, velocity] [m/s].
    gravity : float, default 9.81
        Gravitational acceleration along -z [m/s^2].
    time_step : float, default 0.01
        Length of the time step [s].
    rows : {3, 1}
        3: normal and two tangents with friction discs. 1: the normal alone, without friction.
    rng : int, numpy.random.Generator or None, default 0
        Seed or generator of the velocities. A number gives the same scene at every call, None a
        new one.

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        A shape, option or quantity out of its range.

    Notes
    -----
    A cubic n^3 grid has n^3 balls and n^2 (3 n - 2) contacts: 8^3 has 1,408, 24^3 40,320 and 40^3
    188,800 (S1 Table 3.2, which counts the ground among the bodies). A cannonball grid has
    (2 n - 1)^2 contacts between two layers instead of n^2, in all
    n^2 (2 n - 1) + (n - 1) (2 n - 1)^2.
    """
    size = grid_shape(shape)
    piece = ball_grid_piece(
        size,
        0,
        math.prod(size),
        layout=layout,
        spacing=spacing,
        ground=ground,
        contact_order=contact_order,
        mass=mass,
        radius=radius,
        velocity=velocity,
        gravity=gravity,
        time_step=time_step,
        rows=rows,
        rng=rng,
    )
    return piece.arrays.problem(ball_grid_name(size, layout), mu)


def ball_grid_name(shape: tuple[int, int, int], layout: str) -> str:
    """Return the name of the problem of `ball_grid`."""
    name = f"ball_grid {shape[_X]}x{shape[_Y]}x{shape[_Z]}"
    return name if layout == "cubic" else f"{name} {layout}"


class GridPiece(NamedTuple):
    """A part of a ball grid.

    Attributes
    ----------
    arrays
        Its contacts, and the bodies of these with the balls of the part. Pairs are places among
        these bodies.
    body
        Number of each body in the whole grid, ascending, ``(n,)``.
    position
        Centre of each body [m], ``(n, 3)``; the ground's is zero.
    """

    arrays: SceneArrays
    body: NDArray[np.int64]
    position: NDArray[np.float64]


def ball_grid_piece(
    shape: tuple[int, int, int],
    begin: int,
    end: int,
    *,
    ground: str,
    contact_order: str,
    mass: float,
    radius: float,
    gravity: float,
    time_step: float,
    rows: int,
    layout: str,
    spacing: float | Sequence[float],
    velocity: float,
    rng: Seed,
) -> GridPiece:
    """Return the contacts that `ball_grid` lists with the balls from `begin` to before `end`.

    Contacts of consecutive pieces are those of the grid, in its order and with the same bits.
    """
    require_choice("layout", layout, ("cubic", "cannonball"))
    require_choice("ground", ground, ("fixed", "body"))
    require_choice("contact_order", contact_order, ("forward", "backward"))
    require_choice("rows", rows, (3, 1))
    require_positive(mass=mass, radius=radius, time_step=time_step)
    require_not_negative(velocity=velocity)

    # The slots of the balls, whose partners may be other balls.
    lattice = _Lattice.of(shape, np.arange(begin, end))
    slots = _forward(lattice) if contact_order == "forward" else _backward(lattice)
    if layout == "cannonball":
        slots = _staggered(slots, lattice)
    pairs = _present(slots)

    # Place all of them, and find those that touch.
    ball = lattice.ball
    if len(ball) < math.prod(shape):
        ball = np.union1d(ball, pairs[pairs >= 0])
        pairs = np.where(pairs < 0, pairs, np.searchsorted(ball, pairs))
    centres = _Lattice.of(shape, ball).centres(layout, _pitch(layout, spacing, radius), radius)
    pairs, normals = _contacts(pairs, centres, radius)
    points = centres[pairs[:, 1]] - radius * normals

    # Body 0 is the ground where it counts as a body.
    velocities = random_velocities_of(ball, velocity, rng)
    Minv = solid_spheres(len(centres), mass, radius)
    if ground == "body":
        pairs = pairs + 1
        centres, velocities, Minv = (
            np.concatenate((np.zeros((1, array.shape[1])), array))
            for array in (centres, velocities, Minv)
        )
        ball = np.concatenate(([0], ball + 1))

    # b holds gravity, and velocities if there are any.
    J = contact_jacobian(points, normals, pairs, centres)[:, :, :rows]
    b = gravity_bias(J, Minv, pairs, gravity, time_step)
    if velocity > 0.0:
        b += relative_velocity(J, pairs, velocities)
    return GridPiece(SceneArrays(J, Minv, b, pairs), ball, centres)


def ball_centres(
    shape: tuple[int, int, int],
    *,
    layout: str,
    spacing: float | Sequence[float],
    radius: float,
) -> NDArray[np.float64]:
    """Return the centres of the balls of `ball_grid`, for its parameters."""
    balls = np.arange(math.prod(shape))
    return _Lattice.of(shape, balls).centres(layout, _pitch(layout, spacing, radius), radius)


class _Lattice(NamedTuple):
    """Numbers and lattice coordinates of some balls; x changes fastest."""

    shape: tuple[int, int, int]
    ball: NDArray[np.int64]
    x: NDArray[np.int64]
    y: NDArray[np.int64]
    z: NDArray[np.int64]

    @classmethod
    def of(cls, shape: tuple[int, int, int], ball: NDArray[np.int64]) -> _Lattice:
        layer, x = np.divmod(ball, shape[_X])
        z, y = np.divmod(layer, shape[_Y])
        return cls(shape, ball, x, y, z)

    def centres(
        self, layout: str, pitch: NDArray[np.float64], radius: float
    ) -> NDArray[np.float64]:
        shift = 0.5 * (self.z % 2) if layout == "cannonball" else 0.0
        return np.stack(
            (
                pitch[_X] * (self.x + shift),
                pitch[_Y] * (self.y + shift),
                pitch[_Z] * self.z + radius,
            ),
            axis=1,
        )

    def neighbour(self, dx: int, dy: int, dz: int) -> NDArray[np.int64]:
        """The ball at that offset from each ball; `_NOBODY` beyond the border."""
        x, y, z = self.x + dx, self.y + dy, self.z + dz
        nx, ny, nz = self.shape
        inside = (x >= 0) & (x < nx) & (y >= 0) & (y < ny) & (z >= 0) & (z < nz)
        return np.where(inside, x + nx * (y + ny * z), _NOBODY)


_NOBODY = -2

# Candidates for contacts, ball by ball: first and second partner, each of shape (balls, slots).
_Slots = tuple[NDArray[np.int64], NDArray[np.int64]]


def _pitch(layout: str, spacing: float | Sequence[float], radius: float) -> NDArray[np.float64]:
    """Distances of neighbouring columns, rows and layers."""
    gaps = np.asarray(spacing, dtype=np.float64)
    if gaps.shape not in ((), (3,)):
        raise ValueError(f"spacing is {spacing!r}: expected one or three gaps")
    gaps = np.broadcast_to(gaps, (3,))
    for axis, gap in enumerate(gaps):
        require_not_negative(**{f"spacing[{axis}]": gap})
    height = np.sqrt(2.0) if layout == "cannonball" else 2.0
    return radius * np.array([2.0, 2.0, height]) + gaps


def _forward(lattice: _Lattice) -> _Slots:
    """Return for each ball the ground below it, then its neighbours at +x, +y, +z."""
    ball = lattice.ball
    on_ground = np.where(lattice.z == 0, _GROUND, _NOBODY)
    first = np.stack((on_ground, ball, ball, ball), axis=1)
    ahead = [lattice.neighbour(*offset) for offset in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    return first, np.stack((ball, *ahead), axis=1)


def _backward(lattice: _Lattice) -> _Slots:
    """Return for each ball what is below it, then its neighbours at -x, -y."""
    below = np.where(lattice.z == 0, _GROUND, lattice.neighbour(0, 0, -1))
    first = np.stack((below, lattice.neighbour(-1, 0, 0), lattice.neighbour(0, -1, 0)), axis=1)
    return first, np.repeat(lattice.ball[:, None], 3, axis=1)


def _staggered(slots: _Slots, lattice: _Lattice) -> _Slots:
    """Four neighbours in the next layer for each slot that holds one.

    A shifted layer lies towards +x and +y of the layers around it: seen from it, the neighbours
    are at offsets 0 and 1, and seen from the others at offsets -1 and 0.
    """
    first, second = slots
    forward = first.shape[1] == 4
    ahead = 1 if forward else -1
    odd = lattice.z % 2
    four = [
        np.where(odd == 1, lattice.neighbour(i, j, ahead), lattice.neighbour(i - 1, j - 1, ahead))
        for j in (0, 1)
        for i in (0, 1)
    ]
    balls = np.repeat(lattice.ball[:, None], 4, axis=1)
    if forward:
        return (
            np.concatenate((first[:, :3], balls), axis=1),
            np.concatenate((second[:, :3], np.stack(four, axis=1)), axis=1),
        )
    on_ground = np.where(lattice.z == 0, _GROUND, _NOBODY)
    return (
        np.concatenate((on_ground[:, None], np.stack(four, axis=1), first[:, 1:]), axis=1),
        np.concatenate((second[:, :1], balls, second[:, 1:]), axis=1),
    )


def _present(slots: _Slots) -> NDArray[np.int64]:
    """Return the pairs of the slots whose partners exist, ball by ball."""
    present = (slots[0] != _NOBODY) & (slots[1] != _NOBODY)
    return np.stack([side[present] for side in slots], axis=1)


def _contacts(
    pairs: NDArray[np.int64], centres: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the pairs that touch, and their normals."""
    # The ground is always as far away as a touching ball.
    between = centres[pairs[:, 1]] - centres[pairs[:, 0]]
    between[pairs[:, 0] == _GROUND] = (0.0, 0.0, 2.0 * radius)
    distance = np.linalg.norm(between, axis=1)
    touching = distance <= 2.0 * radius * (1.0 + _TOUCHING)
    return pairs[touching], between[touching] / distance[touching, None]
