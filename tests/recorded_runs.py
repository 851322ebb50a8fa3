"""Processes that record a run, and are killed or find no room on the disk."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np

# Of the process that runs it: writes beyond this size fail as on a full disk.
FULL_DISK = """
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
"""


def start(path, *codes):
    """Start a process that records a run: codes find the file and the tests in sys.argv."""
    tests = os.path.dirname(os.path.abspath(__file__))
    return subprocess.Popen(
        [sys.executable, "-c", "".join(map(textwrap.dedent, codes)), str(path), tests],
        stderr=subprocess.PIPE,
        text=True,
        cwd=path.parent,  # where no sources hide the installed package
    )


def kill(process, frames, after=0.0):
    """Kill a process so many seconds after its file has some frames; `frames` counts them."""
    try:
        while process.poll() is None and frames() < 5:
            time.sleep(0.01)
        time.sleep(after)
    finally:
        process.send_signal(signal.SIGKILL)
    _, errors = process.communicate()
    assert process.returncode == -signal.SIGKILL, errors


def of_damaged(path, damaged, read):
    """What `read` returns, or the error, of 60 copies of a file in which some bytes are others."""
    whole, rng = path.read_bytes(), np.random.default_rng(3)
    answers = []
    for _ in range(60):
        changed = bytearray(whole)
        for place in rng.integers(0, min(len(whole), 40_000), 4):
            changed[place] = rng.integers(256)
        damaged.write_bytes(changed)
        try:
            answers.append(read())
        except (ValueError, IndexError) as error:
            answers.append(str(error))
    return answers
