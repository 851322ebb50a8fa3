"""Registers, spills and shared memory of every kernel, for each architecture.

    python .ci/registers.py --architectures 75,80   # compile, link, and write rows of the table
    python .ci/registers.py --check LOG             # compare a build with the table

It prints how long that takes: the seconds of a core, in user and system mode, of each file, and
those between begin and end.

The table is ``cuda/registers.csv``; rows of other architectures stay.  Registers and stack of a
kernel include the functions that it calls, which the linker adds; spills are its own.  Functions
that spill have rows of their own, without registers.  A build tells all this with
``NVCC_APPEND_FLAGS="-Xptxas=-v -Xnvlink=-v"``.  The check fails if something spills more than in
the table, or if a kernel has more registers; where the release of nvcc is another one than the
table's, it only tells.
"""

import argparse
import csv
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "cuda" / "registers.csv"
COLUMNS = [
    "nvcc",
    "architecture",
    "kind",
    "name",
    "registers",
    "stack",
    "spill_stores",
    "spill_loads",
    "shared",
]
ARCHITECTURES = "75,80,86,89,90,100,120"

ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\w+)'")
PROPERTIES = re.compile(r"Function properties for '?(\w+)")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
LINKED = re.compile(r"used (\d+) registers.* (\d+) stack, (\d+) bytes smem")
# What makes a name of one file different from those of others.
OF_FILE = re.compile(r"^__nv_static_\d+__\w+?_cu_\w+?_(?=_Z)|_INTERNAL_\w+::")

Row = dict[str, str | int]
Key = tuple[int, str]


def plain_names(mangled: list[str]) -> list[str]:
    """Return the names as in the sources, with template arguments, without parameters."""
    names = "\n".join(OF_FILE.sub("", name) for name in mangled)
    done = subprocess.run(["c++filt"], input=names, capture_output=True, text=True, check=True)
    plain = (OF_FILE.sub("", name) for name in done.stdout.splitlines())
    return [name.split("(")[0].removeprefix("void ") for name in plain]


def read_report(text: str, release: str = "") -> list[Row]:
    """Return a row for each kernel and function that ptxas and nvlink tell of, for one target."""
    rows: dict[str, Row] = {}
    kernels: set[str] = set()
    architectures: set[int] = set()
    name = ""
    for line in text.splitlines():
        if found := ENTRY.search(line):
            kernels.add(found[1])
            architectures.add(int(found[2]))
        elif found := PROPERTIES.search(line):
            name = found[1]
        elif found := SPILLS.search(line):
            row = rows.setdefault(name, dict.fromkeys(COLUMNS, 0))
            row["stack"], row["spill_stores"], row["spill_loads"] = map(int, found.groups())
        elif (found := LINKED.search(line)) and name in rows:
            row = rows[name]
            row["registers"], row["stack"], row["shared"] = map(int, found.groups())
    if len(architectures) > 1:
        sys.exit(f"the log is of several architectures: {sorted(architectures)}")
    worst: dict[str, Row] = {}
    for (mangled, row), plain in zip(rows.items(), plain_names(list(rows)), strict=True):
        kind = "kernel" if mangled in kernels else "function"
        row |= {"nvcc": release, "architecture": max(architectures), "kind": kind, "name": plain}
        if kind == "function":
            if not row["spill_stores"] and not row["spill_loads"]:
                continue
            row["registers"] = ""
        if plain not in worst or int(worst[plain]["spill_stores"]) < int(row["spill_stores"]):
            worst[plain] = row
    return list(worst.values())


def read_table() -> dict[Key, Row]:
    """Return the rows of the table by architecture and name."""
    if not TABLE.exists():
        return {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {(int(row["architecture"]), row["name"]): dict(row) for row in csv.DictReader(file)}


def release_of(nvcc: str) -> str:
    """Return the release of nvcc, such as 13.0."""
    done = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"release ([\d.]+)", done.stdout)
    return found[1] if found else ""


def run(command: list[str]) -> tuple[str, float]:
    """Return what a compiler prints, and the seconds that it takes of a core; end if it fails."""
    with tempfile.TemporaryFile("w+") as said:
        started = subprocess.Popen(command, stdout=said, stderr=said, cwd=ROOT)
        _, status, usage = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        text = said.read()
    if started.returncode:
        sys.exit(f"{' '.join(command)}\n{text}")
    return text, usage.ru_utime + usage.ru_stime


def compile_kernels(nvcc: str, architecture: str, jobs: int) -> str:
    """Return what ptxas and nvlink tell of all files, and print how long they take."""
    sys.path.insert(0, str(ROOT))
    import setup as build  # its flags

    target = f"-gencode=arch=compute_{architecture},code=sm_{architecture}"
    sources = sorted((ROOT / "cuda").glob("*.cu"), key=build.order_of_device_source)
    include = [f"-I{place}" for place in ("csrc", ".", sysconfig.get_path("include"))]
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:

        def compile_file(source: Path) -> tuple[str, float]:
            flags = [*build.NVCC, *build.NVCC_OF.get(source.name, []), target, *include]
            made = f"{folder}/{source.stem}.o"
            return run([nvcc, *flags, "-Xptxas=-v", "-c", str(source), "-o", made])

        with ThreadPoolExecutor(jobs) as pool:
            done = list(pool.map(compile_file, sources))
        objects = sorted(map(str, Path(folder).glob("*.o")))
        link = [nvcc, *build.NVCC, target, "-Xnvlink=-v", "-dlink", *objects]
        done.append(run([*link, "-o", f"{folder}/linked.o"]))
    passed = time.monotonic() - begin
    for name, (_, seconds) in zip([*(each.name for each in sources), "link"], done, strict=True):
        print(f"{name},{seconds:.1f}")
    print(f"all for sm_{architecture},{sum(seconds for _, seconds in done):.1f}")
    print(f"from begin to end by {jobs} processes,{passed:.1f}", flush=True)
    return "\n".join(text for text, _ in done)


def write_table(architectures: list[str], nvcc: str, jobs: int) -> None:
    """Compile, and replace the rows of these architectures."""
    release = release_of(nvcc)
    for each in architectures:
        rows = read_report(compile_kernels(nvcc, each, jobs), release)
        kept = [row for (known, _), row in read_table().items() if known != int(each)]
        save([*rows, *kept])


def save(rows: list[Row]) -> None:
    """Write the table, in a fixed order."""
    rows.sort(key=lambda row: (int(row["architecture"]), str(row["kind"]), str(row["name"])))
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def check(log: str) -> list[str]:
    """Return what is worse in a build than in the table, or missing there."""
    known, rows = read_table(), read_report(log)
    kernels = [row for row in rows if row["kind"] == "kernel"]
    if not kernels or not any(int(row["registers"]) for row in kernels):
        return ['the log tells of no linked kernel: NVCC_APPEND_FLAGS="-Xptxas=-v -Xnvlink=-v"']
    worse = []
    for row in rows:
        where = f"{row['name']}, sm_{row['architecture']}"
        allowed = known.get((int(row["architecture"]), str(row["name"])))
        if not allowed:
            worse.append(f"{where}: not in the table")
            continue
        columns = ["spill_stores", "spill_loads"] + ["registers"] * (row["kind"] == "kernel")
        for column in columns:
            most = int(allowed[column])
            if int(row[column]) > most:
                worse.append(f"{where}: {column} {row[column]}, at most {most} were known")
    return worse


def main() -> None:
    """Write the table, or check a build."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--architectures", default=ARCHITECTURES)
    parser.add_argument("--nvcc", default="/usr/local/cuda/bin/nvcc")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--check", type=Path, metavar="LOG", help="what a build has printed")
    given = parser.parse_args()
    if not given.check:
        write_table(given.architectures.split(","), given.nvcc, given.jobs)
        return
    log = given.check.read_text(encoding="utf-8")
    worse = check(log)
    built = {int(row["architecture"]) for row in read_report(log)}
    releases = {str(row["nvcc"]) for (known, _), row in read_table().items() if known in built}
    if worse and release_of(given.nvcc) not in releases:
        worse.append(
            f"nvcc {release_of(given.nvcc)} is not that of the table, {releases}: not judged"
        )
        print("\n".join(worse))
        return
    sys.exit("\n".join(worse) or 0)


if __name__ == "__main__":
    main()
