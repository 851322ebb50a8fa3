"""Prints, folder by folder, how much of the C sources ran.

Run in the source folder, after a build with CONTACTSOLVE_COVERAGE=1 and its tests:

    python .ci/c_coverage.py build

The argument is the folder that holds the object files.  A line that is compiled several times, as
those of headers and of templates for two precisions are, counts once and has run if any copy has.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

SOURCES = Path("csrc").resolve()

# Source below csrc → line → whether it ran.
Lines = dict[Path, dict[int, bool]]


def executed_lines(build: Path) -> Lines:
    """Every line of code that gcov knows of."""
    notes = sorted(str(path.resolve()) for path in build.rglob("*.gcno"))
    if not notes:
        sys.exit(f"{build} holds no file *.gcno: was it built with CONTACTSOLVE_COVERAGE=1?")
    lines: Lines = defaultdict(dict)
    with tempfile.TemporaryDirectory() as folder:
        command = ["gcov", "--json-format", "--hash-filenames", *notes]
        # What gcov prints is the same per file, and that files of data alone have no functions.
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        for path in sorted(Path(folder).glob("*.gcov.json.gz")):
            add_report(json.loads(gzip.decompress(path.read_bytes())), lines)
    return lines


def add_report(report: dict, lines: Lines) -> None:
    """Add what one object file knows."""
    for file in report["files"]:
        path = Path(report["current_working_directory"], file["file"]).resolve()
        if not path.is_relative_to(SOURCES):
            continue
        ran = lines[path.relative_to(SOURCES)]
        for line in file["lines"]:
            number = line["line_number"]
            ran[number] = ran.get(number, False) or line["count"] > 0


def print_table(title: str, rows: list[tuple[str, int, int]]) -> None:
    """One row for each name: lines, lines that did not run, share that ran."""
    width = max(len(name) for name, _, _ in rows)
    print(f"{title:<{width}}  lines  missed  cover")
    for name, total, ran in rows:
        print(f"{name:<{width}}  {total:5}  {total - ran:6}  {100 * ran / total:4.0f}%")
    print()


def main() -> None:
    """Print folders, then the ten files with the most lines that did not run."""
    lines = executed_lines(Path(sys.argv[1]))
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


if __name__ == "__main__":
    main()
