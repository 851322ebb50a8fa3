"""Prints, folder by folder, how much of the C sources ran.

Run in the source folder, after a build with CONTACTSOLVE_COVERAGE=1 and its tests:

    python .ci/c_coverage.py build

The argument is the folder that holds the object files.  A line that is compiled several times, as
those of headers and of templates for two precisions are, counts once and has run if any copy has.

With `--save FILE` it also writes down the lines that have run.  With `--since FILE` it prints, in
place of the tables, those that have run since then: the tests between the two reach lines that the
tests before do not reach, and more than a few such lines are an error.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

SOURCES = Path("csrc").resolve()
# Some lines run or not by chance: what threads do at the same time, how long a solve takes. The
# lists of tests are of an earlier commit: a percent of all lines may be new since then.
BY_CHANCE = 200

# Source below csrc → line → whether it ran.
Lines = dict[Path, dict[int, bool]]


def gcov_reports(notes: Sequence[Path]) -> Iterator[dict]:
    """What gcov knows of each object file, by its notes (``*.gcno``)."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["gcov", "--json-format", "--hash-filenames", *map(str, notes)]
        # What gcov prints is the same per file, and that files of data alone have no functions.
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        for path in sorted(Path(folder).glob("*.gcov.json.gz")):
            yield json.loads(gzip.decompress(path.read_bytes()))


def lines_of(report: dict) -> Iterator[tuple[Path, int, bool]]:
    """Source below csrc, number and whether it ran, for each line of one object file."""
    for file in report["files"]:
        path = Path(report["current_working_directory"], file["file"]).resolve()
        if path.is_relative_to(SOURCES):
            name = path.relative_to(SOURCES)
            yield from ((name, line["line_number"], line["count"] > 0) for line in file["lines"])


def executed_lines(build: Path) -> Lines:
    """Every line of code that gcov knows of."""
    notes = sorted(path.resolve() for path in build.rglob("*.gcno"))
    if not notes:
        sys.exit(f"{build} holds no file *.gcno: was it built with CONTACTSOLVE_COVERAGE=1?")
    lines: Lines = defaultdict(dict)
    for report in gcov_reports(notes):
        for path, number, ran in lines_of(report):
            lines[path][number] = lines[path].get(number, False) or ran
    return lines


def print_table(title: str, rows: list[tuple[str, int, int]]) -> None:
    """One row for each name: lines, lines that did not run, share that ran."""
    width = max(len(name) for name, _, _ in rows)
    print(f"{title:<{width}}  lines  missed  cover")
    for name, total, ran in rows:
        print(f"{name:<{width}}  {total:5}  {total - ran:6}  {100 * ran / total:4.0f}%")
    print()


def print_tables(lines: Lines) -> None:
    """Print folders, then the ten files with the most lines that did not run."""
    files = [(str(path), len(ran), sum(ran.values())) for path, ran in sorted(lines.items()) if ran]
    folders: dict[str, tuple[int, int]] = {}
    for name, total, ran in files:
        folder = f"csrc/{Path(name).parts[0]}" if "/" in name else "csrc"
        before = folders.get(folder, (0, 0))
        folders[folder] = (before[0] + total, before[1] + ran)
    rows = [(folder, *counts) for folder, counts in sorted(folders.items())]
    rows.append(("all", sum(row[1] for row in files), sum(row[2] for row in files)))
    print_table("C, by folder", rows)
    missed = sorted(files, key=lambda row: row[2] - row[1])[:10]
    print_table("most missed", [(f"csrc/{row[0]}", *row[1:]) for row in missed if row[1] > row[2]])


def names_of_reached(lines: Lines) -> list[str]:
    """File and number of each line that ran."""
    reached = [(path, number) for path, ran in lines.items() for number in ran if ran[number]]
    return [f"csrc/{path}:{number}" for path, number in sorted(reached)]


def print_new(lines: Lines, saved: Path) -> None:
    """Print the lines that ran since some were saved; end the program if they are many."""
    before = set(saved.read_text(encoding="utf-8").splitlines())
    new = [name for name in names_of_reached(lines) if name not in before]
    print("C, lines reached since:", len(new), *new, sep="\n    ")
    if len(new) > BY_CHANCE:
        sys.exit(f"more than {BY_CHANCE}: choose the tests anew with .ci/choose_tests.py")


def main() -> None:
    """Print tables, or what was reached since the last ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--save", type=Path, metavar="FILE")
    parser.add_argument("--since", type=Path, metavar="FILE")
    given = parser.parse_args()
    lines = executed_lines(given.build)
    if given.since:
        print_new(lines, given.since)
    else:
        print_tables(lines)
    if given.save:
        given.save.write_text("\n".join(names_of_reached(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
