"""The emulation finds mistakes in kernels: each one is planted in a kernel of its own."""

import os
import re
import shutil
import subprocess

import pytest

from emulated import DEVICE, TURNS
from repository import ROOT

COMPILER = os.environ.get("CXX", "c++").split()
pytestmark = pytest.mark.skipif(shutil.which(COMPILER[-1]) is None, reason="no C++ compiler")


KERNELS = ROOT / "tests" / "cuda" / "planted.cu"
EMULATION = ROOT / "cuda" / "emulation" / "emulation.cc"


def build(folder, kernels, emulation):
    """A function that runs one planted kernel: built with these options of the two files."""
    program = folder / "planted"
    options = ["-std=c++17", "-O1", "-g1", "-I", str(ROOT), "-I", str(ROOT / "csrc")]
    objects = []
    for source, own in ((KERNELS, kernels), (EMULATION, emulation)):
        objects.append(str(folder / f"{source.stem}.o"))
        command = [*COMPILER, *options, *own, "-x", "c++", "-c", str(source), "-o", objects[-1]]
        subprocess.run(command, check=True, timeout=300)
    command = [*COMPILER, *kernels, *objects, "-o", str(program)]
    subprocess.run(command, check=True, timeout=300)

    def run(name, turn="forward"):
        # What fibers hold that did not end is no leak. The program has a sanitizer of its own.
        given = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
        given.pop("LD_PRELOAD", None)
        done = subprocess.run(
            [program, name, turn], capture_output=True, text=True, env=given, timeout=120
        )
        return done.stdout + done.stderr

    return run


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Runs one kernel with the checks of AddressSanitizer."""
    checked = ["-fsanitize=address"]
    return build(tmp_path_factory.mktemp("planted"), checked, checked)


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    """Runs one kernel with each of its threads as a thread of ThreadSanitizer."""
    told = ["-DCS_THREAD_SANITIZER"]
    run = build(tmp_path_factory.mktemp("raced"), ["-fsanitize=thread", *told], told)
    if "FATAL: ThreadSanitizer" in run("sum_block"):
        pytest.skip("ThreadSanitizer does not know this machine's addresses")
    return run


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("name", ["sum_block", "with_syncwarp"])
def test_a_right_kernel_has_no_race(raced, name, turn):
    assert re.fullmatch(r"total (64|2)\n", raced(name, turn))


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("name", ["missing_barrier", "missing_syncwarp", "racing_blocks"])
def test_a_planted_race_is_found(raced, name, turn):
    assert re.search(rf"SUMMARY: ThreadSanitizer: data race .* in {name}", raced(name, turn))


@pytest.mark.parametrize("turn", TURNS)
def test_a_right_kernel_has_one_result(planted, turn):
    assert planted("sum_block", turn) == "total 64\n"
    assert planted("halves", turn) == "total 64\n"
    assert planted("right_version", turn) == "total 64\n"


@pytest.mark.skipif(DEVICE == "cuda", reason="threads of a GPU have no turns to choose")
def test_a_missing_barrier_changes_the_result(planted):
    totals = {planted("missing_barrier", turn) for turn in TURNS}
    assert len(totals) > 1


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("divergent_barrier", r"failed: threads of a block wait at barriers in lines \d+ and \d+"),
        ("left_barrier", r"failed: (a barrier in line \d+ that other threads left|.* ended while)"),
        ("overrun", r"AddressSanitizer: heap-buffer-overflow"),
        ("unwritten", r"total -?nan"),
        ("missing_lane", r"failed: block 0, thread \d+ waits without end"),
        ("missing_in_half", r"failed: block 0, thread \d+ waits without end"),
        ("endless_wait", r"failed: block 0, thread \d+ waits without end"),
        ("wrong_version", r"failed: block 0, thread \d+ waits without end"),
        ("trap", r"failed: the kernel trapped \(block 0, thread 9\)"),
    ],
)
def test_a_planted_mistake_is_found(planted, name, turn, found):
    assert re.search(found, planted(name, turn))
