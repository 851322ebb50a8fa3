"""Numbers of threads: the option that benchmarks share, and what so many threads read of memory."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from contactsolve import _core

from . import cores


def powers_of_two(most: int) -> tuple[int, ...]:
    """Return 1, 2, 4, …, up to `most`."""
    return tuple(1 << k for k in range(most.bit_length()))


def listed(text: str) -> tuple[int, ...]:
    """Return the numbers of a list such as "1,2,4", ascending; 1 is always among them."""
    numbers = {1}
    for place, word in enumerate(text.split(",")):
        if not word.strip().isdecimal() or int(word) < 1:
            raise argparse.ArgumentTypeError(
                f"number {place} of {text!r} is {word.strip()!r}, which is no number of threads"
            )
        numbers.add(int(word))
    return tuple(sorted(numbers))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--threads`` and ``--oversubscribe``."""
    parser.add_argument(
        "--threads",
        type=listed,
        metavar="1,2,4",
        help="numbers of threads; one is always among them, because speed-ups are over one "
        "(default: powers of two up to the number of cores)",
    )
    parser.add_argument(
        "--oversubscribe",
        action="store_true",
        help="allow more threads than cores: their times say nothing about speed",
    )


def parser_of(document: str, sizes: Sequence[int], repeats: int) -> argparse.ArgumentParser:
    """Return a parser of sizes, numbers of threads, repeats and a folder for results."""
    parser = argparse.ArgumentParser(description=document.partition("\n")[0])
    parser.add_argument("sizes", type=int, nargs="*", default=sizes, metavar="size")
    add_options(parser)
    parser.add_argument("--repeats", type=int, default=repeats, help="runs of each")
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    return parser


def chosen(parser: argparse.ArgumentParser, given: argparse.Namespace) -> tuple[int, ...]:
    """Return the numbers of threads that a command line asks for, or end it with an error."""
    here = cores()
    numbers: tuple[int, ...] = given.threads or powers_of_two(here)
    if numbers[-1] > here and not given.oversubscribe:
        parser.error(
            f"argument --threads: {numbers[-1]} threads, but this machine has {here} "
            f"core{'s' if here > 1 else ''} (--oversubscribe allows it)"
        )
    return numbers


def counted(number: int) -> str:
    """Return "1 thread", "2 threads"."""
    return f"{number} thread{'s' if number > 1 else ''}"


class Read(NamedTuple):
    """The key of a task that reads memory on so many threads."""

    threads: int


def reading(threads: Sequence[int], size: int) -> dict[Read, Callable[[], float]]:
    """Return tasks that read so many bytes on each number of threads, for `interleaved`."""
    return {Read(number): lambda n=number: _core.stream(size, n) for number in threads}


def take_rates(seconds: dict, size: int) -> dict[int, float]:
    """Take the times of such tasks out of `seconds`; return GB/s by threads, the best of each."""
    keys = [key for key in seconds if isinstance(key, Read)]
    return {key.threads: size / seconds.pop(key).min() / 1e9 for key in keys}
