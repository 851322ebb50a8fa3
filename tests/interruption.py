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
