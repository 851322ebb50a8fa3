"""GPUs: whether there is one that solvers can use, with ``device="cuda"``.

>>> import contactsolve as cs
>>> isinstance(cs.cuda.available(), bool)
True
"""

from __future__ import annotations

from . import _devices

__all__ = ["available", "devices", "why_not"]


def available() -> bool:
    """Return whether ``device="cuda"`` can be used."""
    return _devices.why_not("cuda") is None


def why_not() -> str | None:
    """Return why ``device="cuda"`` cannot be used, or None if it can."""
    return _devices.why_not("cuda")


def devices() -> list[tuple[str, int, int, int]]:
    """Return name, bytes of memory and the two numbers of the compute capability of each GPU."""
    module = _devices.module_of("cuda")
    return [] if module is None else module.devices()
