"""Values of `info` as a JSON text and a list of arrays.

Values that JSON lacks are objects with one key: ``{"$array": 3}`` (the array of that number),
``{"$float": "nan"}``, ``{"$tuple": [...]}``, and ``{"$dict": [[key, value], ...]}`` if keys are
not texts.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["from_json", "to_json"]


def to_json(name: str, value: Any) -> tuple[str, list[NDArray[Any]]]:
    """Return a value as a JSON text, and the arrays in it.

    Raises
    ------
    TypeError
        For other values than None, truth values, numbers, texts, lists, tuples, dictionaries and
        arrays of numbers. The message names the place of the value, beginning with `name`.
    """
    arrays: list[NDArray[Any]] = []
    return json.dumps(_encoded(name, value, arrays), allow_nan=False), arrays


def _encoded(place: str, value: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return a value in forms that JSON has; arrays are appended to `arrays`."""
    # Plain values.
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}

    # Arrays and containers.
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        arrays.append(value)
        return {"$array": len(arrays) - 1}
    if isinstance(value, (list, tuple)):
        items = [_encoded(f"{place}[{i}]", item, arrays) for i, item in enumerate(value)]
        return {"$tuple": items} if isinstance(value, tuple) else items
    if isinstance(value, dict):
        return _encoded_dict(place, value, arrays)
    raise TypeError(
        f"{place} is {value!r}, which cannot be saved: numbers, texts, arrays of numbers, and "
        f"lists, tuples and dictionaries of them can"
    )


def _encoded_dict(place: str, value: dict[Any, Any], arrays: list[NDArray[Any]]) -> Any:
    """Return a dictionary as an object, or as pairs if its keys are not plain texts."""
    items = {key: _encoded(f"{place}[{key!r}]", item, arrays) for key, item in value.items()}
    if all(isinstance(key, str) and not key.startswith("$") for key in items):
        return items
    return {
        "$dict": [[_encoded(f"{place}: a key", key, arrays), item] for key, item in items.items()]
    }


def from_json(text: str, arrays: list[NDArray[Any]]) -> Any:
    """Return the value of a JSON text and its arrays.

    Raises
    ------
    ValueError
        The text is not JSON, or contains an unknown form.
    """
    try:
        return _decoded(json.loads(text, parse_constant=_refuse_constant), arrays)
    except RecursionError:
        raise ValueError("the JSON text is nested too deeply") from None


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _decoded(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return a value of JSON with its arrays and other forms."""
    if isinstance(value, list):
        return [_decoded(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    (key, inside), *others = value.items() or [("", None)]
    if others or not key.startswith("$"):
        return {name: _decoded(item, arrays) for name, item in value.items()}

    # An object with one key that begins with $ is a form of our own.
    if key == "$float" and inside in ("nan", "inf", "-inf"):
        return float(inside)
    if key == "$array" and type(inside) is int and 0 <= inside < len(arrays):
        return arrays[inside]
    if key == "$tuple" and isinstance(inside, list):
        return tuple(_decoded(inside, arrays))
    if key == "$dict" and isinstance(inside, list) and all(map(_is_pair, inside)):
        pairs = ((_decoded(name, arrays), _decoded(item, arrays)) for name, item in inside)
        return dict(pairs)
    raise ValueError(f"{key} of the JSON text is {inside!r}, which has no meaning")


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2
