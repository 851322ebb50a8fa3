"""Vectors over all rows of a problem, and their parts: one array per group."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._arrays import real_array
from .sets import Set


class Layout(NamedTuple):
    """The shape of one group inside a problem."""

    contacts: int
    rows: int
    dofs: tuple[int, ...]
    set: Set

    @property
    def shape(self) -> tuple[int, int]:
        """``(K, m)``."""
        return self.contacts, self.rows


def split(groups: tuple[Layout, ...], grouped: bool, flat: np.ndarray) -> Any:
    """Return a vector over all rows as ``(K, m)``, or as one such array per group."""
    if not grouped:
        return flat.reshape(groups[0].shape)
    sizes = [group.contacts * group.rows for group in groups]
    parts = np.split(flat, np.cumsum(sizes)[:-1]) if sizes else []
    return [part.reshape(group.shape) for part, group in zip(parts, groups, strict=True)]


def join(groups: tuple[Layout, ...], grouped: bool, name: str, value: Any) -> np.ndarray:
    """Return ``(K, m)``, its flat form, or one such array per group, as one flat vector."""
    if not grouped:
        return _flat(name, value, groups[0].shape)
    if isinstance(value, (list, tuple)) and len(value) == len(groups):
        parts = [
            _flat(f"{name}[{g}]", item, group.shape)
            for g, (item, group) in enumerate(zip(value, groups, strict=True))
        ]
        return np.concatenate([np.zeros(0), *parts])
    array = real_array(name, value)
    rows = sum(group.contacts * group.rows for group in groups)
    if array.shape != (rows,):
        raise ValueError(
            f"{name} has shape {array.shape}: the problem needs ({rows},), or a list with one "
            f"array per group ({len(groups)})"
        )
    return array


def _flat(name: str, value: Any, shape: tuple[int, int]) -> np.ndarray:
    array = real_array(name, value)
    flat = (shape[0] * shape[1],)
    if array.shape not in (shape, flat):
        raise ValueError(f"{name} has shape {array.shape}: the problem needs {shape} or {flat}")
    return array.ravel()


def parameters(groups: tuple[Layout, ...], grouped: bool, mu: Any) -> np.ndarray:
    """Return the parameters of all sets with these friction coefficients, flat.

    For grouped problems `mu` is a list, None to keep a group's own, or one number for all groups
    that have friction.
    """
    if not grouped:
        return groups[0].set.with_mu(mu).parameters(*groups[0].shape).ravel()
    if isinstance(mu, (list, tuple)):
        mus = list(mu)
        if len(mus) != len(groups):
            raise ValueError(f"mu has {len(mus)} entries: one per group ({len(groups)}) is needed")
    else:
        mus = [mu if group.set.takes_mu else None for group in groups]
    parts = [np.zeros(0)]
    for group, value in zip(groups, mus, strict=True):
        feasible = group.set if value is None else group.set.with_mu(value)
        parts.append(feasible.parameters(*group.shape).ravel())
    return np.concatenate(parts)
