"""A process that attempts cases: the one that may crash or hang.

`Worker` is its parent's side. Parent and child exchange pickled objects over a pair of pipes: the
child tells each attempt before it begins, so that the parent knows what it died of.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
# Wall-clock seconds after which a single attempt counts as hanging.
HANG = 20.0
_START = 120.0


class LostError(Exception):
    """The child is gone, or had to be ended: why, and what it was at."""

    def __init__(self, kind: str, text: str, doing: Any) -> None:
        super().__init__(kind, text)
        self.kind, self.text, self.doing = kind, text, doing


class Worker:
    """One child, started anew after each crash."""

    def __init__(self) -> None:
        self._child: subprocess.Popen | None = None
        self._pipe: Connection | None = None

    def start(self) -> None:
        """Start the child, which finds the same packages as this process."""
        paths = [str(HERE), *sys.path]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the child)
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(filter(None, paths))),
            "OMP_WAIT_POLICY": "passive",
            "OPENBLAS_NUM_THREADS": "1",
        }
        down_read, down_write = os.pipe()
        up_read, up_write = os.pipe()
        script = "from fuzzing.worker import main; main()"
        python = [sys.executable, "-P", "-X", "faulthandler", "-c", script]
        self._child = subprocess.Popen(
            [*python, str(down_read), str(up_write)],
            pass_fds=(down_read, up_write),
            env=environment,
            stdout=self._errors,
            stderr=self._errors,
        )
        os.close(down_read)
        os.close(up_write)
        self._pipe, self._up = Connection(down_write, readable=False), Connection(up_read)
        try:
            ready = self._up.poll(_START) and self._up.recv() == ("ready", None)
        except EOFError:
            ready = False
        if not ready:
            words = self._last_words()
            self.close()
            raise RuntimeError(f"a worker does not start: {words}")

    def ask(self, request: tuple, until: float = float("inf")) -> Any:
        """Yield the outcomes of a request; raise `LostError` where the child dies or hangs.

        After `until` (of `time.monotonic`) no further attempt is waited for.
        """
        if self._child is None:
            self.start()
        self._pipe.send((*request, until))
        doing = None
        while True:
            try:
                if not self._up.poll(HANG):
                    self.close()
                    raise LostError("hang", f"no answer within {HANG:g} s", doing)
                kind, value = self._up.recv()
            except (EOFError, OSError):
                code, words = self._child.wait(), self._last_words()
                self.close()
                raise LostError(f"crash ({code})", words, doing) from None
            if kind == "begin":
                doing = value
            elif kind == "outcome":
                yield value
            elif kind == "failed":
                self.close()
                raise LostError("fuzzer error", value, doing)
            else:
                return

    def _last_words(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")[-1500:]

    def close(self) -> None:
        """End the child."""
        if self._child is None:
            return
        self._child.kill()
        self._child.wait()
        self._child = None
        for one in (self._pipe, self._up, self._errors):
            one.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def main() -> None:
    """Answer requests until the parent is gone."""
    down, up = (int(text) for text in sys.argv[1:3])
    requests, answers = Connection(down, writable=False), Connection(up, readable=False)
    from . import attempt, malformed, options  # noqa: F401 (imported before the clocks run)

    answers.send(("ready", None))

    with contextlib.suppress(EOFError, BrokenPipeError, KeyboardInterrupt):
        while True:
            kind, *rest, until = requests.recv()
            try:
                for outcome in _ATTEMPTS[kind](attempt, answers, until, *rest):
                    answers.send(("outcome", outcome))
                answers.send(("end", None))
            except (BrokenPipeError, KeyboardInterrupt):
                raise
            except BaseException:
                import traceback

                answers.send(("failed", traceback.format_exc()))


def _problem(attempt: Any, answers: Connection, until: float, seed: int, at: int, *how: Any):
    """All methods on one problem, or those of a list."""
    from . import options

    methods, kinds = how
    problem = options.problem_of(seed, at)
    if kinds and problem.kind not in kinds:
        return
    ready = None
    for which, method in enumerate(options.METHODS):
        if (methods and method not in methods) or time.monotonic() > until:
            continue
        number = at * len(options.METHODS) + which
        answers.send(("begin", number))
        ready = attempt.Ready(problem) if ready is None else ready
        yield attempt.attempt(options.case_of(seed, number, problem), ready)


def _case(attempt: Any, answers: Connection, until: float, case: Any):
    """One case as it is."""
    answers.send(("begin", case.number))
    yield attempt.attempt(case)


def _malformed(attempt: Any, answers: Connection, until: float, seed: int, start: int, count: int):
    """Cases of arguments that have to be refused."""
    from . import malformed

    for number in range(start, start + count):
        if time.monotonic() > until:
            return
        answers.send(("begin", number))
        yield malformed.attempt(seed, number)


_ATTEMPTS = {"problem": _problem, "case": _case, "malformed": _malformed}
