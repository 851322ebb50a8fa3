"""The emulation finds mistakes in kernels: each one is planted in a kernel of its own."""

import os
import re
import shutil
import subprocess

import pytest

from emulated import TURNS
from repository import ROOT

COMPILER = os.environ.get("CXX", "c++").split()
pytestmark = pytest.mark.skipif(shutil.which(COMPILER[-1]) is None, reason="no C++ compiler")


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """A program that runs one kernel, with the checks of AddressSanitizer."""
    program = tmp_path_factory.mktemp("planted") / "planted"
    sources = [ROOT / "tests" / "cuda" / "planted.cu", ROOT / "cuda" / "emulation" / "emulation.cc"]
    options = ["-std=c++17", "-O1", "-g", "-fsanitize=address", "-I", str(ROOT)]
    options += ["-I", str(ROOT / "csrc"), "-x", "c++"]
    command = [*COMPILER, *options, *map(str, sources), "-o", str(program)]
    subprocess.run(command, check=True, timeout=300)

    def run(name, turn="forward"):
        # Stacks of fibers are no leaks, and their switches no overflows.
        given = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0"}
        done = subprocess.run(
            [program, name, turn], capture_output=True, text=True, env=given, timeout=120
        )
        return done.stdout + done.stderr

    return run


@pytest.mark.parametrize("turn", TURNS)
def test_a_right_kernel_has_one_result(planted, turn):
    assert planted("sum_block", turn) == "total 64\n"
    assert planted("halves", turn) == "total 64\n"


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
        ("trap", r"failed: the kernel trapped \(block 0, thread 9\)"),
    ],
)
def test_a_planted_mistake_is_found(planted, name, turn, found):
    assert re.search(found, planted(name, turn))
