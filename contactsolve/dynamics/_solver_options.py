"""The options of the solver in each step, as the C library takes them."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, cast

from .. import _core, measures, methods, schemes
from .._options import (
    apart,
    dtype_name,
    flag,
    for_library,
    names_of,
    one_of,
    relative_tolerance,
    word,
    wrong_type,
)
from .._suggestions import refuse_unknown, with_suggestion
from ..orders import chosen
from ..solver import Solver, limits

if TYPE_CHECKING:
    from ..problem import Problem

__all__ = ["arguments"]

# The options of a Solver with their defaults, and those that a world has others for.
_DEFAULTS = {
    name: parameter.default
    for name, parameter in inspect.signature(Solver).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY
}
_OF_WORLD = {
    "max_iterations": 200,
    "max_seconds": None,
    "islands": False,
    "record": (),
}
_NOT_FOR_STEPS = ("max_setup_seconds",)
# What is known of options that are names.
_WORDS = {
    entry["name"]: tuple(entry["words"]) for entry in _core.options() if entry["kind"] == "word"
}


def arguments(options: dict[str, Any], own: tuple[str, ...]) -> tuple[Any, ...]:
    """Return options, settings, order, scheme and record of a `Solver` for the C library.

    Parameters
    ----------
    options
        By name, as for `Solver`.
    own
        Names of the world's own options, for suggestions.
    """
    known = {name for name in _DEFAULTS if name not in _NOT_FOR_STEPS}
    unknown = {name: value for name, value in options.items() if name not in known}
    for name in ("mu", "restitution"):
        if name in unknown:
            raise TypeError(f"World has no option {name!r}: give it by material=Material(...)")
    if unknown:
        refuse_unknown("World", unknown, (*own, *sorted(known)))
    given = {**_DEFAULTS, **_OF_WORLD, **options}
    visits, way = chosen(given.pop("order")), schemes.chosen(given.pop("scheme"))
    method = methods.chosen(given.pop("method"))
    if visits.name == "given" or visits.labels is not None:
        raise ValueError(f"order is {visits!r}: the contacts of a world change from step to step")

    # Values by the names of the C library.
    record, rng = names_of("record", given.pop("record")), given.pop("rng")
    parts = given["parts"]
    for name in _NOT_FOR_STEPS:
        given.pop(name)
    precision = dtype_name(given["dtype"])
    has_tolerance = (given["rtol"], given["atol"]) != (None, None)
    most = limits(method.name, has_tolerance, given["max_iterations"], given["max_seconds"])
    values = {
        **given,
        "max_iterations": most[0],
        "max_seconds": most[1],
        "method": method.name,
        "scheme": way.name,
        "order": visits.name,
        "dtype": precision,
        "rtol": relative_tolerance(given["rtol"], precision),
        "compressed": flag("compressed", given["compressed"]),
        "islands": apart(given["islands"]),
    }

    # Names are checked now, values with the first contacts.
    try:
        for name, words in _WORDS.items():
            one_of(name, word(name, values[name]), words)
        for measure in record:
            one_of("record", measure, measures.names())
        _core.check_method(method.name, method.options())
        _core.check_scheme(way.name, way.options())
    except ValueError as error:
        raise with_suggestion(error) from None
    wrong = wrong_type(values)
    if wrong is not None:
        raise wrong
    library = for_library(values)
    # Without lists of contacts, an order needs no problem.
    order = visits.options(cast("Problem", None), visits.seed(rng), parts)
    return library, method.options(), order, way.options(), record
