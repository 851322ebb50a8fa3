"""The figures that the sentences of `remarks.py` name, taken from the rows of a table."""

import published
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

# Joints that are apart by more at the end of a run have not held [m].
TORN = 0.1
TORN_TEXT = (
    "the joints of these scenes do not hold: {}. There, a bound that is late by a step lets "
    "friction put energy into light bodies beside heavy ones"
)


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


# ---- scenes in motion ----------------------------------------------------------------------------


def spread(values, form):
    """The range of some values, as text; one value if both ends read the same."""
    ends = dict.fromkeys(format(end, form) for end in (min(values), max(values)))
    return " to ".join(ends)


def named(rows, key, others, form):
    """Values of a column beside those of another one, by scene: "winch 1 and 2, chain …"."""
    return ", ".join(
        f"{row['scene']} {format(float(row[key]), form)} for {format(float(row[others]), form)}"
        for row in rows
    )


def known(rows, *keys):
    """The rows that have figures in these columns."""
    return [row for row in rows if all(row[key] not in (None, "") for key in keys)]


def of_motion(rows):
    """Rows beside S3's, steps that settled, and what one solve a step takes of those."""
    by_way = {way: [row for row in rows if row["way"] == way] for way in ("settled", "one solve")}
    settled, one = by_way.values()
    ratios = {
        key: [
            float(b[key]) / float(a[key])
            for a, b in zip(settled, one, strict=True)
            if float(a[key]) > 0.0
        ]
        for key in ("pivots", "step_s")
    }
    solved = [int(part) for row in settled for part in row["converged"].split(" of ")]
    sizes = [
        f"{row['scene']} {float(row['rows_max']):.0f} for {float(row['s3_rows']):.0f}"
        for row in settled
        if row["scene"] in published.DATA
    ]
    apart, end = (max(float(row[key]) for row in settled) for key in ("drift", "drift_end"))
    torn = [
        f"{row['scene']} ({float(row['drift_end']):.2g} m)"
        for row in by_way["one solve"]
        if float(row["drift_end"]) > TORN
    ]
    return {
        **({"rows": ", ".join(sizes)} if sizes else {}),
        "settled": f"{sum(solved[::2]) / sum(solved[1::2]):.1%}",
        **({"pivots of one solve": spread(ratios["pivots"], ".0%")} if ratios["pivots"] else {}),
        "time of one solve": spread(ratios["step_s"], ".0%"),
        "apart": f"{apart:.1g} m",
        "apart at the end": f"{end:.1g} m",
        "turn": f"{max(float(row['turn']) for row in settled):.0f} rad/s",
        "torn": TORN_TEXT.format(", ".join(torn)) if torn else "the same holds",
    }


def starts(rows):
    """What of pivots and of solves is left with a start from the step before."""
    some = known(rows, "pivots_ratio", "solves_ratio")
    return {
        name: spread([float(row[f"{name}_ratio"]) for row in some], ".0%")
        for name in ("pivots", "solves")
        if some
    }


def tight_in_motion(rows):
    """Medians beside those of the prescribed motion, if all are smaller."""
    some = known(rows, "prescribed_tight_median")
    fewer = all(float(row["tight_median"]) < float(row["prescribed_tight_median"]) for row in some)
    text = named(some, "tight_median", "prescribed_tight_median", ".0%")
    return {"fewer": text} if some and fewer else {}


def times_in_motion(rows):
    """Gains of downdating, if larger than prescribed; where the envelope is the fastest."""
    some = known(rows, "prescribed_speedup_downdate")
    keys = "speedup_downdate", "prescribed_speedup_downdate"
    more = all(float(row[keys[0]]) > float(row[keys[1]]) for row in some)
    engines = [key for key in rows[0] if key.startswith("s_")]
    best = {row["scene"]: min(engines, key=lambda key, row=row: float(row[key])) for row in rows}
    fastest = [name for name, key in best.items() if key in ("s_envelope", "s_auto")]
    auto = {"auto": spread([float(row["speedup_auto"]) for row in rows], ".0f")}
    near = {"fastest": ", ".join(fastest)} if fastest else {}
    return near | auto | ({"gains": named(some, *keys, ".2f")} if some and more else {})


def errors_in_motion(rows):
    """The largest errors, if they are below those of the prescribed motion."""
    some = known(rows, "prescribed_max")
    smaller = all(float(row["max"]) < float(row["prescribed_max"]) for row in some)
    worst = [row for row in some if row["engine"] == "skyline"]
    text = named(worst, "max", "prescribed_max", ".0e")
    return {"smaller": text} if worst and smaller else {}


def frames_in_motion(rows):
    """Median pivots, if there are more than in the prescribed motion, and the most."""
    own = [row for row in rows if row["engine"] == "auto"]
    some = known(own, "prescribed_pivots")
    more = all(float(row["pivots"]) > float(row["prescribed_pivots"]) for row in some)
    most = f"{max(int(row['pivots_max']) for row in own)}"
    text = named(some, "pivots", "prescribed_pivots", ".0f")
    return {"most": most} | ({"more": text} if some and more else {})


def cache_in_motion(rows):
    """Where a cache gains, and what it finds again there; or what it finds, if it loses."""
    gains = [row for row in rows if float(row["speedup"]) > 1.0]
    found = spread([float(row["hit"]) for row in gains or rows], ".0%")
    if not gains:
        return {"found": found}
    return {"gains": ", ".join(row["scene"] for row in gains), "found there": found}


DERIVED = {
    "motion_scenes": of_motion,
    "motion_starts": starts,
    "motion_tight": tight_in_motion,
    "motion_times": times_in_motion,
    "motion_errors": errors_in_motion,
    "motion_frames": frames_in_motion,
    "motion_cache": cache_in_motion,
    "table_2_3": times,
    "new_matrices": engines_with_new_matrices,
    "table_3_1": cache,
}
