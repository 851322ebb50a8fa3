"""Arrays in the memory of a device, by both protocols, in and out."""

import copy
import ctypes
import gc
import pickle
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock

import numpy as np
import pytest

import contactsolve as cs
from contactsolve._arrays import real_array
from contactsolve._device_arrays import DeviceArray, is_on_device, to_host
from emulated import DEVICE, EMULATED, islands, kernels, memory

FIXED = {"rtol": None, "max_iterations": 20, "record": (), "order": "colored"}
SWEEPS = {**FIXED, "method": "gauss_seidel", "scheme": "factorized"}


def on_device(array):
    return DeviceArray.of(DEVICE, np.asarray(array, dtype=np.float64))


class Interface:
    """An array of the emulated device by __cuda_array_interface__ alone, with other entries."""

    def __init__(self, array, **entries):
        self._kept = on_device(array)
        self._entries = entries

    @property
    def __cuda_array_interface__(self):
        return {**self._kept.__cuda_array_interface__, **self._entries}


class Dlpack:
    """An array of the emulated device by __dlpack__ alone, of the old or the new version."""

    def __init__(self, array, versioned=True, device=None):
        self._kept, self._versioned = on_device(array), versioned
        self._device = device or self._kept.__dlpack_device__()

    def __dlpack_device__(self):
        return self._device

    def __dlpack__(self, *, stream=None, **later):
        if later and not self._versioned:
            raise TypeError("unknown keyword")
        return self._kept.__dlpack__(stream=stream, **later)


def of_type(array):
    """An array of the emulated device with numbers of any type."""
    array = np.ascontiguousarray(array)
    room = on_device(np.zeros(array.nbytes // 8 + 1))
    room._module.write(room.pointer, 0, array.tobytes())
    entries = {"shape": array.shape, "typestr": array.dtype.str, "data": (room.pointer, True)}
    own = {"__cuda_array_interface__": {**entries, "version": 3, "stream": None}, "kept": room}
    return type("OfType", (), own)()


KINDS = {
    "own": on_device,
    "interface": Interface,
    "dlpack": Dlpack,
    "old dlpack": lambda array: Dlpack(array, versioned=False),
}


@pytest.fixture(scope="module")
def spheres():
    return cs.scenarios.ball_grid(3)


# ---- in ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_problems_and_solvers_take_arrays_of_a_device(spheres, kind):
    given = KINDS[kind]
    arrays = (spheres.J, spheres.Minv, spheres.b, spheres.mu)
    there = cs.Problem(*map(given, arrays), bodies=spheres.bodies)
    here = cs.Problem(*arrays, bodies=spheres.bodies)
    expected = cs.Solver(here, **SWEEPS, **EMULATED).solve()
    solver = cs.Solver(there, **SWEEPS, **EMULATED)
    np.testing.assert_array_equal(solver.solve().impulses, expected.impulses)

    # Values of one solve, and of an update.
    b, start = 1.5 * spheres.b, np.ones(spheres.b.shape)
    mu = np.full(spheres.contacts, 0.1)
    one = solver.solve(b=given(b), mu=given(mu), initial=given(start))
    two = solver.solve(b=b, mu=mu, initial=start)
    np.testing.assert_array_equal(one.impulses, two.impulses)
    there.update(b=given(b), J=given(1.25 * spheres.J))
    here.update(b=b, J=1.25 * spheres.J)
    expected = cs.Solver(here, **SWEEPS, **EMULATED).solve()
    np.testing.assert_array_equal(solver.solve().impulses, expected.impulses)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int32, np.uint8, bool])
def test_other_types_of_numbers(dtype):
    array = np.array([3, 1, 0, 1], dtype)
    np.testing.assert_array_equal(to_host("b", of_type(array)), array, strict=True)


def test_integers(spheres):
    there = cs.Problem(
        spheres.J, spheres.Minv, spheres.b, spheres.mu, bodies=of_type(spheres.bodies)
    )
    np.testing.assert_array_equal(there.bodies, spheres.bodies)


def test_a_batch_takes_arrays_of_a_device():
    one = cs.scenarios.box_stack(2)
    arrays = [np.stack([part] * 3) for part in (one.J, one.Minv, one.b)]
    options = {"mu": 0.5, "bodies": one.bodies, **EMULATED}
    here, there = (cs.solve_batch(*given, **options) for given in (arrays, map(on_device, arrays)))
    np.testing.assert_array_equal(there.impulses, here.impulses)


def test_what_makes_problems_takes_arrays_of_a_device():
    bodies = np.array([[-1, 0]])
    place = [[[0.0, 0.0, 0.5]], [[0.0, 0.0, 1.0]], bodies, [[0.0, 0.0, 1.0]]]
    there = [*map(on_device, place[:2]), of_type(bodies), on_device(place[3])]
    for rows in (cs.geometry.contact_jacobian, cs.joints.slider):
        np.testing.assert_array_equal(rows(*there), rows(*place))
    mu = on_device([0.25, 0.5])
    np.testing.assert_array_equal(cs.sets.disc(mu).parameters(2, 3), [[0.25], [0.5]])
    A = cs.Problem.from_delassus(on_device(np.eye(6)), on_device(-np.ones(6)), mu)
    np.testing.assert_array_equal(A.b, -np.ones((2, 3)))
    done = cs.cuda.iterate_dense(on_device(np.zeros((3, 3))), on_device([1, 2, 0]), 0.5, **EMULATED)
    np.testing.assert_allclose(done.impulses, [1, 0.5, 0])


def test_nothing_is_written_to_inputs(spheres):
    arrays = (spheres.J, spheres.Minv, spheres.b, spheres.mu)
    given = [on_device(array) for array in arrays]
    start = np.full(spheres.b.shape, 0.5)
    start_there = on_device(start)
    solver = cs.Problem(*given, bodies=spheres.bodies).to(DEVICE, **SWEEPS)
    solver.solve(b=given[2], mu=given[3], initial=start_there)
    solver.device_impulses()
    for there, here in zip([*given, start_there], [*arrays, start], strict=True):
        np.testing.assert_array_equal(there.numpy(), here)


class Both(Dlpack):
    """An array with both protocols, of which the second must not be asked for."""

    @property
    def __cuda_array_interface__(self):
        raise AssertionError("DLPack comes first")


class NeedsGradients:
    """What arrays of PyTorch that need gradients do."""

    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad")


class OnMeta:
    """What arrays of PyTorch without memory do."""

    def __dlpack_device__(self):
        raise ValueError("Unknown device type meta for Dlpack")

    def __array__(self, *args, **options):
        raise TypeError("no memory")


def test_dlpack_comes_first():
    np.testing.assert_array_equal(to_host("b", Both(np.arange(3.0))), np.arange(3.0))


def test_an_interface_of_version_2_names_no_stream():
    array = Interface(np.arange(3.0), version=2)
    entries = array.__cuda_array_interface__
    del entries["stream"]
    old = type("Old", (), {"__cuda_array_interface__": entries})()
    np.testing.assert_array_equal(to_host("b", old), np.arange(3.0))


def test_arrays_that_their_owners_do_not_hand_out():
    with pytest.raises(TypeError, match=r"^b cannot be read from its device: Can't get"):
        to_host("b", NeedsGradients())
    with pytest.raises(TypeError, match="no memory"):
        cs.scenarios.box_stack(1).update(b=OnMeta())
    empty = type("Empty", (), {"__cuda_array_interface__": {"data": (0, False)}})()
    with pytest.raises(TypeError, match=r"^b: __cuda_array_interface__ has no entry 'shape'"):
        to_host("b", empty)


class Failing(Dlpack):
    """An array whose owner makes a mistake."""

    def __dlpack__(self, **options):
        return {}["stream"]


def test_mistakes_of_an_owner_name_the_argument():
    with pytest.raises(TypeError, match=r"^b cannot be read through __dlpack__: KeyError"):
        to_host("b", Failing(np.ones(3)))


def test_an_interface_of_an_object_alone():
    """Objects without a class of their own for arrays, and objects that seem to have everything."""
    array = on_device(np.arange(3.0))
    own = SimpleNamespace(__cuda_array_interface__=array.__cuda_array_interface__)
    np.testing.assert_array_equal(real_array("b", own), np.arange(3.0))
    assert not is_on_device(Mock())
    assert not is_on_device(MagicMock())


class OfNoType(Dlpack):
    """Numbers of a type that NumPy has not."""

    def __dlpack__(self, **options):
        capsule = self._kept.__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        # Type, bits and lanes stand behind the address, the device and the number of axes.
        kind = (ctypes.c_uint8 * 2).from_address(pointer(capsule, b"dltensor") + 20)
        kind[:] = 4, 16
        return capsule


def test_numbers_of_a_type_that_numpy_has_not():
    with pytest.raises(TypeError, match=r"^b has a dtype of DLPack \(code 4, 16 bits\) unknown to"):
        to_host("b", OfNoType(np.ones(3)))


def test_no_memory_is_kept():
    pairs = []
    for kind in ("dlpack", "old dlpack"):
        array = KINDS[kind](np.arange(3.0))
        pointer = array._kept.pointer
        copy = to_host("b", array)
        del array
        gc.collect()
        assert kernels.foreign(pointer) is not None
        pairs.append(copy)
    for copy in pairs:
        np.testing.assert_array_equal(copy, np.arange(3.0))


@pytest.mark.parametrize(
    ("entries", "error", "words"),
    [
        ({"typestr": "<c16"}, TypeError, "b has dtype complex128: real numbers are needed"),
        ({"typestr": ">f8"}, TypeError, "b has dtype >f8, whose bytes are in another order"),
        ({"strides": (8, 24)}, ValueError, r"b is not contiguous: it has shape \(3, 3\) and"),
        ({"mask": 1}, TypeError, "b has a mask"),
        ({"stream": 0}, ValueError, "b: stream is 0: 1, 2 or the handle"),
        ({"stream": "2"}, TypeError, "b: stream is '2', which is no integer"),
        ({"stream": 77}, RuntimeError, "b cannot be read from its device: .* stream 77 is none of"),
        ({"data": (0, False)}, ValueError, "b is in memory of"),
        ({"shape": (4, 2)}, ValueError, r"b has shape \(4, 2\)"),
        ({"shape": (-3, 3)}, ValueError, r"b has shape \(-3, 3\): a length is negative"),
        ({"strides": (24,)}, ValueError, r"b has shape \(3, 3\) and strides \(24,\)"),
    ],
)
def test_what_an_interface_must_not_say(entries, error, words):
    problem = cs.scenarios.box_stack(1)
    solver = cs.Solver(problem, **FIXED, **EMULATED)
    b = Interface(np.ones((3, 3)), **entries)
    with pytest.raises(error, match=words):
        solver.solve(b=b)


def test_arrays_of_other_devices():
    problem = cs.scenarios.box_stack(1)
    here = np.ones(problem.b.shape)
    pointer = here.ctypes.data
    with pytest.raises((RuntimeError, ValueError), match=r"^b is in (the memory of a GPU|memory)"):
        problem.update(b=Interface(here, data=(pointer, False)))
    with pytest.raises(ValueError, match="b is on a device of type 10 of DLPack, number 1: "):
        problem.update(b=Dlpack(here, device=(10, 1)))
    if not cs.cuda.available():
        with pytest.raises(RuntimeError, match="Minv is in the memory of a GPU that cannot be use"):
            problem.update(Minv=Dlpack(problem.Minv, device=(2, 0)))


# ---- out -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("scheme", ["factorized", "matrix", "iteration_matrix", "dense"])
def test_impulses_stay_on_the_device(spheres, scheme, dtype):
    check_that_impulses_stay(spheres, scheme, dtype)


@pytest.mark.parametrize("scheme", ["factorized", "matrix"])
def test_impulses_in_mixed_precision_stay_on_the_device(spheres, scheme):
    check_that_impulses_stay(spheres, scheme, "mixed")


def check_that_impulses_stay(spheres, scheme, dtype):
    """They are handed out without a copy on the processor, and nothing changes them afterwards."""
    solver = cs.Solver(spheres, scheme=scheme, dtype=dtype, **FIXED, **EMULATED)
    result = solver.solve()
    before = kernels.moved()
    array = solver.device_impulses()
    assert kernels.moved()[:2] == before[:2]
    assert array.shape == spheres.b.shape
    np.testing.assert_array_equal(array.numpy(), result.impulses)

    # The array outlives the solver, and the next solve does not change it.
    impulses = result.impulses.copy()
    solver.solve(b=2 * spheres.b)
    del solver, result
    gc.collect()
    np.testing.assert_array_equal(array.numpy(), impulses)


@pytest.mark.parametrize(
    "options",
    [
        {"rtol": 1e-9},
        {"method": "nncg", "rtol": 1e-9},
        {"method": "nesterov"},
        {"method": "newton"},
        {"method": "jacobi", "rollback_growth": 1.0, "relaxation": 1.9},
    ],
)
def test_impulses_of_every_solve(spheres, options):
    solver = cs.Solver(spheres, **{"max_iterations": 50, "rtol": None, **options}, **EMULATED)
    result = solver.solve()
    np.testing.assert_array_equal(solver.device_impulses().numpy(), result.impulses)


def test_impulses_of_islands_that_are_solved_apart():
    """No device has the impulses of the whole: they are uploaded."""
    solver = cs.Solver(
        islands(40), method="jacobi", scheme="factorized", rtol=None, max_iterations=5, **EMULATED
    )
    result = solver.solve()
    assert result.info["clusters"] > 1
    np.testing.assert_array_equal(solver.device_impulses().numpy(), result.impulses)


def test_writing_to_an_array_of_the_caller(spheres):
    solver = cs.Solver(spheres, **FIXED, **EMULATED)
    with pytest.raises(RuntimeError, match="has not solved yet"):
        solver.device_impulses()
    result = solver.solve()
    shape = spheres.b.shape
    own = Interface(np.zeros(shape), stream=1)
    assert solver.device_impulses(out=own) is own
    np.testing.assert_array_equal(own._kept.numpy(), result.impulses)
    for out, error, words in (
        (np.zeros(shape), TypeError, "out is ndarray, without __cuda_array_interface__"),
        (Interface(np.zeros(5)), ValueError, r"out has shape \(5,\)"),
        (Interface(np.zeros(shape), typestr="<i8"), TypeError, "out has dtype int64: float64"),
        (Interface(np.zeros(shape), strides=(8, 800)), ValueError, "out is not contiguous"),
        (
            Interface(np.zeros(shape), data=(own._kept.pointer, True)),
            ValueError,
            "out is read-only",
        ),
    ):
        with pytest.raises(error, match=words):
            solver.device_impulses(out=out)
    with pytest.raises(RuntimeError, match="the solver has no device"):
        cs.Solver(spheres, **FIXED).device_impulses()


def test_capsules_own_what_they_hold():
    array = on_device(np.arange(4.0))
    pointer = array.pointer
    for version in (None, (1, 0)):
        unused = array.__dlpack__(max_version=version)
        del unused
    capsule = array.__dlpack__(stream=2, max_version=(1, 1))
    owner, address, code, bits, lanes, shape, strides, read_only = kernels.import_tensor(capsule)
    assert (address, code, bits, lanes, shape, strides) == (pointer, 2, 64, 1, (4,), None)
    assert not read_only
    with pytest.raises(TypeError, match="no capsule of DLPack"):
        kernels.import_tensor(capsule)
    del array, capsule
    gc.collect()
    assert kernels.foreign(pointer) is None
    del owner
    gc.collect()
    assert kernels.foreign(pointer) is not None


def test_requests_that_a_capsule_cannot_meet():
    array = on_device(np.arange(4.0))
    with pytest.raises(ValueError, match="__dlpack__: stream is 0"):
        array.__dlpack__(stream=0)
    with pytest.raises(TypeError, match="stream is 'x', which is no integer"):
        array.__dlpack__(stream="x")
    with pytest.raises(BufferError, match=r"dl_device is \(1, 0\)"):
        array.__dlpack__(dl_device=(1, 0))
    with pytest.raises(BufferError, match="without a copy"):
        array.__dlpack__(copy=True)


@pytest.mark.parametrize(
    ("device", "shape", "error", "words"),
    [
        ("cpu", (3,), ValueError, "device is 'cpu': 'cuda' and 'cuda-emulated' are known"),
        (["cuda"], (3,), TypeError, r"device is \['cuda'\]: a name is needed"),
        (DEVICE, (3, -1), ValueError, r"shape\[1\] is -1: it must be at least 0"),
        (DEVICE, -1, ValueError, "shape is -1: it must be at least 0"),
        (DEVICE, (2.7,), TypeError, r"shape\[0\] is 2\.7: an integer is needed"),
        (DEVICE, "a", TypeError, r"shape\[0\] is 'a': an integer is needed"),
        (DEVICE, None, TypeError, "shape is None: an integer is needed"),
        (DEVICE, (0, 2**63), ValueError, r"shape\[1\] is 9223372036854775808: it must be at most"),
        (DEVICE, (2**61,), MemoryError, "18446744073709551616 bytes are more than a device has"),
        (DEVICE, (2**59,), MemoryError, "4611686018427387904 bytes are needed, and .* are free"),
    ],
)
def test_what_no_device_array_has(device, shape, error, words):
    with pytest.raises(error, match=words):
        DeviceArray(device, shape)


@pytest.mark.parametrize(
    ("array", "error", "words"),
    [
        (np.zeros(4), ValueError, r"array has shape \(4,\): \(2,\) is needed"),
        ([1 + 2j, 0], TypeError, "array has dtype complex128: real numbers are needed"),
        (np.zeros(2, "datetime64[s]"), TypeError, r"array has dtype datetime64\[s\]: real numbers"),
        (np.ma.masked_equal([1.0, 2.0], 2), TypeError, "array has a mask"),
        ([None, 1], TypeError, "array has dtype object: real numbers are needed"),
        (None, TypeError, "array is missing"),
    ],
)
def test_what_is_not_written_to_a_device_array(array, error, words):
    with pytest.raises(error, match=words):
        DeviceArray(DEVICE, 2).write(array)
    if error is TypeError:
        with pytest.raises(error, match=words):
            DeviceArray.of(DEVICE, array)


@pytest.mark.parametrize("kind", KINDS)
def test_device_arrays_of_other_arrays(kind):
    numbers = np.arange(6.0).reshape(2, 3)
    there = KINDS[kind](numbers)
    np.testing.assert_array_equal(DeviceArray.of(DEVICE, there).numpy(), numbers)
    own = DeviceArray(DEVICE, [2, 3])
    own.write(there)
    np.testing.assert_array_equal(own.numpy(), numbers, strict=True)


def test_devices_that_cannot_be_used_or_have_too_little_memory():
    if not cs.cuda.available():
        with pytest.raises(RuntimeError, match=r"^device='cuda': "):
            DeviceArray("cuda", (3,))
    with (
        memory(1000),
        pytest.raises(MemoryError, match=r"8192 bytes are needed, and .* are free"),
    ):
        DeviceArray(DEVICE, (1000,))


@pytest.mark.parametrize("name", ["device", "shape", "dtype", "pointer"])
def test_what_memory_was_taken_for_cannot_be_changed(name):
    array = on_device(np.zeros(2))
    with pytest.raises(AttributeError):
        setattr(array, name, getattr(array, name))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_device_arrays_are_not_pickled(copied):
    with pytest.raises(TypeError, match=r"neither copied nor pickled: \.numpy\(\) returns its"):
        copied(on_device(np.zeros(2)))


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 0), (1,), (2, 3, 4)])
def test_shapes_of_device_arrays(shape):
    numbers = np.random.default_rng(1).random(shape)
    array = on_device(numbers)
    np.testing.assert_array_equal(array.numpy(), numbers, strict=True)
    np.testing.assert_array_equal(to_host("b", Dlpack(numbers)), numbers, strict=True)
    np.testing.assert_array_equal(to_host("b", Interface(numbers)), numbers, strict=True)
    assert (array.__cuda_array_interface__["data"][0] == 0) == (array.numpy().size == 0)
    assert cs.cuda.DeviceArray is DeviceArray
    assert repr(array) == f"DeviceArray(shape {shape}, float64, device {DEVICE!r})"


def test_impulses_without_contacts():
    problem = cs.Problem(
        np.zeros((0, 2, 3, 3)), np.ones((1, 3)), np.zeros((0, 3)), bodies=np.zeros((0, 2), int)
    )
    solver = problem.to(DEVICE)
    for on_device in (False, True):
        solver.solve(on_device=on_device)
        own = DeviceArray(DEVICE, (0, 3))
        assert solver.device_impulses(out=own) is own
        assert solver.device_impulses().numpy().shape == (0, 3)


def test_impulses_of_several_groups_are_flat():
    problem = cs.scenarios.chain(3)
    solver = problem.to(DEVICE, **FIXED)
    result = solver.solve()
    flat = np.concatenate([np.ravel(part) for part in result.impulses])
    np.testing.assert_array_equal(solver.device_impulses().numpy().ravel(), flat)
