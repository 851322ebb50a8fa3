"""Writes the tables of scaling in docs/performance.md from the CSVs of one machine.

What that machine has no CSV of is taken from another one, which its section names.

    python benchmarks/sweeps/report.py [--machine NAME] [--check]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import RESULTS, ROOT, pages, stored
from s1 import published
from scaling import DTYPES, KINDS, TABLES

PAGE = ROOT / "docs" / "performance.md"
SHORT = {"float64": "f64", "float32": "f32"}
GRIDS = dict(zip((1_408, 40_320, 188_800), published.GRIDS, strict=True))
S1_SCHEMES = ("relaxed greedy",)  # of S1's figures over sequential Gauss-Seidel, beside naive


def csv_of(name, machine):
    """Where the table was measured, and its rows: on that machine, else on another; or nothing."""
    folders = [RESULTS / machine, *sorted(RESULTS.glob("*"))]
    own = next((folder for folder in folders if (folder / f"{name}.csv").exists()), None)
    return (own.name, stored(name, own)) if own else (None, [])


def told(name, machine, table):
    """A section: where it was measured, what memory gave, and the table."""
    where, rows = csv_of(name, machine)
    if where is None:
        script = next(which for which, (csv, _) in TABLES.items() if csv == name)
        return f"Not measured yet: `python benchmarks/sweeps/scaling.py --only {script}`."
    return "\n\n".join([pages.measured_with(where, rows), *bandwidth(rows), "\n".join(table(rows))])


def numbers_of(rows):
    return sorted({int(row["threads"]) for row in rows})


def bandwidth(rows):
    """What each number of threads read from memory in the same runs, if that was measured."""
    rates = {number: pages.rate_of(rows, number) for number in numbers_of(rows)}
    known = {number: rate for number, rate in rates.items() if rate is not None}
    if known:
        figures = " / ".join(f"{rate:.3g}" for rate in known.values())
        yield f"Read from memory in the same runs: {figures} GB/s on {on_threads(known)}."


def on_threads(numbers):
    """ "1 / 2 / 4 threads", as the cells of a table have it."""
    return f"{' / '.join(map(str, numbers))} thread{'s' if max(numbers) > 1 else ''}"


def by_size(rows):
    """Rows by contacts, and by kind, precision and threads."""
    found = {}
    for row in sorted(rows, key=lambda row: int(row["contacts"])):
        key = row["sweep"], row["dtype"], int(row["threads"])
        found.setdefault(int(row["contacts"]), {})[key] = row
    return found


def in_cell(own, kind, dtype, numbers, key, form, idle=True):
    """Figures on each number of threads; "–" where none was measured.

    And where sweeps have no work for so many threads, unless `idle` ones count.
    """
    found = []
    for number in numbers:
        row = own.get((kind, dtype, number))
        shown = row is not None and (idle or int(row.get("used") or number) == number)
        found.append(format(float(row[key]), form) if shown else pages.NOTHING)
    return " / ".join(found)


def columns():
    return [(kind, dtype) for kind in KINDS for dtype in DTYPES]


def head(*cells):
    return [f"| {' | '.join(cells)} |", "| --- " * len(cells) + "|"]


def sweeps_table(rows):
    """Nanoseconds of a contact and sweep, by contacts; the loop in Numba beside them."""
    numbers = numbers_of(rows)
    labels = [f"{kind} {SHORT[dtype]}" for kind, dtype in columns()]
    yield from head(
        "contacts", f"{labels[0]}, {on_threads(numbers)}", *labels[1:], "Numba f64 / f32"
    )
    for contacts, own in by_size(rows).items():
        cells = [in_cell(own, *one, numbers, "ns_least", ".1f", idle=False) for one in columns()]
        numba = [in_cell(own, "numba", dtype, (1,), "ns_least", ".1f") for dtype in DTYPES]
        yield f"| {label_of(contacts, own)} | {' | '.join(cells)} | {' / '.join(numba)} |"


def solves_table(rows):
    """Milliseconds of a solve and speed-ups over one thread, by contacts; S1's beside them."""
    numbers = numbers_of(rows)
    labels = [f"{kind} {SHORT[dtype]}" for kind, dtype in columns()]
    first = f"{labels[0]} [ms], {on_threads(numbers)} (over one)"
    yield from head("contacts", first, *labels[1:], "S1, one core", "S1's speed-up")
    for contacts, own in by_size(rows).items():
        cells = []
        for kind, dtype in columns():
            times = in_cell(own, kind, dtype, numbers, "ms_median", ".3g")
            gains = in_cell(own, kind, dtype, numbers[1:], "speedup", ".2f")
            cells.append(f"{times} ({gains})" if numbers[1:] else times)
        yield f"| {label_of(contacts, own)} | {' | '.join([*cells, *s1_of(contacts)])} |"


def label_of(contacts, own):
    """How many contacts, and whether they are visited in natural order."""
    orders = {row["order"] for (kind, _, _), row in own.items() if kind in KINDS}
    return f"{contacts:,}{', natural order' if orders == {'natural'} else ''}"


def s1_of(contacts):
    """S1's seconds of 50 sweeps on one core, and its speed-ups over them."""
    name = GRIDS.get(contacts)
    if name is None:
        return pages.NOTHING, pages.NOTHING
    seconds = published.SEQUENTIAL[name, "gauss_seidel"][3]
    gains = []
    for scheme in S1_SCHEMES:
        _, over, cores = published.COLORED_SPEEDUPS.get((name, scheme), (None,) * 3)
        if over:
            gains.append(f"{over:.1f} on {cores} cores ({scheme}, equal γ)")
    _, scene, _, over, cores = published.RUNNING_TEXT["naive ranges over Gauss-Seidel"]
    if scene == name:
        gains.append(f"{over:.1f} on {cores} cores (naive ranges)")
    return pages.cell("time", seconds), ", ".join(gains) or pages.NOTHING


def filled(text, machine):
    """The page's text with all its blocks renewed."""
    return pages.replaced(
        PAGE,
        text,
        {
            "scaling": lambda: told("scaling", machine, sweeps_table),
            "scaling_solves": lambda: told("scaling_solves", machine, solves_table),
        },
    )


if __name__ == "__main__":
    pages.write_filled(PAGE, filled, __doc__.partition("\n")[0])
