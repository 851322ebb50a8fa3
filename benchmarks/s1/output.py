"""What the scripts print, write and draw, by the tables of this folder."""

from layouts import LAYOUTS
from protocol import ROOT, common, pages, teams
from remarks import remarks

BOOK = pages.Book("s1", LAYOUTS, remarks, ROOT / "docs" / "s1.md")

panels, styles = pages.panels, pages.styles


def publish(run, name, rows, draw=None):
    """Print the table with its remarks, write the CSV and draw the picture beside it."""
    pages.publish(BOOK, run, name, rows, draw)


def with_stored(run, name, rows):
    """The rows, and with them those of other numbers of threads that were stored before.

    Only those of the same work are kept: as many contacts and sweeps of the same method.
    """
    line = (*LAYOUTS[name].line, "contacts", "sweeps")

    def line_of(row):
        return tuple(str(row.get(key, "")) for key in line)

    place = {}
    for row in rows:
        place.setdefault(line_of(row), len(place))
    old = common.kept(name, rows, (*line, "threads"), run.results)
    same = [as_values(row) for row in old if row.get("threads") and line_of(row) in place]
    return sorted(rows + same, key=lambda row: (place[line_of(row)], row["threads"]))


def as_values(row):
    """A row of a CSV, its numbers as numbers, None where it has nothing."""
    return {key: value_of(text) for key, text in row.items()}


def value_of(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text or None


def teams_of(rows):
    """Numbers of threads and their rows, by method."""
    found = {}
    for row in rows:
        found.setdefault(row["method"], {})[row["threads"]] = row
    return found


def bars(ax, methods, look, key, scale):
    """A bar of each number of threads for each method, from pale to full; where each method ends.

    `methods` is what `teams_of` returns.
    """
    numbers = sorted({number for own in methods.values() for number in own})
    height = 0.8 / len(numbers)
    ends = []
    for i, (method, own) in enumerate(methods.items()):
        for k, number in enumerate(numbers):
            if number in own:
                alpha = 1.0 if number == numbers[-1] else 0.4 + 0.5 * k / len(numbers)
                at = i - 0.4 + height * (k + 0.5)
                color = look[method].color
                ax.barh(at, own[number][key] * scale, height, color=color, alpha=alpha)
        ends.append(max(row[key] for row in own.values()) * scale)
    ax.set_yticks(range(len(methods)), list(methods))
    ax.invert_yaxis()
    return ends


def draw_sweeps(rows, width, height):
    """Time of a sweep on each number of threads, a panel for each demo; the figure and its axes."""
    names = list(dict.fromkeys(row["scene"] for row in rows))
    figure, axes = panels(names, width=width, height=height)
    look = styles(row["method"] for row in rows)
    for ax, name in zip(axes, names, strict=True):
        methods = teams_of(row for row in rows if row["scene"] == name)
        ends = bars(ax, methods, look, "sweep_s", 1e3)
        for i, (own, end) in enumerate(zip(methods.values(), ends, strict=True)):
            times = " / ".join(f"{own[number]['sweep_s'] * 1e3:.3g}" for number in sorted(own))
            ax.text(end, i, f" {times}", va="center", fontsize=8)
        ax.set_xlabel(f"ms a sweep; {shades(rows)}")
    return figure, axes


def shades(rows):
    """What the shades of `bars` mean, for the label of an axis."""
    numbers = sorted({row["threads"] for row in rows})
    named = " to ".join(dict.fromkeys(teams.counted(n) for n in (numbers[0], numbers[-1])))
    return f"pale to full: {named}"
