"""Channels of Python objects between threads, and processes that use them (S1 chapter 5)."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from typing import Any

from . import _core
from ._options import count

__all__ = ["Alternation", "Channel", "Poisoned", "run"]

_DONE, _WAITING, _POISONED = range(3)


class Poisoned(Exception):  # noqa: N818  a state of a channel, not an error
    """A channel has ended: a process that meets it poisons its other channels and ends, too."""


class Channel:
    """A channel of objects between threads: one writes, another one reads, who is early waits.

    Parameters
    ----------
    places
        Messages that it holds. 0: a rendezvous, in which the writer waits until its message was
        read.
    any_writer, any_reader
        Whether several threads write (any-to-one) or read (one-to-any): each message is read once.

    Examples
    --------
    >>> from contactsolve import csp
    >>> numbers, squares = csp.Channel(), csp.Channel()
    >>> def square():
    ...     for number in numbers:
    ...         squares.write(number**2)
    ...     squares.poison()
    >>> def ask():
    ...     for number in range(3):
    ...         numbers.write(number)
    ...         print(squares.read())
    ...     numbers.poison()
    >>> csp.run(square, ask)
    0
    1
    4
    """

    def __init__(
        self, places: int = 1, *, any_writer: bool = False, any_reader: bool = False
    ) -> None:
        places = count("places", places)
        self._core = _core.Channels(1, places, bool(any_writer), bool(any_reader))
        self._index = 0

    @classmethod
    def _of(cls, core: _core.Channels, index: int) -> Channel:
        channel = cls.__new__(cls)
        channel._core, channel._index = core, index
        return channel

    def write(self, message: Any, timeout: float | None = None) -> None:
        """Write a message.

        Parameters
        ----------
        message
            Any object; the reader gets this very one.
        timeout
            Seconds to wait for a place; 0: none, a skip guard; None: no limit.

        Raises
        ------
        Poisoned
            The channel has ended.
        TimeoutError
            There was no place in time; nothing was written.
        """
        state = self._core.write(self._index, message, _seconds(timeout))
        _raise(state, "has no place for the message")

    def read(self, timeout: float | None = None) -> Any:
        """Read the oldest message.

        Parameters
        ----------
        timeout
            Seconds to wait for one; 0: none, a skip guard; None: no limit.

        Returns
        -------
        object

        Raises
        ------
        Poisoned
            The channel has ended; messages that were not read are lost.
        TimeoutError
            There was no message in time.
        """
        state, message = self._core.read(self._index, _seconds(timeout))
        _raise(state, "has no message")
        return message

    def poison(self) -> None:
        """End the channel: who waits at it, or comes to it later, gets `Poisoned`."""
        self._core.poison(self._index)

    @property
    def poisoned(self) -> bool:
        """Whether it has ended."""
        return self._core.counts(self._index)[1]

    @property
    def messages(self) -> int:
        """Messages written so far."""
        return self._core.counts(self._index)[0]

    def __iter__(self) -> Channel:
        return self

    def __next__(self) -> Any:
        """Return the next message; the iteration ends with the channel."""
        try:
            return self.read()
        except Poisoned:
            raise StopIteration from None


class Alternation:
    """Channels of which one thread reads whichever has a message.

    Parameters
    ----------
    channels
        How many; they are the elements of the object.
    places, any_writer
        As for `Channel`.

    Examples
    --------
    >>> from contactsolve import csp
    >>> inputs = csp.Alternation(2)
    >>> inputs[1].write("first")
    >>> inputs.select()
    1
    >>> inputs.read()
    (1, 'first')
    """

    def __init__(self, channels: int, places: int = 1, *, any_writer: bool = False) -> None:
        number, places = count("channels", channels, 1), count("places", places)
        self._core = _core.Channels(number, places, bool(any_writer), False)
        self._channels = [Channel._of(self._core, i) for i in range(number)]
        self._next = 0

    def __len__(self) -> int:
        return len(self._channels)

    def __getitem__(self, index: int) -> Channel:
        return self._channels[index]

    def select(self, timeout: float | None = None) -> int:
        """Wait until a channel has a message.

        Channels take turns: those after the one that was read last come first.

        Parameters
        ----------
        timeout
            Seconds to wait; 0: none, a skip guard; None: no limit.

        Returns
        -------
        int
            The index of a channel that has a message.

        Raises
        ------
        Poisoned
            A channel has ended.
        TimeoutError
            No channel had a message in time.
        """
        state, index = self._core.select(self._next, _seconds(timeout))
        _raise(state, "has no message" if state == _WAITING else "")
        return index

    def read(self, timeout: float | None = None) -> tuple[int, Any]:
        """Read from a channel that has a message, as `select` chooses it.

        Parameters
        ----------
        timeout
            As for `select`.

        Returns
        -------
        index, message

        Raises
        ------
        Poisoned, TimeoutError
            As `select`.
        """
        index = self.select(timeout)
        self._next = (index + 1) % len(self)
        return index, self._channels[index].read()

    def poison(self) -> None:
        """End all channels."""
        for channel in self._channels:
            channel.poison()


def run(*processes: Callable[[], object], channels: Iterable[Any] = ()) -> None:
    """Run processes, each on a thread of its own, until all have ended.

    Parameters
    ----------
    *processes
        Functions without arguments. One that raises `Poisoned` has ended.
    channels
        Channels and alternations to poison if a process fails or Ctrl-C comes, so that the others
        end as well.

    Raises
    ------
    Exception
        That of the first process that failed with another one than `Poisoned`.
    """
    failures: list[BaseException] = []
    network = list(channels)

    def poison() -> None:
        for channel in network:
            channel.poison()

    def make(process: Callable[[], object]) -> None:
        try:
            process()
        except Poisoned:
            pass
        except BaseException as error:  # raised by the caller's thread
            failures.append(error)
            poison()

    threads = [threading.Thread(target=make, args=(process,)) for process in processes]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except (KeyboardInterrupt, RuntimeError):  # RuntimeError: the system has no more threads
        poison()
        raise
    if failures:
        raise failures[0]


def _seconds(timeout: float | None) -> float:
    if timeout is None:
        return -1.0
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout is {timeout!r}: seconds, or None, are needed")
    if not (math.isfinite(timeout) and timeout >= 0):
        raise ValueError(f"timeout is {timeout}: it must be 0 or more")
    return float(timeout)


def _raise(state: int, words: str) -> None:
    if state == _POISONED:
        raise Poisoned("the channel has ended")
    if state == _WAITING:
        raise TimeoutError(f"the channel {words}")
