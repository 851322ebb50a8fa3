"""New values for the groups of a problem; values that are not given stay the same."""

from __future__ import annotations

from typing import Any

from . import _core
from ._arrays import real_array
from ._layout import Layout
from .groups import Group, packed_bodies, packed_jacobian, shaped_b


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
    core: _core.Problem, g: int, layout: Layout, J: Any, b: Any, mu: Any, sets: Any
) -> Group:
    """Return group g with the values given and the problem's own for the rest."""
    group = Group.__new__(Group)
    group.J, group.dofs, group.shape = core.jacobian(g), layout.dofs, layout.shape
    if J is not None:
        group.J, (contacts, rows, *dofs) = packed_jacobian(J)
        if (contacts, rows, *dofs) != (*layout.shape, *layout.dofs):
            raise ValueError(
                f"J has {contacts} contacts of {rows} rows on {tuple(dofs)} degrees of freedom: "
                f"{layout.contacts} of {layout.rows} on {layout.dofs} are kept"
            )
    group.bodies = core.bodies(g)
    group.b = core.b(g) if b is None else shaped_b(b, *layout.shape)
    group.set = layout.set.changed(mu, sets)
    group.compliance = core.compliance(g)
    return group


def updated_bodies(
    core: _core.Problem, shapes: tuple[tuple[int, ...], ...], inverses: list[Any]
) -> tuple[dict[str, Any], ...]:
    """Return the groups of bodies as the C library takes them."""
    bodies = []
    for g, shape in enumerate(shapes):
        inverse = core.inverse_mass(g).reshape(shape)
        if inverses[g] is not None:
            inverse = real_array("Minv", inverses[g])
            if inverse.shape != shape:
                raise ValueError(f"Minv has shape {inverse.shape}: {shape} is kept")
        bodies.append(packed_bodies(inverse))
    return tuple(bodies)
