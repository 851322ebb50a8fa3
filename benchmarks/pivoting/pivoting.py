"""Direct solvers of mixed LCPs: engines beside each other and beside QP solvers.

Scenes of S3's kind, made here: `winch` (a chain of capsules on ball joints, most of it on the
ground, drawn in by a heavy drum with a drive), `stack` (boxes of 100 to 300 kg), `logs` (a tower
of crossed logs), with velocities at random; box friction with the bounds of an outer loop,
compliance 1e-10 m/N, h = 1/60 s. All rows are free at the start (cold), or it is the last index set
of a problem with slightly different velocities (warm), or of this one ("right set"); the matrix is
factored anew in any case. "without interior" is Júdice and Pires' rule by itself.

    python benchmarks/pivoting/pivoting.py                # engines, and QP solvers if installed
    python benchmarks/pivoting/pivoting.py --scene logs   # one scene alone, for its own CSV
    python benchmarks/pivoting/pivoting.py --scene moving # `MlcpSolver.update` along a moving chain

Times are of the solve alone: orders and patterns are found once for a matrix. QP solvers are timed
with their set-up, in which they factor. Every answer is judged from outside; `residual` is the
largest natural residual over |x_i| + rho_i max|b|.
"""

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is there: all run on one thread

import numpy as np
from scipy import sparse

import contactsolve as cs

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import interleaved, quartiles, write_csv

STEP, COMPLIANCE = 1 / 60, 1e-10


class Scene:
    """Bodies and rows of constraints, put together one by one."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.inverse_mass, self.velocity, self.position = [], [], []
        self.rows, self.kind, self.normal, self.mu, self.speed = [], [], [], [], []

    def body(self, mass, inertia, position, slides=0.0, turns=0.0, velocity=0.0):
        """A body whose velocities vary so much, along the ground [m/s] and in turning [rad/s]."""
        self.inverse_mass.append(np.r_[np.full(3, 1 / mass), 1 / np.asarray(inertia, float)])
        own = np.r_[slides, slides, 0, turns, turns, turns] * self.rng.normal(size=6)
        own[:3] += velocity
        own[2] -= 9.81 * STEP
        self.velocity.append(own)
        self.position.append(np.asarray(position, float))
        return len(self.position) - 1

    def row(self, bodies, point, direction, kind, normal=-1, mu=0.0):
        """The velocity of the second body at a point along a direction, minus the first one's."""
        entries = {}
        for body, sign in zip(bodies, (-1.0, 1.0), strict=True):
            if body >= 0:
                arm = point - self.position[body]
                entries[body] = sign * np.r_[direction, np.cross(arm, direction)]
        self.add(entries, kind, normal, mu)

    def add(self, entries, kind, normal=-1, mu=0.0, speed=0.0):
        self.rows.append(entries)
        self.kind.append(kind)
        self.normal.append(normal)
        self.mu.append(mu)
        self.speed.append(speed)

    def drive(self, body, speeds):
        """The body turns at these speeds [rad/s] about x, y and z."""
        for axis, speed in zip(np.eye(3), speeds, strict=True):
            self.add({body: np.r_[np.zeros(3), axis]}, "free", speed=speed)

    def ball_joint(self, first, second, point):
        for axis in np.eye(3):
            self.row((first, second), point, axis, "free")

    def contact(self, first, second, point, mu):
        normal = len(self.rows)
        self.row((first, second), point, np.array([0.0, 0.0, 1.0]), "normal")
        for axis in np.eye(3)[:2]:
            self.row((first, second), point, axis, "tangent", normal, mu)

    def problem(self):
        """A, b, b of slightly other velocities, and the bounds for normal impulses (a function)."""
        m, n = len(self.rows), len(self.position)
        J = sparse.lil_array((m, 6 * n))
        for i, entries in enumerate(self.rows):
            for body, part in entries.items():
                J[i, 6 * body : 6 * body + 6] = part
        J = J.tocsr()
        A = J @ sparse.diags_array(np.concatenate(self.inverse_mass)) @ J.T
        A = sparse.csr_array(A + COMPLIANCE / STEP**2 * sparse.eye_array(m))
        kind, normal, mu = np.array(self.kind), np.array(self.normal), np.array(self.mu)

        def bounds(x):
            lo, hi = np.full(m, -np.inf), np.full(m, np.inf)
            lo[kind == "normal"] = 0.0
            tangent = kind == "tangent"
            if x is not None:
                hi[tangent] = mu[tangent] * np.maximum(x[normal[tangent]], 0.0)
                lo[tangent] = -hi[tangent]
            return lo, hi

        velocity = np.concatenate(self.velocity)
        other = velocity + 0.01 * self.rng.normal(size=6 * n)
        speed = np.array(self.speed)
        return A, J @ velocity - speed, J @ other - speed, bounds


def winch(seed=0, links=50, lying=36, length=0.2):
    scene = Scene(seed)
    drum = scene.body(400, [50, 50, 50], [-1, 0, 1])
    scene.ball_joint(-1, drum, np.array([-1.0, 0, 1]))
    scene.drive(drum, [0, 1, 0])
    at, last = np.array([-0.5, 0.0, 1.0]), drum
    for k in range(links):
        heading = [0.6, 0, -0.8] if k < links - lying else [1, 0.3 * np.sin(0.7 * k), 0]
        along = np.array(heading) / np.linalg.norm(heading)
        drawn = -0.5 * along * (k > 0)
        link = scene.body(1, [1e-3, 4e-3, 4e-3], at + along * length / 2, 0.05, 0.3, drawn)
        scene.ball_joint(last, link, at)
        if k >= links - lying:
            for end in (0.1, 0.9):
                scene.contact(-1, link, at + along * length * end - [0, 0, 0.05], 1.0)
        at, last = at + along * length, link
    return scene.problem()


def stack(seed=0, boxes=28):
    scene, last = Scene(seed), -1
    for k in range(boxes):
        mass, middle = 100.0 * (1 + k % 3), 0.02 * scene.rng.normal(size=2)
        box = scene.body(mass, [mass / 6] * 3, [*middle, k + 0.5], 0.3, 0.2)
        for corner in ((-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)):
            scene.contact(last, box, np.array([*(middle + corner), k]), 0.5)
        last = box
    return scene.problem()


def logs(seed=0, layers=9, across=4):
    scene, below = Scene(seed), []
    for layer in range(layers):
        here = []
        for offset in np.arange(across) - (across - 1) / 2:
            along = layer % 2
            middle = np.array(
                [offset, 0, 0.3 * layer + 0.15] if along else [0, offset, 0.15 + 0.3 * layer]
            )
            inertia = [60, 2, 60] if along else [2, 60, 60]
            here.append((scene.body(200, inertia, middle, 0.3, 0.2), offset))
        for log, offset in here:
            if not below:
                for x in (-2, -0.7, 0.7, 2):
                    scene.contact(-1, log, np.array([x, offset, 0]), 0.6)
            for other, crossing in below:
                x, y = (offset, crossing) if layer % 2 else (crossing, offset)
                scene.contact(other, log, np.array([x, y, 0.3 * layer]), 0.6)
        below = here
    return scene.problem()


def residual(A, b, lo, hi, x):
    rho = 1 / A.diagonal()
    defect = np.abs(x - np.clip(x - rho * (A @ x + b), lo, hi))
    return float(np.max(defect / (np.abs(x) + rho * np.abs(b).max())))


def final_bounds(A, b, bounds):
    """The friction bounds that no longer change, nearly: averaged over the last solves."""
    solver, x = cs.MlcpSolver(A), None
    for _ in range(30):
        result = solver.solve(b, *bounds(x))
        x = result.x if x is None else (x + result.x) / 2
    return bounds(x)


def numpy_bpp(A, b, lo, hi):
    """What one writes in NumPy: the same rule, LAPACK's factor of a full A_FF."""
    state = np.zeros(len(b), int)
    for _ in range(100):
        free = state == 0
        x = np.where(state < 0, lo, np.where(state > 0, hi, 0.0))
        x[free] = 0.0
        x[free] = np.linalg.solve(A[np.ix_(free, free)], -(b + A @ x)[free])
        w = A @ x + b
        new = np.where(free & (x < lo - 1e-12), -1, np.where(free & (x > hi + 1e-12), 1, state))
        new = np.where((state < 0) & (w < -1e-10) | (state > 0) & (w > 1e-10), 0, new)
        new = np.where(lo == hi, -1, new)
        if (new == state).all():
            break
        state = new
    return x


def peers(A, b, lo, hi):
    """Solvers of the same QP, min x A x / 2 + b x within the bounds, by name."""
    full, found = A.toarray(), {"NumPy bpp": lambda: numpy_bpp(A.toarray(), b, lo, hi)}
    m = len(b)
    try:
        import piqp

        def by_piqp():
            solver = piqp.SparseSolver()
            solver.settings.eps_abs = solver.settings.eps_rel = 1e-12
            solver.setup(P=sparse.csc_matrix(A), c=b, x_l=lo, x_u=hi)
            solver.solve()
            return solver.result.x

        found["PIQP"] = by_piqp
    except ImportError:
        pass
    try:
        import daqp

        none, sense = np.zeros((0, m)), np.zeros(m, np.int32)
        low, high = np.maximum(lo, -1e30), np.minimum(hi, 1e30)
        found["DAQP"] = lambda: daqp.solve(full, b, none, high, low, sense)[0]
    except ImportError:
        pass
    try:
        import clarabel

        def by_clarabel():
            above, below = np.isfinite(hi), np.isfinite(lo)
            unit = sparse.eye_array(m, format="csr")
            G = sparse.csc_matrix(sparse.vstack([unit[above], -unit[below]]))
            settings = clarabel.DefaultSettings()
            settings.verbose = False
            settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
            cones = [clarabel.NonnegativeConeT(G.shape[0])]
            upper = sparse.triu(sparse.csc_matrix(A), format="csc")
            h = np.r_[hi[above], -lo[below]]
            return np.array(clarabel.DefaultSolver(upper, b, G, h, cones, settings).solve().x)

        found["Clarabel"] = by_clarabel
    except ImportError:
        pass
    return found


def engine_tasks(A, b, lo, hi, start, right):
    """Cold and warm solves by each engine and rule, of a solver that has just been given A."""
    answers, tasks, solvers = {}, {}, {}
    ways = [("bpp", engine) for engine in ("auto", *cs.mlcp.engines())]
    ways += [(rule, "auto") for rule in ("keller", "dantzig", "lemke")]
    ways.append(("bpp", "envelope without interior"))

    def solve(name, method, engine, initial):
        if name in solvers:
            solvers[name].update(A)
        else:
            engine, *without = engine.split(" without ")
            options = {"method": method, "engine": engine, "interior": not without}
            solvers[name] = cs.MlcpSolver(A, **options)
        answers[name] = solvers[name].solve(b, lo, hi, initial=initial)
        return answers[name].time

    for method, engine in ways:
        name = f"{method}, {engine}"
        tasks[name] = lambda name=name, way=(method, engine): solve(name, *way, None)
        if method == "bpp":
            warm = f"{name}, warm"
            tasks[warm] = lambda name=warm, way=(method, engine): solve(name, *way, start)
    name = "bpp, auto, right set"
    tasks[name] = lambda: solve(name, "bpp", "auto", right)
    return tasks, answers


SCENES = {"winch": winch, "stack": stack, "logs": logs}


def engines(names):
    rows = []
    for name in names:
        make = SCENES[name]
        A, b, near, bounds = make()
        lo, hi = final_bounds(A, b, bounds)
        start = cs.solve_mlcp(A, near, lo, hi)
        tasks, answers = engine_tasks(A, b, lo, hi, start, cs.solve_mlcp(A, b, lo, hi))
        solutions = {}

        def timed(peer, function, solutions=solutions):
            begin = time.perf_counter()
            solutions[peer] = function()
            return time.perf_counter() - begin

        for peer, function in peers(A, b, lo, hi).items():
            tasks[peer] = lambda peer=peer, function=function: timed(peer, function)
        for task, seconds in interleaved(tasks, repeats=15).items():
            answer = answers.get(task)
            x = solutions[task] if answer is None else answer.x
            rows.append(
                {
                    "scene": name,
                    "rows": len(b),
                    "solver": task,
                    **{f"ms_{key}": 1e3 * value for key, value in quartiles(seconds).items()},
                    "pivots": "" if answer is None else answer.pivots,
                    "interior_steps": "" if answer is None else answer.interior_steps,
                    "tight": "" if answer is None else float(np.mean(answer.index_set != 0)),
                    "residual": residual(A, b, lo, hi, x),
                }
            )
            row = rows[-1]
            print(
                f"{name:6} {len(b):4} rows  {task:24} {row['ms_median']:9.3f} ms  pivots "
                f"{row['pivots']!s:>4}  residual {row['residual']:.1e}"
            )
    name = "pivoting" if len(names) > 1 else f"pivoting_{names[0]}"
    print(write_csv(name, rows))


# ---- other values of A ---------------------------------------------------------------------------

# What is done at each step: a new solver, or one that is updated and may use its factor again.
UPDATES = {"new": None, "updated": 0, "reuse 4": 4, "reuse 12": 12, "reuse 30": 30}


def changing(parts, steps=30):
    """A and b along a motion: the joints and contacts of one configuration, in which the chain of
    `winch` is bent a little more at each step, by a `parts` of what one frame of the drum bends."""
    for k in range(steps):
        yield winch_bent(0.01 * parts * k)


def winch_bent(bend, links=50, length=0.2):
    """The chain of `winch`, all of it lying, its wave turned by `bend` [rad]."""
    scene = Scene(0)
    drum = scene.body(400, [50, 50, 50], [-1, 0, 0])
    scene.ball_joint(-1, drum, np.array([-1.0, 0, 0]))
    at, last = np.array([-0.5, 0.0, 0.0]), drum
    for k in range(links):
        heading = np.array([1, 0.3 * np.sin(0.7 * k + bend) + bend, 0.0])
        along = heading / np.linalg.norm(heading)
        link = scene.body(1, [1e-3, 4e-3, 4e-3], at + along * length / 2, 0.1, 0.1)
        scene.ball_joint(last, link, at)
        for end in (0.1, 0.9):
            scene.contact(-1, link, at + along * length * end - [0, 0, 0.05], 1.0)
        at, last = at + along * length, link
    return scene.problem()


def heavy(m=400, steps=30):
    """Full matrices that drift by a thousandth a step: a factor costs a hundred solves."""
    rng = np.random.default_rng(0)
    J, turn = rng.normal(size=(m, m + 20)), rng.normal(size=(m, m + 20))
    b = rng.normal(size=m)
    for k in range(steps):
        now = J + 1e-3 * k * turn
        A = sparse.csr_array(now @ now.T / m + 1e-2 * np.eye(m))
        yield A, b, b, lambda _: (np.zeros(m), np.full(m, np.inf))


SEQUENCES = {
    "bent chain": lambda: changing(1.0),
    "chain bent a tenth": lambda: changing(0.1),
    "chain bent a thousandth": lambda: changing(1e-3),
    "full matrix": heavy,
}


def along(frames, reuse):
    """Seconds of set-up and of solves, counts and the largest residual of a run along frames."""
    solver, last, sums = None, None, np.zeros(5)
    worst = 0.0
    for A, b, lo, hi in frames:
        begin = time.perf_counter()
        if solver is None or reuse is None:
            solver = cs.MlcpSolver(A, reuse=reuse or 0)
        else:
            solver.update(A)
        setup = time.perf_counter() - begin
        last = solver.solve(b, lo, hi, initial=last)
        used = last.info.get("reuse", {"solves": 0, "failed": 0})
        sums += [setup, last.time, last.factorizations, used["solves"], used["failed"]]
        worst = max(worst, residual(A, b, lo, hi, last.x))
    return sums / len(frames), worst


def moving():
    rows = []
    for name, sequence in SEQUENCES.items():
        frames = [(A, b, *final_bounds(A, b, bounds)) for A, b, _, bounds in sequence()]
        found = {}

        def run(way, frames=frames, found=found):
            found[way], worst = along(frames, UPDATES[way])
            found[way] = np.r_[found[way], worst]
            return float(found[way][:2].sum())

        tasks = {way: lambda way=way, run=run: run(way) for way in UPDATES}
        for way, seconds in interleaved(tasks, repeats=3).items():
            setup, solve, factors, solves, failed, worst = found[way]
            rows.append(
                {
                    "sequence": name,
                    "rows": len(frames[0][1]),
                    "way": way,
                    "ms_step": 1e3 * float(np.median(seconds)),
                    "ms_setup": 1e3 * setup,
                    "ms_solve": 1e3 * solve,
                    "factorizations": factors,
                    "reused": solves,
                    "failed": failed,
                    "residual": worst,
                }
            )
            print(
                "  ".join(f"{v:.4g}" if isinstance(v, float) else str(v) for v in rows[-1].values())
            )
    print(write_csv("pivoting_moving", rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scene", choices=[*SCENES, "moving"], help="one scene alone")
    scene = parser.parse_args().scene
    if scene == "moving":
        moving()
    else:
        engines([scene] if scene else list(SCENES))


if __name__ == "__main__":
    main()
