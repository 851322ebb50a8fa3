"""Feasible sets: what an impulse may be.

A set is given to `contactsolve.Problem` as ``sets=``. Without one, ``mu`` makes the contacts
`disc`, ``lo``/``hi`` make them `box`, and neither makes them `half_line`.

For each set of the C library this module has a function of the same name, made from the library's
table of parameters; `polygon` and `support` take shapes in other forms.

>>> from contactsolve import sets
>>> sets.rolling(0.5, mu_r=0.01)
sets.rolling(0.5, 0.01)
>>> sets.parameters()["rolling"]["mu_r"].summary
'coefficient of rolling resistance [m], |rolling moment| <= mu_r x normal'
"""

from __future__ import annotations

import inspect
import keyword
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from . import _core
from ._arrays import finite_array, read_only, real_array, spread
from ._specific_options import document
from ._suggestions import hint, missing, nearest
from .shapes import Shape

__all__ = ["Declared", "Parameter", "Set", "describe", "names", "parameters", "polygon", "support"]


@dataclass(frozen=True, slots=True)
class Declared:
    """What the C library declares of a parameter.

    Attributes
    ----------
    name, summary
        Its name and one line on its meaning.
    kind
        What it has numbers for: ``"block"``, one for each; ``"row"``, one for each row of each
        block; or ``"shape"``, several for each block.
    least, most
        The range of each number.
    default
        Its value if it is left out; None for blocks that do not have it.
    optional
        Whether it may be left out.
    """

    name: str
    kind: str
    least: float
    most: float
    default: float | None
    optional: bool
    summary: str

    @property
    def range(self) -> str:
        """The values that it takes, as text."""
        forms = {"block": "float or (K,)", "row": "float, (m,) or (K, m)", "shape": "array"}
        ends = {"at least": self.least, "at most": self.most}
        told = [f"{end} {value:g}" for end, value in ends.items() if abs(value) < _UNBOUNDED]
        told = [] if self.kind == "shape" else told
        return ", ".join([forms[self.kind], *told])


# Ends of ranges that only exclude inf, or nothing.
_UNBOUNDED = 1e300


def _declared(described: dict[str, Any]) -> dict[str, Declared]:
    """Return the parameters of a set by name, from the C library's description."""
    found = {}
    for one in described["parameters"]:
        usual = one.pop("usual")
        default = usual if one["optional"] and not math.isnan(usual) else None
        found[one["name"]] = Declared(default=default, **one)
    return found


_LISTED = {described["name"]: described for described in _core.sets()}
_DECLARED = {name: _declared(described) for name, described in _LISTED.items()}

# Made by `support`, of a function in place of a shape.
_WITHIN_OTHERS = {"support_function"}


@dataclass(frozen=True, eq=False)
class Parameter:
    """One parameter of a set: its value for every block, or for every row of every block.

    With `shape`, the value of a block is an array of that shape, such as the vertices of a polygon.
    """

    name: str
    value: np.ndarray
    of_rows: bool = False
    shape: tuple[int, ...] = ()

    def copied(self) -> Self:
        """Return the same parameter with its value in memory of its own."""
        return type(self)(self.name, self.value.copy(), self.of_rows, self.shape)

    def spread(self, contacts: int, rows: int) -> np.ndarray:
        """Return the values of each block, ``(contacts, 1)``, ``(contacts, rows)`` or as many."""
        if self.of_rows:
            return spread(self.name, self.value, (contacts, rows))
        if self.shape:
            size = int(np.prod(self.shape))
            return spread(self.name, self.value, (contacts, *self.shape)).reshape(contacts, size)
        return spread(self.name, self.value, (contacts,)).reshape(contacts, 1)


@dataclass(frozen=True, eq=False)
class Numbering(Parameter):
    """The number of each block within its group."""

    def spread(self, contacts: int, rows: int) -> np.ndarray:  # noqa: ARG002 (as above)
        """Return 0, 1, 2, ... as ``(contacts, 1)``."""
        return np.arange(contacts, dtype=np.float64).reshape(contacts, 1)


@dataclass(frozen=True, eq=False)
class Set:
    """A feasible set with its parameters; made by the functions of this module.

    The parameters stand in the order in which the C library reads them. `function` is what the
    handle among them stands for, where there is one.
    """

    name: str
    values: tuple[Parameter, ...] = ()
    function: _core.Support | None = None

    def __reduce__(self) -> tuple:
        """Refuse to be pickled or copied deeply with a function, which lives in this process."""
        if self.function is not None:
            raise TypeError(
                f"{self!r} cannot be pickled: its function belongs to this process. Pickle what "
                f"the problem is made of, and make it anew"
            )
        return Set, (self.name, self.values)

    def copied(self) -> Set:
        """Return the same set with parameters in memory of its own."""
        return Set(self.name, tuple([one.copied() for one in self.values]), self.function)

    def parameters(self, contacts: int, rows: int) -> np.ndarray:
        """Return the parameters of each block, ``(contacts, p)``, as the C library reads them."""
        parts = [parameter.spread(contacts, rows) for parameter in self.values]
        wanted, given = _core.set_parameters(self.name, rows), len(parts)
        declared = _DECLARED.get(self.name, {})
        if 0 <= wanted != given and any(_is_partial(one) for one in declared.values()):
            names = " and ".join(list(declared)[:wanted])
            what = names if wanted > 1 else f"{names} alone"
            raise ValueError(f"sets: blocks of {rows} rows take sets.{self.name} with {what}")
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([np.zeros((contacts, 0)), *parts], axis=1)

    def parameter(self, name: str, contacts: int) -> np.ndarray | None:
        """Return the parameter of that name for each block, ``(contacts,)``; None without one."""
        for parameter in self.values:
            if parameter.name == name and not parameter.of_rows and not parameter.shape:
                return parameter.spread(contacts, 1)[:, 0]
        return None

    def with_parameter(self, name: str, value: Any) -> Set:
        """Return the same set with another value of one parameter.

        Raises
        ------
        ValueError
            Where the set has no parameter of that name.
        """
        if all(parameter.name != name for parameter in self.values):
            alike = [one.name for one in self.values if one.name.startswith(name)]
            names = " and ".join(alike)
            rest = f": it has {names}, which Problem.update(sets=...) changes" if alike else ""
            raise ValueError(f"{name} is given, but the set {self.name!r} takes none{rest}")
        array = real_array(name, value)
        changed = (replace(p, value=array) if p.name == name else p for p in self.values)
        return replace(self, values=tuple(changed))

    def changed(self, mu: Any, sets: Any) -> Set:
        """Return the set with other parameters: another `mu`, those of `sets`, or its own.

        Raises
        ------
        TypeError, ValueError
            Where `sets` is no set of the same kind, and where both are given.
        """
        if sets is None:
            return self if mu is None else self.with_mu(mu)
        if not isinstance(sets, Set):
            raise TypeError(f"sets is {sets!r}: {_advice(sets)}")
        if mu is not None:
            raise ValueError(f"sets={sets!r} has its own parameters: leave out mu")
        if sets.name != self.name:
            raise ValueError(f"sets is {sets!r}: a problem keeps its kind of set, {self.name!r}")
        return sets

    @property
    def is_bilateral(self) -> bool:
        """Whether it leaves its rows without bounds, as those of joints are."""
        return self.name == "free"

    @property
    def takes_mu(self) -> bool:
        """Whether the set has a friction coefficient."""
        return any(parameter.name == "mu" for parameter in self.values)

    def with_mu(self, mu: Any) -> Set:
        """Return the same set with another friction coefficient."""
        return self.with_parameter("mu", mu)

    def mu(self, contacts: int) -> np.ndarray | None:
        """Return the friction coefficients, ``(contacts,)``, read-only, or None."""
        mu = self.parameter("mu", contacts)
        return None if mu is None else read_only(mu)

    def project(self, impulses: Any, *, previous: Any = None, dtype: Any = "float64") -> np.ndarray:
        """Return the nearest feasible impulses, the prox of the set (S1 eq. 2.43).

        Parameters
        ----------
        impulses
            ``(K, m)``, or ``(m,)`` for one block [N s].
        previous
            Normal impulses that bound the friction, one number or ``(K,)``; by default the ones
            just projected.
        dtype
            ``"float64"`` or ``"float32"``: what is computed in.

        Raises
        ------
        ValueError
            For impulses of another number of rows than the set takes, and bad parameters.

        Examples
        --------
        >>> from contactsolve import sets
        >>> sets.disc(0.5).project([2.0, 3.0, -4.0])
        array([ 2. ,  0.6, -0.8])
        """
        z = real_array("impulses", impulses)
        if z.ndim not in (1, 2):
            raise ValueError(f"impulses has shape {z.shape}: (K, m) or (m,) is needed")
        blocks = z.reshape(-1, z.shape[-1])
        narrow = np.dtype(dtype) == np.float32
        if not narrow and np.dtype(dtype) != np.float64:
            raise ValueError(f"dtype is {dtype!r}: float64 or float32 is needed")
        if previous is not None:
            previous = spread("previous", real_array("previous", previous), (len(blocks),))
        parameters = self.parameters(*blocks.shape)
        return _core.project(self.name, narrow, blocks, parameters, previous).reshape(z.shape)

    def __repr__(self) -> str:
        if self.name.startswith("support"):
            return self._support()
        told = [one for one in self.values if one.name != "sides"]  # as many as there are vertices
        values = ", ".join(map(_argument, told))
        return f"sets.{self.name}({values})"

    def _support(self) -> str:
        """Of what no call can be made again: a shape or a function."""
        numbers = {one.name: np.asarray(one.value) for one in self.values}
        what = "<function>" if self.function else f"<shape of {numbers['shape'].shape[-1]} numbers>"
        mu = _argument(next(one for one in self.values if one.name == "mu"))
        return f"sets.support({what}, {mu})"


# Arrays of more numbers are told by their shape.
_PRINTED = 16


def _argument(parameter: Parameter) -> str:
    """A parameter as it is written in the call that makes the set, by name where it is a shape."""
    array = np.asarray(parameter.value)
    text = _written(array.tolist()) if array.size <= _PRINTED else f"<array {array.shape}>"
    return f"{parameter.name}={text}" if parameter.shape else text


def _written(value: Any) -> str:
    """Numbers in lists, as short as they can be read back."""
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    if not np.isfinite(value):
        return f"{'-' if value < 0 else ''}np.inf"
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


def _is_partial(declared: Declared) -> bool:
    """Whether only blocks of some numbers of rows have the parameter."""
    return declared.optional and declared.default is None


def _make(name: str, **values: Any) -> Set:
    """Return a set with its parameters, which stand in the order of the library's table."""
    own = _DECLARED[name]
    return Set(
        name,
        tuple(
            Parameter(key, real_array(key, value), own[key].kind == "row")
            for key, value in values.items()
        ),
    )


def _given(
    name: str, own: Mapping[str, Declared], placed: tuple[Any, ...], named: dict[str, Any]
) -> dict[str, Any]:
    """Return the parameters of a call by name, in the order of the table.

    Raises `TypeError` for parameters that the set does not have, and for missing ones.
    """
    known = ", ".join(own) or "none"
    if len(placed) > len(own):
        raise TypeError(f"sets.{name} is given {len(placed)} parameters; known: {known}")
    given = dict(zip(own, placed, strict=False))
    for key, value in named.items():
        if key in given:
            raise TypeError(f"sets.{name} is given {key} twice")
        if key not in own:
            text = f"{key} is no parameter of sets.{name}; known: {known}"
            raise TypeError(f"{text}{hint(key, own)}")
        given[key] = value
    for key, one in own.items():
        if key not in given and not one.optional:
            raise TypeError(f"sets.{name} needs {key}: {one.summary}")
    values = {key: given.get(key, one.default) for key, one in own.items()}
    partial = {key for key, one in own.items() if _is_partial(one) and values[key] is None}
    return {key: value for key, value in values.items() if key not in partial}


def _maker(name: str, described: dict[str, Any]) -> Callable[..., Set]:
    """Return the function of a set's name: parameters in, a `Set` out."""
    own = _DECLARED[name]

    def make(*placed: Any, **named: Any) -> Set:
        return _make(name, **_given(name, own, placed, named))

    make.__name__ = make.__qualname__ = name
    make.__module__ = __name__
    returns = "Set\n    For a problem's `sets`."
    make.__doc__ = document(described["summary"], described["about"] or "", own, returns, {})
    make.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [_in_signature(one) for one in own.values()], return_annotation=Set
    )
    return make


def _in_signature(one: Declared) -> inspect.Parameter:
    """Return a parameter of a set as one of its function."""
    default = one.default if one.optional else inspect.Parameter.empty
    return inspect.Parameter(one.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


def polygon(
    mu: Any = 1.0,
    *,
    sides: int = 8,
    angle: Any = 0.0,
    inscribed: bool = True,
    vertices: Any = None,
) -> Set:
    """Friction in a convex polygon: the polyhedral cone of complementarity problems, or any.

    Parameters
    ----------
    mu
        Friction coefficient: one number, or ``(K,)``. With `vertices`, what these are multiplied
        with.
    sides
        Corners of a regular polygon: 3 or more.
    angle
        From the first tangent to the first corner [rad]: one number, or ``(K,)``.
    inscribed
        Corners on the disc of Coulomb friction, as in the linear complementarity problem; otherwise
        it is the edges that touch the disc (S1 figs. 2.6, 2.7).
    vertices
        Corners of another polygon over mu times the normal impulse, ``(k, 2)`` for all contacts or
        ``(K, k, 2)``: convex, around the origin, either way round. Blocks have 3 rows.

    Raises
    ------
    ValueError
        For fewer than three corners, and vertices beside a regular polygon's options. That they are
        convex is checked when a problem is made.
    """
    if vertices is None:
        corners = _regular(sides, angle, inscribed)
    elif sides != 8 or np.any(np.asarray(angle) != 0.0) or not inscribed:
        raise ValueError("vertices is given: leave out sides, angle and inscribed")
    else:
        corners = real_array("vertices", vertices)
    if corners.ndim not in (2, 3) or corners.shape[-1] != 2 or corners.shape[-2] < 3:
        raise ValueError(
            f"vertices has shape {corners.shape}: (k, 2) or (K, k, 2) with k >= 3 is needed"
        )
    count = corners.shape[-2]
    values = (
        Parameter("mu", real_array("mu", mu)),
        Parameter("sides", np.array(float(count))),
        Parameter("vertices", corners, shape=(count, 2)),
    )
    return Set("polygon", values)


def _regular(sides: Any, angle: Any, inscribed: bool) -> np.ndarray:
    """Corners of a regular polygon, ``(k, 2)`` or ``(K, k, 2)``."""
    if isinstance(sides, bool) or not isinstance(sides, (int, np.integer)) or sides < 3:
        raise ValueError(f"sides is {sides!r}: an integer of 3 or more is needed")
    turns = finite_array("angle", angle)[..., None] + 2.0 * np.pi * np.arange(sides) / sides
    radius = 1.0 if inscribed else 1.0 / np.cos(np.pi / sides)
    return radius * np.stack([np.cos(turns), np.sin(turns)], axis=-1)


def support(shape: Shape | Callable[[np.ndarray], Any], mu: Any = 1.0) -> Set:
    """Friction in any convex set, by its support points (S1 section 2.3; GJK).

    Nearest points are found by asking where the set reaches farthest in one direction after the
    other, as Gilbert, Johnson and Keerthi do; in the plane the direction is closed in on as a root.

    Parameters
    ----------
    shape
        A shape of `contactsolve.shapes`; or, for experiments, a function of a direction: it gets a
        read-only array ``(n,)`` of length 1 and returns a point ``(n,)`` of the set that reaches
        farthest there, for a normal impulse of 1. The origin is in the set. Blocks have 3 rows
        (n = 2) or 4 (n = 3, with the spin).
    mu
        What the set is multiplied with: one number, or ``(K,)``.

    Notes
    -----
    In the plane, and in space for smooth shapes and polytopes, nearest points are exact to
    rounding. In space, on sides that are straight one way and curved the other (a cylinder's, say),
    their place is known to about 1e-7 of the size, often better.

    A function is called with the GIL held, a dozen times for each contact and sweep, and the solve
    runs on one thread. What it raises ends the solve, and comes out of it. What is wrong with a
    point that it returns is told with the number of the contact, counted within its group. Such a
    set cannot be pickled.
    """
    values = (Parameter("mu", real_array("mu", mu)),)
    if isinstance(shape, Shape):
        numbers = shape.numbers()
        return Set("support", (*values, Parameter("shape", numbers, shape=numbers.shape[-1:])))
    if not callable(shape):
        raise TypeError(f"shape is {shape!r}: a Shape of contactsolve.shapes, or a function")
    function = _core.Support(shape)
    handle = Parameter("function", np.array(float(function.handle)))
    return Set("support_function", (*values, handle, Numbering("contact", np.zeros(()))), function)


def describe() -> dict[str, str]:
    """Return one line on each set, by name."""
    return {name: _LISTED[name]["summary"] for name in names()}


def choose_set(mu: Any, sets: Set | None, lo: Any, hi: Any, rows: int) -> Set:
    """Return the set that a problem's arguments stand for, for blocks of that many rows."""
    bounded = lo is not None or hi is not None
    if sets is not None:
        if not isinstance(sets, Set):
            raise TypeError(f"sets is {sets!r}: {_advice(sets)}")
        if mu is not None or bounded:
            raise ValueError(f"sets={sets!r} has its own parameters: leave out mu, lo and hi")
        return sets
    if mu is not None and bounded:
        raise ValueError("mu makes the contacts discs, lo and hi boxes: give one of them")
    if mu is not None:
        if _core.set_parameters("disc", rows) < 0:
            raise ValueError(
                f"mu makes the contacts discs, which take 2 or 3 rows, not {rows}: leave it out "
                f"or give sets"
            )
        return _make("disc", mu=mu)
    if bounded:
        lo, hi = -np.inf if lo is None else lo, np.inf if hi is None else hi
        return _make("box", lo=lo, hi=hi)
    return _make("half_line")


def _advice(given: Any) -> str:
    """Return what to write in place of something that is not a set."""
    name = given if isinstance(given, str) else getattr(given, "__name__", "")
    if callable(given) and name in names():
        return f"call it, sets.{name}(...)"
    if isinstance(given, str) and name in names():
        return f"use {_example(name)}"
    near = nearest(name, names()) if isinstance(given, str) else ""
    wanted = "a set of contactsolve.sets is needed"
    return f"{wanted}; did you mean {_example(near)}?" if near else wanted


def _example(name: str) -> str:
    """Return a call that makes a set: with the required parameters, or with the first one."""
    own = list(inspect.signature(globals()[name]).parameters.values())
    required = [one.name for one in own if one.default is one.empty]
    return f"contactsolve.sets.{name}({', '.join(required or [one.name for one in own[:1]])})"


def names() -> list[str]:
    """Return the names of all sets."""
    return [name for name in _LISTED if name not in _WITHIN_OTHERS]


def parameters() -> dict[str, dict[str, Declared]]:
    """Return each set's parameters by name, with their ranges, as the C library declares them."""
    return {name: dict(_DECLARED[name]) for name in names()}


for _name, _description in _LISTED.items():
    if _name not in {*globals(), *_WITHIN_OTHERS} and not keyword.iskeyword(_name):
        globals()[_name] = _maker(_name, _description)
        __all__ += [_name]


def __getattr__(name: str) -> Callable[..., Set]:
    """Raise for unknown names; for type checkers, every name is a function of the C library."""
    raise missing(__name__, name, __all__)


def _of_numbers(name: str, rows: int, numbers: np.ndarray) -> Set:
    """Return a set from the numbers of each block, ``(K, p)``, as the C library has them."""
    values, begin = [], 0
    for one, declared in _DECLARED[name].items():
        left = numbers.shape[1] - begin
        if left == 0:
            break
        each = {"block": 1, "row": rows, "shape": left}[declared.kind]
        column = numbers[:, begin : begin + each]
        begin += each
        if declared.kind == "block":
            values.append(Parameter(one, column[:, 0].copy()))
        elif declared.kind == "row":
            values.append(Parameter(one, column.copy(), of_rows=True))
        else:
            values.append(Parameter(one, column.copy(), shape=(each,)))
    return Set(name, tuple(values))


def __dir__() -> list[str]:
    return sorted(__all__)
