"""Registers, spills and shared memory of every kernel, for each architecture.

    python .ci/registers.py --architectures 75,80   # compile, and write rows of the table
    python .ci/registers.py --take LOG              # write them from what a build has printed
    python .ci/registers.py --check LOG             # compare a build with the table

The table is ``cuda/registers.csv``; rows of other architectures stay.  A build tells of its kernels
with ``NVCC_APPEND_FLAGS=-Xptxas=-v``.  The check fails if a kernel of the table spills more than
there.  Spills are those of the kernel itself and of all functions that it calls.
"""

import argparse
import csv
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "cuda" / "registers.csv"
COLUMNS = ["architecture", "kernel", "registers", "stack", "spill_stores", "spill_loads", "shared"]
ARCHITECTURES = "75,80,86,89,90,100,120"

ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\w+)'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
STACK = re.compile(r"(\d+) bytes cumulative stack size")
SHARED = re.compile(r"(\d+) bytes smem")

Row = dict[str, str | int]


def read_report(text: str) -> list[Row]:
    """Return a row for each kernel that ptxas -v tells of.

    It tells an entry, then the properties of it and of the functions that it calls, then what the
    entry uses; of called functions without an entry of their own it may tell later.
    """
    rows: list[Row] = []
    for line in text.splitlines():
        if found := ENTRY.search(line):
            start: Row = dict.fromkeys(COLUMNS, 0)
            rows.append({**start, "kernel": found[1], "architecture": int(found[2])})
        elif rows and (found := SPILLS.search(line)):
            rows[-1]["stack"] = max(int(rows[-1]["stack"]), int(found[1]))
            rows[-1]["spill_stores"] = int(rows[-1]["spill_stores"]) + int(found[2])
            rows[-1]["spill_loads"] = int(rows[-1]["spill_loads"]) + int(found[3])
        elif rows and (found := USED.search(line)):
            rows[-1]["registers"] = int(found[1])
            for column, pattern in (("stack", STACK), ("shared", SHARED)):
                if more := pattern.search(line):
                    rows[-1][column] = int(more[1])
    names = "\n".join(str(row["kernel"]) for row in rows)
    plain = subprocess.run(["c++filt"], input=names, capture_output=True, text=True, check=True)
    for row, name in zip(rows, plain.stdout.splitlines(), strict=True):
        row["kernel"] = name.split("(")[0].removeprefix("void ")
    return rows


def read_table() -> dict[tuple[int, str], Row]:
    """Return the rows of the table by architecture and kernel."""
    if not TABLE.exists():
        return {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {
            (int(row["architecture"]), row["kernel"]): dict(row) for row in csv.DictReader(file)
        }


def compile_file(nvcc: str, source: Path, architecture: str) -> str:
    """Return what ptxas tells of one file."""
    sys.path.insert(0, str(ROOT))
    import setup as build  # its flags

    target = f"-gencode=arch=compute_{architecture},code=sm_{architecture}"
    command = [nvcc, *build.NVCC, target, "-Xptxas=-v", "-Icsrc", "-I.", "-cubin", str(source)]
    done = subprocess.run(
        [*command, "-o", os.devnull], capture_output=True, text=True, check=False, cwd=ROOT
    )
    if done.returncode:
        sys.exit(f"{source}, sm_{architecture}: {done.stderr}")
    return done.stdout + done.stderr


def write_table(architectures: list[str], nvcc: str, jobs: int) -> None:
    """Compile, and replace the rows of these architectures."""
    sources = sorted(path for path in (ROOT / "cuda").glob("*.cu") if path.stem != "module")
    work = [(source, each) for each in architectures for source in sources]
    with ThreadPoolExecutor(jobs) as pool:
        texts = pool.map(lambda item: compile_file(nvcc, *item), work)
        rows = [row for text in texts for row in read_report(text)]
    own = {int(each) for each in architectures}
    rows += [row for (architecture, _), row in read_table().items() if architecture not in own]
    save(rows)


def save(rows: list[Row]) -> None:
    """Write the table, in a fixed order."""
    rows.sort(key=lambda row: (int(row["architecture"]), str(row["kernel"])))
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def check(log: str) -> list[str]:
    """Return what is worse in a build than in the table."""
    known, rows = read_table(), read_report(log)
    if not rows:
        return ["the log tells of no kernel: build with NVCC_APPEND_FLAGS=-Xptxas=-v"]
    worse = []
    for row in rows:
        allowed = known.get((int(row["architecture"]), str(row["kernel"])))
        if not allowed:
            continue
        for column in ("spill_stores", "spill_loads"):
            most = int(allowed[column])
            if int(row[column]) > most:
                where = f"{row['kernel']}, sm_{row['architecture']}"
                worse.append(f"{where}: {column} {row[column]} bytes, at most {most} were known")
    return worse


def main() -> None:
    """Write the table, or check a build."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--architectures", default=ARCHITECTURES)
    parser.add_argument("--nvcc", default="/usr/local/cuda/bin/nvcc")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--check", type=Path, metavar="LOG", help="what a build has printed")
    parser.add_argument("--take", type=Path, metavar="LOG", help="write the table from such a log")
    given = parser.parse_args()
    if given.check:
        sys.exit("\n".join(check(given.check.read_text(encoding="utf-8"))) or 0)
    if given.take:
        found = read_table()
        for row in read_report(given.take.read_text(encoding="utf-8")):
            found[int(row["architecture"]), str(row["kernel"])] = row
        save(list(found.values()))
        return
    write_table(given.architectures.split(","), given.nvcc, given.jobs)


if __name__ == "__main__":
    main()
