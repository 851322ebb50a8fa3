"""A run: many steps, with frames of them in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

from ._layout import PathLike
from ._recorder import Recorder

if TYPE_CHECKING:
    from .cloth import Cloth

__all__ = ["run"]


def run(
    cloth: Cloth,
    lengths: Iterable[float],
    callback: Callable[[Cloth], object] | None,
    record: PathLike | None,
    every: int,
    overwrite: bool,
) -> None:
    """Make steps of these lengths; see `Cloth.run`."""
    with ExitStack() as stack:
        recorder = None
        if record is not None:
            recorder = stack.enter_context(Recorder(record, cloth, overwrite=overwrite))
        try:
            for number, _ in enumerate(_made(cloth, lengths), 1):
                if _asks_to_end(callback, cloth):
                    break
                if recorder is not None and number % every == 0:
                    recorder.note(cloth)
        finally:
            # The end, also that of a run that was interrupted: its last whole step.
            if recorder is not None:
                recorder.note(cloth)


def _made(cloth: Cloth, lengths: Iterable[float]) -> Iterator[None]:
    """Make steps of these lengths: where collisions shorten one, several in its place."""
    for length in lengths:
        rest = length
        while rest > 0:
            cloth.step(rest)
            rest -= cloth._length
            yield


def _asks_to_end(callback: Callable[[Cloth], object] | None, cloth: Cloth) -> bool:
    """Call the callback."""
    try:
        if callback is not None:
            callback(cloth)
    except StopIteration:
        return True
    return False
