"""The figures that the sentences of `remarks.py` name, taken from the rows of a table."""

from layouts import LAYOUTS
from protocol import pages

# By which columns a row is found: a figure is called by their values and its own column's key.
IDENTITY = {
    "figure_2_3": ("scene",),
    "figure_2_4": ("rows", "tight"),
    "table_2_3": ("scene",),
    "table_2_4": ("scene", "engine"),
    "errors": ("scene", "compliance"),
    "figure_2_7": ("scene", "engine"),
    "motion_scenes": ("scene", "way"),
    "motion_starts": ("scene",),
    "motion_tight": ("scene",),
    "motion_times": ("scene",),
    "motion_errors": ("scene", "engine"),
    "motion_frames": ("scene", "engine"),
}
_MOSTLY_FREE = ("crane", "vehicle", "forklift", "log_tower")  # where Schur complements are fastest


def facts(name, rows):
    """Figures of a table by their names, as text; what was not measured is missing."""
    found = pages.facts_of(LAYOUTS[name], rows, IDENTITY[name]) if name in IDENTITY else {}
    return found | DERIVED[name](rows) if name in DERIVED and rows else found


def times(rows):
    """What the faster of two engines gains over a full factor, and Schur complements over auto."""
    fastest = [
        float(row["s_refactor"]) / min(float(row["s_envelope"]), float(row["s_schur"]))
        for row in rows
    ]
    some = [row for row in rows if row["scene"] in _MOSTLY_FREE]
    saved = [1.0 - float(row["s_schur"]) / float(row["s_auto"]) for row in some]
    found = {"fastest": f"{min(fastest):.1f} to {max(fastest):.0f}"}
    return found | ({"schur saves": f"{min(saved):.0%} to {max(saved):.0%}"} if saved else {})


def engines_with_new_matrices(rows):
    """The scenes in which Schur complements take less than the envelope, in each setting."""

    def less(setting):
        ratios = {row["scene"]: float(row[f"ratio_{setting}"]) for row in rows}
        named = [f"{name} {ratio:.2f}" for name, ratio in ratios.items() if ratio < 1.0]
        return ", ".join(named).replace("_", " ") or "none"

    return {f"less, {setting}": less(setting) for setting in ("kept", "new", "loop")}


def cache(rows):
    """The range of what a cache finds again, in a frame and in its outer loop."""
    spread = {"found": "hit", "found in the loop": "hit_loop"}
    hits = {name: [float(row[key]) for row in rows] for name, key in spread.items()}
    found = {name: f"{min(values):.0%} to {max(values):.0%}" for name, values in hits.items()}
    more = sum(loop > frame for frame, loop in zip(*hits.values(), strict=True))
    return found | {"found more": f"{more} of {len(rows)} scenes"}


DERIVED = {
    "table_2_3": times,
    "new_matrices": engines_with_new_matrices,
    "table_3_1": cache,
}
