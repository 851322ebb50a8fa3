"""S3's Table 3.1 and Figures 3.1 and 3.2: factors kept by the rows taken out of them.

    python benchmarks/s3/caching.py [--scene NAME] [--quick]

Beside S3's cache of one frame, which begins empty: one that is kept for all solves of a frame's
outer loop, which have one matrix.
"""

import numpy as np
import published
from output import panels, publish
from protocol import TOLERANCE, arguments, common, frame

import contactsolve as cs

SCENES = ("chain", "forklift", "log_tower", "stack_of_boxes")
EVERY = 8  # steps


def row_of(found, name, step, run):
    """One frame: seconds with and without the cache, and what it held."""
    tasks, answers = {}, {}
    for engine in ("downdate", "skyline", "cached"):

        def task(engine=engine):
            solver = cs.MlcpSolver(
                found.A, engine=engine, interior=False
            )  # anew: the cache begins empty
            answers[engine] = solver.solve(found.b, found.lo, found.hi)
            return answers[engine].time

        tasks[engine] = task
    seconds = {k: float(np.min(v)) for k, v in common.interleaved(tasks, run.repeats).items()}
    cache = answers["cached"].info["cache"]
    loop = {engine: outer_loop(found, engine) for engine in ("skyline", "cached")}
    kept = loop["cached"].info["cache"]
    return {
        "scene": name,
        "step": step,
        "rows": len(found.b),
        "tight": float(np.mean(answers["cached"].index_set != 0)),
        **{f"s_{engine}": value for engine, value in seconds.items()},
        "entries": cache["entries"] + 1,  # S3 counts the factor of A itself
        "bytes": cache["most_bytes"],
        "hit": hit_rate(cache),
        "hit_loop": hit_rate(kept),
        "loop_skyline": loop["skyline"].time,
        "loop_cached": loop["cached"].time,
    }


def hit_rate(cache):
    """Rows whose removal was found, among all that were wanted."""
    wanted = cache["hits"] + cache["misses"]
    return cache["hits"] / wanted if wanted else float("nan")


def outer_loop(found, engine):
    """The whole problem: mixed LCPs until the friction bounds stay."""
    return cs.solve(
        found.problem, method=cs.methods.bpp(engine=engine, interior=False), rtol=TOLERANCE,
        averaging=found.averaging, max_iterations=5000,
    )  # fmt: skip


def summary(name, rows):
    """Means over the frames with tight rows."""
    own = [row for row in rows if row["scene"] == name and row["tight"] > 0.0]
    mean = {key: float(np.nanmean([row[key] for row in own])) for key in own[0] if key != "scene"}
    s3_rows, s3_entries = published.CACHE[name]
    return {
        "scene": name,
        "frames": len(own),
        "rows": mean["rows"],
        "s3_rows": s3_rows,
        "entries": mean["entries"],
        "most": max(row["entries"] for row in own),
        "s3_entries": s3_entries,
        "megabytes": mean["bytes"] / 1e6,
        "hit": mean["hit"],
        **{f"s_{engine}": mean[f"s_{engine}"] for engine in ("downdate", "skyline", "cached")},
        "speedup": mean["s_skyline"] / mean["s_cached"],
        "hit_loop": mean["hit_loop"],
        "speedup_loop": mean["loop_skyline"] / mean["loop_cached"],
    }


def draw(rows):
    """Speed-up over the skyline (S3 Fig. 3.1) above, memory (Fig. 3.2) below."""
    names = list(dict.fromkeys(row["scene"] for row in rows))
    figure, axes = panels([*names, *[""] * len(names)], width=3.6, height=2.7, columns=len(names))
    for i, name in enumerate(names):
        own = [row for row in rows if row["scene"] == name]
        time = [row["step"] / 60.0 for row in own]
        top, low = axes[i], axes[i + len(names)]
        speedups = [row["s_skyline"] / row["s_cached"] for row in own]
        top.plot(time, speedups, ".-", color="#1f5aa6", label="a frame, cache empty at first")
        loops = [row["loop_skyline"] / row["loop_cached"] for row in own]
        top.plot(time, loops, ".-", color="#2b8a57", label="a frame's outer loop")
        top.axhline(1.0, color="k", linewidth=0.8)
        top.set_ylim(bottom=0.0)
        low.plot(time, [row["bytes"] / 1e6 for row in own], ".-", color="#c8501e")
        low.set_xlabel("time [s]")
    axes[0].set_ylabel("speed-up")
    axes[0].legend(fontsize=7)
    axes[len(names)].set_ylabel("cache [MB]")
    return figure


def main(run):
    if "cached" not in cs.mlcp.engines():
        raise SystemExit("this build has no engine 'cached'")
    names = [name for name in SCENES if name in run.scenes]
    rows = [
        row_of(frame(name, step), name, step, run)
        for name in names
        for step in run.steps(name)
        if run.quick or step % EVERY == 0
    ]
    common.write_csv("caching", rows, run.results / "frames")
    publish(run, "table_3_1", [summary(name, rows) for name in names], lambda _: draw(rows))


if __name__ == "__main__":
    main(arguments(__doc__))
