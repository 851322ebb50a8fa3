"""Tables, pictures and pages of published results beside ours: what benchmarks/s1 and s3 share.

A `Book` is a publication: its tables, the sentences on what differs, and the page in docs/. Scripts
print by a table's `Layout` and write CSV and picture; `write_page` renews the page from the CSVs:
what stands between ``<!-- name -->`` and ``<!-- /name -->`` is replaced, all else is left alone. A
table that was not measured on that machine is taken from another one, and its section says so.
"""

import argparse
import csv
import math
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import NamedTuple

import matplotlib as mpl

import common
from common import teams

mpl.use("Agg")

from matplotlib import pyplot
from matplotlib.ticker import LogLocator, NullLocator

_DPI = 110
_BLOCK = re.compile(r"<!-- (?P<name>\w+) -->\n.*?<!-- /(?P=name) -->", re.DOTALL)
_FIELD = re.compile(r"\{([^{}]+)\}")
NOTHING = "–"


class Column(NamedTuple):
    """`form`: text, count, time (seconds), figure, or a format for a number.

    `by_threads`: there is a column for each number of threads that has figures. In its head
    ``{threads}`` stands for "2 threads", and ``{rate}`` for what as many read from memory.
    """

    head: str
    key: str
    form: str = "figure"
    by_threads: bool = False


class Layout(NamedTuple):
    """A table: what it is, the script behind it, its columns.

    Rows with equal values of `line` differ by their `threads` alone: they make one line.
    """

    title: str
    script: str
    columns: tuple[Column, ...]
    line: tuple[str, ...] = ()


class Book(NamedTuple):
    """A publication: its folder of scripts and results, its tables, sentences and page."""

    folder: str
    layouts: Mapping[str, Layout]
    remarks: Callable[[str, list[dict]], list[str]]
    page: Path


# ---- sentences ----------------------------------------------------------------------------------


def facts_of(layout, rows, identity):
    """Figures of a table as its cells have them, by row and column: "scene/method/sweeps".

    A column by threads has them, too: "scene/method/time_s/2".
    """
    found = {}
    layout, rows = in_lines(layout, rows)
    for row in rows:
        name = "/".join(str(row[key] or "") for key in identity)
        texts = {column.key: cell(column.form, row[column.key]) for column in layout.columns}
        found |= {f"{name}/{key}": text for key, text in texts.items() if text != NOTHING}
    return found


def sentences(text, facts):
    """Paragraphs, their fields filled with facts; those that name an unknown one are left out."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n")]
    known = [p for p in paragraphs if set(_FIELD.findall(p)) <= set(facts)]
    return [_FIELD.sub(lambda field: facts[field[1]], paragraph) for paragraph in known]


# ---- tables -------------------------------------------------------------------------------------


def cell(form, value):
    """A value as a reader wants it; `value` may come from a CSV."""
    if value is None or value == "":
        return NOTHING
    if form == "text":
        return str(value)
    if form == "count":
        return f"{int(value):,}"
    number = float(value)
    if math.isnan(number):
        return NOTHING
    if form == "time":
        unit, size = next(
            (u for u in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if abs(number) >= u[1]),
            ("µs", 1e-6),
        )
        return f"{number / size:.3g} {unit}"
    if form == "figure":
        return f"{number:.4g}" if 1e-2 <= abs(number) < 1e5 or number == 0 else f"{number:.2e}"
    return format(number, form)


def in_lines(layout, rows):
    """A layout and its rows with those on several threads in one line; others as they are.

    The key of a column by threads gets their number: "time_s/2".
    """
    if not layout.line:
        return layout, rows
    lines = {}
    for row in rows:
        name = tuple(str(row[key]) for key in layout.line)
        lines.setdefault(name, {})[int(row["threads"])] = row

    # A line has the figures of the fewest threads where a column is not by threads.
    merged = []
    for own in lines.values():
        line = dict(own[min(own)])
        for number, row in own.items():
            line |= {f"{c.key}/{number}": row[c.key] for c in layout.columns if c.by_threads}
        merged.append(line)

    numbers = sorted({number for own in lines.values() for number in own})
    columns = [
        each
        for column in layout.columns
        for each in (spread(column, numbers, rows, merged) if column.by_threads else [column])
    ]
    blank = {column.key: None for column in columns}
    return layout._replace(columns=tuple(columns), line=()), [blank | line for line in merged]


def spread(column, numbers, rows, lines):
    """A column for each number of threads for which a line has a figure."""
    for number in numbers:
        key = f"{column.key}/{number}"
        if any(line.get(key) not in (None, "") for line in lines):
            rate = rate_of(rows, number)
            told = "" if rate is None else f", {rate:.3g} GB/s"
            words = {"threads": teams.counted(number), "rate": told}
            yield column._replace(head=column.head.format(**words), key=key, by_threads=False)


def rate_of(rows, number):
    """GB/s that as many threads read from memory beside the rows, the median; None: not known."""
    own = [row.get("read_gbs") for row in rows if int(row["threads"]) == number]
    rates = [float(rate) for rate in own if rate not in (None, "")]
    return median(rates) if rates else None


def cells(layout, rows):
    """Heads and body of a table, as text; rows that are one line have been merged."""
    columns = layout.columns
    return [
        [column.head for column in columns],
        *([cell(column.form, row[column.key]) for column in columns] for row in rows),
    ]


def as_text(layout, rows):
    """The table for a terminal."""
    layout, rows = in_lines(layout, rows)
    lines = cells(layout, rows)
    left = [column.form == "text" for column in layout.columns]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = [
        "  ".join(
            text.ljust(width) if is_left else text.rjust(width)
            for text, width, is_left in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in lines
    ]
    rule = "-" * max(map(len, padded))
    return "\n".join([layout.title, rule, padded[0], rule, *padded[1:], rule])


def as_markdown(layout, rows):
    """The table for a page."""
    layout, rows = in_lines(layout, rows)
    lines = cells(layout, rows)
    marks = ["---" if c.form == "text" else "---:" for c in layout.columns]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], marks, *lines[1:]])


def publish(book, run, name, rows, draw=None):
    """Print the table with its remarks, write the CSV and draw the picture beside it."""
    print(as_text(book.layouts[name], rows))
    for remark in book.remarks(name, rows):
        print(f"* {remark}")
    path = common.write_csv(name, rows, run.results)
    print(path)
    if draw is not None:
        print(picture(path.with_suffix(".png"), draw, rows))
    print()


def read(path):
    """The rows of a CSV, as text."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# ---- pictures -----------------------------------------------------------------------------------


def picture(path, draw, rows):
    """Save what `draw(rows)` returns, a figure."""
    figure = draw(rows)
    figure.savefig(path, dpi=_DPI)
    pyplot.close(figure)
    return path


class Style(NamedTuple):
    """How a method looks in all pictures."""

    color: str
    marker: str


_COLORS = ("#1f5aa6", "#c8501e", "#2b8a57", "#8a3f97", "#b8860b", "#4d4d4d", "#c2256f", "#008b9a")
_MARKERS = "osD^vPX*"


def styles(labels):
    """A style for each label, in order."""
    unique = list(dict.fromkeys(labels))
    return {
        label: Style(_COLORS[i % len(_COLORS)], _MARKERS[(i + i // len(_COLORS)) % len(_MARKERS)])
        for i, label in enumerate(unique)
    }


def panels(titles, width=4.6, height=3.9, columns=3, **options):
    """A figure and its axes, one for each title; axes left over are hidden."""
    across = min(columns, len(titles))
    down = -(-len(titles) // across)
    figure, axes = pyplot.subplots(
        down, across, figsize=(width * across, height * down), squeeze=False,
        layout="constrained", **options,
    )  # fmt: skip
    flat = list(axes.flat)
    for ax, title in zip(flat, titles, strict=False):
        ax.set_title(title, fontsize=11)
        ax.grid(color="0.9", linewidth=0.7)
        ax.set_axisbelow(True)
    for ax in flat[len(titles) :]:
        ax.set_visible(False)
    return figure, flat[: len(titles)]


def logarithmic(ax, name, subs=(1, 2, 5)):
    """Make the axis "x" or "y" logarithmic, with numbers at these multiples of powers of ten."""
    ax.set(**{f"{name}scale": "log"})
    axis = ax.xaxis if name == "x" else ax.yaxis
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(NullLocator())


# ---- pages --------------------------------------------------------------------------------------


def csv_of(name, folder):
    """The table's CSV in the folder of results, else in that of another machine; None: nowhere."""
    path = folder / f"{name}.csv"
    others = sorted(folder.parent.parent.glob(f"*/{folder.name}/{name}.csv"))
    return path if path.exists() else next(iter(others), None)


def section(book, name, folder):
    """Table, picture and sentences of one script, as Markdown."""
    layout, path = book.layouts[name], csv_of(name, folder)
    if path is None:
        told = f"Not measured yet: `python benchmarks/{book.folder}/{layout.script}`."
        return "\n\n".join([told, as_list(book.remarks(name, []))])

    # The table, and where it comes from if not from the page's machine.
    rows = read(path)
    parts = [as_markdown(layout, rows)]
    if path.parent != folder:
        parts.insert(0, f"Measured on another machine, `{path.parent.parent.name}`.")

    # Picture and sentences.
    drawn = path.with_suffix(".png")
    if drawn.exists():
        link = Path(os.path.relpath(drawn, book.page.parent)).as_posix()
        parts.append(f"![{layout.title}]({link})")
    return "\n\n".join([*parts, as_list(book.remarks(name, rows))])


def as_list(remarks):
    """Sentences as a Markdown list."""
    return "\n".join(f"- {remark}" for remark in remarks)


def measured(book, folder):
    """Where and with what the figures were measured."""
    paths = [path for name in book.layouts if (path := folder / f"{name}.csv").exists()]
    if not paths:
        return "Nothing has been measured yet."
    return measured_with(folder.parent.name, [row for path in paths for row in read(path)])


def measured_with(machine, rows):
    """The sentence that names a machine, and the versions that rows of a CSV were measured with."""
    known = {tuple(row[key] for key in common.versions()) for row in rows}
    versions = "; ".join(
        ", ".join(f"{key} {value}" for key, value in zip(common.versions(), line, strict=True))
        for line in sorted(known)
    )
    return f"Measured on `{machine}` with {versions}."


def filled(book, text, folder):
    """The page's text with all its blocks renewed."""
    blocks = {name: lambda name=name: section(book, name, folder) for name in book.layouts}
    return replaced(book.page, text, {"measured": lambda: measured(book, folder), **blocks})


def replaced(page, text, blocks):
    """The text of a page with its blocks renewed: name → function that writes it."""
    found = [match["name"] for match in _BLOCK.finditer(text)]
    if sorted(found) != sorted(blocks):
        wrong = sorted(set(blocks).symmetric_difference(found)) or "a name twice"
        raise ValueError(f"{page.name} has other blocks than there are tables: {wrong}")

    def block(match):
        name = match["name"]
        return f"<!-- {name} -->\n{blocks[name]()}\n<!-- /{name} -->"

    return _BLOCK.sub(block, text)


def write_page(book, description, argv=None):
    """The command line of a folder's report.py."""
    write_filled(
        book.page,
        lambda text, machine: filled(book, text, common.RESULTS / machine / book.folder),
        description,
        argv,
    )


def write_filled(page, fill, description, argv=None):
    """Renew a page by `fill(text, machine)`, or tell whether that would change it."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--machine", default=common.machine(), help="a folder of results")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if it would")
    given = parser.parse_args(argv)
    old = page.read_text(encoding="utf-8")
    new = fill(old, given.machine)
    if given.check:
        sys.exit(0 if new == old else f"{page} is not what the results of {given.machine} make it")
    page.write_text(new, encoding="utf-8")
    print(page)
