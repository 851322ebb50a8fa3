"""Writes the tables of docs/distributed.md from the CSVs of one machine.

What that machine has no CSV of is taken from another one, which its section names.

    python benchmarks/distributed/report.py [--machine NAME] [--check]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import RESULTS, ROOT, pages, stored
from goals import SEAM, goals_of, told
from parts import ANY, BORDERS, METHODS, MOST, REMEDIES, TOLERANCES, judged

PAGE = ROOT / "docs" / "distributed.md"
SHOWN = (2, 4, 8, 32, 128, 512)  # numbers of ranks in the table of counts
SCRIPTS = {
    "distributed_parts": "parts.py",
    "distributed_traffic": "traffic.py",
    "distributed_model": "model.py",
    "distributed_goals": "goals.py",
    "messages": "messages.py",
}


def csv_of(name, machine):
    """Return where the table was measured, and its rows: that machine's, else another one's."""
    folders = [RESULTS / machine, *sorted(RESULTS.glob("*"))]
    own = next((folder for folder in folders if (folder / f"{name}.csv").exists()), None)
    return (own.name, stored(name, own)) if own else (None, [])


def section(name, machine, table):
    """Return a section: where it was measured, beside which other work, and the table."""
    where, rows = csv_of(name, machine)
    if where is None:
        return f"Not measured yet: `python benchmarks/distributed/{SCRIPTS[name]}`."
    head = [pages.measured_with(where, rows), *loads(rows)]
    return "\n\n".join([" ".join(head), *table(rows)])


def loads(rows):
    """Yield the sentence about other work on the machine, if the rows know of it."""
    known = sorted(float(row["load"]) for row in rows if row.get("load"))
    if known:
        yield f"Load averages in the runs were {known[0]:.2g} to {known[-1]:.2g}."


def lines(head, rows):
    """Return a Markdown table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


# ---- sweeps over parts --------------------------------------------------------------------------


def sweeps_to(rows, tolerance):
    """Return the table of sweeps to a tolerance: a column for each number of parts."""
    key = f"to_{tolerance:g}"
    numbers = sorted({int(row["parts"]) for row in rows if row["parts"] != ANY})
    found = {tuple(row[k] for k in ("scene", "method", "border", "parts")): row for row in rows}
    measured = [border for border in REMEDIES if any(row["border"] == border for row in rows)]

    def cell(*place):
        row = found.get(place)
        if row is None:
            return ""
        return f"{int(row[key]):,}" if row[key] else pages.NOTHING

    body = []
    for scene in dict.fromkeys(row["scene"] for row in rows):
        body.append([scene, "`jacobi`", "any", cell(scene, "jacobi", ANY, ANY)])
        body[-1] += [""] * len(numbers)
        for method in METHODS:
            for border in (*BORDERS, *measured):
                colors = cell(scene, method, "no parts, colored", ANY)
                counts = [cell(scene, method, border if n > 1 else ANY, str(n)) for n in numbers]
                first = colors if border == BORDERS[0] else ""
                body.append([scene, f"`{method}`", border, first, *counts])
    head = ["scene", "method", "border", "no parts", *(f"{n}" for n in numbers)]
    return lines(head, body)


def shares(rows):
    """Return the table of contacts on the border."""
    numbers = sorted({int(row["parts"]) for row in rows if row["parts"] != ANY} - {1})
    found = {(row["scene"], row["parts"]): row for row in rows}
    body = []
    for scene in dict.fromkeys(row["scene"] for row in rows):
        own = next(row for row in rows if row["scene"] == scene)
        cells = [found.get((scene, str(n))) for n in numbers]
        percent = [f"{100 * float(row['on_border']):.1f}" if row else "" for row in cells]
        body.append([scene, f"{int(own['contacts']):,}", f"{int(own['bodies']):,}", *percent])
    return lines(["scene", "contacts", "bodies", *(f"{n} parts" for n in numbers)], body)


def parts_tables(rows):
    """Yield tables of sweeps, of borders, and the goal."""
    for tolerance in TOLERANCES:
        yield (
            f"Sweeps to {tolerance:.0e}, by parts; {pages.NOTHING}: not within {MOST:,}. Without "
            f"parts, the methods visit contacts in colours:"
        ).replace("e-0", "e-")
        yield sweeps_to(rows, tolerance)
    yield "Contacts on the border [%]:"
    yield shares(rows)
    yield "\n".join(f"- {sentence}" for sentence in judged(rows))


# ---- counted traffic and modelled times ---------------------------------------------------------


def traffic_tables(rows):
    """Yield the tables of counted visits and messages, one for each scene."""
    for scene, own in by_scene(rows):
        yield f"{scene}, {int(own[0]['contacts']):,} contacts:"
        head = ["border", "ranks", "on the border", "stages", "visits", "exchanges", "messages"]
        head += ["kB", "messages of all", "kB of all"]
        body = [
            [
                row["border"],
                row["ranks"],
                f"{100 * float(row['on_border']):.1f} %",
                row["stages"],
                f"{int(row['visits']):,}",
                row["exchanges"],
                row["messages"],
                f"{int(row['bytes']) / 1e3:,.1f}",
                f"{int(row['messages_of_all']):,}",
                f"{int(row['bytes_of_all']) / 1e3:,.1f}",
            ]
            for row in own
            if int(row["ranks"]) in SHOWN
        ]
        yield lines(head, body)


def model_tables(rows):
    """Yield the tables of modelled times, one for each scene."""
    for scene, own in by_scene(rows):
        first = own[0]
        yield (
            f"{scene}, {int(first['contacts']):,} contacts. Measured: o = {figure(first, 'o_us')} "
            f"µs, L = {figure(first, 'L_us')} µs, G = {figure(first, 'G_ns')} ns a byte; a sweep "
            f"of one process in natural order {figure(first, 'natural_us')} µs. **Modelled**:"
        )
        head = ["border", "ranks", "work, modelled [µs]", "messages, modelled [µs]"]
        head += ["speed-up, modelled", "Amdahl", "Gustafson"]
        keys = ("work_us", "messages_us", "speedup", "amdahl", "gustafson")
        yield lines(
            head,
            [[row["border"], row["ranks"], *(figure(row, key) for key in keys)] for row in own],
        )


def by_scene(rows):
    """Yield each scene and its rows."""
    for scene in dict.fromkeys(row["scene"] for row in rows):
        yield scene, [row for row in rows if row["scene"] == scene]


def figure(row, key):
    """Return a number of a row with three figures."""
    return f"{float(row[key]):,.3g}" if float(row[key]) < 1000 else f"{float(row[key]):,.0f}"


def known(row, key):
    """Return a number of a row, or that it was not measured yet."""
    return figure(row, key) if row.get(key) else "not yet"


# ---- goals --------------------------------------------------------------------------------------


def goal_tables(rows):
    """Yield measured times of a sweep, and goals."""
    ways = {
        "one_own_median": "one process, own time (median)",
        "one_rank_own_median": "one rank, own time (median)",
        "one": "one process",
        "one_rank": "one rank",
        "two_threads": "two threads",
        "two_ranks": "two ranks",
        "predicted": "two ranks, **modelled**",
    }
    yield "µs of a sweep, the least of all runs or the median:"
    place = ("scene", "border", "sweeps")
    head = ["grid", "border", "sweeps of a solve", *ways.values()]
    body = []
    for row in rows:
        cells = (known(row, f"{way}_us") for way in ways)
        body.append([*(row[key] for key in place), *cells])
    yield lines(head, body)
    sentences = [told("work of an exchange [µs]", float(rows[-1]["seam_us"]), SEAM, less=True)]
    sentences += [
        f"{row['scene']}, {row['border']}, {row['sweeps']} sweeps: {told(*goal)}"
        for row in rows
        for goal in goals_of(row)
    ]
    yield "\n".join(f"- {sentence}" for sentence in sentences)


def message_tables(rows):
    """Yield what exchanges cost."""
    body = [
        [row["transport"], row["bytes"], figure(row, "least_us"), figure(row, "median_us")]
        for row in rows
    ]
    yield lines(["transport", "bytes", "least [µs]", "median [µs]"], body)


def filled(text, machine):
    """Return the page's text with all its blocks renewed."""
    return pages.replaced(
        PAGE,
        text,
        {
            "parts": lambda: section("distributed_parts", machine, parts_tables),
            "traffic": lambda: section("distributed_traffic", machine, traffic_tables),
            "model": lambda: section("distributed_model", machine, model_tables),
            "goals": lambda: section("distributed_goals", machine, goal_tables),
            "messages": lambda: section("messages", machine, message_tables),
        },
    )


if __name__ == "__main__":
    pages.write_filled(PAGE, filled, __doc__.partition("\n")[0])
