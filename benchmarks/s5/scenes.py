"""S5's figures 8 and 9: speed-ups of whole scenes, by the phases of a step.

s5_scenes       seconds of all steps of a scene on one thread and on several, and speed-ups; phases
                as in S5: pc (preconditioner), spmv (product), collision (all of its handling), and
                the step as a whole
s5_course       where the speed-ups over time have their peaks; s5_course_bins.csv has them for
                each 100 ms

A cloth on one thread and one on several make the same steps in turns: their states have the same
bits. Seconds of a step are medians of three runs of the scene. pc and spmv are applications to the
system of a step, one for each iteration: `cg` itself merges both by Eisenstat's product, so that a
step takes less than its phases.

    python benchmarks/s5/scenes.py [--quick] [--seconds 0.2] [s5_scenes s5_course]
"""

import time

import numpy as np
import published
from output import panels, publish, styles
from protocol import SINGLE, SSOR, Operators, application, arguments, common
from simulated import SCENES, cloth_of, times_of

import contactsolve as cs

TABLES = ("s5_scenes", "s5_course")
PHASES = ("pc", "spmv", "collision", "integral")
CURVES = ("pc", "spmv", "collision")  # of figure 9
BIN = 0.1  # [s]


def teams(run):
    """Numbers of threads that are compared: one, and all cores up to S5's four."""
    return tuple(dict.fromkeys((1, run.team)))


# ---- runs ----------------------------------------------------------------------------------------


def stepped(cloth, h):
    """Seconds of a step, of its collisions, its iterations and contacts."""
    begun = time.perf_counter()
    cloth.step(h)
    seconds, told = time.perf_counter() - begun, cloth.info
    return {
        "integral": seconds,
        "collision": collision_seconds(told),
        "iterations": told["iterations"],
        "contacts": told["contacts"],
        "missed": int(told["status"] != "converged"),
    }


def collision_seconds(told):
    """All that a step does about collisions."""
    phases = ("candidate", "narrow", "response", "certificate")
    return sum(told[f"{phase}_seconds"] for phase in phases)


def applied(run, cloth, h):
    """Seconds of an application of preconditioner and product to the next step's system."""
    given, _ = cloth.system(h)
    own = Operators(given, cs.sparse.Preconditioner(given, SSOR, dtype=SINGLE), given)
    tasks = {
        (name, threads): application(operator, run, threads)
        for name, operator in (("pc", own.M), ("spmv", own.A))
        for threads in teams(run)
    }
    return {key: float(np.median(t)) for key, t in common.interleaved(tasks, run.runs).items()}


def simulated(run, scene):
    """A run of a scene: rows of steps by threads, and applications at the beginning of each bin."""
    seconds, h = times_of(scene, run.seconds)
    cloths = {threads: cloth_of(scene, threads) for threads in teams(run)}
    steps, kernels = {threads: [] for threads in cloths}, []
    while cloths[1].time < seconds - 1e-9:
        begun, number = cloths[1].time, len(steps[1])
        if bin_of(begun) == len(kernels):
            kernels.append(applied(run, cloths[1], h))
        for threads in list(cloths)[:: 1 if number % 2 else -1]:
            made = stepped(cloths[threads], min(h, seconds - begun))
            taken = cloths[threads].time - begun
            steps[threads].append({**made, "bin": len(kernels) - 1, "length": taken})
    positions = [cloth.positions for cloth in cloths.values()]
    if not all(np.array_equal(positions[0], other) for other in positions):
        raise RuntimeError(f"scene {scene}: threads have changed its bits")
    return steps, kernels


def bin_of(seconds):
    """The bin of a step by its beginning."""
    return int(seconds / BIN + 1e-6)


def medians(runs):
    """Seconds of each step and application, medians of runs; other values are the same in all."""
    steps, kernels = runs[0]
    merged = {
        threads: [
            {**row, **{k: median_of(runs, threads, i, k) for k in ("integral", "collision")}}
            for i, row in enumerate(rows)
        ]
        for threads, rows in steps.items()
    }
    applied = [
        {key: float(np.median([made[i][key] for _, made in runs])) for key in kernel}
        for i, kernel in enumerate(kernels)
    ]
    return merged, applied


def median_of(runs, threads, step, key):
    return float(np.median([steps[threads][step][key] for steps, _ in runs]))


# ---- bins ----------------------------------------------------------------------------------------


def bins_of(run, scene):
    """A row for each bin of a scene: seconds of phases by threads, and speed-ups."""
    steps, kernels = medians([simulated(run, scene) for _ in range(run.runs)])
    several = teams(run)[-1]
    for k, kernel in enumerate(kernels):
        own = {t: [row for row in rows if row["bin"] == k] for t, rows in steps.items()}
        iterations = sum(row["iterations"] for row in own[1])
        row = {
            "scene": scene,
            "time_s": BIN * k,
            "threads": several,
            "steps": len(own[1]),
            "seconds": sum(row["length"] for row in own[1]),
            "iterations": iterations,
            "contacts": sum(row["contacts"] for row in own[1]),
            "missed": sum(row["missed"] for row in own[1]),
        }
        for phase in PHASES:
            spent = {
                threads: sum(row[phase] for row in rows)
                if phase in ("collision", "integral")
                else iterations * kernel[phase, threads]
                for threads, rows in own.items()
            }
            row |= figures(phase, spent[1], spent[several], several)
        yield row


def figures(phase, alone, together, threads):
    """Seconds of a phase and its speed-up, which one thread and no work have none of."""
    has_gain = threads > 1 and together > 0
    return {
        f"{phase}_alone_s": alone,
        f"{phase}_s": together,
        f"{phase}_speedup": alone / together if has_gain else None,
    }


def told_by_s5(scene, phase):
    """S5's speed-up on four cores, as its text gives it."""
    low, high = published.SCENES[scene].get(phase, (None, None))
    if low is None:
        return "–" if high is None else f"up to {high}"
    return f"{low}" if low == high else f"{low} to {high}"


# ---- tables --------------------------------------------------------------------------------------


def rows_of_scenes(bins):
    """A row for each scene and phase: the whole scene."""
    for scene in dict.fromkeys(row["scene"] for row in bins):
        own = [row for row in bins if row["scene"] == scene]
        whole = sum(row["integral_alone_s"] for row in own)
        for phase in PHASES:
            spent = [sum(row[f"{phase}{end}"] for row in own) for end in ("_alone_s", "_s")]
            gain = figures(phase, *spent, own[0]["threads"])[f"{phase}_speedup"]
            yield {
                "scene": scene,
                "phase": phase,
                "seconds_simulated": sum(row["seconds"] for row in own),
                "steps": sum(row["steps"] for row in own),
                "iterations": sum(row["iterations"] for row in own) / sum(r["steps"] for r in own),
                "contacts": sum(row["contacts"] for row in own) / sum(r["steps"] for r in own),
                "missed": sum(row["missed"] for row in own),
                "threads": own[0]["threads"],
                "alone_s": spent[0],
                "seconds": spent[1],
                "share": spent[0] / whole,
                "speedup": gain,
                "published": told_by_s5(scene, phase),
            }


def rows_of_course(bins):
    """A row for each scene and curve: its peak, and the mean of it over time."""
    for scene in dict.fromkeys(row["scene"] for row in bins):
        for phase in CURVES:
            own = [
                row for row in bins if row["scene"] == scene and row[f"{phase}_speedup"] is not None
            ]
            gains = [row[f"{phase}_speedup"] for row in own]
            best = own[int(np.argmax(gains))] if own else None
            yield {
                "scene": scene,
                "phase": phase,
                "threads": teams_of(bins),
                "bins": len(own),
                "least": min(gains, default=None),
                "mean": float(np.mean(gains)) if gains else None,
                "most": max(gains, default=None),
                "most_at_s": best["time_s"] if best else None,
                "first_iterations": rate(bins, scene, "iterations", 0, 0.3),
                "later_iterations": rate(bins, scene, "iterations", 0.3, np.inf),
                "first_contacts": rate(bins, scene, "contacts", 0, 0.3),
                "later_contacts": rate(bins, scene, "contacts", 0.3, np.inf),
                "most_iterations_at_s": most_at(bins, scene, "iterations"),
                "most_contacts_at_s": most_at(bins, scene, "contacts"),
            }


def teams_of(bins):
    return bins[0]["threads"]


def rate(bins, scene, key, begin, end):
    """The mean of a step in some time; None: there is none."""
    own = [r for r in bins if r["scene"] == scene and begin - 1e-9 <= r["time_s"] < end - 1e-9]
    return sum(row[key] for row in own) / sum(row["steps"] for row in own) if own else None


def most_at(bins, scene, key):
    """The beginning of the bin whose steps have most of something."""
    own = [row for row in bins if row["scene"] == scene]
    return max(own, key=lambda row: row[key] / row["steps"])["time_s"]


# ---- pictures ------------------------------------------------------------------------------------


def draw_scenes(rows):
    """As S5's figure 8: the means of speed-ups."""
    scenes = list(dict.fromkeys(row["scene"] for row in rows))
    figure, axes = panels([f"scene {scene}" for scene in scenes])
    for ax, scene in zip(axes, scenes, strict=True):
        for place, (phase, style) in enumerate(styles(PHASES).items()):
            (row,) = (r for r in rows if (r["scene"], r["phase"]) == (scene, phase))
            ax.bar(place, float(row["speedup"] or "nan"), 0.7, color=style.color)
        ax.set_xticks(range(len(PHASES)), PHASES)
        ax.set_ylim(0, int(rows[0]["threads"]) + 0.2)
        ax.set_ylabel(f"speed-up on {rows[0]['threads']} threads")
    return figure


def draw_course(bins):
    """As S5's figure 9: speed-ups over time."""
    scenes = list(dict.fromkeys(row["scene"] for row in bins))
    figure, axes = panels([f"scene {scene}" for scene in scenes])
    for ax, scene in zip(axes, scenes, strict=True):
        own = [row for row in bins if row["scene"] == scene]
        for phase, style in styles(CURVES).items():
            gains = [float(row[f"{phase}_speedup"] or "nan") for row in own]
            middle = [float(row["time_s"]) + BIN / 2 for row in own]
            ax.plot(middle, gains, color=style.color, marker=".", linewidth=1, label=phase)
        ax.set_ylim(0, int(bins[0]["threads"]) + 0.2)
        ax.set_xlabel("time [s]")
        ax.set_ylabel(f"speed-up on {bins[0]['threads']} threads")
    axes[0].legend(fontsize=8)
    return figure


def main(run):
    if not run.makes(*TABLES):
        return
    bins = [row for scene in SCENES for row in bins_of(run, scene)]
    common.write_csv("s5_course_bins", bins, run.results)
    if run.makes("s5_scenes"):
        publish(run, "s5_scenes", list(rows_of_scenes(bins)), draw_scenes)
    if run.makes("s5_course"):
        publish(run, "s5_course", list(rows_of_course(bins)), lambda _: draw_course(bins))


if __name__ == "__main__":
    main(arguments(__doc__, TABLES))
