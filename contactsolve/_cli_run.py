"""The command ``contactsolve run``: make a scene, step it, record it and draw it."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import contactsolve as cs
from contactsolve._cli_options import SOLVER_OPTIONS, integer, number
from contactsolve._cli_output import Picture, progress_options, require_writable
from contactsolve._optional import optional
from contactsolve._scenario_options import add_scenarios, chosen_parameters
from contactsolve.plots._axes import fit_figure
from contactsolve.plots._camera import VIEWS
from contactsolve.plots._stage import require_color
from contactsolve.result import format_seconds

__all__ = ["WORLD_OPTIONS", "add_run_options", "add_scenes", "run_scene"]

_STEPS = 1000
_ROWS = 200  # of a record, unless --every tells otherwise
_RECORDINGS = (".h5", ".hdf5")
_FRAMES = 25  # of an animation in a second
_COLUMNS = (
    *("time", "contacts", "iterations", "converged", "natural_map"),
    *("kinetic", "potential", "penetration"),
)
# The options of a world that a word or a number can express, besides those of its solver.
WORLD_OPTIONS: dict[str, tuple[Callable[[str], Any], str]] = {
    "time_step": (number, "length of a step [s] (default: the scene's)"),
    "stepper": (str, "moreau or semi_implicit_euler (default: moreau)"),
    "activation": (number, "contacts with at most this gap are closed [m] (default: 1e-9)"),
    "gyroscopic": (str, "explicit, implicit or none (default: explicit)"),
}


class _Outcome(NamedTuple):
    """What a run did."""

    record: cs.dynamics.Record
    seconds: float
    interrupted: bool


# ---- the run ------------------------------------------------------------------------------------


def run_scene(chosen: argparse.Namespace) -> tuple[str, bool]:
    """Run a scene and write its files; return the text to print, and whether it was interrupted."""
    # Refuse wrong input before the run, which may take long.
    require_writable(chosen.overwrite, chosen.record, chosen.animate)
    picture = None if chosen.plot is None else Picture(chosen.plot)
    if chosen.animate is not None and chosen.animate.suffix.lower() != ".gif":
        raise ValueError(f"--animate {chosen.animate}: a name that ends in .gif is needed")
    if chosen.record is not None and chosen.record.suffix.lower() not in _RECORDINGS:
        raise ValueError(
            f"--record {chosen.record}: a name that ends in {' or '.join(_RECORDINGS)} is needed"
        )
    world = cs.dynamics.scenes.get(chosen.scene)(**chosen_parameters(chosen), **_options(chosen))
    steps = _steps(chosen, world)
    if picture is not None or chosen.animate is not None:
        require_color(world, chosen.color)

    outcome = _run(chosen, world, steps)
    lines = _summary(chosen.scene, world, outcome)
    if chosen.record is not None:
        lines.append(("record", f"{chosen.record.resolve()}"))
    if picture is not None:
        lines.append(("picture", f"{_draw(chosen, world, picture)}"))
    if chosen.animate is not None:
        lines.append(("animation", f"{_animate(chosen, world, outcome.record)}"))
    return "\n".join(f"{name + ':':<11}{text}" for name, text in lines), outcome.interrupted


def _options(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the options of the world and its solver that the user gave."""
    names = (*WORLD_OPTIONS, *SOLVER_OPTIONS)
    given = {name: getattr(chosen, name) for name in names if hasattr(chosen, name)}
    if "method" in given:
        given |= {**given["method"].options, "method": given["method"].method}
    return given


def _steps(chosen: argparse.Namespace, world: cs.dynamics.World) -> int:
    if chosen.seconds is None:
        return _STEPS if chosen.steps is None else int(chosen.steps)
    if not 0 <= chosen.seconds < np.inf:
        raise ValueError(f"--seconds is {chosen.seconds}: a number of at least 0 is needed")
    return round(chosen.seconds / world.time_step)


def _run(chosen: argparse.Namespace, world: cs.dynamics.World, steps: int) -> _Outcome:
    """Make the steps; Ctrl-C ends them after a whole one."""
    every = chosen.every or max(1, steps // _ROWS)
    columns = _COLUMNS if chosen.animate is None else (*_COLUMNS, *cs.dynamics.Record.of_bodies)
    files = {"file": chosen.record, "overwrite": chosen.overwrite}
    start, interrupted = time.perf_counter(), False
    with warnings.catch_warnings():
        # Of solves that miss their tolerance the summary tells.
        warnings.filterwarnings("ignore", category=RuntimeWarning, message="step .* solve ended as")
        try:
            world.run(steps, columns, every=every, **files, **progress_options(chosen))
        except KeyboardInterrupt:
            interrupted = True
    if world.record is None:
        raise KeyboardInterrupt
    return _Outcome(world.record, time.perf_counter() - start, interrupted)


# ---- what comes out -----------------------------------------------------------------------------


def _summary(name: str, world: cs.dynamics.World, outcome: _Outcome) -> list[tuple[str, str]]:
    """Return the outcome of a run in a few lines."""
    bodies = world.bodies - int(np.count_nonzero(world.removed))
    took = format_seconds(outcome.seconds)
    rate = f", {world.steps / outcome.seconds:,.1f} steps/s" if world.steps else ""
    kinetic, potential = world.energy()
    parts = {key: format_seconds(value) for key, value in world.timings.items()}
    missed = world.info["steps_not_converged"]
    lines = [
        ("scene", f"{name}, {bodies} bodies in {world.dimension}-D"),
        ("steps", f"{world.steps} of {world.time_step:g} s: {world.time:g} s, in {took}{rate}"),
        (
            "time",
            f"contacts {parts['collide']}, set-up {parts['setup']}, solves {parts['solve']}",
        ),
        ("contacts", f"{len(world.contacts.gaps)} in the last step"),
        ("energy", f"kinetic {kinetic:.4g} J, potential {potential:.4g} J"),
    ]
    if missed:
        text = (
            f"{missed} solve{'s' if missed > 1 else ''} missed the tolerance: see --max-iterations"
        )
        lines.append(("note", text))
    return lines


def _draw(chosen: argparse.Namespace, world: cs.dynamics.World, picture: Picture) -> Path:
    """Draw the world at the end."""
    cs.plots.scene(
        world, color=chosen.color, contacts=chosen.contacts, view=chosen.view, ax=picture.axes[0]
    )
    picture.axes[0].set_title(f"{chosen.scene.replace('_', ' ')}, t = {world.time:.3g} s")
    fit_figure(picture.axes[:1], 6.0, above=0.35 + 0.7 * (chosen.contacts in ("forces", "arrows")))
    return picture.save()


def _animate(
    chosen: argparse.Namespace, world: cs.dynamics.World, record: cs.dynamics.Record
) -> Path:
    """Write an animation of the recorded rows."""
    path: Path = chosen.animate
    figure = optional("matplotlib.figure", "animations need").Figure(
        (6.0, 4.5), layout="constrained"
    )
    rows = min(len(record["time"]), max(2, round(_FRAMES * world.time)))
    look = {"color": chosen.color, "view": chosen.view}
    motion = cs.plots.motion(world, record, rows, ax=figure.subplots(), **look)
    motion.save(path, writer="pillow", dpi=100)
    return path.resolve()


# ---- arguments ----------------------------------------------------------------------------------


def _view(text: str) -> str | tuple[float, float]:
    """Parse a view: a name, or elevation and azimuth."""
    if text in VIEWS:
        return text
    words = text.split(",")
    if len(words) != 2:
        known = ", ".join(VIEWS)
        raise argparse.ArgumentTypeError(f"{text!r} is none of {known}, and not ELEVATION,AZIMUTH")
    return number(words[0]), number(words[1])


def add_scenes(parser: argparse.ArgumentParser, common: argparse.ArgumentParser) -> None:
    """Give the command its scenes, each with the options of `common` as well."""
    parser.description = (
        "Make a scene of contactsolve.dynamics.scenes, step it, and record and draw what happens. "
        "Each scene has the parameters of its function; several numbers are joined by commas. "
        "Ctrl-C ends the run after a whole step, and what was asked for is written."
    )
    add_scenarios(parser, common, of=cs.dynamics.scenes, kind="scene")


def add_run_options(common: argparse.ArgumentParser) -> None:
    """Add the options of a run, its files, and the options of a world."""
    length = common.add_mutually_exclusive_group()
    length.add_argument(
        "--steps", type=integer, metavar="VALUE", help=f"steps to make (default: {_STEPS})"
    )
    length.add_argument("--seconds", type=number, metavar="VALUE", help="time to run, instead [s]")
    common.add_argument(
        "--every",
        type=integer,
        metavar="VALUE",
        help=f"steps between two rows of the record (default: as makes {_ROWS} rows)",
    )
    _add_outputs(common)
    of_world = common.add_argument_group("options of the world")
    for name, (convert, text) in WORLD_OPTIONS.items():
        of_world.add_argument(
            f"--{name.replace('_', '-')}",
            type=convert,
            default=argparse.SUPPRESS,
            metavar="NAME" if convert is str else "VALUE",
            help=text,
        )


def _add_outputs(common: argparse.ArgumentParser) -> None:
    common.add_argument(
        "--record",
        type=Path,
        metavar="PATH",
        help="write a frame for each row to an HDF5 file, for contactsolve.dynamics.World.load",
    )
    common.add_argument("--plot", type=Path, metavar="PATH", help="draw the bodies at the end")
    common.add_argument(
        "--animate", type=Path, metavar="PATH", help="write an animation to a .gif file"
    )
    common.add_argument(
        "--color",
        default="body",
        metavar="NAME",
        help="colours of pictures: body, material, speed, impulse or one colour (default: body)",
    )
    common.add_argument(
        "--contacts",
        choices=("points", "forces", "arrows"),
        help="draw contacts as points, force chains as lines, or impulses as arrows",
    )
    common.add_argument(
        "--view",
        type=_view,
        default="corner",
        metavar="VIEW",
        help=f"{', '.join(VIEWS)}, or ELEVATION,AZIMUTH in degrees (default: %(default)s)",
    )
    common.add_argument("--overwrite", action="store_true", help="replace existing files")
    common.add_argument(
        "-q", "--quiet", action="store_true", help="do not show progress on the terminal"
    )
