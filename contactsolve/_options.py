"""Conversion of options for the C library, with errors that name them."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core, _devices
from ._arrays import index_array
from ._suggestions import with_suggestion

# The C library's descriptions of the options that every solver has.
_TABLE: dict[str, dict[str, Any]] = {entry["name"]: entry for entry in _core.options()}
_OWN_OBJECTS = ("scheme", "order")  # names, or objects that check themselves


def _kind(entry: dict[str, Any]) -> str:
    """Return the type of an option's value: a key of `_WANTED`."""
    if entry["name"] in _OWN_OBJECTS:
        return "word"
    if entry["kind"] == "count":
        return "short" if entry["most"] < 2**31 else "int"
    return {"word": "str", "number": "float", "flag": "flag"}[entry["kind"]]


COMMON = tuple(_TABLE)
KINDS = {name: _kind(entry) for name, entry in _TABLE.items()} | {"max_setup_seconds": "float"}
COUNTS = tuple(name for name, entry in _TABLE.items() if entry["kind"] == "count")
_WANTED = {
    "str": "a name",
    "float": "a number",
    "int": "an integer",
    "short": "an integer",
    "flag": "True or False",
}
_OPTIONAL = {name for name, entry in _TABLE.items() if entry["optional"]} | {"max_setup_seconds"}
_NAMED = {name for name, entry in _TABLE.items() if entry["kind"] != "word" and entry["words"]}


def explain(given: dict[str, Any], error: Exception) -> Exception:
    """Return an error that names an option of a wrong type, or suggests a known name."""
    return wrong_type(given) or with_suggestion(error)


def wrong_type(given: dict[str, Any]) -> Exception | None:
    """Return an error that names an option of a wrong type; None if there is none."""
    for name, value in given.items():
        kind = KINDS[name]
        if isinstance(value, str) and not _is_c_text(value):
            return ValueError(f"{name}: {value!r} is no name")
        if kind == "word":
            continue
        if (value is None and name in _OPTIONAL) or (name in _NAMED and isinstance(value, str)):
            continue
        try:
            right = _is(value, kind)
        except OverflowError:
            return ValueError(f"{name} is {value}: that is too large")
        if not right:
            return TypeError(f"{name} is {value!r}: {_WANTED[kind]} is needed")
    return None


def _is(value: Any, kind: str) -> bool:
    if kind == "str":
        return isinstance(value, str)
    if kind == "flag":
        return isinstance(value, (bool, np.bool_))
    if isinstance(value, (str, bytes)):
        return False
    try:
        if kind == "float":
            float(value)
        elif kind == "short":
            np.int32(value.__index__())
        else:
            np.int64(value.__index__())
    except (TypeError, AttributeError, ValueError):
        return False
    return True


def _is_c_text(value: str) -> bool:
    """Whether a text can be handed to C: no zero inside, no half of a surrogate pair."""
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


def for_library(given: dict[str, Any]) -> dict[str, Any]:
    """Return options as the C library takes them: numbers and words by name.

    Raises
    ------
    TypeError, ValueError
        For values of a wrong type, and for those that the library would read as unset.
    """
    _devices.load(given["device"])
    taken = {
        **given,
        "rtol": tolerance("rtol", given["rtol"]),
        "atol": tolerance("atol", given["atol"]),
        "averaging": _averaging(given["averaging"]),
        "rollback_growth": _rollback_growth(given["rollback_growth"]),
        "max_seconds": most_seconds("max_seconds", given["max_seconds"]),
        "time_checks": flag("time_checks", given["time_checks"]),
        "threads": 0 if given["threads"] is None else given["threads"],
        "exact_threads": flag("exact_threads", given["exact_threads"]),
        "patience": cadence("patience", given["patience"]),
        "measure_every": cadence("measure_every", given["measure_every"]),
    }
    for name in COUNTS:
        value = taken[name]
        if type(value) is not int and not (name in _NAMED and isinstance(value, str)):
            operator.index(value)
    return taken


def _averaging(value: Any) -> Any:
    """Return ω for the C library, where NaN stands for None."""
    if value is None:
        return math.nan
    if isinstance(value, (float, np.floating)) and math.isnan(value):
        raise ValueError("averaging is nan: a weight is above 0, at most 1")
    return value


def _rollback_growth(value: Any) -> Any:
    """Return the growth that counts as divergence for the C library, where 0 stands for None."""
    if value is None:
        return 0.0
    if value == 0:
        raise ValueError("rollback_growth is 0: it must be at least 1")
    return value


def tolerance(name: str, value: Any) -> Any:
    """Return a tolerance for the C library, where NaN stands for None."""
    if value is None:
        return math.nan
    if isinstance(value, (float, np.floating)) and value != value:
        raise ValueError(f"{name} is nan: it must be at least 0")
    return value


def relative_tolerance(value: Any, precision: str) -> Any:
    """Return `rtol`; ``"auto"`` becomes the default of this precision."""
    if not isinstance(value, str) or value != "auto":
        return value
    return 1e-4 if precision == "float32" else 1e-6


def permutation_of(order: Any, contacts: int) -> np.ndarray:
    """Return an order as contact numbers; C checks that it is a permutation."""
    permutation = index_array("order", order)
    if permutation.ndim != 1:
        raise ValueError(
            f"order has shape {permutation.shape}: a name, or a permutation of shape "
            f"({contacts},), is needed"
        )
    return permutation


def dtype_name(dtype: Any) -> str:
    """Return the name of a NumPy type, unless it is one."""
    if isinstance(dtype, str):
        return dtype
    try:
        return np.dtype(dtype).name
    except TypeError:
        raise TypeError(f"dtype is {dtype!r}: 'float64', 'float32' or 'mixed' is needed") from None


def names_of(option: str, names: Any) -> tuple[str, ...]:
    """Return a tuple of names of measures."""
    if isinstance(names, str):
        raise TypeError(f"{option} is {names!r}: a tuple of names is needed, such as ({names!r},)")
    try:
        names = tuple(names)
    except TypeError:
        raise TypeError(f"{option} is {names!r}: a tuple of names is needed") from None
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{option} holds {name!r}: names of measures are needed")
        if not _is_c_text(name):
            raise ValueError(f"{option} holds {name!r}, which is no name")
    return names


def seed_of(rng: Any) -> int:
    """Return a seed from a seed or a generator, or a fresh one from None."""
    try:
        return int(np.random.default_rng(rng).integers(2**63))
    except (TypeError, ValueError) as error:
        raise type(error)(f"rng is {rng!r}: {error}") from None


def word(name: str, value: Any) -> str:
    """Return a name that can be handed to C."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}: a name is needed")
    if not _is_c_text(value):
        raise ValueError(f"{name}: {value!r} is no name")
    return value


def number(name: str, value: Any) -> float:
    """Return a number as a float."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}: a number is needed") from None


def count(name: str, value: Any, least: int = 0, most: float = 2e9) -> int:
    """Return a whole number from `least` to `most`; an integer limit is told to its last digit."""
    try:
        whole = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}: an integer is needed") from None
    if not least <= whole <= most:
        limit = f"{most}" if isinstance(most, int) else f"{most:g}"
        wanted = f"at least {least}" if whole < least else f"at most {limit}"
        raise ValueError(f"{name} is {whole}: it must be {wanted}")
    return whole


def most_threads(threads: int | None) -> int:
    """Return a number of threads for the C library, where 0 stands for None."""
    return 0 if threads is None else count("threads", threads, least=1, most=2**31 - 1)


def one_of(name: str, value: Any, words: Sequence[str]) -> str:
    """Return a value that is one of the words."""
    if value not in words:
        raise ValueError(f"{name}: {value!r} is unknown; known: {', '.join(words)}")
    return value


def flag(name: str, value: Any) -> bool:
    """Return a truth value, checked."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} is {value!r}: True or False is needed")
    return bool(value)


def most_seconds(name: str, value: Any) -> Any:
    """Return a time limit for the C library, where infinity stands for None."""
    if value is None:
        return math.inf
    if isinstance(value, (int, float, np.number)) and not value >= 0:
        raise ValueError(f"{name} is {value}: it must be at least 0")
    return value


def cadence(name: str, value: Any) -> Any:
    """Return a number of iterations for the C library, where 0 stands for None."""
    if value is None:
        return 0
    if isinstance(value, (int, np.integer)) and value < 1:
        raise ValueError(f"{name} is {value}: it must be at least 1")
    return value


def number_of_parts(parts: Any) -> int:
    """Return a number of parts for the C library, where 0 stands for ``"auto"``."""
    if isinstance(parts, str):
        if parts == "auto":
            return 0
        raise ValueError(f"parts: {parts!r} is unknown; known: auto, or a number")
    return count("parts", parts, least=1, most=2**31 - 1)


def apart(islands: Any) -> bool:
    """Return whether islands are solved separately: ``"auto"`` or False."""
    if isinstance(islands, str) and islands == "auto":
        return True
    if islands is False:
        return False
    raise ValueError(f"islands is {islands!r}: 'auto' or False is needed")
