"""S2 section 6.2, Figs 6.5 and 6.6: contact problems of 3,000 falling spheres, by JOR and by SOR.

The reference is a motion of spheres that fall into a box, whose steps are solved by full SOR with
α = 1 and at most 5,000 iterations; contact problems are kept at 40 numbers of contacts up to 4,400,
the most that S2's dense matrices allow. Each problem is then solved from zero by each method until
eq. 4.50 holds with both tolerances 1e-7; times are CPU times, on one thread. Writes spheres.csv, a
row for each problem and method, with the picture beside it, and spheres_run.csv, a row for each
step; `report.py` renews docs/s2.md.

    python benchmarks/s2/spheres.py [--quick] [--spheres 3000] [--samples 40] [--problems FOLDER]
    python benchmarks/s2/spheres.py --device cuda [--spheres 1000] [--samples 8] [--problems FOLDER]

With a device it measures something else: S2's Fig. 6.6 is of solves on a GPU, with full matrices.
Each problem is solved by the three methods that S2 tests: on one core and on the device by our
solvers, and there by S2's own kernels over a full T. Times are those of solves that ask for eq.
4.50 (our solvers after every iteration, S2's kernels every 10; on a device both ask there), and of
as many iterations without it, in runs of their own. Those of our solvers are without set-up, in
which the problem is packed and uploaded; those of S2's kernels contain the copies of T and of the
impulses, and the first sums of SOR (eq. 5.15). Besides, a motion of spheres is stepped on one core,
on all, and with solves on the device: the time of a step, and its parts. Writes spheres_device.csv
with a picture, and spheres_steps.csv.

A folder of `--problems` that has files gives the problems, or as many of them as samples are asked
for, evenly from the first to the last: a machine with a GPU need not make the motion of the
reference. A new one gets those sampled.
"""

import argparse
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np

import contactsolve as cs
from contactsolve import _devices, dynamics

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
import dense
import kernels
from common import ROOT, clocks, devices, pages, sweeping

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

# What S2 tests on a GPU: its kernels, and the relaxation.
JOR, SOR, RELAXED = TESTED = ("JOR, α = 0.35", "full SOR, α = 1", "relaxed SOR of 32, α = 0.35")
KERNELS = {
    JOR: ({"kernel": "own_gemv+prox"}, ALPHA),
    SOR: ({"kernel": "full_sor_96"}, 1.0),
    RELAXED: ({"kernel": "relaxed_sor", "panel_rows": 3 * GATHERED}, ALPHA),
}
CRITERION = {"criterion": "norm", "rtol": 1e-7, "atol": 1e-7, "check_every": 10}
CORE, DEVICE, OF_S2 = WAYS = ("one core", "device", "device, S2's kernels")

# The motion whose steps are timed: its last steps, each with so many sweeps.
MOTION_STEPS, TIMED_STEPS, SWEEPS = 600, 100, 50
SWEPT = {"method": "gauss_seidel", "order": "colored", "max_iterations": SWEEPS}
SWEPT |= {"scheme": "factorized", "rtol": None, "atol": None}


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


def stored(folder):
    """The problems of a folder with their steps, in the order of the steps."""
    return [(int(path.stem), cs.load_problem(path)) for path in sorted(folder.glob("*.h5"))]


def store(problems, folder):
    """Write problems to files that are named by their steps."""
    folder.mkdir(parents=True, exist_ok=True)
    for step, problem in problems:
        problem.save(folder / f"{step:04}.h5", overwrite=True)


# ---- the problems --------------------------------------------------------------------------------


def coupling(problem):
    """With how many others a contact shares a moving sphere: the mean; and contacts of a sphere."""
    bodies = problem.bodies
    moving = bodies >= 0
    of_sphere = np.bincount(bodies[moving])
    others = np.where(moving, of_sphere[bodies] - 1, 0).sum(axis=1)
    return {"coupled": float(others.mean()), "most_of_a_sphere": int(of_sphere.max())}


def solved(problem, options, most, clock=time.process_time):
    """A solve by one method on one thread: CPU time, or by another clock, without set-up."""
    solver = cs.Solver(problem, **PLAIN, **STOP, **options, max_iterations=most)
    times = []
    while not times or (len(times) < 3 and times[0] < SHORT):
        begun = clock()
        result = solver.solve()
        times.append(clock() - begun)
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


# ---- a device ------------------------------------------------------------------------------------


def rows_on_device(step, problem, most, device):
    """The rows of one problem in Fig. 6.6, in seconds by the clock."""
    of_problem = {"device": devices.named(device), "step": step, "contacts": problem.contacts}
    converge = []
    for where, place in ((CORE, {}), (DEVICE, {"device": device})):
        for name in TESTED:
            options = {**METHODS[name](problem), "scheme": "factorized", **place}
            figures = solved(problem, options, most, time.perf_counter)
            figures["sweeps_s"] = seconds_of_sweeps(problem, options, figures)
            yield {**of_problem, "where": where, "method": name, **figures}
            if where == CORE and figures["status"] == "converged":
                converge.append(name)

    # S2's kernels go on where a method diverges.
    A, b = problem.delassus().toarray(), problem.b
    for name in converge:
        figures = by_kernel(A, b, problem.mu, name, most, device)
        yield {**of_problem, "where": OF_S2, "method": name, **figures}


def seconds_of_sweeps(problem, options, figures):
    """What as many iterations take without the criterion."""
    count = figures["iterations"]
    solver = sweeping(problem, count, rollback=0, islands=False, **options)
    repeats = 3 if figures["seconds"] < SHORT else 1
    return count * float(np.median([clocks.of_sweep(solver, count)[0] for _ in range(repeats)]))


def by_kernel(A, b, mu, name, most, device):
    """A solve by one of S2's kernels: its iterations, and copies of T and of the impulses."""
    options, relaxation = KERNELS[name]
    T, d = dense.iteration_matrix(A, b, np.float64, relaxation)
    limits = {"iterations": most, **CRITERION}
    iterate = partial(cs.cuda.iterate_dense, kernels.by_columns(T), d, mu, **options, device=device)
    done = iterate(**limits)
    alone = iterate(iterations=done.iterations)  # the time of iterations contains the criterion
    seconds = done.seconds
    return {
        "status": "converged" if done.converged else "max_iterations",
        "iterations": done.iterations,
        "seconds": seconds["to_device"] + seconds["iteration"] + seconds["from_device"],
        "sweeps_s": alone.seconds["iteration"],
    }


def timed_motion(count, steps, timed, **options):
    """A motion of spheres: milliseconds of a step and its parts in the last steps, and places."""
    world = dynamics.scenes.spheres_in_a_box(count, time_step=STEP, **SWEPT, **options)
    world.run(steps - timed)
    before = world.timings
    contacts = world.run(timed)["contacts"][1:]  # without the state before the first step
    parts = {name: 1e3 * (whole - before[name]) / timed for name, whole in world.timings.items()}
    figures = {"contacts": float(contacts.mean())} | {f"{k}_ms": v for k, v in parts.items()}
    return {**figures, "solve_share": parts["solve"] / parts["step"]}, world.positions.copy()


def rows_of_steps(count, device, threads, steps=MOTION_STEPS, timed=TIMED_STEPS):
    """The rows of a motion: one on one core, one on all, and one with solves on the device."""
    places = {CORE: {"threads": 1}}
    if threads > 1:
        places["all cores"] = {"threads": threads}
    rows, here = [], None
    for where, options in {**places, DEVICE: {"device": device}}.items():
        figures, positions = timed_motion(count, steps, timed, **options)
        here = positions if here is None else here
        rows.append(
            {
                "device": devices.named(device),
                "spheres": count,
                "where": where,
                "threads": options.get("threads", ""),
                "sweeps": SWEEPS,
                "steps": timed,
                **figures,
                "apart": float(np.abs(positions - here).max()),
            }
        )
    return rows


def measure_on_device(problems, most, motion, device, results):
    """Solves and steps with a device: spheres_device.csv, its picture, and spheres_steps.csv."""
    print(common.write_csv("spheres_steps", rows_of_steps(*motion), results))
    rows = []
    for step, problem in problems:
        own = list(rows_on_device(step, problem, most, device))
        told = [f"{row['where']}: {row['iterations']} {row['status']}" for row in own]
        print(problem.contacts, *told, sep="  ", flush=True)
        rows += own

        # What is known so far.
        path = common.write_csv("spheres_device", rows, results)
        pages.picture(path.with_suffix(".png"), draw_on_device, rows)
    print(path)


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


def draw_on_device(rows):
    """S2 figure 6.6: iterations, the times of solves over JOR's; besides, the times."""
    titles = (f"(a) {OF_S2}: iterations", *(f"(b) {where}: over JOR" for where in (OF_S2, DEVICE)))
    figure, axes = pages.panels((*titles, "time of a solve"), width=5.2, columns=2)
    rows = [row for row in rows if row["status"] == "converged"]
    for name, style in pages.styles(TESTED).items():
        look = {"color": style.color, "marker": style.marker, "markersize": 4, "linewidth": 0.8}
        iterations, seconds = (of_method(rows, name, key) for key in ("iterations", "seconds"))
        axes[0].plot(*columns(iterations[OF_S2]), label=name, **look)
        for ax, where in zip(axes[1:3], (OF_S2, DEVICE), strict=True):
            base = of_method(rows, JOR, "seconds")[where]
            both = [step for step in seconds[where] if step in base]
            over = {k: (base[k][0], seconds[where][k][1] / base[k][1]) for k in both}
            ax.plot(*columns(over), **look)
        for where, form in zip(WAYS, ("--", "-", ":"), strict=True):
            axes[3].plot(*columns(seconds[where], 1e3), **look | {"linestyle": form})
    labels = ("iterations", *["time over JOR's"] * 2, "ms; dashed: core, dotted: S2's")
    for ax, label in zip(axes, labels, strict=True):
        ax.set_xlabel("contacts")
        ax.set_ylabel(label)
    for ax in (axes[0], axes[3]):
        ax.set_yscale("log")
    axes[0].legend(fontsize=7)
    return figure


def of_method(rows, name, key):
    """A method's figures by way and step: (contacts, figure)."""
    own = [row for row in rows if row["method"] == name]
    return {
        where: {row["step"]: (row["contacts"], row[key]) for row in own if row["where"] == where}
        for where in WAYS
    }


def columns(by_step, scale=1.0):
    """Contacts and figures, to be plotted."""
    return [c for c, _ in by_step.values()], [scale * figure for _, figure in by_step.values()]


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
    parser.add_argument("--spheres", type=int, default=SPHERES, help="of the motion")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="problems of the motion")
    parser.add_argument("--problems", type=Path, help="a folder with problems, or for them")
    parser.add_argument("--device", choices=devices.DEVICES, help="measure Fig. 6.6 on a device")
    given = parser.parse_args(argv)
    quick, device = given.quick, given.device
    folder = (ROOT / "build" / "benchmarks" if quick else common.RESULTS / common.machine()) / "s2"
    if device and (missing := _devices.why_not(device)):
        parser.exit(1, f"not measured: {missing}\n")
    if device == "cuda-emulated" and not quick:
        parser.error("times of an emulated device mean nothing: add --quick")
    if given.problems and not device and given.problems.exists():
        parser.error(f"{given.problems} exists: its problems are for --device alone")

    steps, problems, positions = sampled(given)
    if device:
        motion = (60, device, 1, 20, 5) if quick else (given.spheres, device, clocks.free_cores())
        measure_on_device(problems, 200 if quick else MOST, motion, device, folder)
        return
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


def sampled(given):
    """Steps, problems and places of the reference; of problems that are stored, these alone."""
    if given.problems and (problems := stored(given.problems)):
        return [], common.evenly(problems, given.samples), None
    spheres = (60, 2) if given.device else (200, 4)

    # A solve of the reference that ends at the cap is S2's, too.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = reference(*(spheres if given.quick else (given.spheres, given.samples)))
    if given.problems:
        store(found[1], given.problems)
    return found


if __name__ == "__main__":
    main()
