"""The figures that the sentences of `remarks.py` name, taken from the rows of a table."""

from itertools import groupby

from layouts import LAYOUTS
from protocol import pages, teams

# By which columns a row is found: a figure is called by their values and its own column's key.
IDENTITY = {
    "table_3_3": ("scene", "method"),
    "table_3_5": ("scene", "method"),
    "naive": ("scene", "parts"),
    "jacobi": ("scene", "method"),
    "colored": ("scene", "method"),
    "networks": ("scene", "method"),
    "late_halving": ("scene", "what", "begin"),
    "running_text": ("what", "threads"),
}
S1_CORES = 8


def facts(name, rows):
    """Figures of a table by their names, as text; what was not measured is missing."""
    found = pages.facts_of(LAYOUTS[name], rows, IDENTITY[name]) if name in IDENTITY else {}
    if LAYOUTS[name].line and rows:
        found |= on_most_threads(name, rows)
    return found | DERIVED[name](rows) if name in DERIVED and rows else found


def on_most_threads(name, rows):
    """Figures of each line on its most threads: "scene/method/time_s/most".

    And where threads end, if that is below S1's cores, and what they read from memory.
    """
    columns = [column for column in LAYOUTS[name].columns if column.by_threads]
    found = {}
    for own in lines_of(rows).values():
        most = max(own)
        for column in columns:
            text = pages.cell(column.form, own[most][column.key])
            line = f"{own[most]['scene']}/{own[most]['method']}"
            found[f"{line}/{column.key}/most"] = f"{text} on {teams.counted(most)}"
    numbers = sorted({int(row["threads"]) for row in rows})
    if numbers[-1] < S1_CORES:
        found["end, below S1's cores"] = teams.counted(numbers[-1])
    rates = {number: pages.rate_of(rows, number) for number in numbers}
    if all(rate is not None for rate in rates.values()):
        told = [f"{rate:.3g} GB/s on {teams.counted(n)}" for n, rate in rates.items()]
        found["rates"] = " and ".join([", ".join(told[:-1]), told[-1]] if told[1:] else told)
    return found


def lines_of(rows):
    """Rows by scene and method, and by their number of threads."""

    def line_of(row):
        return row["scene"], row["method"]

    ordered = sorted(rows, key=line_of)
    return {line: {int(r["threads"]): r for r in own} for line, own in groupby(ordered, line_of)}


def first_faster(own, seconds, key="time_s"):
    """The fewest threads on which a line takes less than so many seconds, as words."""
    faster = [number for number, row in sorted(own.items()) if float(row[key]) < float(seconds)]
    return teams.counted(faster[0]) if faster else f"more than the {max(own)} measured"


def jacobi(rows):
    """How many threads T takes to be faster than the sequential factorized scheme."""
    lines = lines_of(rows)
    transfer, base = (lines.get(("large ball grid", method)) for method in ("T", "factorized"))
    if not transfer or not base:
        return {}
    return {"T outruns sequential": first_faster(transfer, base[1]["sweep_s"], "sweep_s")}


def colored(rows):
    """Ratios of times and sweeps on as many threads as both have, and who is faster from where."""
    known = lines_of(rows)

    def ratio(scene, one, other, key):
        pair = [known.get((scene, method), {}) for method in (one, other)]
        both = set(pair[0]) & set(pair[1])
        return float(pair[0][max(both)][key]) / float(pair[1][max(both)][key]) if both else None

    grid = ("medium ball grid", "relaxed greedy", "Jacobi")
    pile = ("large ball pile", "Jacobi, T", "relaxed greedy, T")
    time, sweeps = ratio(*grid, "time_s"), ratio(*grid, "sweeps")
    found = {
        "coloured sweep over Jacobi's": time / sweeps if time else None,
        "Jacobi's T over relaxed T, time": ratio(*pile, "time_s"),
        "Jacobi's T over relaxed T, sweeps": ratio(*pile, "sweeps"),
    }
    found = {name: f"{value:.2g}" for name, value in found.items() if value}
    jacobi, relaxed = (known.get(("medium ball grid", m)) for m in ("Jacobi", "relaxed greedy"))
    if jacobi and relaxed:
        found["relaxed greedy outruns Jacobi"] = first_faster(relaxed, jacobi[1]["time_s"])
    return found


def late_halving(rows):
    """From which sweeps on halvings come near S1's sweeps, and from which on one costs nothing."""
    plain = next(row for row in rows if row["what"] == "rollback_growth 1")
    halvings = [row for row in rows if row["begin"] and row["sweeps"] and row["s1_sweeps"]]
    found = {}
    for row in halvings:
        if abs(int(row["sweeps"]) - int(row["s1_sweeps"])) <= 1:
            found.setdefault(f"near, {row['what']}", []).append(
                f"{row['begin']} ({row['sweeps']} sweeps)"
            )
    once = [row for row in halvings if row["what"] == "R halved once"]
    late = [int(row["begin"]) for row in once if int(row["sweeps"]) <= int(plain["sweeps"])]
    found = {name: " or ".join(begins) for name, begins in found.items()}
    return found | ({"late": str(min(late))} if late else {})


DERIVED = {"jacobi": jacobi, "colored": colored, "late_halving": late_halving}
