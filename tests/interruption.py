"""Ctrl-C while a test works."""

import signal
import threading
import time

import pytest


def ctrl_c_ends(work, *, after, within):
    """`work` ends with KeyboardInterrupt, sent `after` so many seconds, `within` those of work."""
    timer = threading.Timer(after, signal.raise_signal, [signal.SIGINT])
    timer.start()
    start = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        work()
    took = time.process_time() - start
    timer.join()
    assert took < within


def longest_silence(work):
    """Seconds of work, at most, between two questions for signals while `work` runs."""
    last, gaps = time.process_time(), []

    def heard(*_):
        nonlocal last
        now = time.process_time()
        gaps.append(now - last)
        last = now

    before = signal.signal(signal.SIGPROF, heard)
    signal.setitimer(signal.ITIMER_PROF, 0.005, 0.005)
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return max([*gaps, time.process_time() - last])
