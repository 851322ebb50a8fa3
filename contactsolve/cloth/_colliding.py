"""Collisions of one cloth: what C is told before a step, and what it tells."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._contact_problem import solved
from .collisions import Collisions
from .obstacle import Obstacle

if TYPE_CHECKING:
    from .. import _core

__all__ = ["Colliding"]


class Colliding:
    """The collisions of a cloth and its obstacles."""

    def __init__(
        self,
        core: _core.Cloth,
        collisions: Collisions,
        obstacles: Sequence[Obstacle],
        has_self: bool,
        threads: int,
    ) -> None:
        self.core, self.collisions, self.threads = core, collisions, threads
        self.has_self, self.obstacles = has_self, tuple(obstacles)
        self._is_checked, self.has_warned, self._has_warned_of_problem = True, False, False
        c = collisions
        core.collide(
            np.array([c.thickness, c.mu, c.push]),
            np.array(
                [
                    c.stop_after,
                    c.iterations,
                    c.zones,
                    has_self,
                    c.allow,
                    c.response == "problem",
                    c.k,
                ],
                np.int64,
            ),
            c.rule,
        )
        _, _, time = core.state()
        for n, obstacle in enumerate(self.obstacles):
            x = self._at(n, time)
            try:
                core.add_obstacle(x, obstacle.faces)
            except ValueError as error:
                raise ValueError(f"obstacles[{n}]: {error}") from None

    def _at(self, n: int, time: float) -> np.ndarray:
        try:
            return self.obstacles[n].at(time)
        except (TypeError, ValueError) as error:
            kind = ValueError if isinstance(error, ValueError) else TypeError
            raise kind(f"obstacles[{n}] at t = {time:g} s: {error}") from error

    def check(self, x: np.ndarray) -> None:
        """Raise for a state that intersects itself or obstacles."""
        if not self.collisions.allow:
            self.core.check(x, self.threads)
        self._is_checked = True

    def places(self, time: float) -> list[np.ndarray]:
        """Return where the obstacles are at a time."""
        return [self._at(n, time) for n in range(len(self.obstacles))]

    def place(self, places: Sequence[np.ndarray]) -> None:
        """Put the obstacles there; the next step checks the state."""
        for n, x in enumerate(places):
            self.core.move_obstacle(n, x, True)
        self._is_checked = False

    def begin(self, time: float) -> None:
        """Tell where the obstacles are at the end of a step."""
        if not self._is_checked:
            self.check(self.core.state()[0])
        for n, obstacle in enumerate(self.obstacles):
            if obstacle.motion is not None:
                self.core.move_obstacle(n, self._at(n, time), False)

    def solve(self, inverse_masses: np.ndarray) -> dict[str, Any]:
        """Solve the contacts of the step that was predicted."""
        c = self.collisions
        return solved(self.core, inverse_masses, c.mu, c.method, c.options)

    def warn(self, told: dict[str, Any]) -> None:
        """Tell once of obstacles that move by more than the thickness in a step."""
        moved, thickness = told["obstacle_moved"], self.collisions.thickness
        if self.has_warned or moved <= thickness:
            return
        self.has_warned = True
        warnings.warn(
            f"step {told['steps']}: an obstacle moves by {moved:.2g} m, more than the thickness "
            f"{thickness:g} m; shorter steps respond better (Cloth.info has 'obstacle_moved')",
            RuntimeWarning,
            stacklevel=4,
        )

    def warn_of_problem(self, step: int, solved: dict[str, Any] | None) -> None:
        """Tell once of contacts whose solve missed its tolerance."""
        if solved is None or solved["status"] == "converged" or self._has_warned_of_problem:
            return
        self._has_warned_of_problem = True
        warnings.warn(
            f"step {step}: the solve of the contacts ended as {solved['status']!r} after "
            f"{solved['iterations']} iterations; its result is used, here and in later steps "
            "(Cloth.info has 'problems_not_converged')",
            RuntimeWarning,
            stacklevel=4,
        )
