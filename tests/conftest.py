"""What every test process is told before anything is imported, and before the first test."""

import gc
import os
import signal
import zlib
from collections import defaultdict
from pathlib import Path

import pytest

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


def pytest_addoption(parser):
    what = "run share K, from 0, of N shares; which one a test is in depends on its name alone"
    parser.addoption("--share", type=share, metavar="K/N", help=what)
    what = "leave out the test functions that this file names, but for the tests with a plus"
    parser.addoption("--without", type=Path, metavar="FILE", help=what)


def share(text):
    """The numbers of ``K/N``; a ValueError is an error of the command line."""
    number, of = map(int, text.split("/"))
    if not 0 <= number < of:
        raise ValueError
    return number, of


def number_of(item):
    """Tests that share the copy of the library with its additions, a build, stay together."""
    together = "extended" in getattr(item, "fixturenames", ())
    name = item.path.stem if together else f"{item.path.stem}::{item.name}"
    return zlib.crc32(name.encode())


def function_of(item):
    return item.nodeid.partition("[")[0]


def mark_samples(items):
    """Of a function marked ``sampled(n)``, all cases but one in n are slow."""
    sampled = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            sampled[function_of(item)].append(item)
    for cases in sampled.values():
        marker = cases[0].get_closest_marker("sampled")
        if len(marker.args) != 1 or marker.kwargs:
            raise pytest.UsageError(f"{function_of(cases[0])}: sampled(n) is needed")
        (n,) = marker.args
        cases.sort(key=number_of)
        for item in cases[-(-len(cases) // n) :]:
            item.add_marker(pytest.mark.slow)


def keep(config, items, wanted):
    config.hook.pytest_deselected(items=[item for item in items if not wanted(item)])
    items[:] = [item for item in items if wanted(item)]


@pytest.hookimpl(tryfirst=True)  # before -m "not slow" chooses
def pytest_collection_modifyitems(config, items):
    # What a list leaves out was chosen among all cases.
    if config.getoption("without") is None:
        mark_samples(items)
    if config.getoption("share"):
        number, of = config.getoption("share")
        keep(config, items, lambda item: number_of(item) % of == number)

    without = config.getoption("without")
    if without is not None:
        named = set(without.read_text(encoding="utf-8").splitlines())
        kept = {name.removeprefix("+") for name in named if name.startswith("+")}
        keep(config, items, lambda item: item.nodeid in kept or function_of(item) not in named)
