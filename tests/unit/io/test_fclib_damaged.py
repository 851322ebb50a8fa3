"""FCLIB files that are truncated, damaged or malicious: errors that name the file and the part."""

import json
import os
import re
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest

import contactsolve as cs
from contactsolve.cli import main
from repository import FCLIB

LOCAL = FCLIB / "Confeti-ex13-4contact.hdf5"
GLOBAL = FCLIB / "Box_Stacks-i0122-82-5.hdf5"
W, VECTORS, INFO = "fclib_local/W", "fclib_local/vectors", "fclib_local/info"


def put(name, value, **options):
    def change(file):
        if name in file:
            del file[name]
        file.create_dataset(name, data=value, **options)

    return change


def poke(name, index, value):
    return lambda file: file[name].__setitem__(index, value)


def without(name):
    return lambda file: file.__delitem__(name)


def claim(name, shape, **options):
    """A dataset of which nothing is stored: it takes no room in the file."""

    def change(file):
        if name in file:
            del file[name]
        file.create_dataset(name, shape, **options)

    return change


def all_of(*changes):
    def change(file):
        for one in changes:
            one(file)

    return change


def sizes(size):
    return all_of(poke(f"{W}/m", 0, size), poke(f"{W}/n", 0, size))


def group_of(name):
    def change(file):
        if name in file:
            del file[name]
        file.create_group(name)

    return change


def attribute(name, value):
    return lambda file: file[name].attrs.__setitem__("rank", value)


NUMBERS = ("expected integers", "expected floating-point numbers")
BROKEN = {
    "nan in W": (poke(f"{W}/x", 2, np.nan), r"/fclib_local/W/x\[2\] is nan: expected a finite"),
    "inf in W": (poke(f"{W}/x", 3, np.inf), r"/fclib_local/W/x\[3\] is inf: expected a finite"),
    "nan in q": (poke(f"{VECTORS}/q", 5, np.nan), r"/fclib_local/vectors/q\[5\] is nan: expected"),
    "inf in mu": (poke(f"{VECTORS}/mu", 1, -np.inf), r"/fclib_local/vectors/mu\[1\] is -inf: exp"),
    "nan in a guess": (
        all_of(
            put("guesses/number_of_guesses", [1]),
            put("guesses/1/r", np.full(12, np.nan)),
            put("guesses/1/u", np.zeros(12)),
        ),
        r"/guesses/1/r\[0\] is nan: expected a finite number",
    ),
    "negative mu": (
        poke(f"{VECTORS}/mu", 1, -0.5),
        r"/fclib_local \(A = W, b = q\): mu\[1\] is -0.5: a friction coefficient",
    ),
    "negative diagonal": (
        poke(f"{W}/x", slice(None), -1.0),
        r"/fclib_local \(A = W, b = q\): A\[0, 0\] is -1: a Delassus matrix has no negative",
    ),
    "beyond float64": (
        put(f"{VECTORS}/q", np.full(12, np.finfo(np.longdouble).max)),
        r"/fclib_local/vectors/q\[0\] is inf: expected a finite number",
    ),
    "text for W": (put(f"{W}/x", "numbers"), f"/fclib_local/W/x has dtype object: {NUMBERS[1]}"),
    "text for m": (
        put(f"{W}/m", np.array([b"12"])),
        rf"/fclib_local/W/m has dtype \|S2: {NUMBERS[0]}",
    ),
    "numbers for a title": (put(f"{INFO}/title", [1.0]), "/title has dtype float64: expected a te"),
    "two titles": (put(f"{INFO}/title", [b"a", b"b"]), "/title has 2 entries: expected one text"),
    "a compound": (
        put(f"{W}/i", np.zeros(3, [("a", "i4"), ("b", "f8")])),
        rf"/fclib_local/W/i has dtype \[.*\]: {NUMBERS[0]}",
    ),
    "complex": (put(f"{VECTORS}/q", np.zeros(12, complex)), f"/q has dtype .*: {NUMBERS[1]}"),
    "a group for q": (group_of(f"{VECTORS}/q"), "the dataset /fclib_local/vectors/q is missing"),
    "a dataset for W": (
        all_of(without(W), put(W, [1.0])),
        "the dataset /fclib_local/W/m is missing",
    ),
    "no data space": (put(f"{VECTORS}/q", h5py.Empty("f8")), "/q has shape None: expected one dim"),
    "a matrix for i": (
        put(f"{W}/i", np.zeros((3, 4), int)),
        r"/i has shape \(3, 4\): expected one",
    ),
    "a link to nothing": (
        all_of(without(f"{VECTORS}/q"), lambda file: link(file)),
        "/fclib_local/vectors/q cannot be read: .*component not found",
    ),
    "huge index": (poke(f"{W}/i", 4, 2**31 - 1), r"/W/i\[4\] is 2147483647: expected 0 to 11"),
    "unsigned pointers": (
        put(f"{W}/p", np.full(13, 2**64 - 1, np.uint64)),
        r"/fclib_local/W/p\[0\] is 18446744073709551615: that is too large",
    ),
    "unsigned storage": (
        put(f"{W}/nz", np.array([2**64 - 2], np.uint64)),
        r"/fclib_local/W/nz\[0\] is 18446744073709551614: that is too large",
    ),
    "pointers that overflow": (
        put(f"{W}/p", np.array([0, 2**62, -(2**63), *[2**62] * 10])),
        "/fclib_local/W/p does not ascend from 0",
    ),
    "negative size": (sizes(-3), "/fclib_local/W is -3 x -3: expected a square matrix"),
    "huge size": (
        sizes(2147483646),
        r"/fclib_local/vectors/q has shape \(12,\): expected \(2147483646,\), the order of W",
    ),
    "huge size as triplets": (
        all_of(poke(f"{W}/nz", 0, 1), sizes(2147483646)),
        r"/fclib_local/vectors/q has shape \(12,\): expected \(2147483646,\), the order of W",
    ),
    "petabytes": (
        all_of(sizes(2147483646), claim(f"{VECTORS}/q", (10**15,), dtype="f8", chunks=(1000,))),
        r"/q has shape \(1000000000000000,\): a file of \d+ bytes cannot hold 8000000000000000",
    ),
    "petabytes of text": (
        claim(f"{INFO}/title", (), dtype="S2147483647"),
        r"/fclib_local/info/title has shape \(\): a file of \d+ bytes cannot hold 2147483647",
    ),
    "room in petabytes": (
        claim(f"{W}/x", (10**15,), dtype="f8", chunks=(1000,)),
        r"/W/x has shape \(1000000000000000,\): a file of \d+ bytes cannot hold 8000000000000000",
    ),
    "negative guesses": (
        put("guesses/number_of_guesses", [-1]),
        "/guesses/number_of_guesses is -1: expected 0 or more",
    ),
    "a billion guesses": (
        put("guesses/number_of_guesses", [10**9]),
        "the dataset /guesses/1/r is missing",
    ),
}


def link(file):
    file[f"{VECTORS}/q"] = h5py.SoftLink("/nowhere")


def broken(tmp_path, change, source=LOCAL):
    path = tmp_path / "broken.hdf5"
    shutil.copy(source, path)
    with h5py.File(path, "r+") as file:
        change(file)
    return path


@pytest.mark.parametrize("case", BROKEN)
def test_wrong_contents_are_named(tmp_path, case):
    change, message = BROKEN[case]
    path = broken(tmp_path, change)
    with pytest.raises(ValueError, match=rf"^{re.escape(str(path))}: .*{message}"):
        cs.io.read_fclib(path, details=True)


def test_a_global_problem_that_is_refused_names_the_file(tmp_path):
    path = broken(tmp_path, poke("fclib_global/M/x", slice(None), 0.0), GLOBAL)
    message = r"broken.hdf5: /fclib_global \(J = H\^T, mass = M, .*\): mass is singular"
    with pytest.raises(ValueError, match=message):
        cs.io.read_fclib(path)
    path = broken(tmp_path, poke("fclib_global/H/m", 0, 2147483647), GLOBAL)
    with pytest.raises(ValueError, match=r"broken.hdf5: /fclib_global/H is 2147483647 x \d+: exp"):
        cs.io.read_fclib(path)


def test_compressed_files_are_read(tmp_path):
    """Zeros compress to less than a hundredth of their size: that is no damage."""
    path = tmp_path / "small.hdf5"
    contacts = 4000
    problem = cs.Problem.from_delassus(
        (np.ones(3 * contacts), np.arange(3 * contacts), np.arange(3 * contacts + 1)),
        np.zeros(3 * contacts),
        0.5,
    )
    cs.io.write_fclib(path, problem)
    with h5py.File(path, "r+") as file:
        zeros = np.zeros(3 * contacts)
        put(f"{VECTORS}/q", zeros, chunks=(12000,), compression="gzip", compression_opts=9)(file)
        assert file[f"{VECTORS}/q"].id.get_storage_size() < zeros.nbytes / 100
    np.testing.assert_array_equal(cs.io.read_fclib(path).b, problem.b)


# ---- damage byte by byte ------------------------------------------------------------------------

# Runs in a process of its own with little memory: nothing may crash or allocate without bound.
READ_ALL = r"""
import gc, json, os, resource, sys, warnings
import contactsolve as cs
warnings.simplefilter("ignore")
for path in sys.argv[1:3]:
    cs.io.read_fclib(path, details=True)  # once, for whatever is loaded late
if "libasan" not in os.environ.get("LD_PRELOAD", "") and os.path.exists("/proc/self/statm"):
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * resource.getpagesize() + 2**30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for path in sys.argv[3:]:
    print(json.dumps([path, "begun", ""]), flush=True)
    try:
        cs.io.read_fclib(path, details=True)
        outcome = "read", ""
    except BaseException as error:
        outcome = type(error).__name__, str(error)
    gc.collect()
    os.unlink(path)
    print(json.dumps([path, *outcome]), flush=True)
"""


def outcomes(paths):
    """Return what became of each file, by path; "crashed" where the process ended."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", READ_ALL, *map(str, (LOCAL, GLOBAL, *paths))],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    found = {path: (kind, text) for path, kind, text in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 0, (
        done.stderr,
        [p for p, (kind, _) in found.items() if kind == "begun"],
    )
    assert done.stderr == ""
    return found


def damaged(rng, raw):
    """Return the bytes of a file with a part lost, overwritten, moved or turned over."""
    raw = bytearray(raw)
    kind = rng.integers(6)
    at = int(rng.integers(len(raw)))
    if kind == 0:
        return bytes(raw[:at])
    if kind == 1:
        for place in rng.integers(len(raw), size=rng.choice([1, 2, 5, 20])):
            raw[place] = rng.integers(256)
    elif kind == 2:  # the structure is in front
        for place in rng.integers(min(4096, len(raw)), size=rng.choice([1, 2, 5, 20])):
            raw[place] = rng.integers(256)
    elif kind == 3:
        raw[at] ^= 1 << rng.integers(8)
    elif kind == 4:
        words = (b"\xff" * 8, bytes(8), b"\xff" * 7 + b"\x7f", b"\0\0\0\0\0\0\1\0")
        raw[at : at + 8] = words[rng.integers(4)]
    else:
        source = int(rng.integers(len(raw)))
        raw[at : at + 64] = raw[source : source + 64]
    return bytes(raw)


@pytest.mark.skipif(os.name != "posix", reason="memory is limited as POSIX has it")
@pytest.mark.parametrize(
    ("source", "count"),
    [(FCLIB / "Rover4396.hdf5", 160), (LOCAL, 80), (GLOBAL, 40)],
    ids=lambda value: getattr(value, "name", value),
)
def test_damaged_files_are_read_or_refused(tmp_path, source, count):
    rng, raw = np.random.default_rng(count), source.read_bytes()
    paths = [tmp_path / f"{i}.hdf5" for i in range(count)]
    for path in paths:
        path.write_bytes(damaged(rng, raw))
    found = outcomes(paths)
    assert len(found) == count
    for path, (kind, text) in found.items():
        assert kind in ("read", "ValueError"), (path, kind, text)
        if kind == "ValueError":
            assert text.startswith(f"{path}: "), text
            assert "\n" not in text
    kinds = [kind for kind, _ in found.values()]
    assert min(kinds.count("read"), kinds.count("ValueError")) > count // 10


def test_files_cut_anywhere_are_refused(tmp_path):
    raw = LOCAL.read_bytes()
    paths = [tmp_path / f"{size}.hdf5" for size in range(0, len(raw), 97)]
    for path in paths:
        path.write_bytes(raw[: int(path.stem)])
    for path, (kind, text) in outcomes(paths).items():
        assert kind == "ValueError", (path, kind, text)
        assert re.match(rf"{re.escape(path)}: this (HDF5 file cannot be read|is not an HDF5)", text)


# ---- the command --------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ("solve", "compare"))
@pytest.mark.parametrize("damage", ("cut", "text", "nan", "missing", "no file"))
def test_the_command_tells_in_one_line(tmp_path, capsys, command, damage):
    path = tmp_path / "broken.hdf5"
    if damage == "cut":
        path.write_bytes(LOCAL.read_bytes()[:5000])
    elif damage == "text":
        path.write_text("no HDF5", encoding="utf-8")
    elif damage == "nan":
        broken(tmp_path, poke(f"{VECTORS}/q", 0, np.nan))
    elif damage == "missing":
        broken(tmp_path, without(f"{VECTORS}/q"))
    assert main([command, str(path)]) == 2
    output = capsys.readouterr()
    assert re.fullmatch(rf"contactsolve: error: {re.escape(str(path))}[: ].*\n", output.err)
    assert output.out == ""
