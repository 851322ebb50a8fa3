"""S3's Tables 2.2 to 2.4 and 3.1 and Figures 2.3 and 2.7, of scenes that move by their motors.

    python benchmarks/s3/motion.py [--scene NAME] [--quick]

Each scene of S3 that is a world (`contactsolve.dynamics.scenes`) runs for 20 s with h = 1/60 s, box
friction and block principal pivoting, contacts as they come and go. Its steps are solved to the
tolerance of `protocol.py`. Every twelfth one is measured like a frame of the prescribed motion
(`frames.py`), and solved again from nothing, to compare with the start that the world has from the
step before. Each scene leaves CSVs in ``frames/``; the tables are of all scenes that have some.
"""

import inspect

import caching
import frames
import numpy as np
import published
import scenes
from output import panels, publish
from protocol import TOLERANCE, arguments, common, frame_of, pages

import contactsolve as cs

STEP = 1.0 / 60.0
SOLVES = 200  # of mixed LCPs in a step at most
COMPLIANCE = 1e-8  # of contacts of scenes that have none of their own, at this step
# How friction bounds are found: until they settle, or by one solve, whose bounds are those of the
# normal impulses of the step before.
WAYS = {
    "settled": {"rtol": TOLERANCE, "max_iterations": SOLVES},
    "one solve": {"rtol": None, "atol": None, "max_iterations": 1},
}
# Names of worlds where they are not those of S3's scenes.
WORLDS = {"chain": "hoisted_chain"}


def moving(run):
    """S3's names of the scenes that are worlds."""
    known = cs.dynamics.scenes.names()
    return [name for name in run.scenes if WORLDS.get(name, name) in known]


def world_of(name, way="settled"):
    """The scene as a world that pivots, whose contacts are as compliant as its joints."""
    scene = cs.dynamics.scenes.get(WORLDS.get(name, name))
    own = inspect.signature(scene).parameters.get("compliance")
    compliance = COMPLIANCE if own is None else own.default
    given = {
        "time_step": STEP,
        "friction": "box",
        "contact_compliance": compliance * STEP**2,
        "method": "bpp",
    }
    return scene(**given, **WAYS[way])


def steps_of(run):
    """How many steps, and which of them are measured."""
    return (20, 10) if run.quick else (1200, 12)


def apart(world):
    """How far joints are apart at most [m]; 0 without joints."""
    return float(world.joints.errors[:, 0].max(initial=0.0))


def run_of(name, way, run, look=None):
    """Run a scene; what all of its steps did. `look(world, step)` follows those to be measured."""
    world, (steps, every) = world_of(name, way), steps_of(run)
    keys = ("iterations", "pivots", "seconds", "contacts")
    own, drift, turn = [], 0.0, 0.0
    for step in range(1, steps + 1):
        world.step()
        own.append([world.info[key] for key in keys])
        drift = max(drift, apart(world))
        turn = max(turn, float(np.linalg.norm(world.velocities[:, 3:], axis=1).max()))
        if look is not None and step % every == 0 and world.problem() is not None:
            look(world, step)
    solves, pivots, seconds, contacts = np.array(own, float).T
    solved = steps - world.info["steps_not_converged"]
    return {
        "scene": name,
        "way": way,
        "bodies": world.bodies,
        "contacts": float(contacts.mean()),
        "ratio": float(world.masses.max() / world.masses.min()),
        "converged": f"{solved} of {steps}" if way == "settled" else None,
        "solves": float(solves.mean()),
        "pivots": float(pivots.mean()),
        "pivots_high": float(np.percentile(pivots, 95)),
        "step_s": float(seconds.mean()),
        "step_high_s": float(np.percentile(seconds, 95)),
        "real_time": STEP / float(seconds.mean()),
        "drift": drift,
        "turn": turn,
        "drift_end": apart(world),
    }


def frames_of(name, run):
    """Rows of the measured steps, and what whole runs did, one for each way."""
    rows = []

    def look(world, step):
        rows.append(measured(world.problem(), world.info, step, run))

    whole = [run_of(name, way, run, look if way == "settled" else None) for way in WAYS]
    sizes = [row["rows"] for row in rows]
    s3 = published.DATA.get(name, (None, None))[1] or published.CACHE[name][0]
    return rows, [
        own | {"rows_mean": float(np.mean(sizes)), "rows_max": max(sizes), "s3_rows": s3}
        for own in whole
    ]


def measured(problem, info, step, run):
    """A step like a frame, and its solve from nothing beside that of the world."""
    cold = cs.solve(problem, method="bpp", rtol=TOLERANCE, max_iterations=SOLVES)
    both = cold.converged and info["status"] == "converged"
    return frames.row_of(frame_of(problem), step, run) | {
        "cold_solves": cold.iterations if both else None,
        "cold_pivots": cold.info["pivots"] if both else None,
        "cold_s": cold.time if both else None,
        "warm_solves": info["iterations"] if both else None,
        "warm_pivots": info["pivots"] if both else None,
    }


# ---- tables -------------------------------------------------------------------------------------


def start_row(name, own):
    """Solves and pivots of the measured steps that converged from either start: means."""
    known = ~np.isnan(own["cold_pivots"])
    mean = {
        key: float(own[key][known].mean()) if known.any() else None
        for key in ("cold_solves", "warm_solves", "cold_pivots", "warm_pivots")
    }
    return {
        "scene": name,
        "steps": int(known.sum()),
        **mean,
        "solves_ratio": mean["warm_solves"] / mean["cold_solves"] if known.any() else None,
        "pivots_ratio": mean["warm_pivots"] / mean["cold_pivots"] if mean["cold_pivots"] else None,
    }


def _identity(row):
    return tuple(row[key] for key in ("scene", "engine") if key in row)


def beside(rows, prescribed, keys):
    """Rows with the columns `keys` of those of the prescribed motion, which may be missing."""
    others = {_identity(row): row for row in prescribed}
    for row in rows:
        other = others.get(_identity(row), {})
        row |= {f"prescribed_{key}": other.get(key) or None for key in keys}
    return rows


def prescribed(run, name):
    """Rows of a table of the prescribed motion: those of this run follow the committed ones."""
    committed = pages.csv_of(name, common.RESULTS / common.machine() / "s3")
    own = run.results / f"{name}.csv"
    return [row for path in (committed, own) if path and path.exists() for row in pages.read(path)]


def cached_rows(name, run):
    """Frames with and without the cache: the steps of a run of their own."""
    world, (steps, every) = world_of(name), steps_of(run)
    for step in range(1, steps + 1):
        world.step()
        if step % (2 * every) == 0 and (problem := world.problem()) is not None:
            yield caching.row_of(frame_of(problem), name, step, run)


def draw_scenes(rows):
    figure, axes = panels(["a step", "pivots of a step"], width=5.0, height=3.4)
    names = [f"{row['scene']}, {row['way']}" for row in rows]
    axes[0].barh(names, [1e3 * row["step_s"] for row in rows], color="#9db8d9", label="mean")
    high = [1e3 * row["step_high_s"] for row in rows]
    axes[0].plot(high, names, "d", color="#c8501e", label="95 %")
    axes[0].axvline(1e3 * STEP, color="k", linewidth=0.8, linestyle="--", label="real time")
    axes[0].set_xlabel("ms")
    axes[0].legend(fontsize=8, loc="lower right")
    axes[1].barh(names, [row["pivots"] for row in rows], color="#9db8d9")
    axes[1].plot([row["pivots_high"] for row in rows], names, "d", color="#c8501e")
    for ax in axes:
        ax.invert_yaxis()
    return figure


def draw_starts(rows):
    """Pivots of a step from nothing, and from the step before."""
    figure, axes = panels(["pivots of a step, mean"], width=6.0, height=3.2)
    places = np.arange(len(rows))
    for key, shift, color in (("cold", -0.2, "#9db8d9"), ("warm", 0.2, "#1f5aa6")):
        values = [row[f"{key}_pivots"] or 0.0 for row in rows]
        axes[0].barh(places + shift, values, 0.4, color=color, label=key)
    axes[0].set_yticks(places, [row["scene"] for row in rows])
    axes[0].invert_yaxis()
    axes[0].legend()
    return figure


def measure(run):
    """Run the scenes that were asked for; each leaves CSVs of its own in the folder of frames."""
    names, folder = moving(run), run.results / "frames"
    if not names:
        raise SystemExit(f"none of these scenes is a world: {', '.join(run.scenes)}")
    for name in names:
        rows, own = frames_of(name, run)
        common.write_csv(f"motion_{name}", rows, folder)
        common.write_csv(f"motion_run_{name}", own, folder)
        if name in caching.SCENES and "cached" in cs.mlcp.engines():
            common.write_csv(f"motion_cache_{name}", list(cached_rows(name, run)), folder)


def numbers_of(path):
    """The rows of a CSV without versions, numbers as such; an empty field is None."""
    rows = pages.read(path) if path.exists() else []
    keys = list(rows[0])[: list(rows[0]).index("contactsolve")] if rows else []
    return [{key: number(row[key]) for key in keys} for row in rows]


def number(text):
    try:
        return float(text) if text else None
    except ValueError:
        return text


def main(run):
    measure(run)
    folder = run.results / "frames"
    names = moving(run._replace(scenes=(*published.SCENES, *published.PILES)))
    names = [name for name in names if (folder / f"motion_{name}.csv").exists()]
    found = {name: scenes.columns_of(folder / f"motion_{name}.csv") for name in names}

    # The motion, and what its start from the step before saves.
    whole = [row for name in names for row in numbers_of(folder / f"motion_run_{name}.csv")]
    publish(run, "motion_scenes", whole, draw_scenes)
    publish(run, "motion_starts", [start_row(*one) for one in found.items()], draw_starts)

    # Tight rows and frames.
    rows = [scenes.tight_row(*one) for one in found.items()]
    rows = beside(rows, prescribed(run, "figure_2_3"), ("tight_median", "tight_max"))
    publish(run, "motion_tight", rows, lambda _: scenes.draw_tight(found))
    rows = [row for one in found.items() for row in scenes.frame_rows(*one)]
    rows = beside(rows, prescribed(run, "figure_2_7"), ("pivots", "pivots_max"))
    publish(run, "motion_frames", rows, lambda _: scenes.draw_frames(found))

    # Times and errors, of frames with tight rows.
    pivoting = [(name, own) for name, own in found.items() if np.any(own["tight"] > 0.0)]
    rows = [scenes.time_row(*one) for one in pivoting]
    keys = ("speedup_downdate", "speedup_skyline", "speedup_auto")
    rows = beside(rows, prescribed(run, "table_2_3"), keys)
    publish(run, "motion_times", rows, scenes.draw_times)
    rows = [row for one in pivoting for row in scenes.error_rows(*one)]
    rows = beside(rows, prescribed(run, "table_2_4"), ("max", "median"))
    publish(run, "motion_errors", rows, scenes.draw_errors)

    # Factors in a cache.
    cached = {name: numbers_of(folder / f"motion_cache_{name}.csv") for name in names}
    rows = [row for own in cached.values() for row in own]
    if rows:
        summaries = [caching.summary(name, own) for name, own in cached.items() if own]
        summaries = beside(summaries, prescribed(run, "table_3_1"), ("hit", "speedup"))
        publish(run, "motion_cache", summaries, lambda _: caching.draw(rows))


if __name__ == "__main__":
    main(arguments(__doc__))
