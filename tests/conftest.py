"""What every test process is told before anything is imported, and before the first test."""

import gc
import os
import signal

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
