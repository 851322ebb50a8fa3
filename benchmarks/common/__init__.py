"""What the benchmarks share: fair timing, and results as CSV per machine."""

import csv
import os
import platform
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import contactsolve as cs

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def machine() -> str:
    """Name of this machine for the results folder: processor and number of cores."""
    model = platform.processor() or platform.machine()
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        fields = dict(re.findall(r"^(model name|cpu family|model)\s*:\s*(.+)$", text, re.MULTILINE))
        model = f"{fields['model name']} {fields['cpu family']}-{fields['model']}"
    except (OSError, KeyError):
        pass
    return re.sub(r"[^a-z0-9]+", "-", f"{model} {cores()} cores".lower()).strip("-")


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def interleaved(tasks: Mapping[str, Callable[[], float | None]], repeats: int = 7) -> dict:
    """Seconds of each task, `repeats` times in turn, so that all meet the same disturbances.

    A task returns its own seconds, or None to be timed from outside. One run warms up.
    """
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for task in tasks.values():
        task()
    for _ in range(repeats):
        for name, task in tasks.items():
            start = time.perf_counter()
            own = task()
            seconds[name].append(time.perf_counter() - start if own is None else own)
    return {name: np.array(values) for name, values in seconds.items()}


def quartiles(values: np.ndarray) -> dict[str, float]:
    """Return lower quartile, median and upper quartile."""
    low, median, high = np.percentile(values, [25, 50, 75])
    return {"low": low, "median": median, "high": high}


def evenly(items: Sequence, count: int) -> list:
    """Return so many of the items, or all, at equal distances from the first to the last one."""
    places = np.linspace(0, len(items) - 1, min(count, len(items)))
    return [items[i] for i in places.round().astype(int)]


# One seed is luck: a time to a solution is told of so many problems of a kind.
SEEDS = range(9)


def over_seeds(results: Sequence[tuple[cs.Result, bool]]) -> dict[str, object]:
    """Return what solves of several seeds took: share solved, iterations, milliseconds, quartiles.

    The milliseconds are `Result.time`: without set-up and recording, checks included.

    Each is a result and whether it is right. One that is not counts as taking for ever, so that a
    median or quartile is infinite where too few are right.
    """
    right = [ok for _, ok in results]
    times = [1e3 * result.time if ok else np.inf for result, ok in results]
    counts = [result.iterations if ok else np.inf for result, ok in results]
    low, middle, high = np.percentile(times, [25, 50, 75], method="nearest")
    return {
        "seeds": len(results),
        "solved": sum(right),
        "iterations": np.percentile(counts, 50, method="nearest"),
        "ms_low": low,
        "ms": middle,
        "ms_high": high,
    }


def told_over_seeds(row: Mapping[str, Any]) -> str:
    """Return such a row in one cell: iterations, time (quartiles), and the share where not all."""
    solved, seeds = int(row["solved"]), int(row["seeds"])
    share = "" if solved == seeds else f", {solved} of {seeds}"
    if not np.isfinite(float(row["ms"])):
        return f"– ({solved} of {seeds})"
    low, middle, high = (float(row[name]) for name in ("ms_low", "ms", "ms_high"))
    size, unit = (1e3, "s") if middle >= 1e3 else (1.0, "ms")
    most = f"{high / size:.3g}" if np.isfinite(high) else "∞"
    quartiles = f"{low / size:.3g}–{most}"
    count = f"{float(row['iterations']):,.0f}"
    return f"{count}, {middle / size:.3g} {unit} ({quartiles}){share}"


def crossed(
    corner: str,
    down: Iterable[str],
    across: Mapping[str, str],
    cells: Mapping[tuple[str, str], Mapping[str, Any]],
    told: Callable[[Mapping[str, Any]], str] = told_over_seeds,
) -> Iterator[str]:
    """Yield the lines of a Markdown table of `cells`, which have the keys (row, column).

    `across` are the columns and their headings. Rows without a cell are left out.
    """
    yield f"| {corner} | {' | '.join(across.values())} |"
    yield "| --- " * (len(across) + 1) + "|"
    for label in down:
        found = [cells.get((label, name)) for name in across]
        if any(found):
            yield f"| {label} | {' | '.join(told(one) if one else '' for one in found)} |"


def on_a_line(row: Mapping[str, Any]) -> str:
    """Return a row as it is printed while others are measured: numbers with their names."""
    return "  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{v}" for k, v in row.items())


def versions() -> dict[str, str]:
    """Return versions that matter for a timing."""
    build = cs.info()
    return {
        "contactsolve": build["version"],
        "compiler": f"{build['compiler_family']} {build['compiler']}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def write_csv(name: str, rows: Iterable[Mapping[str, Any]], folder: Path | None = None) -> Path:
    """Write rows to ``<name>.csv`` in `folder` or ``results/<machine>``, versions beside them.

    Rows that were stored before keep the versions that they were measured with.
    """
    rows = list(rows)
    now = versions()
    names = dict.fromkeys(key for row in rows for key in row if key not in now)
    folder = RESULTS / machine() if folder is None else folder
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [*names, *now], restval="")
        writer.writeheader()
        for row in rows:
            short = {k: f"{v:.4g}" if isinstance(v, float) else v for k, v in row.items()}
            writer.writerow({**now, **short})
    return path


def stored(name: str, folder: Path | None = None) -> list[dict[str, str]]:
    """Return the rows of ``<name>.csv``, numbers as text; none if it is missing.

    It lies in `folder` or in ``results/<machine>``.
    """
    path = (RESULTS / machine() if folder is None else folder) / f"{name}.csv"
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def kept(
    name: str, rows: Iterable[Mapping[str, Any]], keys: Sequence[str], folder: Path | None = None
) -> list[dict[str, str]]:
    """Return the stored rows of ``<name>.csv`` that `rows` do not measure again.

    A row measures those again that have the same values of the columns `keys`.
    """
    again = {tuple(str(row[key]) for key in keys) for row in rows}
    old = stored(name, folder)
    return [row for row in old if tuple(row.get(key, "") for key in keys) not in again]


def judge(problem: cs.Problem, impulses: Any, b: Any = None) -> cs.Result:
    """Return what impulses are worth, natural maps and velocities, from outside of any method."""
    looker = cs.Solver(problem, method="gauss_seidel", max_iterations=0)
    return looker.solve(b, initial=impulses)


def on_threads(number: int | None) -> dict[str, Any]:
    """Return the options of what is measured on exactly so many threads; None: it chooses."""
    return {"threads": number, "exact_threads": number is not None}


def sweeping(
    problem: cs.Problem, sweeps: int, threads: int | None = 1, **options: Any
) -> cs.Solver:
    """Return a solver that makes so many sweeps and evaluates nothing between them.

    What surrounds the sweeps of a solve is not in `Result.sweep_time`, which is their time.
    Unless the options say otherwise, it is Gauss-Seidel, factorized. A number of threads is exact.
    """
    usual = {"method": "gauss_seidel", "scheme": "factorized", **on_threads(threads)}
    nothing_else = {"record": (), "record_every": sweeps, "check_every": sweeps}
    fixed = {"rtol": None, "atol": None, "max_iterations": sweeps}
    return cs.Solver(problem, **{**usual, **fixed, **nothing_else, **options})
