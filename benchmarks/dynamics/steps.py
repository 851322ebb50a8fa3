"""Steps of worlds: settled spheres, other engines, Box2D's pyramid of squares, and joints.

spheres  spheres that have settled in a box, 50 sweeps a step, in double and single precision:
         steps per second and the milliseconds of each phase. The set-up is timed with contacts as
         they change, whose share is told. Writes steps_spheres.csv
peers    the same at 1,000 and 4,096 spheres on one thread, beside Bullet and MuJoCo where they are
         installed (pip install pybullet mujoco-core): milliseconds of a step. Writes
         steps_peers.csv
pyramid  Box2D's large_pyramid: 5,050 squares for 500 steps. Writes steps_pyramid.csv
joints   scenes of S3 in motion for 20 s of the scene, its chains and ragdolls for 5 s: steps per
         second, of which the time step needs so many for real time. Writes steps_joints.csv

    python benchmarks/dynamics/steps.py [--spheres 10000,27000,100000] [--threads 1,2]
                                        [--only spheres]

A settled state takes minutes to simulate, and is kept in build/benchmarks/.
"""

import argparse
import hashlib
import importlib
import itertools
import os
import sys
import time
from pathlib import Path

import numpy as np

import contactsolve as cs
from contactsolve import dynamics

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import ROOT, interleaved, quartiles, teams, write_csv

CACHE = ROOT / "build" / "benchmarks"
SWEEPS = {"method": "gauss_seidel", "rtol": None, "atol": None, "max_iterations": 50}
PHASES = ("collide", "setup", "solve", "rest")
G, RADIUS, DENSITY, MU, STEP = 9.81, 0.05, 1000.0, 0.1, 1e-3
# They begin on a cubic grid, so many diameters apart, with velocities of this deviation [m/s].
DISTANCE, SPEED, SEED = 1.05, 0.3, 2
# They have settled when their kinetic energy is this share of m g r each.
AT_REST, MOST_STEPS = 1e-4, 4000
WARM_UP, TURN = 30, 5  # steps before timing, and of a turn
PEER_SIZES = (1000, 4096)


# ---- settled spheres -----------------------------------------------------------------------------


def side_of(count):
    """How many spheres a side of the box holds."""
    return int(np.ceil(count ** (1 / 3) - 1e-9))


def walls(count):
    """Normals and offsets of the half-spaces that hold the spheres."""
    width = 2 * RADIUS * DISTANCE * side_of(count)
    yield [0.0, 0.0, 1.0], 0.0
    for axis in np.eye(3)[:2]:
        yield axis.tolist(), 0.0
        yield (-axis).tolist(), -width


def box_of_spheres(positions, velocities, **solver):
    """A world of spheres with these states [m, m/s]."""
    # A settled state penetrates a little.
    world = dynamics.World(time_step=STEP, allow_overlap=True, **SWEEPS, **solver)
    stone = dynamics.Material(MU)
    for normal, offset in walls(len(positions)):
        world.add_fixed(dynamics.HalfSpace(normal, offset), material=stone)
    world.add_bodies(
        dynamics.Sphere(RADIUS),
        positions,
        velocities=velocities,
        density=DENSITY,
        material=stone,
    )
    return world


def settle(count):
    """Positions and velocities of spheres at rest."""
    side = side_of(count)
    number = np.arange(count)
    grid = np.stack([number % side, number // side % side, number // side**2], axis=-1) + 0.5
    velocities = np.zeros((count, 6))
    velocities[:, :3] = SPEED * np.random.default_rng(SEED).normal(size=(count, 3))
    world = box_of_spheres(2 * RADIUS * DISTANCE * grid, velocities)
    while world.steps < MOST_STEPS:
        world.run(100)
        moving = world.energy()[0] / (count * world.masses[0] * G * RADIUS)
        told = f"{world.steps} steps, {world.info['contacts']} contacts, energy {moving:.2g}"
        print(f"settling {count} spheres: {told}", file=sys.stderr, flush=True)
        if world.steps >= 500 and moving < AT_REST:
            break
    return world.positions.copy(), world.velocities.copy()


def settled(count):
    """The settled state, simulated only if it is not in the cache."""
    rules = (RADIUS, DENSITY, MU, STEP, DISTANCE, SPEED, SEED, AT_REST, MOST_STEPS, SWEEPS)
    tag = hashlib.sha256(repr(rules).encode()).hexdigest()[:8]
    path = CACHE / f"settled_{count}_{tag}.npz"
    if not path.exists():
        positions, velocities = settle(count)
        CACHE.mkdir(parents=True, exist_ok=True)
        np.savez(path.with_suffix(".part.npz"), positions=positions, velocities=velocities)
        path.with_suffix(".part.npz").replace(path)
    with np.load(path) as kept:
        return kept["positions"], kept["velocities"]


def resident():
    """Bytes of memory that this process has; None where Linux does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


class Run:
    """A world whose steps are timed in turns, phase by phase."""

    def __init__(self, count, dtype, threads):
        self.dtype, before = dtype, resident()
        self.world = box_of_spheres(*settled(count), dtype=dtype, threads=threads)
        self.world.run(WARM_UP)
        after = resident()
        self.resident = None if before is None else after - before
        self.phases, self.new_solvers, self.changed = [], [], []

    def turn(self):
        """Some steps, timed from outside; returns the seconds of one."""
        told, begun = self.world.timings, time.perf_counter()
        for _ in range(TURN):
            self.world.step()
        seconds = (time.perf_counter() - begun) / TURN
        spent = {name: (value - told[name]) / TURN for name, value in self.world.timings.items()}
        known = {name: spent[name] for name in PHASES[:3]}
        self.phases.append({**known, "rest": seconds - sum(known.values())})
        return seconds

    def watch(self):
        """A step that is not timed: which contacts it has that the one before had not."""
        before = {tuple(row) for row in self.world.contacts.ids.tolist()}
        self.world.step()
        after = {tuple(row) for row in self.world.contacts.ids.tolist()}
        self.changed.append(len(before ^ after) / max(len(after), 1))
        self.new_solvers.append(self.world.info["new_solver"])

    def row(self, seconds):
        contacts = self.world.info["contacts"]
        phases = {f"{n}_ms": 1e3 * np.median([p[n] for p in self.phases]) for n in PHASES}
        packed = cs.Solver(self.world.problem(), **SWEEPS, dtype=self.dtype).info["bytes"]
        return {
            "contacts": contacts,
            "steps_per_s": 1 / float(np.median(seconds)),
            **{f"{name}_ms": 1e3 * value for name, value in quartiles(seconds).items()},
            **phases,
            "setup_ns_per_contact": 1e6 * phases["setup_ms"] / contacts,
            "changed": float(np.mean(self.changed)),
            "new_solvers": float(np.mean(self.new_solvers)),
            "packed_bytes_per_contact": packed / contacts,
            "resident_bytes_per_contact": self.resident and self.resident / contacts,
        }


def measure_spheres(sizes, threads, repeats):
    """Rows of each size, all precisions and numbers of threads in turns."""
    for count in sizes:
        runs = {
            (dtype, number): Run(count, dtype, number)
            for dtype, number in itertools.product(("float64", "float32"), threads)
        }
        seconds = interleaved({key: run.turn for key, run in runs.items()}, repeats)
        for (dtype, number), run in runs.items():
            for _ in range(TURN):
                run.watch()
            of_run = {"spheres": count, "dtype": dtype, "threads": number}
            yield {**of_run, **run.row(seconds[dtype, number])}


# ---- other engines -------------------------------------------------------------------------------


def ours(positions, velocities, dtype):
    world = box_of_spheres(positions, velocities, dtype=dtype, threads=1)
    return world.step, lambda: world.info["contacts"]


def bullet(positions, velocities):
    """The same spheres in Bullet: 50 iterations, no early end, bodies in maximal coordinates."""
    engine = importlib.import_module("pybullet")
    engine.connect(engine.DIRECT)
    engine.setGravity(0, 0, -G)
    engine.setPhysicsEngineParameter(
        fixedTimeStep=STEP, numSolverIterations=50, numSubSteps=1, solverResidualThreshold=0
    )
    surface = {"lateralFriction": MU, "restitution": 0.0, "rollingFriction": 0.0}
    for normal, offset in walls(len(positions)):
        plane = engine.createCollisionShape(engine.GEOM_PLANE, planeNormal=normal)
        place = (offset * np.array(normal)).tolist()
        body = engine.createMultiBody(0, plane, basePosition=place)
        engine.changeDynamics(body, -1, **surface)
    ball = engine.createCollisionShape(engine.GEOM_SPHERE, radius=RADIUS)
    mass = DENSITY * 4 / 3 * np.pi * RADIUS**3
    for place, speed in zip(positions.tolist(), velocities.tolist(), strict=True):
        body = engine.createMultiBody(mass, ball, basePosition=place, useMaximalCoordinates=1)
        engine.changeDynamics(body, -1, linearDamping=0, angularDamping=0, **surface)
        engine.resetBaseVelocity(body, speed[:3], speed[3:])
    return engine.stepSimulation, lambda: len(engine.getContactPoints())


def mujoco(positions, velocities):
    """The same spheres in MuJoCo: 50 iterations of PGS, no early end."""
    engine = importlib.import_module("mujoco")
    planes = "".join(
        f'<geom type="plane" size="0 0 1" zaxis="{" ".join(map(str, normal))}" '
        f'pos="{" ".join(str(offset * x) for x in normal)}"/>'
        for normal, offset in walls(len(positions))
    )
    balls = "".join(
        f'<body pos="{x} {y} {z}"><freejoint/><geom type="sphere" size="{RADIUS}"/></body>'
        for x, y, z in positions.tolist()
    )
    model = engine.MjModel.from_xml_string(
        f'<mujoco><option timestep="{STEP}" solver="PGS" iterations="50" tolerance="0" '
        f'gravity="0 0 -{G}"/><size memory="8G"/>'
        f'<default><geom density="{DENSITY}" friction="{MU} 0 0"/></default>'
        f"<worldbody>{planes}{balls}</worldbody></mujoco>"
    )
    data = engine.MjData(model)
    data.qvel[:] = velocities.ravel()
    return lambda: engine.mj_step(model, data), lambda: data.ncon


PEERS = {
    "contactsolve f64": lambda *state: ours(*state, "float64"),
    "contactsolve f32": lambda *state: ours(*state, "float32"),
    "Bullet": bullet,
    "MuJoCo": mujoco,
}


def several(step):
    """A task of `interleaved`: a turn of steps; returns the seconds of one."""

    def turn():
        begun = time.perf_counter()
        for _ in range(TURN):
            step()
        return (time.perf_counter() - begun) / TURN

    return turn


def measure_peers(sizes, repeats):
    for count in sizes:
        state = settled(count)
        engines = {}
        for name, make in PEERS.items():
            try:
                engines[name] = make(*state)
            except ModuleNotFoundError as error:
                print(f"{name} is left out: {error}", file=sys.stderr)
        for step, _ in engines.values():
            for _ in range(WARM_UP):
                step()
        tasks = {name: several(step) for name, (step, _) in engines.items()}
        base = None
        for name, seconds in interleaved(tasks, repeats).items():
            base = float(np.median(seconds)) if base is None else base
            yield {
                "spheres": count,
                "engine": name,
                "contacts": engines[name][1](),
                **{f"{key}_ms": 1e3 * value for key, value in quartiles(seconds).items()},
                "times_f64": float(np.median(seconds)) / base,
            }


# ---- a pyramid of squares ------------------------------------------------------------------------


def pyramid(base, threads, activation, substeps, sweeps, **options):
    """Box2D's large_pyramid: squares of 1 m with μ = 0.6, each on two of the row below.

    Box2D makes 4 steps for each 1/60 s, which it calls one step; it lets shapes overlap by 5 mm.
    """
    step = 1 / 60 / substeps
    world = dynamics.World(
        2,
        gravity=(0, -10),
        time_step=step,
        activation=activation,
        threads=threads,
        max_iterations=sweeps,
        **options,
    )
    wood = dynamics.Material(0.6)
    world.add_fixed(dynamics.HalfSpace([0.0, 1.0]), material=wood)
    square = dynamics.Polygon([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    places = [
        [(i + 1) * 0.5 + (j - i) - 0.5 * base, (2 * i + 1) * 0.5]
        for i in range(base)
        for j in range(i, base)
    ]
    world.add_bodies(square, np.array(places), density=1.0, material=wood)
    return world


def measure_pyramid(base, steps, threads, **solver):
    for number in threads:
        world = pyramid(base, number, **solver)
        start = world.positions.copy()
        seconds, busy, iterations = [], [], []
        for _ in range(steps):
            begun, cpu, made = time.perf_counter(), time.process_time(), 0
            for _ in range(solver["substeps"]):
                world.step()
                made += world.info["iterations"]
            seconds.append(time.perf_counter() - begun)
            busy.append(time.process_time() - cpu)
            iterations.append(made)
        moved = np.linalg.norm(world.positions - start, axis=1)
        mean = sum(seconds) / steps
        spent = {name: value / steps for name, value in world.timings.items()}
        known = {name: 1e3 * spent[name] for name in PHASES[:3]}
        yield {
            "squares": world.bodies,
            "contacts": world.info["contacts"],
            "steps": steps,
            **solver,
            "threads": number,
            "ms": 1e3 * mean,
            "first_ms": 1e3 * seconds[0],
            **{f"{name}_ms": 1e3 * value for name, value in quartiles(seconds).items()},
            "least_ms": 1e3 * min(seconds),
            # Of all threads: what the step takes where nothing else runs, on one thread.
            "cpu_ms": 1e3 * sum(busy) / steps,
            "cpu_median_ms": 1e3 * float(np.median(busy)),
            **{f"{name}_ms": value for name, value in known.items()},
            "rest_ms": 1e3 * mean - sum(known.values()),
            "first_iterations": iterations[0],
            "mean_iterations": sum(iterations) / steps,
            "tip_moved_mm": 1e3 * float(moved[-1]),
            "most_moved_mm": 1e3 * float(moved.max()),
        }


# ---- joints --------------------------------------------------------------------------------------


# How long each scene of joints moves [s]: those of S3 as in its Table 2.1, but for its chains.
OF_JOINTS = {
    **dict.fromkeys(("crane", "forklift", "forwarder", "offshore", "vehicle"), 20.0),
    **dict.fromkeys(("hoisted_chain", "winch", "ragdolls"), 5.0),
}


def measure_joints(threads):
    for (name, duration), number in itertools.product(OF_JOINTS.items(), threads):
        world = dynamics.scenes.get(name)(threads=number)
        steps = round(duration / world.time_step)
        furthest, contacts, seconds = 0.0, [], []
        for _ in range(steps):
            begun = time.perf_counter()
            world.step()
            seconds.append(time.perf_counter() - begun)
            contacts.append(world.info["contacts"])
            furthest = max(furthest, float(world.joints.errors[:, 0].max()))
        yield {
            "scene": name,
            "bodies": world.bodies,
            "joints": len(world.joints),
            "contacts": float(np.mean(contacts)),
            "steps": steps,
            "not_converged": world.info["steps_not_converged"],
            "threads": number,
            "steps_per_second": steps / sum(seconds),
            "real_time": round(1.0 / world.time_step),
            "slow_ms": 1e3 * float(np.percentile(seconds, 95)),
            **{f"{phase}_ms": 1e3 * world.timings[phase] / steps for phase in PHASES[:3]},
            "most_apart_mm": 1e3 * furthest,
        }


def numbers(text):
    return tuple(int(word) for word in text.split(","))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spheres", type=numbers, default=(10_000, 27_000, 100_000))
    teams.add_options(parser)
    parser.add_argument("--only", choices=["spheres", "peers", "pyramid", "joints"])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--base", type=int, default=100, help="squares of the lowest row")
    parser.add_argument("--steps", type=int, default=500, help="of the pyramid")
    parser.add_argument("--method", default="nesterov", help="for the pyramid")
    parser.add_argument("--rtol", type=float, default=1e-5, help="for the pyramid; 0: none")
    parser.add_argument("--sweeps", type=int, default=5000, help="for the pyramid, at most")
    parser.add_argument(
        "--activation", type=float, default=1e-3, help="up to which gaps are closed [m], likewise"
    )
    parser.add_argument("--substeps", type=int, default=1, help="of a step of the pyramid")
    parser.add_argument("--no-csv", action="store_true", help="print only")
    given = parser.parse_args()
    threads = teams.chosen(parser, given)
    names = ("method", "sweeps", "activation", "substeps")
    of_pyramid = {name: getattr(given, name) for name in names}
    of_pyramid["rtol"] = given.rtol or None
    of_pyramid["atol"] = 0.0 if given.rtol else None
    tables = {
        "spheres": lambda: measure_spheres(given.spheres, threads, given.repeats),
        "peers": lambda: measure_peers(PEER_SIZES, given.repeats),
        "pyramid": lambda: measure_pyramid(given.base, given.steps, threads, **of_pyramid),
        "joints": lambda: measure_joints(threads),
    }
    for name, table in tables.items():
        if given.only not in (None, name):
            continue
        rows = []
        for row in table():
            rows.append(row)
            words = (f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
            print("  ".join(words), flush=True)
        if not given.no_csv:
            write_csv(f"steps_{name}", rows)


if __name__ == "__main__":
    main()
