"""Arrays in the memory of devices: read from other packages, and handed out to them.

Both protocols are known: DLPack, ``__dlpack__``, and ``__cuda_array_interface__`` of Numba.
"""

from __future__ import annotations

import math
import sys
from types import ModuleType
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from . import _devices

__all__ = ["DeviceArray", "is_on_device", "to_host"]

# Types of devices in DLPack: memory that the processor reads, and that of devices with kernels.
_OF_HOST = (1, 3)
_DLPACK = {"cuda": 2, "cuda-emulated": 12}
_MANAGED_BY_CUDA = 13
_FLOAT64 = np.dtype(np.float64)
_CODES = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}


class Source(NamedTuple):
    """An array in the memory of a device, as its owner describes it."""

    owner: Any  # keeps the memory
    module: ModuleType
    pointer: int
    shape: tuple[int, ...]
    dtype: np.dtype
    strides: tuple[int, ...] | None  # in bytes
    read_only: bool
    stream: int  # whose work the array waits for; 0: it is ready


def is_on_device(value: Any) -> bool:
    """Return whether `value` says that its memory is that of a device."""
    if isinstance(value, np.ndarray):
        return False
    if _has_interface(value):
        return _dlpack_type(value) not in _OF_HOST
    return _dlpack_type(value) not in (None, *_OF_HOST)


def _has_interface(value: Any) -> bool:
    """Return whether a value has ``__cuda_array_interface__``, without a call of its property."""
    name = "__cuda_array_interface__"
    return hasattr(type(value), name) or name in getattr(value, "__dict__", ())


def _dlpack_type(value: Any) -> int | None:
    """Return the type of device that DLPack gives a value; None if it gives none."""
    device = getattr(value, "__dlpack_device__", None)
    if device is None:
        return None
    try:
        return int(device()[0])
    except Exception:  # of the owner
        return None


def to_host(name: str, value: Any) -> np.ndarray:
    """Return a copy of an array of a device in the memory of the processor.

    Raises
    ------
    TypeError
        The array has no dtype of numbers, or a protocol that does not say what it must.
    ValueError
        It is not contiguous, or its memory is that of another device.
    RuntimeError
        The device has failed, or cannot be used here.
    """
    source = source_of(name, value)
    array = np.empty(source.shape, source.dtype)
    if array.size:
        _check_pointer(name, source)
        _read(name, source, array.data.cast("B"))
    return array


def _read(name: str, source: Source, to: Any) -> None:
    """Fill a buffer, after what is in the stream of the array; an error names the argument."""
    try:
        source.module.read(source.pointer, source.stream, to)
    except RuntimeError as error:
        raise RuntimeError(f"{name} cannot be read from its device: {error}") from None


def source_of(name: str, value: Any) -> Source:
    """Return what an array of a device says of itself, checked.

    DLPack comes first: its owner then makes sure that the array is ready.
    """
    if hasattr(value, "__dlpack__") and _dlpack_type(value) is not None:
        source = _from_dlpack(name, value)
    else:
        source = _from_interface(name, value)
    return _checked(name, source)


def _checked(name: str, source: Source) -> Source:
    """Return an array of real numbers without gaps as it is."""
    if source.dtype.kind not in "fiub":
        raise TypeError(f"{name} has dtype {source.dtype}: real numbers are needed")
    if any(length < 0 for length in source.shape):
        raise ValueError(f"{name} has shape {source.shape}: a length is negative")
    _check_contiguous(name, source)
    return source


def _from_interface(name: str, value: Any) -> Source:
    """Return what ``__cuda_array_interface__`` says."""
    # PyTorch raises here for arrays that need gradients.
    try:
        interface = value.__cuda_array_interface__
        pointer, read_only = interface["data"]
        shape, dtype = tuple(map(int, interface["shape"])), np.dtype(interface["typestr"])
    except KeyError as error:
        raise TypeError(f"{name}: __cuda_array_interface__ has no entry {error}") from None
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(f"{name} cannot be read from its device: {error}") from None
    if interface.get("mask") is not None:
        raise TypeError(f"{name} has a mask: an array without one is needed")
    if not dtype.isnative:
        raise TypeError(f"{name} has dtype {dtype}, whose bytes are in another order")

    # Before version 3 no stream is named: the array is written in the default one.
    stream = interface.get("stream", None if interface.get("version", 0) >= 3 else 1)
    return Source(
        value,
        _module_of_pointer(name, int(pointer)),
        int(pointer),
        shape,
        dtype,
        interface.get("strides"),
        bool(read_only),
        checked_stream(name, stream) if stream is not None else 0,
    )


def checked_stream(name: str, stream: Any) -> int:
    """Return a stream of ``__cuda_array_interface__``: 1, 2 or a handle; 0 is none."""
    if isinstance(stream, bool) or not isinstance(stream, int):
        raise TypeError(f"{name}: stream is {stream!r}, which is no integer")
    if stream <= 0:
        raise ValueError(f"{name}: stream is {stream}: 1, 2 or the handle of a stream is needed")
    return stream


def _from_dlpack(name: str, value: Any) -> Source:
    """Return what a capsule of DLPack says."""
    kind, number = value.__dlpack_device__()
    kind = _DLPACK["cuda"] if kind == _MANAGED_BY_CUDA else int(kind)
    device = next((device for device, own in _DLPACK.items() if own == kind), None)
    if device is None:
        raise ValueError(
            f"{name} is on a device of type {kind} of DLPack, number {number}: arrays of the "
            "processor and of GPUs by NVIDIA are read"
        )
    module = _usable(name, device)

    # Stream 1 is the default one, after which this package reads the array.
    stream = 1 if device == "cuda" else None
    try:
        try:
            capsule = value.__dlpack__(stream=stream, max_version=(1, 0))
        except TypeError:
            capsule = value.__dlpack__(stream=stream)
        owner, pointer, code, bits, lanes, shape, strides, read_only = module.import_tensor(capsule)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(f"{name} cannot be read through __dlpack__: {error}") from None
    except MemoryError:
        raise
    except Exception as error:  # a mistake of the owner, which may be of any kind
        raise TypeError(f"{name} cannot be read through __dlpack__: {error!r}") from error
    if code not in _CODES or lanes != 1 or bits not in (8, 16, 32, 64, 128):
        raise TypeError(f"{name} has a dtype of DLPack (code {code}, {bits} bits) unknown to NumPy")
    dtype = np.dtype(f"{_CODES[code]}{bits // 8}")
    if strides is not None:
        strides = tuple(stride * dtype.itemsize for stride in strides)
    return Source(owner, module, pointer, shape, dtype, strides, read_only, stream or 0)


def _usable(name: str, device: str) -> ModuleType:
    """Return the module of a device; an error names the argument."""
    reason = _devices.why_not(device)
    if reason is not None:
        raise RuntimeError(f"{name} is in the memory of a GPU that cannot be used here: {reason}")
    module = _devices.module_of(device)
    assert module is not None
    return module


def _module_of_pointer(name: str, pointer: int) -> ModuleType:
    """Return the module of the device to which an address belongs; that of GPUs by default.

    The address of an empty array is 0 on every device; it is then that of a device in use.
    """
    emulated = _devices.loaded("cuda-emulated")
    if emulated is not None and (not pointer or emulated.foreign(pointer) is None):
        return emulated
    return _usable(name, "cuda")


def _check_pointer(name: str, source: Source) -> None:
    """Refuse memory that is not the device's."""
    what = source.module.foreign(source.pointer)
    if what is not None:
        raise ValueError(f"{name} is in {what}: memory of the device in use is needed")


def _check_contiguous(name: str, source: Source) -> None:
    """Refuse an array whose rows do not follow one another."""
    if source.strides is None or 0 in source.shape:
        return
    if len(source.strides) != len(source.shape):
        raise ValueError(f"{name} has shape {source.shape} and strides {tuple(source.strides)}")
    expected = source.dtype.itemsize
    for length, stride in zip(reversed(source.shape), reversed(source.strides), strict=True):
        if length > 1 and stride != expected:
            raise ValueError(
                f"{name} is not contiguous: it has shape {source.shape} and strides "
                f"{tuple(source.strides)} in bytes; make a contiguous copy"
            )
        expected *= length


def source_on(name: str, value: Any, device: str, shape: tuple[int, ...]) -> Source | None:
    """Return an array that a solve on `device` may read in place; None for all others.

    It is a contiguous float64 array in the memory of that device, of this shape or flat.
    """
    if not is_on_device(value):
        return None
    source = source_of(name, value)
    if source.module is not _devices.module_of(device) or source.dtype != np.float64:
        return None
    if source.shape not in (shape, (math.prod(shape),)) or not math.prod(shape):
        return None
    _check_pointer(name, source)
    return source


def wait_for_owner(name: str, source: Source) -> None:
    """Wait for what the owner of an array does with it so far."""
    if source.stream:
        _read(name, source, bytearray(0))


class Target(NamedTuple):
    """An array of a device that is written to."""

    module: ModuleType
    pointer: int

    def write(self, array: np.ndarray) -> None:
        """Write numbers of the processor to it."""
        numbers = np.ascontiguousarray(array, np.float64)
        if numbers.size:
            self.module.write(self.pointer, 0, numbers.data.cast("B"))


def checked_target(name: str, value: Any, device: str, shape: tuple[int, ...]) -> Target:
    """Return an array of a device that a result may be written to."""
    if not _has_interface(value):
        raise TypeError(f"{name} is {type(value).__name__}, without __cuda_array_interface__")
    source = _checked(name, _from_interface(name, value))
    module = _devices.module_of(device)
    assert module is not None
    if source.pointer and source.module is not module:
        raise ValueError(f"{name} is not in the memory of device={device!r}")
    if source.dtype != np.float64:
        raise TypeError(f"{name} has dtype {source.dtype}: float64 is needed")
    if source.shape not in (shape, (math.prod(shape),)):
        raise ValueError(f"{name} has shape {source.shape}: {shape} is needed")
    if source.read_only:
        raise ValueError(f"{name} is read-only")
    if math.prod(shape):
        _check_pointer(name, source)
        wait_for_owner(name, source)
    return Target(module, source.pointer)


def _lengths(shape: Any) -> tuple[int, ...]:
    """Return a shape; as in NumPy, an integer is that of an array with one axis."""
    from ._options import count  # imports this module

    try:
        lengths = tuple(shape)
    except TypeError:
        return (count("shape", shape, most=sys.maxsize),)
    return tuple(count(f"shape[{i}]", one, most=sys.maxsize) for i, one in enumerate(lengths))


def _numbers(array: Any) -> np.ndarray:
    """Return an array of a caller as float64."""
    from ._arrays import real_array  # imports this module

    return real_array("array", array)


class DeviceArray:
    """A float64 array in the memory of a device, which CuPy, PyTorch, JAX and Numba read in place.

    It has ``__dlpack__`` and ``__cuda_array_interface__``. Its numbers are complete when it is
    handed out: consumers need not wait for a stream. The memory lives as long as this object or one
    that was made from it.

    Parameters
    ----------
    device
        ``"cuda"`` or ``"cuda-emulated"``.
    shape
        Lengths of the axes, or an integer for one axis. The numbers are zero.

    Raises
    ------
    TypeError
        The device is no name, or a length no integer.
    ValueError
        For an unknown device or a negative length.
    RuntimeError
        The device cannot be used here.
    MemoryError
        It has too little memory; the message names the bytes needed and free.
    """

    def __init__(self, device: str, shape: int | tuple[int, ...]) -> None:
        from ._options import word  # imports this module

        if word("device", device) not in _DLPACK:
            raise ValueError(f"device is {device!r}: {' and '.join(map(repr, _DLPACK))} are known")
        _devices.load(device)
        module = _devices.module_of(device)
        assert module is not None
        self._device, self._shape, self._module = device, _lengths(shape), module
        self._number = module.number()
        size = math.prod(self.shape) * self.dtype.itemsize
        if size > sys.maxsize:
            raise MemoryError(f"shape is {self.shape}: {size} bytes are more than a device has")
        self._memory = module.take(size)

    @classmethod
    def copy_of(cls, name: str, device: str, source: Source) -> Self:
        """Return a copy, within the device, of a float64 array of that device."""
        own = cls(device, source.shape)
        size = math.prod(source.shape) * source.dtype.itemsize
        try:
            own._module.copy(own.pointer, source.pointer, source.stream, size)
        except RuntimeError as error:
            raise RuntimeError(f"{name} cannot be copied within its device: {error}") from None
        return own

    @classmethod
    def of(cls, device: str, array: Any) -> Self:
        """Return a copy of an array, which is converted to float64.

        An array of a device is copied by way of the processor.

        Raises
        ------
        TypeError
            The array has no real numbers, or a mask.
        """
        numbers = _numbers(array)
        own = cls(device, numbers.shape)
        own.write(numbers)
        return own

    def write(self, array: Any) -> None:
        """Write an array of the same shape to it.

        An array of a device is copied by way of the processor.

        Raises
        ------
        TypeError
            The array has no real numbers, or a mask.
        ValueError
            For another shape.
        """
        numbers = _numbers(array)
        if numbers.shape != self.shape:
            raise ValueError(f"array has shape {numbers.shape}: {self.shape} is needed")
        if numbers.size:
            self._module.write(self.pointer, 0, numbers.data.cast("B"))

    def copy_to(self, pointer: int) -> None:
        """Copy the numbers within the device to an address there, and wait for that."""
        size = math.prod(self.shape) * self.dtype.itemsize
        self._module.copy(pointer, self.pointer, 0, size)

    # Memory was taken for this shape and type.
    @property
    def device(self) -> str:
        """The name of the device, as solvers take it."""
        return self._device

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self._shape

    @property
    def dtype(self) -> np.dtype:
        """float64."""
        return _FLOAT64

    @property
    def pointer(self) -> int:
        """The address of the first number."""
        return self._module.pointer(self._memory)

    def numpy(self) -> np.ndarray:
        """Return a copy in the memory of the processor."""
        return to_host("array", self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.pointer if math.prod(self.shape) else 0, False),
            "strides": None,
            "stream": None,
            "version": 3,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return _DLPACK[self.device], self._number

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a capsule; see the array API standard.

        Raises
        ------
        BufferError
            For a copy, or another device than that of the array.
        TypeError, ValueError
            `stream` is not -1, 1, 2 or the handle of a stream.
        """
        # The numbers are complete, so that every stream may read them.
        if stream is not None and stream != -1:
            checked_stream("__dlpack__", stream)
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(
                f"dl_device is {tuple(dl_device)}: the array is on {self.__dlpack_device__()}"
            )
        if copy:
            raise BufferError("copy=True: the array is handed out without a copy")
        versioned = max_version is not None and max_version[0] >= 1
        return self._module.export_tensor(
            self._memory, self.shape, *self.__dlpack_device__(), versioned
        )

    def __reduce__(self) -> NoReturn:
        """Refuse copies and pickles, which would share or lack the memory of the device."""
        raise TypeError(
            "a DeviceArray can be neither copied nor pickled: .numpy() returns its numbers in the "
            "memory of the processor, and DeviceArray.of(device, array) copies them to a device"
        )

    def __repr__(self) -> str:
        return f"DeviceArray(shape {self.shape}, {self.dtype}, device {self.device!r})"
