"""Ctrl-C while a test works."""

import gc
import os
import resource
import signal
import threading
import weakref
from contextlib import contextmanager

import pytest

# A sanitized build, whose library is preloaded, takes three to five times the work, where other
# processes do not slow it down.
_SLOWER = 10 if os.environ.get("LD_PRELOAD") else 1


def worked():
    """Seconds that the process has worked; the system's own, for new pages say, do not count.

    Those of a sanitized build count less.
    """
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime / _SLOWER


def ctrl_c_ends(work, *, after, within):
    """`work` ends with KeyboardInterrupt, sent `after` so many seconds, `within` those of work."""
    timer = threading.Timer(after, signal.raise_signal, [signal.SIGINT])

    def interrupted():
        timer.start()
        work()

    start = worked()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    took = worked() - start
    timer.join()
    assert took < within


def interrupt(_, frame):
    """Handle a signal as Ctrl-C; Python drops what is raised while it clears a weak reference."""
    if frame.f_code.co_filename == weakref.__file__:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        return
    raise KeyboardInterrupt


@contextmanager
def alarm(handler, *, after):
    """A timer calls `handler` after so many seconds, unless what is inside has ended before.

    Nothing collects garbage meanwhile: what a handler raises within a callback of the collection,
    as Hypothesis has one, would be lost.
    """
    before, collects = signal.signal(signal.SIGALRM, handler), gc.isenabled()
    gc.disable()
    try:
        signal.setitimer(signal.ITIMER_REAL, after)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if collects:
            gc.enable()


def longest_silence(work):
    """Seconds of work, at most, between two questions for signals while `work` runs."""
    last, gaps = worked(), []

    def heard(*_):
        nonlocal last
        now = worked()
        gaps.append(now - last)
        last = now

    before = signal.signal(signal.SIGVTALRM, heard)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.005, 0.005)
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return max([*gaps, worked() - last])
