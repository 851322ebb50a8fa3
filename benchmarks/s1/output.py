"""What the scripts print, write and draw: text tables, Markdown tables, CSV, pictures."""

import csv
import math
from typing import NamedTuple

import matplotlib as mpl

mpl.use("Agg")

from layouts import LAYOUTS
from matplotlib import pyplot
from protocol import common
from remarks import remarks

_DPI = 110
NOTHING = "–"


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


def cells(name, rows):
    """Heads and body of a table, as text."""
    columns = LAYOUTS[name].columns
    return [
        [column.head for column in columns],
        *([cell(column.form, row[column.key]) for column in columns] for row in rows),
    ]


def as_text(name, rows):
    """The table for a terminal."""
    lines = cells(name, rows)
    left = [column.form == "text" for column in LAYOUTS[name].columns]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = [
        "  ".join(
            text.ljust(width) if is_left else text.rjust(width)
            for text, width, is_left in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in lines
    ]
    rule = "-" * max(map(len, padded))
    return "\n".join([LAYOUTS[name].title, rule, padded[0], rule, *padded[1:], rule])


def as_markdown(name, rows):
    """The table for a page."""
    lines = cells(name, rows)
    marks = ["---" if c.form == "text" else "---:" for c in LAYOUTS[name].columns]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], marks, *lines[1:]])


def publish(run, name, rows, draw=None):
    """Print the table with its remarks, write the CSV and draw the picture beside it."""
    print(as_text(name, rows))
    for remark in remarks(name):
        print(f"* {remark}")
    path = common.write_csv(name, rows, run.results)
    print(path)
    if draw is not None:
        print(picture(path.with_suffix(".png"), draw, rows))
    print()


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


def read(path):
    """The rows of a CSV, as text."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
