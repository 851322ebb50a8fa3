"""Orders: who sees whose values in a sweep.

An order is given to a solver by its name, or with options as an object of this module:

>>> import contactsolve as cs
>>> solver = cs.Solver(cs.scenarios.ball_grid(4), order=cs.orders.colored(strategy="balanced"))
>>> solver.info["stages"] == solver.info["colors"]
True
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from ._arrays import index_array

__all__ = ["Order", "colored", "describe", "given", "names", "random", "ranges", "relaxed"]


@dataclass(frozen=True, eq=False)
class Order:
    """An order with its options; made by the functions of this module."""

    name: str
    permutation: np.ndarray | None = None
    fixed_as_body: bool = False
    balanced: bool = False
    colors: int = 0
    multiple_of_parts: bool = False
    unsafe_below: int = 0
    unsafe_simultaneous: bool = True
    unsafe_first: bool = False

    def options(self, seed: int, parts: int) -> tuple[Any, ...]:
        """Return the options as the C library takes them."""
        return (
            seed,
            parts,
            self.fixed_as_body,
            self.balanced,
            self.colors,
            self.multiple_of_parts,
            self.unsafe_below,
            self.unsafe_simultaneous,
            self.unsafe_first,
        )


def random() -> Order:
    """One random order, the same in every sweep; the solver's option `rng` seeds it."""
    return Order("random")


def given(permutation: Any) -> Order:
    """Visit the contacts in the order of `permutation`, ``(K,)``."""
    return Order("given", permutation=index_array("order", permutation))


def ranges() -> Order:
    """S1's naive parallel Gauss-Seidel (section 7.1).

    The contacts are cut into contiguous ranges (the solver's option `parts`), which are swept at
    once, each seeing the others as before the sweep.
    """
    return Order("ranges")


def colored(
    strategy: str = "greedy",
    *,
    colors: int | str = "degree",
    multiple_of_parts: bool = False,
    fixed_as_body: bool = False,
) -> Order:
    """Colour by colour, no two contacts of one sharing a moving body (S1 section 4.3).

    Parameters
    ----------
    strategy
        ``"greedy"``, the lowest free colour, or ``"balanced"``, the least used free one.
    colors
        How many a balanced colouring aims at: ``"degree"``, the highest number of contacts that
        one is in conflict with (S1 eq. 4.1), ``"tentative"``, as many as a greedy one finds, or a
        number.
    multiple_of_parts
        Round that number up to a multiple of the solver's `parts`.
    fixed_as_body
        Let contacts with one immovable body of the problem conflict, as S1's ground does. The fixed
        world, −1, never does.
    """
    return Order("colored", **_coloring(strategy, colors, multiple_of_parts, fixed_as_body))


def relaxed(
    unsafe_below: int,
    strategy: str = "greedy",
    *,
    unsafe: str = "simultaneous",
    first: bool = False,
    colors: int | str = "degree",
    multiple_of_parts: bool = False,
    fixed_as_body: bool = False,
) -> Order:
    """Coloured, with small colours merged into one unsafe stage (S1 sections 4.3.1, 7.2.2).

    Parameters
    ----------
    unsafe_below
        Colours with fewer contacts are merged; S1 takes a multiple n p of the processors.
    unsafe
        How the unsafe stage runs: ``"simultaneous"``, its contacts blind to each other as in Jacobi
        (S1 section 7.2.3), or ``"ranges"``, cut into the solver's `parts` (section 7.2.2).
    first
        Run it first; by default it is last, where S1 found it to converge faster (section 7.4).
    strategy, colors, multiple_of_parts, fixed_as_body
        As for `colored`.
    """
    if unsafe not in ("simultaneous", "ranges"):
        raise ValueError(f"unsafe: {unsafe!r} is unknown; known: simultaneous, ranges")
    if index("unsafe_below", unsafe_below) < 0:
        raise ValueError(f"unsafe_below is {unsafe_below}: a number of contacts is 0 or more")
    return Order(
        "colored",
        unsafe_below=int(unsafe_below),
        unsafe_simultaneous=unsafe == "simultaneous",
        unsafe_first=bool(first),
        **_coloring(strategy, colors, multiple_of_parts, fixed_as_body),
    )


def _coloring(strategy: str, colors: int | str, multiple: bool, fixed: bool) -> dict[str, Any]:
    if strategy not in ("greedy", "balanced"):
        raise ValueError(f"strategy: {strategy!r} is unknown; known: greedy, balanced")
    aims = {"degree": 0, "tentative": -1}
    if isinstance(colors, str):
        if colors not in aims:
            raise ValueError(f"colors: {colors!r} is unknown; known: degree, tentative, a number")
        count = aims[colors]
    else:
        count = index("colors", colors)
        if count < 1:
            raise ValueError(f"colors is {colors}: at least 1 is needed")
    return {
        "balanced": strategy == "balanced",
        "colors": count,
        "multiple_of_parts": bool(multiple),
        "fixed_as_body": bool(fixed),
    }


def index(name: str, value: Any) -> int:
    """Return a whole number, which a fraction is not."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}: an integer is needed") from None


def chosen(order: Any) -> Order:
    """Return the order that a solver's option stands for: a name, an object or a permutation."""
    if isinstance(order, Order):
        return order
    return Order(order) if isinstance(order, str) else given(order)


def names() -> list[str]:
    """Return the names of all orders."""
    return [name for name, _ in _core.orders()]


def describe() -> dict[str, str]:
    """Return one line on each, by name."""
    return dict(_core.orders())
