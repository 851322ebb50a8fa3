"""The figures that the sentences of `remarks.py` name, taken from the rows of a table."""

from layouts import LAYOUTS
from protocol import pages

# By which columns a row is found: a figure is called by their values and its own column's key.
IDENTITY = {
    "table_3_3": ("scene", "method"),
    "table_3_5": ("scene", "method"),
    "naive": ("scene", "parts"),
    "jacobi": ("scene", "method"),
    "colored": ("scene", "method"),
    "late_halving": ("scene", "what", "begin"),
    "running_text": ("what",),
}


def facts(name, rows):
    """Figures of a table by their names, as text; what was not measured is missing."""
    found = pages.facts_of(LAYOUTS[name], rows, IDENTITY[name]) if name in IDENTITY else {}
    return found | DERIVED[name](rows) if name in DERIVED and rows else found


def colored(rows):
    """Ratios of times and sweeps on two threads."""
    known = {(row["scene"], row["method"]): row for row in rows if row["time_2_s"]}

    def ratio(scene, one, other, key):
        pair = [known.get((scene, method)) for method in (one, other)]
        return float(pair[0][key]) / float(pair[1][key]) if all(pair) else None

    grid = ("medium ball grid", "relaxed greedy", "Jacobi")
    pile = ("large ball pile", "Jacobi, T", "relaxed greedy, T")
    time, sweeps = ratio(*grid, "time_2_s"), ratio(*grid, "sweeps")
    found = {
        "coloured sweep over Jacobi's": time / sweeps if time else None,
        "Jacobi's T over relaxed T, time": ratio(*pile, "time_2_s"),
        "Jacobi's T over relaxed T, sweeps": ratio(*pile, "sweeps"),
    }
    return {name: f"{value:.2g}" for name, value in found.items() if value}


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


DERIVED = {"colored": colored, "late_halving": late_halving}
