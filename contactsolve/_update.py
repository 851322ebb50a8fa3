"""New values for the groups of a problem; values that are not given stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import real_array
from ._layout import Layout
from .groups import packed_jacobian, shaped_b


def per_group(name: str, value: Any, count: int, grouped: bool) -> list[Any]:
    """Return one value per group from a list of them, or from the only one."""
    if value is None:
        return [None] * count
    if not grouped:
        return [value]
    if not isinstance(value, (list, tuple)) or len(value) != count:
        raise ValueError(f"{name} must be a list with one entry per group ({count})")
    return list(value)


def updated_group(
    layout: Layout, J: Any, b: Any, mu: Any, sets: Any
) -> tuple[Layout, np.ndarray | None, np.ndarray | None, np.ndarray | None]:
    """Return a group's layout, J, b and parameters as the C library takes them; None keeps one."""
    if J is not None:
        J, (contacts, rows, *dofs) = packed_jacobian(J)
        if (contacts, rows, *dofs) != (*layout.shape, *layout.dofs):
            raise ValueError(
                f"J has {contacts} contacts of {rows} rows on {tuple(dofs)} degrees of freedom: "
                f"{layout.contacts} of {layout.rows} on {layout.dofs} are kept"
            )
    if b is not None:
        b = shaped_b(b, *layout.shape)
    feasible = layout.set.changed(mu, sets)
    if feasible is layout.set:
        return layout, J, b, None
    parameters = feasible.parameters(*layout.shape)
    return layout._replace(set=feasible.copied()), J, b, parameters


def updated_bodies(shapes: tuple[tuple[int, ...], ...], inverses: list[Any]) -> tuple[Any, ...]:
    """Return the inverse masses of each group as the C library takes them; None keeps them."""
    arrays = []
    for shape, inverse in zip(shapes, inverses, strict=True):
        if inverse is not None:
            inverse = real_array("Minv", inverse)
            if inverse.shape != shape:
                raise ValueError(f"Minv has shape {inverse.shape}: {shape} is kept")
        arrays.append(inverse)
    return tuple(arrays)
