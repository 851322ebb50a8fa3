"""What every test process is told before anything is imported, and before the first test."""

import gc
import os
import signal
import zlib
from pathlib import Path

# Where tests run beside each other, threads that wait must leave the processor to the others.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Shells let what runs in the background ignore Ctrl-C, which tests send to themselves.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish():
    """What was imported stays: tests that count blocks of memory need not walk through it again."""
    gc.collect()
    gc.freeze()


def share(text):
    """The numbers of "K/N"."""
    number, of = map(int, text.split("/"))
    if not 0 <= number < of:
        raise ValueError
    return number, of


def pytest_addoption(parser):
    what = "run this third of the tests; which one a test is in depends on its name alone"
    parser.addoption("--third", type=int, choices=range(3), help=what)
    what = "run share K of N, counted from 0, likewise"
    parser.addoption("--share", type=share, metavar="K/N", help=what)
    what = "leave out the test functions that this file names, but for the tests with a plus"
    parser.addoption("--without", type=Path, metavar="FILE", help=what)


def share_of(item, of):
    """Tests that share the copy of the library with its additions, a build, stay together."""
    together = "extended" in getattr(item, "fixturenames", ())
    name = item.path.stem if together else f"{item.path.stem}::{item.name}"
    return zlib.crc32(name.encode()) % of


def function_of(item):
    return item.nodeid.partition("[")[0]


def keep(config, items, wanted):
    config.hook.pytest_deselected(items=[item for item in items if not wanted(item)])
    items[:] = [item for item in items if wanted(item)]


def pytest_collection_modifyitems(config, items):
    third = config.getoption("third")
    if third is not None:
        keep(config, items, lambda item: share_of(item, 3) == third)
    chosen = config.getoption("share")
    if chosen is not None:
        keep(config, items, lambda item: share_of(item, chosen[1]) == chosen[0])

    without = config.getoption("without")
    if without is not None:
        named = set(without.read_text(encoding="utf-8").splitlines())
        kept = {name.removeprefix("+") for name in named if name.startswith("+")}
        keep(config, items, lambda item: item.nodeid in kept or function_of(item) not in named)
