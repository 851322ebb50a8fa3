"""What every test process is told before anything is imported, and before the first test."""

import gc
import os
import signal
import zlib

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
    what = "run this third of the tests; which one a test is in depends on its name alone"
    parser.addoption("--third", type=int, choices=range(3), help=what)


def third_of(item):
    """Tests that share the copy of the library with its additions, a build, stay together."""
    together = "extended" in getattr(item, "fixturenames", ())
    name = item.path.stem if together else f"{item.path.stem}::{item.name}"
    return zlib.crc32(name.encode()) % 3


def pytest_collection_modifyitems(config, items):
    third = config.getoption("third")
    if third is not None:
        left_out = [item for item in items if third_of(item) != third]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if third_of(item) == third]
