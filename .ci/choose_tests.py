"""Chooses the quick tests that CI runs under sanitizers and under coverage.

Each step runs few tests that together reach every line that all its quick tests reach; what the
others compute is checked in the ordinary build.  Run in the source folder, from time to time:

    CONTACTSOLVE_COVERAGE=1 python setup.py build_ext --inplace
    python .ci/choose_tests.py [tests/unit/cloth ...]

This writes the names of the test functions that a step leaves out, one list for each step, and so
a new one runs in both until the next time.  With folders or files, only their tests are run, which
takes less long: those kept reach all lines that these tests reach, and what the lists say of others
stays.  CI=true, here and in CI, makes Hypothesis draw the same problems each time.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
OF_SANITIZERS = FOLDER / "redundant_for_sanitizers.txt"
OF_COVERAGE = FOLDER / "redundant_for_coverage.txt"
# As in `.ci/run`.
EVERYWHERE = ["tests/unit", "tests/property"]
NOT_COVERED = ["--ignore=tests/unit/benchmarks"]
NOT_SANITIZED = ("/plots/", "/test_cli", "/test_packaging")
# What starting a test takes at least [s]: among quick ones, fewer are better.
START = 0.005


@dataclass
class Group:
    """Tests of one function, what they take, and the lines that they reach: one bit for each."""

    tests: list[str]
    seconds: float
    c: int
    python: int = 0

    @property
    def function(self) -> str:
        """The function with its file."""
        return function_of(self.tests[0])


def function_of(test: str) -> str:
    """The name of a test without its parameters."""
    return test.partition("[")[0]


# ---- measurement -------------------------------------------------------------------------------


def run_tests(folder: Path, places: list[str]) -> None:
    """The quick tests of these places, recorded in files of a folder."""
    environment = {"CI": "true", "PYTHONPATH": os.pathsep.join((str(Path.cwd()), str(FOLDER)))}
    environment |= {"REACHED_LINES": str(folder), "COVERAGE_FILE": str(folder / "coverage")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "reached_lines", "-m", "not slow"]
    command += ["-n", "auto", "--dist", "loadfile", *places, *NOT_COVERED]
    command += ["--cov", "--cov-context=test", "--cov-report="]
    subprocess.run(command, env=os.environ | environment, check=True)


def bits(numbers: Iterable[int]) -> int:
    """An integer with these bits."""
    return sum(1 << number for number in set(numbers))


def recorded_groups(folder: Path) -> list[Group]:
    """The groups of all workers, with their lines of C."""
    numbers: dict[tuple, int] = {}
    groups = []
    for path in sorted(folder.glob("*.json")):
        recorded = json.loads(path.read_text(encoding="utf-8"))
        number = [numbers.setdefault(tuple(line), len(numbers)) for line in recorded["lines"]]
        for group in recorded["groups"]:
            reached = bits(number[line] for line in group["lines"])
            groups.append(Group(group["tests"], group["seconds"], reached))
    return groups


def add_lines_of_python(folder: Path, groups: list[Group]) -> None:
    """Add what coverage has recorded: each way from one line to the next is one bit."""
    numbers: dict[tuple, int] = {}
    ways: dict[str, set[int]] = {}
    query = """SELECT context.context, arc.file_id, arc.fromno, arc.tono
               FROM arc JOIN context ON context.id = arc.context_id"""
    with sqlite3.connect(folder / "coverage") as database:
        for context, *way in database.execute(query):
            number = numbers.setdefault(tuple(way), len(numbers))
            ways.setdefault(context.rpartition("|")[0], set()).add(number)
    for group in groups:
        group.python = bits(way for test in group.tests for way in ways.get(test, ()))


# ---- choice ------------------------------------------------------------------------------------


def union(lines: Iterable[int]) -> int:
    """All bits of all."""
    every = 0
    for some in lines:
        every |= some
    return every


def cover(groups: list[Group], lines: list[int], kept: Iterable[int] = ()) -> set[int]:
    """Few groups with all lines, by number: always the one with the most new lines per second."""
    chosen = set(kept)
    missing = union(lines) & ~union(lines[i] for i in chosen)
    while missing:
        rates = [
            (reached & missing).bit_count() / (group.seconds + START)
            for group, reached in zip(groups, lines, strict=True)
        ]
        best = rates.index(max(rates))
        chosen.add(best)
        missing &= ~lines[best]

    # Leave out, longest first, what became redundant by groups that were chosen later.
    for i in sorted(chosen - set(kept), key=lambda i: -groups[i].seconds):
        if not lines[i] & ~union(lines[other] for other in chosen - {i}):
            chosen.remove(i)
    return chosen


def is_sanitized(group: Group) -> bool:
    """Whether the sanitized step may run the tests at all."""
    return not any(part in group.function for part in NOT_SANITIZED)


# ---- result ------------------------------------------------------------------------------------


def entries_elsewhere(path: Path, places: list[str]) -> set[str]:
    """What a list says of tests outside of these places."""
    entries = path.read_text(encoding="utf-8").split("\n")[:-1]
    inside = tuple(place.rstrip("/") + end for place in places for end in ("/", "::"))
    return {entry for entry in entries if not entry.lstrip("+").startswith(inside)}


def write_list(path: Path, groups: list[Group], chosen: set[int], places: list[str]) -> None:
    """Each function that is left out; with a plus, those of its tests that run all the same."""
    left_out = {group.function for i, group in enumerate(groups) if i not in chosen}
    kept = {f"+{test}" for i in chosen for test in groups[i].tests}
    wanted = {test for test in kept if function_of(test[1:]) in left_out}
    every = left_out | wanted | entries_elsewhere(path, places)
    names = sorted(every, key=lambda name: (name.lstrip("+"), name))
    path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


def print_choice(path: Path, groups: list[Group], chosen: set[int], lines: list[int]) -> None:
    """What is saved, and the groups to shorten first."""
    seconds = sum(groups[i].seconds for i in chosen)
    every = sum(group.seconds for group in groups)
    count = union(lines).bit_count()
    print(f"{path.name}: {seconds:.0f} of {every:.0f} s reach all {count} lines; the longest:")
    for i in sorted(chosen, key=lambda i: -groups[i].seconds)[:10]:
        print(f"    {groups[i].seconds:5.1f} s  {groups[i].tests[0]}")


def choose(groups: list[Group], places: list[str]) -> None:
    """Write both lists."""
    # First what sanitizers need, then what the Python code needs in addition.
    of_c = [group.c if is_sanitized(group) else 0 for group in groups]
    width = max(group.c.bit_length() for group in groups)
    of_both = [group.c | group.python << width for group in groups]
    sanitized = cover(groups, of_c)
    covered = cover(groups, of_both, sanitized)

    for path, chosen, lines in (
        (OF_SANITIZERS, sanitized, of_c),
        (OF_COVERAGE, covered, of_both),
    ):
        write_list(path, groups, chosen, places)
        print_choice(path, groups, chosen, lines)


def main() -> None:
    """Measure, choose, write."""
    places = sys.argv[1:] or EVERYWHERE
    with tempfile.TemporaryDirectory() as name:
        run_tests(Path(name), places)
        groups = recorded_groups(Path(name))
        add_lines_of_python(Path(name), groups)
    choose(groups, places)


if __name__ == "__main__":
    main()
