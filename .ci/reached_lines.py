"""Records which lines of C each group of tests reaches: a plugin of pytest for choose_tests.py.

A group is a test function with all its parameters; one that takes long is several groups, each with
some of the parameters.  The environment variable REACHED_LINES names a folder.  Each worker of
pytest-xdist writes a file ``*.json`` there, as `Recorder.write` describes it.  A line of a kernel
counts once for each instruction set.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
from pathlib import Path

import pytest
from c_coverage import gcov_reports, lines_of

from contactsolve import _core

BUILD = Path("build").resolve()
# A group that has taken so long [s] gets no further test.
LONG = 0.5


def work() -> float:
    """Seconds that processors have worked for this process and its children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


class Recorder:
    """The lines of one group after another, in one worker."""

    def __init__(self, folder: Path, worker: str) -> None:
        self.output = folder / f"{worker}.json"
        # Counts of this worker and of the processes that its tests start go to a folder of its own,
        # where gcov also looks for the notes.
        tree = folder / worker
        os.environ["GCOV_PREFIX"] = str(tree)
        self.notes = [tree / note.relative_to("/") for note in sorted(BUILD.rglob("*.gcno"))]
        for note in self.notes:
            note.parent.mkdir(parents=True, exist_ok=True)
            note.symlink_to("/" / note.relative_to(tree))
        self.module = ctypes.CDLL(_core.__file__)
        self.numbers: dict[tuple[str, str, int], int] = {}
        self.groups: list[dict] = []
        self.tests: list[str] = []
        self.start = 0.0
        # What was counted while pytest collected the tests belongs to none of them.
        self.module["__gcov_reset"]()
        self.module["__gcov_dump"]()
        self.module["__gcov_reset"]()
        self.zeros = self.take_counts()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item):
        """Finish a group with its function, or when it has taken long."""
        function = item.nodeid.partition("[")[0]
        if self.tests and (
            function != self.tests[0].partition("[")[0] or work() - self.start > LONG
        ):
            self.finish()
        if not self.tests:
            self.start = work()
        self.tests.append(item.nodeid)
        yield

    def pytest_sessionfinish(self):
        """Finish the last group."""
        if self.tests:
            self.finish()
        self.write()

    def finish(self) -> None:
        """Record what has run since `start`."""
        seconds = work() - self.start
        self.module["__gcov_dump"]()
        self.module["__gcov_reset"]()
        lines = sorted(self.reached(self.take_counts()))
        self.groups.append({"tests": self.tests, "seconds": seconds, "lines": lines})
        self.tests = []

    def take_counts(self) -> dict[Path, bytes]:
        """Read and delete what was counted for each object file."""
        files = [note.with_suffix(".gcda") for note in self.notes]
        counts = {path: path.read_bytes() for path in files if path.exists()}
        for path in counts:
            path.unlink()
        return counts

    def reached(self, counts: dict[Path, bytes]) -> set[int]:
        """The lines that were counted, by number."""
        # gcov takes long: it reads only what is not all zeros.
        counted = [path for path, count in counts.items() if count != self.zeros.get(path)]
        if not counted:
            return set()
        reached = set()
        for path in counted:
            path.write_bytes(counts[path])
        for report in gcov_reports([path.with_suffix(".gcno") for path in counted]):
            unit = report["data_file"].partition(str(BUILD))[2]
            for source, line, ran in lines_of(report):
                if ran:
                    key = (unit, str(source), line)
                    reached.add(self.numbers.setdefault(key, len(self.numbers)))
        for path in counted:
            path.unlink()
        return reached

    def write(self) -> None:
        """All lines, in the order of their numbers, and the groups with the numbers of theirs."""
        recorded = {"lines": list(self.numbers), "groups": self.groups}
        self.output.write_text(json.dumps(recorded), encoding="utf-8")


def pytest_configure(config):
    """Record in the workers: their controller runs no test."""
    if hasattr(config, "workerinput"):
        recorder = Recorder(Path(os.environ["REACHED_LINES"]), config.workerinput["workerid"])
        config.pluginmanager.register(recorder)
