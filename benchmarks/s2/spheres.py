"""S2 section 6.2, Figs 6.5 and 6.6: contact problems of 3,000 falling spheres, by JOR and by SOR.

The reference is a motion of spheres that fall into a box, whose steps are solved by full SOR with
α = 1 and at most 5,000 iterations; contact problems are kept at 40 numbers of contacts up to 4,400,
the most that S2's dense matrices allow. Each problem is then solved from zero by each method until
eq. 4.50 holds with both tolerances 1e-7. Writes spheres.csv, a row for each problem and method,
with the picture beside it, and spheres_run.csv, a row for each step; `report.py` renews docs/s2.md.

    python benchmarks/s2/spheres.py [--quick]
"""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import contactsolve as cs
from contactsolve import dynamics

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from common import ROOT, pages

# What S2 says.
SPHERES, STEP, LARGEST, SAMPLES = 3000, 1e-3, 4400, 40
CAP = 5000  # iterations of a step of the reference
ALPHA, GATHERED = 0.35, 32
STOP = {"stop": "delta_norm", "rtol": 1e-7, "atol": 1e-7, "check_every": 1}

# What S2 leaves open, our choice. The spheres begin in layers of SIDE by SIDE, DISTANCE diameters
# apart, which the walls of the box fit; velocities are normal with SPEED as their deviation.
RADIUS, DENSITY = 0.05, 1000.0
MU, RESTITUTION = 0.3, 0.3
SIDE, DISTANCE, SPEED, SEED = 15, 1.15, 0.5, 1

# No method halves R by itself: S2's do not.
PLAIN = {"rollback": 0, "islands": False, "threads": 1, "record": ()}
FULL = {"method": "gauss_seidel", "order": "natural", "relaxation": 1.0}
MOST = 100_000  # iterations of a sampled problem
SHORT = 0.5  # solves that take less [s] are timed three times
ENDED = ("converged", "max_iterations", "diverging")


def relaxed(problem):
    """S2's relaxed SOR: of contacts that are gathered, none sees the new impulses of another."""
    ends = range(0, problem.contacts, GATHERED)
    stages = [list(range(i, min(i + GATHERED, problem.contacts))) for i in ends]
    return cs.orders.given(stages=stages, kind="simultaneous")


# Options of each method for a problem. S2 does not print the α of its relaxed SOR.
METHODS = {
    "JOR, α = 0.35": lambda _: {"method": "jacobi", "relaxation": ALPHA},
    "JOR, α = 0.5": lambda _: {"method": "jacobi", "relaxation": 0.5},
    "JOR, α = 1": lambda _: {"method": "jacobi", "relaxation": 1.0},
    "full SOR, α = 1": lambda _: FULL,
    "relaxed SOR of 32, α = 0.35": lambda problem: {
        **FULL,
        "relaxation": ALPHA,
        "order": relaxed(problem),
    },
    "relaxed SOR of 32, α = 1": lambda problem: {**FULL, "order": relaxed(problem)},
}


# ---- the reference -------------------------------------------------------------------------------


def falling_spheres(count=SPHERES):
    """Spheres above each other in an open box, each with a velocity of its own."""
    solver = {**FULL, **STOP, "rollback": 0, "max_iterations": CAP}
    world = dynamics.World(time_step=STEP, **solver)
    stone = dynamics.Material(MU, RESTITUTION)
    side = max(2, round(SIDE * (count / SPHERES) ** (1 / 3)))
    pitch = 2 * RADIUS * DISTANCE
    world.add_fixed(dynamics.HalfSpace([0, 0, 1.0]), material=stone)
    for axis in np.eye(3)[:2]:
        world.add_fixed(dynamics.HalfSpace(axis), material=stone)
        world.add_fixed(dynamics.HalfSpace(-axis, -side * pitch), material=stone)
    number = np.arange(count)
    place = np.stack([number % side, number // side % side, number // side**2], axis=-1) + 0.5
    velocities = np.zeros((count, 6))
    velocities[:, :3] = SPEED * np.random.default_rng(SEED).normal(size=(count, 3))
    world.add_bodies(
        dynamics.Sphere(RADIUS),
        place * pitch,
        velocities=velocities,
        density=DENSITY,
        material=stone,
    )
    return world


def reference(count=SPHERES, samples=SAMPLES, most_steps=1000):
    """Rows of the steps, the sampled problems with their steps, and the last positions."""
    world = falling_spheres(count)
    largest = LARGEST * count // SPHERES
    levels = [largest * (k + 1) // samples for k in range(samples)]
    rows, problems = [], []
    while levels and world.steps < most_steps:
        world.step()
        info = world.info
        rows.append(
            {
                "time_s": world.time,
                "contacts": info["contacts"],
                "iterations": info["iterations"],
                "status": info["status"],
            }
        )
        if info["contacts"] >= levels[0]:
            problems.append((world.steps, world.problem()))
            levels = [level for level in levels if level > info["contacts"]]
    return rows, problems, world.positions.copy()


# ---- the problems --------------------------------------------------------------------------------


def coupling(problem):
    """With how many others a contact shares a moving sphere: the mean; and contacts of a sphere."""
    bodies = problem.bodies
    moving = bodies >= 0
    of_sphere = np.bincount(bodies[moving])
    others = np.where(moving, of_sphere[bodies] - 1, 0).sum(axis=1)
    return {"coupled": float(others.mean()), "most_of_a_sphere": int(of_sphere.max())}


def solved(problem, options, most):
    """A solve by one method: on one thread, in seconds of its processor, without set-up."""
    solver = cs.Solver(problem, **PLAIN, **STOP, **options, max_iterations=most)
    times = []
    while not times or (len(times) < 3 and times[0] < SHORT):
        begun = time.process_time()
        result = solver.solve()
        times.append(time.process_time() - begun)
    assert result.status in ENDED, result.status
    return {
        "status": result.status,
        "iterations": result.iterations,
        "seconds": float(np.median(times)),
        "natural_map_scaled": float(result.natural_map_scaled),
    }


def rows_of(step, problem, most):
    """The rows of one problem."""
    of_problem = {"step": step, "contacts": problem.contacts, **coupling(problem)}
    for name, options in METHODS.items():
        yield {**of_problem, "method": name, **solved(problem, options(problem), most)}


# ---- the picture ---------------------------------------------------------------------------------


def draw(rows, run_rows, positions):
    """The spheres and their contacts by time (Fig. 6.5), iterations and times (Fig. 6.6)."""
    titles = ("the last step, from the side", "contacts", "iterations", "time of a solve")
    figure, axes = pages.panels(titles, width=5.2, height=4.0, columns=2)
    draw_spheres(axes[0], positions)

    # Contacts of the steps, and those of the problems.
    axes[1].plot([1e3 * row["time_s"] for row in run_rows], [row["contacts"] for row in run_rows])
    kept = {row["step"]: row["contacts"] for row in rows}
    axes[1].plot([1e3 * STEP * step for step in kept], kept.values(), "o", markersize=4)
    axes[1].set_xlabel("time [ms]")
    axes[1].set_ylabel("contacts")

    # Iterations and times of those that converged.
    for name, style in pages.styles(METHODS).items():
        own = [row for row in rows if row["method"] == name and row["status"] == "converged"]
        contacts = [row["contacts"] for row in own]
        look = {"color": style.color, "marker": style.marker, "markersize": 4, "linewidth": 0.8}
        axes[2].plot(contacts, [row["iterations"] for row in own], label=name, **look)
        axes[3].plot(contacts, [1e3 * row["seconds"] for row in own], **look)
    for ax, label in ((axes[2], "iterations"), (axes[3], "milliseconds")):
        ax.set_yscale("log")
        ax.set_xlabel("contacts")
        ax.set_ylabel(label)
    axes[2].legend(fontsize=7)
    return figure


def draw_spheres(ax, positions):
    """Shaded discs, back to front."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Circle

    order = np.argsort(-positions[:, 1])
    depth = positions[order, 1]
    shade = (depth - depth.min()) / max(np.ptp(depth), 1e-9)
    discs = PatchCollection(
        [Circle(place, RADIUS) for place in positions[order][:, [0, 2]]],
        facecolors=np.column_stack([0.35 + 0.5 * shade, 0.5 + 0.4 * shade, 0.7 + 0.25 * shade]),
        edgecolors="0.25",
        linewidths=0.3,
    )
    ax.add_collection(discs)
    ax.set_aspect("equal")
    ax.autoscale_view()
    ax.set_xlabel("x [m]")
    ax.set_ylabel("z [m]")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few spheres, to build/benchmarks")
    quick = parser.parse_args(argv).quick
    folder = (ROOT / "build" / "benchmarks" if quick else common.RESULTS / common.machine()) / "s2"

    # A solve of the reference that ends at the cap is S2's, too.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        steps, problems, positions = reference(*((200, 4) if quick else ()))
    rows = []
    for step, problem in problems:
        rows += rows_of(step, problem, 2000 if quick else MOST)
        told = [f"{row['iterations']} {row['status']}" for row in rows[-len(METHODS) :]]
        print(problem.contacts, *told, sep="  ", flush=True)
    print(common.write_csv("spheres_run", steps, folder))
    path = common.write_csv("spheres", rows, folder)
    print(path)
    picture = path.with_suffix(".png")
    print(pages.picture(picture, lambda given: draw(given, steps, positions), rows))


if __name__ == "__main__":
    main()
