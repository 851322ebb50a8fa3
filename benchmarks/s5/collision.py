"""S5's figures 5 and 6: how well work is estimated, and the rules that split a query into tasks.

s5_estimate.csv   the error of the estimate in each scene: at first, and when it stays below S5's
                  levels; s5_estimate_steps.csv has it for each step
s5_splitting.csv  seconds of all queries of a scene by rule and threads; speed-ups over one thread
                  without tasks; what list scheduling of the measured tasks would give on more cores

Both are made for the prescribed motions of motions.py, and for the scenes as they are simulated
(simulated.py): those tables end in "_simulated". A step has two queries, of faces: cloth with
obstacle and cloth with itself; times are theirs, without the refit of boxes. Cases take turns in
each step. The rule "truth" counts in a first pass, whose time is left out, as in S5.

    python benchmarks/s5/collision.py [--quick] [--seconds 0.2] [--scene 1a] [s5_estimate ...]
"""

import heapq
import itertools
import time

import numpy as np
import published
import simulated
from motions import SCENES
from output import panels, publish, styles
from protocol import arguments, common

import contactsolve as cs

SIMULATED = "_simulated"
TABLES = tuple(name + end for end in ("", SIMULATED) for name in ("s5_estimate", "s5_splitting"))
QUERIES = ("external", "self")
RULES = tuple(cs.bvh.rules())
BASE = ("leftmost", 1)  # on one thread no task is made
MODELLED = (2, 4, 8)  # cores of the list schedules
FEWER = 10  # steps of a run in which tasks are recorded, as a part of all


class Pair:
    """The trees of a scene: of cloth and obstacle."""

    def __init__(self, motion):
        self.motion = motion
        self.cloth = cs.bvh.Tree(motion.cloth(0), motion.cloth_faces)
        self.obstacle = cs.bvh.Tree(motion.obstacle(0), motion.obstacle_faces)

    def refit(self, t):
        """Take the motion of the step from t on."""
        m = self.motion
        self.cloth.refit(m.cloth(t), m.cloth(t + m.step), m.margin / 2)
        self.obstacle.refit(m.obstacle(t), m.obstacle(t + m.step), m.margin / 2)

    def query(self, which, **options):
        """Find pairs of faces; return what the tree tells of it."""
        other = self.obstacle if which == "external" else None
        self.cloth.pairs(other, "faces", **options)
        return self.cloth.info


def times_of(run, motion, part=1):
    """The beginnings of the steps, or of a part of them."""
    steps = round(motion.seconds / motion.step)
    return motion.step * np.arange(0, steps, part * (40 if run.runs == 1 else 1))


# ---- figure 5 ------------------------------------------------------------------------------------


def steps_of_estimates(run, motions):
    """A row for each scene and step."""
    for scene, make in motions.items():
        motion = make()
        trees = Pair(motion)
        for t in times_of(run, motion):
            trees.refit(t)
            row = {"scene": scene, "time_s": float(t)}
            for which in QUERIES:
                told = trees.query(which, rule="estimate")
                row |= {f"{which}_{key}": told[key] for key in ("pairs", "tests")}
                row[f"{which}_error_percent"] = told["estimate_error"]
            yield row


def settled_after(times, errors, level):
    """The time from which on no error is above the level; None: the last one is."""
    above = [t for t, error in zip(times, errors, strict=True) if error > level]
    later = [t for t in times if not above or t > above[-1]]
    return later[0] if later else None


def rows_of_estimates(steps):
    """A row for each scene and query; steps whose estimate is of nothing have no error."""
    for scene, which in itertools.product(dict.fromkeys(row["scene"] for row in steps), QUERIES):
        key = f"{which}_error_percent"
        own = [row for row in steps if row["scene"] == scene]
        known = [row for row in own if np.isfinite(row[key])]
        times, errors = [row["time_s"] for row in known], [row[key] for row in known]
        yield {
            "scene": scene,
            "query": which,
            "steps": len(own),
            "most_tests": max(row[f"{which}_tests"] for row in own),
            "most_pairs": max(row[f"{which}_pairs"] for row in own),
            "first_percent": errors[0] if errors else None,
            "mean_percent": float(np.mean(errors)) if errors else None,
            **{
                f"below_{level:g}_s": settled_after(times, errors, level)
                for level in published.ESTIMATE_ERRORS
            },
        }


def draw_estimates(rows):
    """As S5's figure 5, for all scenes."""
    scenes = list(dict.fromkeys(row["scene"] for row in rows))
    figure, axes = panels([f"scene {scene}" for scene in scenes])
    for ax, scene in zip(axes, scenes, strict=True):
        own = [row for row in rows if row["scene"] == scene]
        for which, style in styles(QUERIES).items():
            ax.plot(
                [float(row["time_s"]) for row in own],
                [float(row[f"{which}_error_percent"]) for row in own],
                label=f"{which} collisions", color=style.color, linewidth=1,
            )  # fmt: skip
        for level in published.ESTIMATE_ERRORS:
            ax.axhline(level, color="0.7", linestyle=":", linewidth=1)
        ax.set_yscale("symlog", linthresh=1)
        ax.set_ylim(0, 100)
        ax.set_yticks([0, 1, 5, 10, 100], ["0", "1", "5", "10", "100"])
        ax.set_xlabel("time [s]")
        ax.set_ylabel("error of the estimate [%]")
    axes[0].legend(fontsize=8)
    return figure


# ---- figure 6 ------------------------------------------------------------------------------------


def cases(run):
    """Rules and threads; trees of their own for each, because counts stay with a tree."""
    return [BASE, *itertools.product(RULES, [run.cores] if run.cores > 1 else [])]


def seconds_of(trees, which, rule, threads):
    """The time of a query and the number of its tasks."""
    start = time.perf_counter()
    told = trees.query(which, rule=rule, threads=threads)
    return time.perf_counter() - start - told["first_pass_seconds"], told["tasks"]


def totals(run, make):
    """Seconds and tasks of all steps, by case: means of runs."""
    found = {case: np.zeros(2) for case in cases(run)}
    for _ in range(run.runs):
        motion = make()
        trees = {case: Pair(motion) for case in found}
        for t in times_of(run, motion):
            for case, own in trees.items():
                own.refit(t)
                for which in QUERIES:
                    found[case] += seconds_of(own, which, *case)
    return {case: total / run.runs for case, total in found.items()}


def makespan(seconds, cores):
    """The end of a greedy schedule, by which a free core takes the next task; all may begin."""
    busy = [0.0] * cores
    for duration in seconds:
        heapq.heapreplace(busy, busy[0] + float(duration))
    return max(busy)


def modelled(run, make):
    """Speed-ups of list schedules of tasks that were measured on one thread, by rule and cores."""
    motion = make()
    trees = {rule: Pair(motion) for rule in RULES}
    work, spans = dict.fromkeys(RULES, 0.0), dict.fromkeys(itertools.product(RULES, MODELLED), 0.0)
    for first in times_of(run, motion, FEWER):
        for rule, own in trees.items():
            # The step before makes the counts of the estimate.
            for t in (first, first + motion.step):
                own.refit(t)
                for which in QUERIES:
                    tasks = own.query(which, rule=rule, threads=1, record=True)["task_records"]
                    if t == first:
                        continue
                    work[rule] += float(tasks["seconds"].sum())
                    for cores in MODELLED:
                        spans[rule, cores] += makespan(tasks["seconds"], cores)
    return {key: work[key[0]] / span for key, span in spans.items()}


def told_by_s5(scene, rule):
    """S5's speed-ups on four cores, as its text gives them."""
    if rule == "truth":
        return "as estimate"
    low, high = published.SPLITTING[scene][rule]
    if low is None:
        return f"below {high}"
    return f"{low}" if low == high else f"{low} to {high}"


def rows_of_splitting(run, motions):
    """A row for each scene and rule."""
    for scene, make in motions.items():
        measured, model = totals(run, make), modelled(run, make)
        alone = measured[BASE][0]
        for rule in RULES:
            seconds, tasks = measured.get((rule, run.cores), (None, None))
            yield {
                "scene": scene,
                "rule": rule,
                "threads": run.cores,
                "steps": len(times_of(run, make())),
                "alone_s": alone,
                "seconds": seconds,
                "tasks": None if tasks is None else round(float(tasks)),
                "speedup": None if seconds is None else alone / seconds,
                **{f"model_{cores}": model[rule, cores] for cores in MODELLED},
                "published": told_by_s5(scene, rule),
            }


def draw_splitting(rows):
    """As S5's figure 6: speed-ups measured, and modelled for S5's four cores."""
    scenes = list(dict.fromkeys(row["scene"] for row in rows))
    threads = int(rows[0]["threads"])
    titles = (f"measured, {threads} threads", f"model of {published.THREADS} cores, and S5")
    figure, axes = panels(titles, width=5, columns=2)
    for ax, key in zip(axes, ("speedup", f"model_{published.THREADS}"), strict=True):
        for place, (rule, style) in enumerate(styles(RULES).items()):
            own = [row for row in rows if row["rule"] == rule]
            at = np.arange(len(scenes)) + 0.2 * (place - 1.5)
            heights = [float(row[key] or "nan") for row in own]
            ax.bar(at, heights, 0.18, color=style.color, label=rule)
        ax.set_xticks(range(len(scenes)), [f"scene {scene}" for scene in scenes])
        ax.set_ylabel("speed-up over one thread")
    for place, scene in enumerate(scenes):
        low, high = published.SPLITTING[scene]["estimate"]
        axes[1].plot([place - 0.45, place + 0.45], [low, low], color="0.3", linestyle=":")
        axes[1].plot([place - 0.45, place + 0.45], [high, high], color="0.3", linestyle=":",
                     label=None if place else "S5, estimate: range")  # fmt: skip
    axes[0].set_ylim(0, threads + 0.5)
    axes[1].set_ylim(0, published.THREADS + 1.5)
    axes[1].legend(fontsize=8, ncols=2, loc="upper left")
    return figure


def made(run, end):
    """Motions of the run's scenes: prescribed ones, or those of simulations."""
    motions = SCENES
    if end:
        motions = {
            scene: lambda scene=scene: simulated.motion_of(scene, run.seconds)
            for scene in simulated.SCENES
        }
    return motions if run.scene is None else {run.scene: motions[run.scene]}


def with_others(run, name, rows):
    """The rows, and those stored of scenes that the run leaves out."""
    others = common.kept(name, rows, ("scene",), run.results) if run.scene else []
    return sorted(others + rows, key=lambda row: row["scene"])


def main(run):
    for end in ("", SIMULATED):
        motions, estimate, splitting = made(run, end), f"s5_estimate{end}", f"s5_splitting{end}"
        if run.makes(estimate):
            measured = list(steps_of_estimates(run, motions))
            rows = with_others(run, estimate, list(rows_of_estimates(measured)))
            steps = with_others(run, f"{estimate}_steps", measured)
            common.write_csv(f"{estimate}_steps", steps, run.results)
            publish(run, estimate, rows, lambda _, own=steps: draw_estimates(own))
        if run.makes(splitting):
            rows = with_others(run, splitting, list(rows_of_splitting(run, motions)))
            publish(run, splitting, rows, draw_splitting)


if __name__ == "__main__":
    main(arguments(__doc__, TABLES, scenes=tuple(SCENES)))
