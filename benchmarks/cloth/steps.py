"""Steps of a cloth with contacts: milliseconds on one and several threads, and their phases.

S5's scene 1a, the dress on a body of 27,010 vertices, in steps of 5 ms, as `cs.cloth.scenes` makes
it, and the other scenes by name. A cloth on one thread and one on several make the same steps in
turns; their states have the same bits. Writes cloth_steps.csv and tells the goals: a step of the
dress in 30 ms, certificates in 20 % of a step, collision 1.7 times as fast on two threads.

    python benchmarks/cloth/steps.py [--scenes "dress 1a" ...] [--seconds 1] [--threads 2]
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import cores, on_a_line, write_csv

SCENES = {
    "dress 1a": ("dress", {"version": "1a"}),
    "dress 1b": ("dress", {"version": "1b"}),
    "ribbon": ("ribbon", {}),
}
PHASES = ("numerics", "candidate", "narrow", "response", "certificate")
COLLISION = PHASES[1:]
DRESS_MS, CERTIFICATE_PERCENT, SPEEDUP = 30.0, 20.0, 1.7  # goals


def seconds_of_step(cloth, h):
    """Seconds of a step and of its phases."""
    begun = time.perf_counter()
    cloth.step(h)
    told = {"step": time.perf_counter() - begun}
    return told | {phase: cloth.info[f"{phase}_seconds"] for phase in PHASES}


def measured(name, threads, most):
    """Rows of a scene: means over its steps, one for each number of threads."""
    scene, parameters = SCENES[name]
    whole, h = cs.cloth.scenes.times(scene)
    cloths = {n: cs.cloth.scenes.get(scene)(**parameters, threads=n) for n in threads}
    steps, contacts = {n: [] for n in cloths}, []
    for number in range(round(min(whole, most) / h)):
        for n in threads[:: 1 if number % 2 else -1]:
            steps[n].append(seconds_of_step(cloths[n], h))
        contacts.append(cloths[threads[0]].info["contacts"])
    first, *others = (cloth.positions for cloth in cloths.values())
    if not all(np.array_equal(first, other) for other in others):
        raise RuntimeError(f"{name}: threads have changed its bits")

    rows = []
    for n, own in steps.items():
        mean = {key: float(np.mean([row[key] for row in own])) for key in ("step", *PHASES)}
        rows.append(
            {
                "scene": name,
                "threads": n,
                "steps": len(own),
                "contacts": float(np.mean(contacts)),
                "step_ms": 1e3 * mean["step"],
                "step_95_ms": 1e3 * float(np.percentile([row["step"] for row in own], 95)),
                **{f"{phase}_ms": 1e3 * mean[phase] for phase in PHASES},
                "certificate_percent": 100 * mean["certificate"] / mean["step"],
                "collision_ms": 1e3 * sum(mean[phase] for phase in COLLISION),
            }
        )
    for row in rows:
        row["collision_speedup"] = rows[0]["collision_ms"] / row["collision_ms"]
        print(on_a_line(row))
    return rows


def tell(rows):
    """Say which goals are reached."""
    for row in rows:
        told = [f"certificate {row['certificate_percent']:.0f} % (goal {CERTIFICATE_PERCENT:.0f})"]
        if row["scene"] == "dress 1a":
            told.append(f"step {row['step_ms']:.0f} ms (goal {DRESS_MS:.0f})")
        if row["threads"] > 1:
            told.append(f"collision {row['collision_speedup']:.2f} x (goal {SPEEDUP})")
        print(f"{row['scene']}, {row['threads']} threads: {', '.join(told)}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scenes", nargs="*", default=list(SCENES), choices=list(SCENES))
    parser.add_argument("--seconds", type=float, default=1.0, help="simulated of each, at most")
    parser.add_argument("--threads", type=int, default=min(2, cores()))
    parser.add_argument("--results", type=Path, help="a folder (default: results/<machine>)")
    chosen = parser.parse_args(arguments)
    threads = list(dict.fromkeys((1, chosen.threads)))
    rows = [row for name in chosen.scenes for row in measured(name, threads, chosen.seconds)]
    tell(rows)
    print(write_csv("cloth_steps", rows, chosen.results))


if __name__ == "__main__":
    main()
