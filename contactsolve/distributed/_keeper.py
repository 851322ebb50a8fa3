"""Checkpoints of a solve on ranks: when they are written, and how a solve goes on from one."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from contactsolve._optional import optional
from contactsolve._version import __version__
from contactsolve.distributed._checkpoint import (
    Checkpoint,
    mark_of,
    read_checkpoint,
    write_checkpoint,
)
from contactsolve.distributed._collective import together
from contactsolve.distributed._share import Share
from contactsolve.io._problems import NEED

__all__ = ["Keeper", "alike_of", "arguments_of"]

#: Seconds from one checkpoint to the next where the caller does not say when they are due.
USUAL_SECONDS = 60.0

# Options that do not change the iterates, and may differ where a solve goes on.
_FREE = (
    "max_iterations",
    "max_seconds",
    "max_setup_seconds",
    "threads",
    "exact_threads",
    "time_checks",
)
# Vectors over rows that balanced factors R keep.
_BALANCE = ("factor", "before", "change")


class Keeper:
    """What one solve does with checkpoints. All ranks make one.

    Parameters
    ----------
    share
        The rank's share.
    alike
        What has to be the same where a solve goes on, by name, as text.
    max_iterations
        Of the solver.
    path, every, seconds, resume
        As for `contactsolve.distributed.Solver.solve`.
    starts
        Whether the solve has initial impulses.

    Attributes
    ----------
    given
        `path`, `every`, `seconds` and `resume`.
    failure
        What has ended the solve, on all ranks: a checkpoint that could not be written.
    """

    def __init__(
        self,
        share: Share,
        alike: dict[str, str],
        max_iterations: int,
        path: str | PathLike[str] | None,
        every: int | None,
        seconds: float | None,
        resume: str | PathLike[str] | None,
        *,
        starts: bool,
    ) -> None:
        self.given, self._starts = (path, every, seconds, resume), starts
        self._share, self._alike, self._path, self._resume = share, alike, path, resume
        if path is not None and every is None and seconds is None:
            seconds = USUAL_SECONDS
        self._max_iterations = max_iterations
        self._every, self._seconds = every or 0, math.inf if seconds is None else seconds
        self._mark: int | None = None
        self.failure: Exception | None = None

    def begin(
        self, b: np.ndarray | None, parameters: np.ndarray | None
    ) -> tuple[int, float, Callable[[dict[str, Any]], bool], dict[str, Any] | None]:
        """Return what the C library takes, for a solve with these values of its own. Collective.

        Raises
        ------
        ValueError, TypeError, FileNotFoundError, ImportError
            On all ranks: arguments that do not fit; the checkpoint to go on from is one of another
            problem or of other options.
        """
        together(self._share.comm, _check, *self.given, self._starts)
        self._mark = mark_of(self._share, b, parameters)
        return self._every, self._seconds, self._write, self._resumed()

    def _write(self, state: dict[str, Any]) -> bool:
        """Write a checkpoint. Collective. Returns whether the solve has to end, on all ranks."""
        try:
            write_checkpoint(
                self._share, str(self._path), _sorted_out(state, self._alike), self._mark
            )
        except (ConnectionError, TimeoutError):
            raise  # messages have failed: ranks do not know of each other
        except (OSError, ImportError, ValueError, TypeError, RuntimeError) as error:
            self.failure = error  # the same on all ranks
        return self.failure is not None

    def _resumed(self) -> dict[str, Any] | None:
        if self._resume is None:
            return None
        found = read_checkpoint(self._share, self._resume, self._mark)
        theirs = found.numbers.get("alike", {})
        for name in {**self._alike, **theirs}:  # those that the caller has given come first
            ours, other = self._alike.get(name), theirs.get(name)
            if ours != other:
                raise ValueError(
                    f"resume: the solve of {os.fspath(self._resume)} had {name} {other}, this one "
                    f"has {ours}: its iterates would be others"
                )
        state = _put_together(found)
        if state["iteration"] >= self._max_iterations:
            raise ValueError(
                f"max_iterations is {self._max_iterations}, but {os.fspath(self._resume)} has "
                f"iteration {state['iteration']}: a larger number is needed"
            )
        return state


def arguments_of(keeper: Keeper | None) -> dict[str, str]:
    """Return the arguments about checkpoints by name, which all ranks give alike."""
    names = ("checkpoint", "checkpoint_every", "checkpoint_seconds", "resume")
    given = (None,) * len(names) if keeper is None else keeper.given
    return {name: repr(value) for name, value in zip(names, given, strict=True)}


def _check(path: Any, every: Any, seconds: Any, resume: Any, starts: bool) -> None:
    """Refuse arguments that do not fit, before a solve begins."""
    if resume is not None and starts:
        raise ValueError("initial is given: resume= begins with the impulses of its file")
    optional("h5py", NEED)
    for name, value in (("checkpoint_every", every), ("checkpoint_seconds", seconds)):
        if value is None:
            continue
        if path is None:
            raise ValueError(f"{name} is given without checkpoint=")
        whole = name == "checkpoint_every"
        kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise TypeError(f"{name} is {value!r}: a number is needed")
        if not value >= (1 if whole else 0):
            raise ValueError(f"{name} is {value}: it must be {'at least 1' if whole else '>= 0'}")
    if path is not None and not Path(path).parent.is_dir():
        raise FileNotFoundError(f"checkpoint: the folder of {os.fspath(path)} does not exist")
    if resume is not None and not Path(resume).is_file():
        raise FileNotFoundError(f"resume: {os.fspath(resume)} does not exist")


# ---- the state of the C library, by contacts and bodies -----------------------------------------


def _sorted_out(state: dict[str, Any], alike: dict[str, str]) -> Checkpoint:
    """Return the state of the C library as vectors over rows and bodies, and numbers."""
    state, points = {**state}, _points(state["points"])
    rows = _vectors(state.pop("impulses"), ["impulses", *points, "best"])
    velocities = _vectors(state.pop("u"), _of_bodies(points))
    if "b" in state:
        rows["b"] = state.pop("b")
    if "earlier" in state:
        rows["earlier"] = state.pop("earlier")
    if "balance" in state:
        rows |= _vectors(state.pop("balance"), list(_BALANCE))
    lists = {name: state.pop(name).tolist() for name in ("figures", "band", "history")}
    numbers = {
        "alike": alike,
        "state": {**state, **lists, "scalars": state["scalars"].hex()},
    }
    return Checkpoint(rows, velocities, {}, {}, numbers)


def _vectors(values: np.ndarray, names: list[str]) -> dict[str, np.ndarray]:
    """Return vectors of one length by name, from all of them one after another."""
    return dict(zip(names, np.split(values, len(names)), strict=True))


def _put_together(found: Checkpoint) -> dict[str, Any]:
    """Return the state for the C library: the inverse of `_sorted_out`."""
    state, rows = {**found.numbers["state"]}, found.rows
    points = _points(state.pop("points"))
    state["impulses"] = np.concatenate([rows[name] for name in ["impulses", *points, "best"]])
    state["u"] = np.concatenate([found.velocities[name] for name in _of_bodies(points)])
    state |= {name: rows[name] for name in ("b", "earlier") if name in rows}
    if _BALANCE[0] in rows:
        state["balance"] = np.concatenate([rows[name] for name in _BALANCE])
    for name in ("figures", "band", "history"):
        state[name] = np.array(state[name], float)
    return {**state, "scalars": bytes.fromhex(state["scalars"])}


def _points(count: int) -> list[str]:
    """Return the names of the earlier iterates that a method keeps."""
    return [f"point_{i}" for i in range(count)]


def _of_bodies(points: list[str]) -> list[str]:
    """Return the names of the velocities: u of each point, and what sweeps keep behind it."""
    return [name + end for name in ["impulses", *points] for end in ("", "_behind")]


def alike_of(options: dict[str, Any], further: dict[str, Any]) -> dict[str, str]:
    """Return what has to be the same where a solve goes on, as text by name.

    Parameters
    ----------
    options
        All options of the solver.
    further
        What else determines its iterates.
    """
    told = {name: value for name, value in options.items() if name not in _FREE}
    told |= {"version": __version__, **further}
    return {name: repr(value) for name, value in told.items()}
