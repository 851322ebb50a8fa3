"""A picture of a cloth and its obstacles, and an animation of a recorded run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from contactsolve._arrays import finite_array
from contactsolve._options import count
from contactsolve.cloth import Cloth, Recording
from contactsolve.plots._animation import animation_of
from contactsolve.plots._axes import fit_figure, new_axes
from contactsolve.plots._camera import Camera, camera_of
from contactsolve.plots._cloth import OBSTACLE, Surface, require_same, surfaces_of
from contactsolve.plots._frames import rows_of
from contactsolve.plots._raster import rasterize
from contactsolve.plots._surfaces import light_on, shaded

if TYPE_CHECKING:
    from matplotlib.animation import FuncAnimation
    from matplotlib.axes import Axes

__all__ = ["ClothFrames", "cloth", "cloth_motion"]

_WRONG_SIDE = 0.8  # brightness of what is seen from behind
_FINER = 2  # pixels that are drawn for each one of the picture, in both directions


def cloth(
    cloth: Cloth,
    *,
    positions: Any = None,
    time: float | None = None,
    color: Any = "part",
    obstacle_color: str | None = OBSTACLE,
    view: str | tuple[float, float] = "corner",
    perspective: bool | None = None,
    window: Any = None,
    pixels: int = 600,
    ax: Axes | None = None,
) -> Axes:
    """Draw a cloth and its obstacles as they are, or at recorded positions.

    Surfaces are shaded, and what is nearer hides what is behind it in each pixel. The wrong side of
    a cloth is darker.

    Parameters
    ----------
    cloth : Cloth
        What is drawn. It is not changed.
    positions : array_like, optional
        Of the vertices, ``(n, 3)`` [m], in place of the cloth's: ``recording[k].positions``, say.
    time : float, optional
        Of the obstacles [s]; default: the cloth's.
    color : str or array_like, default "part"
        ``"part"``: a colour for each part of the matrix, as in S5's figures B.1 and B.2; the name
        of a colour; or a colour for each vertex, ``(n, 3)`` of numbers from 0 to 1.
    obstacle_color : str, optional
        None: obstacles are left out.
    view, perspective
        As of `scene`.
    window : (low, high), optional
        Corners of the box that is shown, ``(3,)`` each [m]. Default: where all vertices are.
    pixels : int, default 600
        Of the longer side of the picture.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure. They get equal scales and no frame.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        `cloth` is not a `Cloth`.
    ValueError
        Arrays of another shape; an unknown name.
    ImportError
        matplotlib is not installed.

    Examples
    --------
    >>> import contactsolve as cs
    >>> cloth = cs.cloth.scenes.sheet(15)
    >>> ax = cs.plots.cloth(cloth)  # doctest: +SKIP
    """
    longest = count("pixels", pixels, least=16, most=10_000)
    surfaces = surfaces_of(cloth, positions, time, color, obstacle_color)
    camera = camera_of(view, perspective, *_box(window, surfaces))
    extent, image = _image(camera, surfaces, window, longest)
    new = ax is None
    ax = new_axes() if ax is None else ax
    ax.imshow(image, extent=extent, interpolation="antialiased")
    ax.set_aspect("equal")
    ax.set_axis_off()
    if new:
        fit_figure([ax], 5.0)
    return ax


def cloth_motion(
    cloth: Cloth,
    recording: Recording,
    rows: int | Any | None = None,
    *,
    speed: float = 1.0,
    ax: Axes | None = None,
    **options: Any,
) -> FuncAnimation:
    """Return an animation of a recorded run of a cloth; its ``save`` writes a file.

    Parameters
    ----------
    cloth : Cloth
        The cloth that made the run, with its obstacles.
    recording : Recording
        What ``cloth.run(..., record=path)`` has written.
    rows : int or list of int, optional
        How many frames of the recording, at equal distances from the first to the last; or which.
        Default: all.
    speed : float, default 1.0
        Seconds of the cloth in a second of the animation.
    ax : matplotlib.axes.Axes, optional
        Where to draw; default: a new figure.
    **options
        Of `cloth`, but positions and time.

    Returns
    -------
    matplotlib.animation.FuncAnimation

    Raises
    ------
    ValueError
        A recording of another cloth; an unknown row; a speed that is not positive.

    Examples
    --------
    >>> import contactsolve as cs
    >>> cloth = cs.cloth.scenes.sheet(15)
    >>> cloth.run(0.5, 5e-3, record="sheet.vtkhdf", every=5)  # doctest: +SKIP
    >>> with cs.cloth.Recording("sheet.vtkhdf") as recording:  # doctest: +SKIP
    ...     cs.plots.cloth_motion(cloth, recording).save("sheet.gif", writer="pillow")
    """
    return animation_of(lambda: ClothFrames(cloth, recording, rows, options), speed, ax)


_cloth = cloth  # where a parameter has its name


class ClothFrames:
    """Pictures of the times of a run of a cloth, to one scale."""

    def __init__(self, cloth: Cloth, recording: Any, rows: Any, options: dict[str, Any]) -> None:
        if not isinstance(recording, Recording):
            raise TypeError(f"recording is {recording!r}: a cloth.Recording is needed")
        require_same(cloth, recording)
        for name in ("positions", "time"):
            if name in options:
                raise TypeError(f"{name} is no option here: a recording has it")
        self.rows = rows_of(len(recording) if rows is None else rows, len(recording))
        self.times = recording.times[self.rows]
        self._cloth, self._recording, self._options = cloth, recording, dict(options)
        self._options.setdefault("window", _window_of_run(cloth, recording, self.rows))

    def draw(self, ax: Axes, number: int, *, bars: bool = False) -> None:  # noqa: ARG002
        """Draw one of the times; there are no scales of colours."""
        frame = self._recording[self.rows[number]]
        _cloth(self._cloth, positions=frame.positions, time=frame.time, ax=ax, **self._options)
        ax.set_title(f"t = {frame.time:.3g} s", fontsize="medium")


# ---- the box -------------------------------------------------------------------------------------


def _box(window: Any, surfaces: list[Surface]) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of the box that is shown."""
    if window is None:
        points = np.concatenate([surface.points for surface in surfaces])
        return points.min(axis=0), points.max(axis=0)
    corners = finite_array("window", window)
    if corners.shape != (2, 3) or not (corners[0] < corners[1]).all():
        raise ValueError(f"window is {window!r}: two corners, the lower one first, are needed")
    return corners[0], corners[1]


def _window_of_run(
    cloth: Cloth, recording: Recording, rows: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the box that holds all vertices at all times."""
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for row in rows:
        frame = recording[row]
        box = _box(None, surfaces_of(cloth, frame.positions, frame.time, "k", "k"))
        low, high = np.minimum(low, box[0]), np.maximum(high, box[1])
    return low - 1e-6, high + 1e-6


# ---- the image -----------------------------------------------------------------------------------


def _image(
    camera: Camera, surfaces: list[Surface], window: Any, longest: int
) -> tuple[tuple[float, float, float, float], np.ndarray]:
    """Return what the camera sees: left, right, lower and upper end; red, green, blue, opacity."""
    points = np.concatenate([surface.points for surface in surfaces])
    starts = np.cumsum([0, *(len(surface.points) for surface in surfaces)])
    faces = np.concatenate([s.faces + start for s, start in zip(surfaces, starts, strict=False)])
    flat = camera.project(points)
    low, high = _frame(camera, flat, window)
    unit = float((high - low).max()) / (_FINER * longest)
    width, height = (max(1, round(float(n) / unit / _FINER)) for n in high - low)

    # The nearest face of each pixel. Magnification is linear in the picture, distance is not.
    near = (points - camera.center) @ camera.axes[2]
    depth = camera.scale(points) if np.isfinite(camera.distance) else near
    corners = ((flat - low) / unit)[faces]
    raster = rasterize(corners, depth[faces], (_FINER * width, _FINER * height))

    # Its colours, and the means of finer pixels.
    hit = raster.face >= 0
    image = np.zeros((*hit.shape, 4))
    seen, weights = raster.face[hit], raster.weights[hit]
    colors = np.concatenate([_lit(camera, surface) for surface in surfaces])
    side = _backward(corners)[seen].astype(int)
    lit = colors[faces[seen], side[:, None]]
    image[hit, :3], image[hit, 3] = np.einsum("pk,pkc->pc", weights, lit), 1
    image = image.reshape(height, _FINER, width, _FINER, 4).sum(axis=(1, 3))
    image[..., :3] /= np.maximum(image[..., 3:], 1e-9)
    image[..., 3] /= _FINER**2
    return (low[0], high[0], low[1], high[1]), np.clip(image, 0, 1)


def _frame(camera: Camera, flat: np.ndarray, window: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower left and the upper right end of the picture."""
    if window is not None:
        ends = np.asarray(window, float)
        corners = np.array(np.meshgrid(*ends.T)).reshape(3, -1).T
        flat = camera.project(corners)
    low, high = flat.min(axis=0), flat.max(axis=0)
    border = 0.02 * float((high - low).max())
    return low - border, high + border


def _backward(corners: np.ndarray) -> np.ndarray:
    """Return whether faces are seen from behind."""
    first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    return first[:, 0] * second[:, 1] < first[:, 1] * second[:, 0]


def _lit(camera: Camera, surface: Surface) -> np.ndarray:
    """Return the colours of vertices from in front and from behind, ``(n, 2, 3)``."""
    x = surface.points[surface.faces]
    area = np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])
    normals = np.zeros_like(surface.points)
    for k in range(3):
        np.add.at(normals, surface.faces[:, k], area)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    front = shaded(surface.colors, light_on(camera, normals))
    behind = _WRONG_SIDE * shaded(surface.colors, light_on(camera, -normals))
    return np.stack([front, behind], axis=1)
