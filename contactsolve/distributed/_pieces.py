"""Scenarios of which each rank makes its own piece."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from contactsolve.distributed._collective import Communicator, range_of, together
from contactsolve.distributed._given import Given, given_of
from contactsolve.scenarios._scene import grid_shape, integer
from contactsolve.scenarios.ball_grid import GridPiece, ball_grid, ball_grid_name, ball_grid_piece

__all__ = ["PIECES"]


def _ball_grid(comm: Communicator, **parameters: Any) -> tuple[Given, str]:
    """Return a rank's piece of `contactsolve.scenarios.ball_grid`, and the name of the problem."""

    def piece() -> tuple[GridPiece, Any, str]:
        try:
            call = inspect.signature(ball_grid).bind(**parameters)
        except TypeError as error:
            raise TypeError(f"ball_grid() {error}") from None
        call.apply_defaults()
        given = dict(call.arguments)
        shape, mu = grid_shape(given.pop("shape")), given.pop("mu")
        if given["velocity"] > 0:
            integer("rng", given["rng"])  # the same on all ranks
        ends = range_of(comm.rank, math.prod(shape), comm.size)
        name = ball_grid_name(shape, given["layout"])
        return ball_grid_piece(shape, *ends, **given), mu, name

    found, mu, name = together(comm, piece)

    # The contacts of a rank follow those of the ranks before.
    counts = comm.allgather(len(found.arrays.b))
    first, count = sum(counts[: comm.rank]), counts[comm.rank]

    def given() -> Given:
        friction = mu if np.ndim(mu) == 0 else np.asarray(mu)[first : first + count]
        if np.ndim(mu) and len(mu) != sum(counts):
            raise ValueError(f"mu has shape ({len(mu)},): ({sum(counts)},) is needed")
        problem = found.arrays.problem(name, friction)
        ids = np.arange(first, first + count)
        return given_of(problem, ids, found.body, None, found.position)

    return together(comm, given), name


# Name of the scenario → the piece of a rank.
PIECES: dict[str, Callable[..., tuple[Given, str]]] = {"ball_grid": _ball_grid}
