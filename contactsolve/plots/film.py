"""Films of recorded runs: GIF by Pillow, MP4 by ffmpeg."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from contactsolve._optional import optional
from contactsolve._options import count
from contactsolve._options import number as number_of
from contactsolve._report import step_bar
from contactsolve.cloth import Cloth
from contactsolve.io._replacement import replacement
from contactsolve.plots._animation import Frames, require_speed
from contactsolve.plots._axes import fit_figure
from contactsolve.plots._frames import WorldFrames, run_of
from contactsolve.plots.cloth import ClothFrames

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["film"]

_DPI = 100
_WIDTH = 640  # of a film whose size is not given [pixels]
_RATES = (0.1, 100.0)  # frames in a second
_LONGEST = 600.0  # time for which a row is shown [s]; a GIF can show one for 655 s
_TICKS = 100  # of a GIF in a second: frames last a whole number of them
_FFMPEG = (
    "MP4 is written by ffmpeg, which was not found: install it (apt install ffmpeg, brew install "
    "ffmpeg, conda install ffmpeg), or tell where it is: "
    "matplotlib.rcParams['animation.ffmpeg_path'] = ...; a name that ends in .gif needs no ffmpeg"
)


def film(
    source: Any,
    path: str | os.PathLike[str],
    record: Any = None,
    *,
    every: int | None = None,
    frame_rate: float = 25.0,
    speed: float | None = None,
    size: tuple[int, int] | None = None,
    progress: bool | float = False,
    **options: Any,
) -> Path:
    """Write a film of a recorded run, of a world or of a cloth.

    The film has its name once it is complete: one that is interrupted or that fails leaves a file
    of this name as it was. A complete film replaces it.

    Parameters
    ----------
    source : Recording, World or Cloth
        A `contactsolve.dynamics.Recording`, which ``world.run(..., file=)`` has written; a world; a
        cloth.
    path : path-like
        What is written, in the format of its suffix: ``.gif`` or ``.mp4``.
    record : Record or Recording, optional
        The run of the world, by default its last one, with the columns that `snapshots` needs; that
        of a cloth, ``cs.cloth.Recording(path)``.
    every : int, optional
        Each frame of the film is the next but ``every - 1`` row of the record. Default: frames are
        at equal times, and each shows the row nearest to its time.
    frame_rate : float, default 25.0
        Frames in a second, 0.1 to 100. In a GIF, frames last a whole number of hundredths of a
        second: it has the nearest such rate.
    speed : float, optional
        Seconds of the run in a second of the film, without `every`. Default: 1.
    size : (int, int), optional
        Width and height [pixels]; those of an MP4 are made even. Default: 640, and the height that
        the picture takes.
    progress : bool or float, default False
        Show a progress bar (needs tqdm); a number is seconds before it is shown.
    **options
        Of `scene`, but poses and `ax`, to one scale as by `motion`; or of `cloth`, but `ax`.

    Returns
    -------
    pathlib.Path
        The film, as an absolute path.

    Raises
    ------
    ValueError
        An unknown suffix; a wrong rate, size or speed; what `motion` and `cloth_motion` refuse.
    FileNotFoundError, IsADirectoryError, PermissionError
        The folder does not exist; the film has the name of a folder; it cannot be written there.
        This is known before the first frame is drawn.
    RuntimeError
        ffmpeg was not found, or failed.
    KeyboardInterrupt
        After Ctrl-C, with the next frame.

    Examples
    --------
    >>> import contactsolve as cs
    >>> world = cs.dynamics.scenes.pile(20)
    >>> record = world.run(200, file="pile.h5", every=10)  # doctest: +SKIP
    >>> with cs.dynamics.Recording("pile.h5") as recording:  # doctest: +SKIP
    ...     cs.plots.film(recording, "pile.gif", contacts="forces")
    """
    target = Path(path)
    make = _writer_of(target)
    rate = _rate(target, frame_rate)
    size = None if size is None else _size(size)
    if every is not None:
        if speed is not None:
            raise TypeError("speed is given: with every=, each frame is a row, at frame_rate")
        every = count("every", every, least=1)
    speed = require_speed(1.0 if speed is None else speed)
    for name, why in (("ax", "it has a figure of its own"), ("rows", "every= chooses them")):
        if name in options:
            raise TypeError(f"{name} is no option of a film: {why}")

    frames = _frames_of(source, record, options)
    shots = _shots(frames.times, every, rate, speed)
    with replacement(target, target.suffix.lower()) as temporary:
        _begin(target, temporary)
        figure = _figure()
        with make(temporary, rate) as writer, step_bar(len(shots), progress, "frame") as advance:
            ax = figure.subplots()
            for number, shot in enumerate(shots):
                ax.clear()
                frames.draw(ax, shot.number, bars=number == 0)
                if number == 0:
                    _lay_out(figure, size)
                writer.add(figure, shot.repeats)
                advance()
    return target.resolve()


def _begin(target: Path, temporary: Path) -> None:
    """Make an empty file, so that a film that cannot be written fails before it is drawn."""
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder: the name of a file is needed")
    try:
        temporary.touch()
    except OSError as error:
        raise type(error)(f"{target} cannot be written: {error.strerror}") from error


# ---- frames --------------------------------------------------------------------------------------


class _Shot(NamedTuple):
    """A picture, and how many frames of the film show it."""

    number: int
    repeats: int


def _frames_of(source: Any, record: Any, options: dict[str, Any]) -> Frames:
    """Return pictures of all rows of a run."""
    if isinstance(source, Cloth):
        if record is None:
            raise TypeError("record is None: a film of a cloth needs its cloth.Recording")
        return ClothFrames(source, record, None, options)
    world, run = run_of(source, record)
    return WorldFrames(world, run, None, options)


def _shots(times: np.ndarray, every: int | None, rate: float, speed: float) -> list[_Shot]:
    """Return which pictures the film shows, one after another."""
    if every is not None:
        return [_Shot(number, 1) for number in range(0, len(times), every)]

    longest = float(np.diff(times).max(initial=0.0)) / speed
    if longest > _LONGEST:
        raise ValueError(
            f"speed is {speed:g}: the film would show a row for {longest:g} s, and at most "
            f"{_LONGEST:g} s are possible"
        )

    # The row nearest to the time of each frame; the last frame is at the end of the run.
    length = float(times[-1] - times[0])
    frames = times[0] + np.arange(round(length * rate / speed) + 1) * (speed / rate)
    after = np.clip(np.searchsorted(times, frames), 1, max(len(times) - 1, 1))
    if len(times) == 1:
        return [_Shot(0, 1)]
    nearest = np.where(frames - times[after - 1] <= times[after] - frames, after - 1, after)
    shown, repeats = np.unique(nearest, return_counts=True)
    return list(map(_Shot, shown.tolist(), repeats.tolist()))


# ---- pictures ------------------------------------------------------------------------------------


def _figure() -> Figure:
    figure = optional("matplotlib.figure", "films need").Figure(dpi=_DPI, layout="constrained")
    optional("matplotlib.backends.backend_agg", "films need").FigureCanvasAgg(figure)
    return figure


def _lay_out(figure: Figure, size: tuple[int, int] | None) -> None:
    """Give the figure its size [pixels], even numbers of them, and its axes their places for good.

    All frames have the same places and scales of colours, which are drawn once.
    """
    if size is None:
        ax, *bars = figure.axes
        below = any(bar.get_xlabel() for bar in bars)
        beside = any(bar.get_ylabel() for bar in bars)
        width = (_WIDTH - 120 * beside) / _DPI
        fit_figure([ax], width, 1.2 * beside, 0.35 + 0.7 * below)
        width, height = figure.get_size_inches() * _DPI
        size = (2 * round(width / 2), 2 * round(height / 2))
    figure.set_size_inches(size[0] / _DPI, size[1] / _DPI)
    figure.canvas.draw()
    figure.set_layout_engine("none")


# ---- formats -------------------------------------------------------------------------------------


class _Writer(Protocol):
    def add(self, figure: Figure, repeats: int) -> None:
        """Add frames that show a figure."""


class _GifWriter:
    """Keeps frames of 256 colours."""

    def __init__(self, tick: int) -> None:
        self._image = optional("PIL.Image", "GIF needs")
        self._tick = tick  # duration of a frame [ms]
        self.images: list[Any] = []
        self.durations: list[int] = []

    def add(self, figure: Figure, repeats: int) -> None:
        figure.canvas.draw()
        pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]  # type: ignore[attr-defined]
        image = self._image.fromarray(np.ascontiguousarray(pixels))
        self.images.append(image.quantize(256, dither=self._image.Dither.NONE))
        self.durations.append(self._tick * repeats)


@contextmanager
def _gif(path: Path, rate: float) -> Iterator[_Writer]:
    """Write a GIF that is repeated for ever."""
    writer = _GifWriter(round(1000 / rate))
    yield writer
    first, *others = writer.images
    first.save(
        path, save_all=True, append_images=others, duration=writer.durations, loop=0, disposal=1
    )


class _Mp4Writer:
    """Hands frames to ffmpeg."""

    def __init__(self, path: Path, rate: float) -> None:
        animation = optional("matplotlib.animation", "films need")
        self._path, self._pipe, self.is_open = path, animation.FFMpegWriter(fps=rate), False

    def add(self, figure: Figure, repeats: int) -> None:
        if not self.is_open:
            self._pipe.setup(figure, str(self._path), dpi=_DPI)
            self.is_open = True
        for _ in range(repeats):
            self._pipe.grab_frame()

    def finish(self) -> None:
        if self.is_open:
            self._pipe.finish()


@contextmanager
def _mp4(path: Path, rate: float) -> Iterator[_Writer]:
    """Write an MP4."""
    writer = _Mp4Writer(path, rate)
    try:
        try:
            yield writer
        except BrokenPipeError:
            pass  # ffmpeg has ended: its own words follow
        except BaseException:
            with suppress(subprocess.CalledProcessError, OSError):
                writer.finish()
            raise
        writer.finish()
    except subprocess.CalledProcessError as error:
        said = str(error.stderr or "").strip().splitlines()
        raise RuntimeError(
            f"ffmpeg failed (exit status {error.returncode}): {said[-1] if said else 'no message'}"
        ) from error


def _writer_of(path: Path) -> Any:
    """Return the writer of a file's format."""
    suffix = path.suffix.lower()
    if suffix not in (".gif", ".mp4"):
        raise ValueError(f"path is {str(path)!r}: a name that ends in .gif or .mp4 is needed")
    if suffix == ".gif":
        return _gif
    if not optional("matplotlib.animation", "films need").FFMpegWriter.isAvailable():
        raise RuntimeError(f"{path}: {_FFMPEG}")
    return _mp4


# ---- arguments -----------------------------------------------------------------------------------


def _rate(path: Path, frame_rate: float) -> float:
    """Return the frames in a second that the format can have."""
    low, high = _RATES
    frame_rate = number_of("frame_rate", frame_rate)
    if not low <= frame_rate <= high:
        raise ValueError(f"frame_rate is {frame_rate:g}: {low:g} to {high:g} are possible")
    if path.suffix.lower() == ".gif":
        return _TICKS / max(1, round(_TICKS / frame_rate))
    return frame_rate


def _size(size: Any) -> tuple[int, int]:
    """Return width and height [pixels]."""
    given = np.asarray(size, dtype=float)
    if given.shape != (2,) or not ((given >= 64) & (given <= 10_000) & (given % 1 == 0)).all():
        raise ValueError(f"size is {size!r}: width and height of 64 to 10000 pixels are needed")
    return int(given[0]), int(given[1])
