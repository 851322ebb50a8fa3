"""A run: many steps, with what is recorded of them in memory and in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING

from .._report import step_bar
from ._layout import PathLike
from ._recorder import Recorder
from .record import Record

if TYPE_CHECKING:
    from .world import World

__all__ = ["Run"]


class Run:
    """A run of a world; see `World.run`."""

    def __init__(
        self, world: World, record: Iterable[str] | None, every: int, problems: int | None
    ) -> None:
        for name, value in (("every", every), ("problems", problems)):
            if value is not None and (int(value) != value or value < 1):
                raise ValueError(f"{name} is {value!r}: an integer of at least 1 is needed")
        usual = ("time", "contacts", "iterations")
        chosen = (
            usual if record is None else (record,) if isinstance(record, str) else tuple(record)
        )
        self.world, self.record = world, Record(chosen)
        self._every, self._problems = every, problems
        self._recorder: Recorder | None = None

    def make(
        self,
        steps: int,
        progress: bool,
        callback: Callable[[World], object] | None,
        control: Callable[[World], object] | None,
        file: PathLike | None,
        overwrite: bool,
    ) -> None:
        """Make the steps."""
        if int(steps) != steps or steps < 0:
            raise ValueError(f"steps is {steps!r}: an integer of at least 0 is needed")
        with ExitStack() as stack:
            first = self.record.note(self.world)
            if file is not None:
                recorder = Recorder(file, self.world, first, overwrite=overwrite)
                self._recorder = stack.enter_context(recorder)
            try:
                self._step(int(steps), progress, callback, control)
            except BaseException:
                # What there is of a run that was interrupted is kept up to its last whole step.
                self._note()
                raise

    def _step(
        self,
        steps: int,
        progress: bool,
        callback: Callable[[World], object] | None,
        control: Callable[[World], object] | None,
    ) -> None:
        with step_bar(steps, progress) as advance:
            for number in range(1, steps + 1):
                if control is not None:
                    control(self.world)
                self.world.step()
                ends = _asks_to_end(callback, self.world) or number == steps
                if ends or number % self._every == 0:
                    self._note()
                if self._problems is not None and number % self._problems == 0:
                    self._keep_problem()
                advance()
                if ends:
                    break

    def _note(self) -> None:
        """Add a row and a frame of the world as it is, unless they are there."""
        if not self.record.has(self.world.steps):
            self.record.note(self.world)
        if self._recorder is not None and self._recorder.waits_for(self.world.steps):
            self._recorder.frame(self.world, self.record.last)

    def _keep_problem(self) -> None:
        problem = self.world.problem()
        if problem is None:
            return
        self.record.problems.append(problem)
        if self._recorder is not None:
            self._recorder.problem(problem, self.world.steps)


def _asks_to_end(callback: Callable[[World], object] | None, world: World) -> bool:
    """Call the callback."""
    try:
        if callback is not None:
            callback(world)
    except StopIteration:
        return True
    return False
