"""Modules with the kernels of devices: loaded when a solver first asks for one."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from . import _core

_MODULES = {"cuda": "_cuda", "cuda-emulated": "_cuda_emulated"}
_MISSING = {
    "cuda": "this installation has no kernels for GPUs: build it where nvcc is found, or with "
    "CONTACTSOLVE_CUDA=1",
    "cuda-emulated": "this installation has no emulated kernels: build it with "
    "CONTACTSOLVE_CUDA=emu",
}
_loaded: dict[str, ModuleType] = {}
_broken: dict[str, str] = {}


def module_of(device: str) -> ModuleType | None:
    """Return the module of a device, or None where the installation has none that can be loaded."""
    if device not in _loaded:
        try:
            module = import_module(f".{_MODULES[device]}", __package__)
            _core.register_device(module.device)
        except ModuleNotFoundError:
            return None
        except (ImportError, RuntimeError, ValueError) as error:
            _broken[device] = f"the kernels of this installation cannot be loaded: {error}"
            return None
        _loaded[device] = module
    return _loaded[device]


def loaded(device: str) -> ModuleType | None:
    """Return the module of a device if something has used it already."""
    return _loaded.get(device)


def why_not(device: str) -> str | None:
    """Return why a device cannot be used; None if it can."""
    module = module_of(device)
    return _broken.get(device, _MISSING[device]) if module is None else module.missing()


def load(device: object) -> None:
    """Load the kernels of a device; names that are no device's are left to the C library.

    Raises
    ------
    RuntimeError
        If the device cannot be used here, with the reason.
    """
    if not isinstance(device, str) or device not in _MODULES:
        return
    reason = why_not(device)
    if reason is not None:
        raise RuntimeError(f"device={device!r}: {reason}")
